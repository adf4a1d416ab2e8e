# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Builds for Windows with mingw-w64, and runs the tests under wine. What the tests need is built from Debian's sources,
# since Debian has no libraries for Windows: in build-windows-deps/, once. SLEEF is not among them: kernels take polynomials
# instead (cross/x86_64-w64-mingw32.ini).

# Debian's source package and its version, and the archive of the authors in it with its SHA-256.
windows_sources=(
    "gmp 2:6.2.1+dfsg1-1.1 gmp_6.2.1+dfsg1.orig.tar.xz 471b9e463e04362a0124f215afc5f0a4b99caedeeb62634c61bbc12988efa64c"
    "mpfr4 4.2.0-1 mpfr4_4.2.0.orig.tar.xz 06a378df13501248c1b2db5aa977a2c8126ae849a9d9b7be2546fb4a9c26d993"
    "check 0.15.2-2 check_0.15.2.orig.tar.gz 8451b68ac5d6f3157b24f22eceff575bcf566264f6d78f3852f89d4e08cf42e1"
    "libmd 1.0.4-2 libmd_1.0.4.orig.tar.xz f51c921042e34beddeded4b75557656559cf5b1f2448033b4c1eec11c07e530f"
)

# download_windows_sources FOLDER: gets the archives by apt-get, from the sources of packages that this machine uses, with
# lists of their own, so that the machine's stay as they are.
download_windows_sources() {
    local folder=$1 source package version archive sum
    local options=(-o "Dir::Etc::sourcelist=$folder/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o "Dir::State::lists=$folder/apt/lists" -o "Dir::Cache=$folder/apt/cache" -o APT::Sandbox::User=)
    mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial"
    # shellcheck disable=SC2016
    local format='deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)'
    apt-get indextargets --format "$format" 'Created-By: Packages' 'Origin: Debian' 'Component: main' | sort -u \
        >"$folder/apt/sources.list"
    quietly apt-get "${options[@]}" update
    for source in "${windows_sources[@]}"; do
        read -r package version archive sum <<<"$source"
        (cd "$folder" && quietly apt-get "${options[@]}" source --download-only --only-source "$package=$version")
        (cd "$folder" && echo "$sum  $archive" | sha256sum --check --quiet)
    done
    rm -rf "$folder/apt"
}

# windows_library NAME OPTION...: unpacks NAME-VERSION and configures it, in the current folder, as a static library.
windows_library() {
    local prefix=$PWD name=$1
    rm -rf "$name"-[0-9]*/
    tar -xf "$name"[4_]*.orig.tar.[gx]z
    cd "$name"-[0-9]*/ || return
    # Debian's GMP comes without its manual.
    [ "$name" != gmp ] || { mkdir -p doc && printf 'all install:\n' >doc/Makefile.in; }
    ./configure --host=x86_64-w64-mingw32 --prefix="$prefix" --disable-shared --enable-static \
        CFLAGS="-O2 -D__USE_MINGW_ANSI_STDIO=1" "${@:2}"
}

# In a process of its own: each library in a copy of the shell, which stops at its first error.
build_windows_libraries() {
    set -euo pipefail
    cd "$1"
    (
        windows_library gmp
        make -j"$(nproc)" install
    )
    (
        windows_library mpfr --with-gmp="$1"
        make -j"$(nproc)" install
    )
    # Functions of mingw-w64 print as C99 has it; the probes for that would have to run. Its header means them too, where
    # compilers would read the formats as those of Microsoft's C library.
    (
        hw_cv_func_snprintf_c99=yes hw_cv_func_vsnprintf_c99=yes windows_library check --disable-subunit \
            --disable-build-docs
        make -C lib -j"$(nproc)"
        make -C src -j"$(nproc)" install
        make install-includeHEADERS install-pcdataDATA
        sed -i 's/((format (a, b, c)))/((format (gnu_##a, b, c)))/' "$1/include/check.h"
        grep -q gnu_ "$1/include/check.h"
    )
    (
        windows_library libmd
        make -C src -j"$(nproc)" install
        make -C include install
        cp src/libmd.pc "$1/lib/pkgconfig/"
    )
    rm -rf ./*-[0-9]*/
}

cross_windows() {
    need meson ninja-build pkg-config python3 gcc-mingw-w64-x86-64-win32 g++-mingw-w64-x86-64-win32 wine wine64 gcc \
        libc6-dev make m4 xz-utils
    local libraries=$PWD/build-windows-deps
    if [ ! -e "$libraries/complete" ]; then
        say "building check, GMP, MPFR and libmd for Windows"
        rm -rf "$libraries"
        mkdir "$libraries"
        download_windows_sources "$libraries"
        export -f windows_library build_windows_libraries
        # shellcheck disable=SC2016
        quietly bash -c 'build_windows_libraries "$1"' bash "$libraries"
        printf "[properties]\npkg_config_libdir = ['%s']\n" "$libraries/lib/pkgconfig" >"$libraries/meson.ini"
        touch "$libraries/complete"
    fi
    [ -e build-windows/build.ninja ] || quietly meson setup build-windows --cross-file cross/x86_64-w64-mingw32.ini \
        --cross-file "$libraries/meson.ini" -Dtests=enabled -Dwerror=true
    say "building build-windows"
    build build-windows
    # A home of its own for wine, which starts no program that tests do not need.
    export WINEPREFIX=$libraries/wine WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml="
    [ -e "$WINEPREFIX/system.reg" ] || quietly wine wineboot --init
    [ $# -gt 0 ] || set -- --suite isa --suite api --suite audit
    say "running the tests under wine"
    run_tests build-windows "$@"
}
