# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Finds and installs missing Debian packages. Other users than root are asked before sudo runs.

say() {
    printf '\n==> %s\n' "$*"
}

# quietly COMMAND...: runs a command and shows its output only if it fails.
quietly() {
    local log
    log=$(mktemp)
    if ! "$@" >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
}

# The counts of this command, printed in its last line.
passed=0 failed=0 skipped=0 counts=

# skip TEXT: prints and counts something skipped.
skip() {
    echo "skipped: $*"
    skipped=$((skipped + 1))
}

# complain TEXT: prints an error and returns 1.
complain() {
    echo "dev: $*" >&2
    return 1
}

# count COMMAND...: runs a check and adds the counts in its last line to those of this command.
count() {
    local log status=0 more_passed more_failed more_skipped
    log=$(mktemp)
    "$@" 2>&1 | tee "$log" || status=$?
    counts=$(grep -aE '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1) || true
    rm -f "$log"
    if [ -z "$counts" ] || { [ "$status" != 0 ] && [[ $counts = *' 0 failed,'* ]]; }; then
        counts="0 passed, 1 failed, 0 skipped"
    fi
    read -r more_passed _ more_failed _ more_skipped _ <<<"$counts"
    passed=$((passed + more_passed)) failed=$((failed + more_failed)) skipped=$((skipped + more_skipped))
}

# print_counts: prints the counts. Returns 0 if nothing failed.
print_counts() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
}

# may_change_machine LINE...: prints the commands about to run as root to standard error. Returns 0 if they may run.
may_change_machine() {
    if [ "$(id -u)" = 0 ] || [ -n "${INLAY_DEV_SUDO:-}" ]; then
        say "running as root:" >&2
        printf '        %s\n' "$@" >&2
        return
    fi
    printf 'dev: this command needs packages; to be run as root:\n\n' >&2
    printf '    sudo %s\n' "$@" >&2
    [ -t 0 ] && [ -t 2 ] && command -v sudo >/dev/null || return 1
    local answer
    read -r -p $'\nRun this with sudo now? [y/N] ' answer
    case $answer in [yY] | [yY][eE][sS]) return 0 ;; *) return 1 ;; esac
}

# as_root LINE...: runs commands as root, one per line. Ends ./dev if that is not allowed.
as_root() {
    local line root=()
    may_change_machine "$@" || exit 1
    [ "$(id -u)" = 0 ] || root=(sudo)
    for line in "$@"; do
        # shellcheck disable=SC2086
        quietly "${root[@]}" env DEBIAN_FRONTEND=noninteractive $line
    done
}

# installed PACKAGE[:ARCHITECTURE]: returns 0 if it is installed, by default for this machine's architecture.
installed() {
    local architecture=${1##*:}
    [ "$architecture" != "$1" ] || architecture=$(dpkg --print-architecture)
    dpkg-query -W -f '${Architecture} ${db:Status-Status}\n' "$1" 2>/dev/null | grep -qE "^($architecture|all) installed$"
}

# need PACKAGE...: installs the Debian packages that are missing.
need() {
    local package missing=()
    for package in "$@"; do
        installed "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    as_root "apt-get update" "apt-get install -y --no-install-recommends ${missing[*]}"
}

need_to_build() {
    need ccache gcc libc6-dev meson ninja-build pkg-config python3 libsleef-dev libcairo2-dev \
        fonts-dejavu-core libpthreadpool-dev "$@"
}

# packages_of COMPILER: prints the packages that a compiler needs with g++. Only clang's sanitizers need libclang-rt.
packages_of() {
    case $1 in
    gcc-[0-9]*) echo "g++-${1#gcc-}" ;;
    clang-[0-9]*) echo "$1" ;;
    *clang*) echo clang libclang-rt-dev libomp-dev ;;
    esac
}

need_to_test() {
    # shellcheck disable=SC2046
    need_to_build g++ $(packages_of "${CC:-}") binutils check libmpfr-dev libmd-dev cmake make zsh fish "$@"
}
