# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# A release: builds the published files from a clean tree into build-release/, and tests them. The wheel for aarch64 is
# cross-built, and tested under emulation with Debian's Python for that CPU, unpacked in a folder.

# The packages of that Python, and its headers.
arm_packages=(python3.11 python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libpython3.11-dev libc6 libgcc-s1
    libstdc++6 zlib1g libexpat1 libffi8 libssl3 libbz2-1.0 liblzma5)

# Tests of the wheel that don't start another interpreter, which would not be emulated.
arm_tests=(test_arrays test_errors test_files test_formats test_layer test_lifetimes test_names test_ngram test_positions
    test_tables)

# arm_python FOLDER: makes FOLDER/root with Debian's Python for aarch64, and FOLDER/bin/python, which runs it here.
arm_python() {
    local deb
    mkdir -p "$1/debs" "$1/root" "$1/bin" "$1/site" "$1/path" "$1/home"
    (cd "$1/debs" && quietly apt-get download "${arm_packages[@]/%/:arm64}") || return 1
    for deb in "$1"/debs/*.deb; do
        dpkg-deb -x "$deb" "$1/root" || return 1
    done
    printf '#!/bin/sh\nPYTHONPATH=%q exec /usr/bin/qemu-aarch64 -L %q %q "$@"\n' \
        "$PWD/$1/site" "$PWD/$1/root" "$PWD/$1/root/usr/bin/python3.11" >"$1/bin/python"
    chmod +x "$1/bin/python"
}

# arm_wheel FOLDER SOURCES: cross-builds the wheel of a source folder in its build-wheel/, with the tools of this folder.
arm_wheel() {
    mkdir -p "$2/build-wheel"
    ln -sfn "$PWD/build-wheel/tools" "$2/build-wheel/tools"
    (
        export _PYTHON_HOST_PLATFORM=linux-aarch64 headers=$PWD/$1/root/usr/include
        cd "$2" && build_wheel python3 build-wheel "-Csetup-args=-Dc_args=-I$headers" \
            "-Csetup-args=--cross-file=$PWD/packaging/cross/aarch64-linux-gnu.ini"
    )
}

# test_arm_wheel FOLDER SOURCES: installs that wheel and those of its tests for the emulated Python, and runs its tests.
test_arm_wheel() {
    local pip=(python3 -m pip --disable-pip-version-check install --no-deps --only-binary :all: --python-version 3.11
        --platform manylinux2014_aarch64 --platform manylinux_2_28_aarch64 --target "$1/site")
    quietly "${pip[@]}" --require-hashes -r python/tests/requirements.txt || return 1
    quietly "${pip[@]}" --no-index "$2"/build-wheel/wheels/*.whl || return 1
    say "running the tests of the wheel with $("$1/bin/python" -c 'import sys, platform
print("Python", sys.version.split()[0], "on an emulated", platform.machine())')"
    run_pytest "$1" "${arm_tests[@]/%/.py}" || return 1
}

# release
release() {
    local folder=build-release version sources sums arm=build-release/aarch64
    version=$(sed -n "s/^  version: '\(.*\)',$/\1/p" meson.build)
    sources=$folder/inlay-$version
    say "the tree as version $version"
    if [ -n "$(git status --porcelain)" ]; then
        git status --short
        complain "the tree has uncommitted changes" || return
    fi
    python3 scripts/checks/documents.py . || return 1
    grep '^## ' CHANGELOG.md | head -n 1 | grep -E "^## \[$version\] - 20[0-9-]{8}$" ||
        complain "CHANGELOG.md does not begin with this version and its date" || return
    ! grep -n UNRELEASED packaging/debian/changelog || complain "packaging/debian/changelog names no distribution" || return

    rm -rf $folder
    mkdir $folder
    git archive --prefix="inlay-$version/" HEAD | gzip -n >"$folder/inlay-$version.tar.gz"
    tar -xzf "$folder/inlay-$version.tar.gz" -C $folder
    say "the wheel for x86-64"
    python_package --torch | tee $folder/python.log || return 1
    ! grep -q '^skipped: the Python package' $folder/python.log || complain "the wheel was not tested" || return
    rm $folder/python.log
    say "the wheel for aarch64, from the archive of the sources"
    need_to_cross qemu-user
    arm_python $arm || return 1
    arm_wheel $arm "$sources" || return 1
    test_arm_wheel $arm "$sources" || return 1
    say "the packages of Debian"
    ./dev deb || return 1

    cp build-wheel/wheels/*.whl "$sources"/build-wheel/wheels/*.whl $folder
    cp -r build-deb/packages $folder/debian
    rm -rf "$sources" $arm
    sums=$(cd $folder && find . -type f -printf '%P\n' | sort | xargs sha256sum)
    tee $folder/SHA256SUMS <<<"$sums"
    cat <<TEXT

Version $version can be released. What is left to do:
    ./dev check --all                                   unless it ran on this commit
    git tag -s v$version -m "inlay $version" && git push origin v$version
    gpg --armor --detach-sign $folder/SHA256SUMS
    upload $folder/inlay-$version.tar.gz, SHA256SUMS and SHA256SUMS.asc to the page of the tag
    twine upload $folder/*.whl                to PyPI
    debsign $folder/debian/*.changes, and dput to the archive
    put the archive's address and its SHA-256 into the recipes of packaging/
TEXT
}
