# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Runs the tests with each of Debian's compilers: those of this system, and those of another Debian in its own folder, set up
# by roots.sh. Mounts last as long as the command inside.

# need_root SUITE: installs that Debian in its folder, unless it exists. Delete the folder to get newer packages.
need_root() {
    local root=${INLAY_ROOTS:-$PWD/build-roots}/$1
    [ ! -e "$root/installed" ] || return 0
    [ "$(id -u)" = 0 ] || complain "only root can install another Debian in a folder and enter it" || exit
    install_root "$1" "$root"
    # No manual pages are needed, and nothing is lost if the machine stops meanwhile.
    printf 'path-exclude=/usr/share/%s/*\n' doc info locale man >"$root/etc/dpkg/dpkg.cfg.d/inlay"
    printf 'force-unsafe-io\n' >>"$root/etc/dpkg/dpkg.cfg.d/inlay"
    # Without a cache of downloads, and also from outdated mirrors.
    printf '%s "false";\n' APT::Keep-Downloaded-Packages Acquire::Check-Valid-Until >"$root/etc/apt/apt.conf.d/inlay"
    mkdir -p "$root/inlay"
    touch "$root/installed"
}

# in_root SUITE COMMAND...: runs a command in these sources, with that Debian as the root.
in_root() {
    local root=${INLAY_ROOTS:-$PWD/build-roots}/$1
    shift
    # shellcheck disable=SC2016
    unshare --mount --propagation private bash -euc '
        root=$1
        shift
        mount --bind "$PWD" "$root/inlay"
        for folder in dev proc sys; do mount --rbind /$folder "$root/$folder"; done
        exec chroot "$root" env -C /inlay HOME=/root LC_ALL=C.UTF-8 TMPDIR=/tmp "$@"
    ' bash "$root" "$@"
}

# compilers_of COMMAND...: prints the supported versions of compilers that Debian offers; COMMAND runs apt.
compilers_of() {
    "$@" apt-cache pkgnames | grep -E '^(gcc-1[1-9]|clang-1[4-9]|(gcc|clang)-[2-9][0-9])$' | sort -V
}

# install_compiler COMPILER COMMAND...: installs a compiler; COMMAND runs programs in its root.
install_compiler() {
    # shellcheck disable=SC2016,SC2046
    "${@:2}" bash -euc '. scripts/packages.sh; need "$@"' bash $(packages_of "$1")
}

# compilers [--all] [SUITE] [COMPILER...]: a compiler that apt lists but cannot install is skipped, unless it is named.
compilers() {
    local tests=(--suite compiler --suite api --suite audit) suite='' inside=(env) compiler cxx version table=() named
    if [ "${1:-}" = --all ]; then
        tests=()
        shift
    fi
    case ${1:-gcc-} in
    gcc-* | clang-*) ;;
    *[!a-z-]* | -*) complain "'$1' is neither a compiler (gcc-12, clang-19) nor the name of a Debian (sid)" || exit 2 ;;
    *)
        suite=$1
        shift
        need_root "$suite"
        inside=(in_root "$suite")
        ;;
    esac
    named=$#
    if [ $# = 0 ]; then
        # shellcheck disable=SC2046
        set -- $(compilers_of "${inside[@]}")
        [ $# -gt 0 ] || complain "apt knows no compilers: run apt-get update" || exit
    fi
    for compiler in "$@"; do
        cxx=${compiler/clang/clang++}
        cxx=${cxx/gcc/g++}
        if [ "$named" = 0 ] && ! install_compiler "$compiler" "${inside[@]}"; then
            skip "$compiler, which apt cannot install"
            table+=("0 passed, 0 failed, 1 skipped: $compiler, which apt cannot install")
            continue
        fi
        # A separate process, so other compilers still run if one fails.
        count "${inside[@]}" env CC="$compiler" CXX="$cxx" ./dev test "build-${suite:+$suite-}$compiler" -Dwerror=true \
            -- "${tests[@]}"
        version=$("${inside[@]}" "$compiler" --version | head -n 1) || version="$compiler, which does not run"
        table+=("$counts: $version")
    done
    say "each compiler"
    printf '%s\n' "${table[@]}"
    # shellcheck disable=SC2154 # count sets it
    [ "$passed" -gt 0 ] || complain "no compiler could be installed" || return
    print_counts
}
