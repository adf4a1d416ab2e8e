# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Debian packages: built in one root of Debian 12 (roots.sh), then installed and tested in another, bare one. Both are folders
# below build-deb/, used by chroot. Their mounts are private to this command and are gone when it ends, however it ends.

deb_release=bookworm
# Packages of the first root in addition to the build dependencies in packaging/debian/control.
deb_tools="lintian"

deb() {
    need autopkgtest python3
    if [ "$(id -u)" != 0 ]; then
        may_change_machine "./dev deb" || exit 1
        exec sudo ./dev deb
    fi
    [ -n "${INLAY_OWN_MOUNTS:-}" ] || INLAY_OWN_MOUNTS=1 exec unshare --mount --propagation private ./dev deb
    local folder=$PWD/build-deb version
    version=$(sed -n '1s/.*(\(.*\)).*/\1/p' packaging/debian/changelog)
    mkdir -p "$folder/archives/partial"

    deb_sources "$folder" "${version%-*}"
    deb_base "$folder"
    deb_build_root "$folder"
    if deb_step "the packages are built, and the tests of the build pass" deb_build "$folder" "${version%-*}" &&
        deb_step "lintian finds no error or warning" as_user "$folder/build" /build \
            sh -c 'lintian --fail-on error,warning --info inlay_*.changes'; then
        deb_bare "$folder" || true # what failed is counted, and does not keep the rest from running
    fi
    print_counts
}

# deb_step NAME COMMAND...: runs a command, logs its output in build-deb/logs, shows it if it fails, and counts the result; 77
# is a skip.
deb_step() {
    local name=$1 status=0 log
    shift
    mkdir -p build-deb/logs
    log=build-deb/logs/${name//[^a-z]/-}.log
    "$@" >"$log" 2>&1 || status=$?
    case $status in
    0) passed=$((passed + 1)) && echo "ok - $name" ;;
    77) skipped=$((skipped + 1)) && echo "skipped - $name ($(tail -n 1 "$log"))" ;;
    *)
        failed=$((failed + 1))
        tail -n 60 "$log"
        echo "FAILED - $name (all of it: $log)"
        return 1
        ;;
    esac
}

# deb_unmount FOLDER: unmounts everything below it, last mount first.
deb_unmount() {
    local point
    awk -v folder="$1/" 'index($2, folder) == 1 { print $2 }' /proc/mounts | tac | while read -r point; do
        umount "$point" || umount --lazy "$point"
    done
}

# deb_remove ROOT: removes a root without mounts.
deb_remove() {
    deb_unmount "$1" && rm -rf --one-file-system "$1"
}

# deb_mount ROOT ARCHIVES: mounts the usual file systems, and the folder of apt's downloaded packages.
deb_mount() {
    mount -t proc proc "$1/proc"
    mount -t sysfs -o ro sysfs "$1/sys"
    mount -t tmpfs tmpfs "$1/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$1/dev/pts"
    mount --bind "$2" "$1/var/cache/apt/archives"
}

# deb_run ROOT COMMAND...: runs a command as root in it, with a clean environment.
deb_run() {
    local root=$1
    shift
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        chroot "$root" "$@"
}

# as_user ROOT FOLDER COMMAND...: runs a command in a folder of it, without privileges.
as_user() {
    local root=$1 folder=$2
    shift 2
    # shellcheck disable=SC2016
    deb_run "$root" runuser -u somebody -- env HOME=/home/somebody sh -c 'cd "$0" && exec "$@"' "$folder" "$@"
}

# deb_sources FOLDER VERSION: copies the sources of this folder to FOLDER/source, and all except debian/ to a tarball, as for a
# release.
deb_sources() {
    local folder=$1 version=$2 listed
    listed=$(sed -n "s/^  version: '\(.*\)',\$/\1/p" meson.build)
    [ "$version" = "$listed" ] || complain "packaging/debian/changelog has version $version, meson.build $listed" || exit
    rm -rf "$folder/source" "$folder/packages"
    mkdir -p "$folder/source" "$folder/packages"
    git -c safe.directory="$PWD" ls-files -co --exclude-standard --deduplicate | while read -r file; do [ ! -e "$file" ] || echo "$file"; done |
        tar -cf - -T - | tar -C "$folder/source" -xf -
    mv "$folder/source/packaging/debian" "$folder/source/debian" # where dpkg wants it
    tar -C "$folder/source" --exclude=./debian --owner=0 --group=0 --numeric-owner --sort=name \
        --transform "s,^\\.,inlay-$version,S" -czf "$folder/packages/inlay_$version.orig.tar.gz" .
}

# deb_base FOLDER: creates the tarball of a minimal Debian, once.
deb_base() {
    local folder=$1
    [ ! -e "$folder/$deb_release.tar" ] || return 0
    install_root "$deb_release" "$folder/new"
    deb_run "$folder/new" useradd --create-home somebody
    rm -f "$folder"/new/var/cache/apt/archives/*.deb
    tar -C "$folder/new" --numeric-owner -cf "$folder/$deb_release.tar.part" .
    mv "$folder/$deb_release.tar.part" "$folder/$deb_release.tar"
    deb_remove "$folder/new"
}

# deb_root FOLDER NAME: replaces a root by a fresh one and mounts the usual file systems.
deb_root() {
    deb_remove "$1/$2"
    mkdir "$1/$2"
    tar -C "$1/$2" -xf "$1/$deb_release.tar"
    deb_mount "$1/$2" "$1/archives"
}

# deb_build_root FOLDER: creates the build root, unless it exists and packaging/debian/control is unchanged.
deb_build_root() {
    local folder=$1 wanted
    wanted=$(sed -n '/^Build-Depends:/,/^$/p' packaging/debian/control && echo "$deb_tools")
    if [ "$(cat "$folder/build.stamp" 2>/dev/null)" = "$wanted" ] && [ -d "$folder/build/etc" ]; then
        deb_mount "$folder/build" "$folder/archives"
        return
    fi
    say "installing what the build needs, and $deb_tools"
    rm -f "$folder/build.stamp"
    deb_root "$folder" build
    mkdir -p "$folder/build/control/debian"
    cp packaging/debian/control packaging/debian/changelog "$folder/build/control/debian/"
    quietly deb_run "$folder/build" apt-get update
    # shellcheck disable=SC2086
    quietly deb_run "$folder/build" apt-get install -y --no-install-recommends dpkg-dev build-essential $deb_tools
    quietly deb_run "$folder/build" apt-get build-dep -y --no-install-recommends /control
    echo "$wanted" >"$folder/build.stamp"
}

# deb_build FOLDER VERSION: builds source and binary packages, without privileges, in FOLDER/packages.
deb_build() {
    local folder=$1 work=$1/build/build
    rm -rf "$work" &&
        mkdir "$work" &&
        cp -a "$folder/source" "$work/inlay-$2" &&
        cp "$folder/packages/inlay_$2.orig.tar.gz" "$work/" &&
        chown -R --reference="$folder/build/home/somebody" "$work" || return
    as_user "$folder/build" "/build/inlay-$2" env DEB_BUILD_OPTIONS="parallel=$(nproc)" \
        nice dpkg-buildpackage --unsigned-source --unsigned-changes || return
    find "$work" -maxdepth 1 -type f -exec cp -t "$folder/packages" {} +
}

# deb_bare FOLDER: installs the packages in a bare root and uses them, then runs the tests of debian/tests, each with its own
# packages.
deb_bare() {
    local folder=$1 root=$1/bare
    say "unpacking a bare root"
    deb_root "$folder" bare
    quietly deb_run "$root" apt-get update
    cp "$folder"/packages/*.deb "$root/srv/"
    cp -a "$folder/source" "$root/srv/source"
    deb_step "the command and the Python module install without a compiler" deb_install "$root" || return
    deb_step "the installed files are those of the lists in debian/" deb_files "$root"
    deb_step "the bare root: inlay selftest" as_user "$root" /srv/source debian/tests/selftest
    deb_step "the bare root: the demonstration" as_user "$root" /srv/source debian/tests/demo
    deb_step "the bare root: the README's lines in Python" as_user "$root" /srv/source debian/tests/python
    deb_step "the packages are removed without a trace" deb_purge "$root"
    deb_step "the wheel is built" deb_wheel "$root"
    deb_step "the wheel installs without a compiler or SLEEF, and runs the README's lines" deb_install_wheel "$root"
    deb_autopkgtest "$folder"
}

# deb_no_compiler ROOT: fails if there is a compiler.
deb_no_compiler() {
    local found
    ! found=$(deb_run "$1" sh -c 'command -v cc gcc c99 clang') || complain "the bare root has a compiler: $found"
}

deb_install() {
    deb_run "$1" sh -c 'apt-get install -y --no-install-recommends python3-numpy /srv/libinlay0_*.deb \
        /srv/libinlay-file0_*.deb /srv/inlay-tools_*.deb /srv/python3-inlay_*.deb' || return
    deb_no_compiler "$1"
}

# deb_files ROOT: prints every file of the packages, with its checksum, and any package that is half installed.
deb_files() {
    local wrong
    wrong=$(deb_run "$1" dpkg --verify libinlay0 libinlay-file0 inlay-tools python3-inlay && deb_run "$1" dpkg --audit)
    [ -z "$wrong" ] || complain "$wrong" || return
    deb_run "$1" sh -c 'ls -l /usr/bin/inlay /usr/share/man/man1/inlay.1.gz /usr/lib/*/libinlay.so.0 /usr/lib/*/libinlay-file.so.0'
}

deb_purge() {
    deb_run "$1" apt-get purge -y libinlay0 libinlay-file0 inlay-tools python3-inlay || return
    deb_run "$1" apt-get autoremove -y --purge || return
    local left
    left=$(find "$1/usr" "$1/etc" "$1/var/lib" -name '*inlay*' -print)
    [ -z "$left" ] || complain "left behind: $left"
}

# deb_wheel ROOT: copies the wheel built by this machine into the root.
deb_wheel() {
    need gcc libc6-dev libsleef-dev pkg-config binutils python3 python3-dev python3-venv
    build_wheel python3 build-wheel || return
    cp build-wheel/wheels/*.whl "$1/srv/"
}

deb_install_wheel() {
    [ -n "$(compgen -G "$1/srv/*.whl")" ] || {
        echo "there is no wheel"
        return 77
    }
    deb_run "$1" apt-get install -y --no-install-recommends python3-venv python3-numpy || return
    deb_no_compiler "$1" || return
    [ -z "$(compgen -G "$1/usr/lib/*/libsleef*")" ] || complain "the bare root has SLEEF" || return
    # shellcheck disable=SC2016
    as_user "$1" /srv/source sh -c 'python3 -m venv --system-site-packages ~/venv &&
        ~/venv/bin/pip --disable-pip-version-check install --no-index /srv/*.whl && PYTHON=~/venv/bin/python debian/tests/python'
}

# deb_autopkgtest FOLDER: runs debian/tests in the bare root, and counts results from autopkgtest's summary.
deb_autopkgtest() {
    local folder=$1 out=$1/autopkgtest name result rest status=0
    say "running the tests of debian/tests on the installed packages"
    rm -rf "$out"
    autopkgtest --quiet --no-built-binaries --user=somebody --output-dir="$out" "$folder"/packages/*.deb "$folder/source/" \
        -- chroot "$folder/bare" >"$folder/logs/autopkgtest.log" 2>&1 || status=$?
    while read -r name result rest; do
        case $result in
        PASS) passed=$((passed + 1)) && echo "ok - autopkgtest: $name" ;;
        SKIP) skipped=$((skipped + 1)) && echo "skipped - autopkgtest: $name ($rest)" ;;
        *)
            failed=$((failed + 1))
            tail -n 60 "$out/$name-stdout" "$out/$name-stderr" 2>/dev/null || true
            echo "FAILED - autopkgtest: $name $rest"
            ;;
        esac
    done <"$out/summary"
    # 2 means that tests were skipped. Failures outside of tests are not in the summary.
    if [ "$status" != 0 ] && [ "$status" != 2 ] && [ "$failed" = 0 ]; then
        tail -n 60 "$folder/logs/autopkgtest.log"
        failed=$((failed + 1))
        echo "FAILED - autopkgtest: exit status $status"
    fi
}
