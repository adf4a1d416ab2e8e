# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Builds for Windows with mingw-w64, and runs the tests under wine. What the tests need is built from Debian's sources,
# since Debian has no libraries for Windows (sources.sh). SLEEF is not among them: kernels take polynomials instead
# (packaging/cross/x86_64-w64-mingw32.ini).

# build_windows_library NAME PREFIX OPTION...
build_windows_library() {
    CFLAGS=-D__USE_MINGW_ANSI_STDIO=1 build_autotools "$1" "$2" --host=x86_64-w64-mingw32 "${@:3}"
}

# build_windows_libraries PREFIX: what the tests need.
build_windows_libraries() {
    local prefix=$1
    build_windows_library gmp "$prefix"
    build_windows_library mpfr "$prefix" --with-gmp="$prefix"
    build_windows_library libmd "$prefix"
    # Functions of mingw-w64 print as C99 has it; the probes for that would have to run. Its header means them too, where
    # compilers would read the formats as those of Microsoft's C library.
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
    # A home of its own for wine, which starts no program that tests do not need.
    export WINEPREFIX=$libraries/wine WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml="
    [ -e "$WINEPREFIX/system.reg" ] || quietly wine wineboot --init
    [ $# -gt 0 ] || set -- --suite isa --suite api --suite audit
    say "running the tests under wine"
    run_tests build-windows "$@"
}
