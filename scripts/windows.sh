# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Builds for Windows with mingw-w64, and runs the tests under wine. Libraries of the tests are built from Debian's sources
# (sources.sh), since Debian has none for Windows. Kernels use polynomials instead of SLEEF
# (packaging/cross/x86_64-w64-mingw32.ini).

# build_windows_library NAME PREFIX OPTION...
build_windows_library() {
    CFLAGS=-D__USE_MINGW_ANSI_STDIO=1 build_autotools "$1" "$2" --host=x86_64-w64-mingw32 "${@:3}"
}

# build_windows_libraries PREFIX: builds the libraries of the tests.
build_windows_libraries() {
    local prefix=$1
    build_windows_library gmp "$prefix"
    build_windows_library mpfr "$prefix" --with-gmp="$prefix"
    build_windows_library libmd "$prefix"
    # mingw-w64's functions print like C99, but configure can't run probes for that. Its header selects them too: compilers
    # would otherwise check formats for Microsoft's C library.
    hw_cv_func_snprintf_c99=yes hw_cv_func_vsnprintf_c99=yes build_windows_library check "$prefix" --disable-subunit \
        --disable-build-docs
    sed -i 's/((format (a, b, c)))/((format (gnu_##a, b, c)))/' "$prefix/include/check.h"
    grep -q gnu_ "$prefix/include/check.h"
    printf "[properties]\npkg_config_libdir = ['%s']\n" "$prefix/lib/pkgconfig" >"$prefix/meson.ini"
}

cross_windows() {
    need meson ninja-build pkg-config python3 gcc-mingw-w64-x86-64-win32 g++-mingw-w64-x86-64-win32 wine wine64 gcc \
        libc6-dev make m4 xz-utils curl
    local libraries=$PWD/build-sources/windows
    build_windows_libraries "$libraries"
    [ -e build-windows/build.ninja ] || quietly meson setup build-windows --cross-file packaging/cross/x86_64-w64-mingw32.ini \
        --cross-file "$libraries/meson.ini" -Dtests=enabled -Dwerror=true
    say "building build-windows"
    build build-windows
    # wine gets its own home, without the programs that tests don't need.
    export WINEPREFIX=$libraries/wine WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml="
    [ -e "$WINEPREFIX/system.reg" ] || quietly wine wineboot --init
    [ $# -gt 0 ] || set -- --suite isa --suite api --suite audit
    say "running the tests under wine"
    run_tests build-windows "$@"
}
