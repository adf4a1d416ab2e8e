# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Builds for other CPUs and another C library, and their tests.

# need_to_cross PACKAGE...: installs the cross compiler for 64-bit ARM, the library that inlay needs there, and these packages.
need_to_cross() {
    if [ "$(dpkg --print-architecture)" != arm64 ] && ! dpkg --print-foreign-architectures | grep -qx arm64; then
        as_root "dpkg --add-architecture arm64"
    fi
    need meson ninja-build pkg-config python3 g++-aarch64-linux-gnu libsleef-dev:arm64 "$@"
}

cross() {
    case ${1:-} in
    aarch64) cross_aarch64 "${@:2}" ;;
    armhf) cross_bits armhf arm-linux-gnueabihf qemu-arm libc6-dev-armhf-cross ;;
    riscv64) cross_bits riscv64 riscv64-linux-gnu qemu-riscv64 libc6-dev-riscv64-cross ;;
    windows) cross_windows "${@:2}" ;;
    musl) cross_musl "${@:2}" ;;
    macos) cross_macos ;;
    refused) cross_refused ;;
    *)
        complain "cross supports aarch64, armhf, riscv64, musl, windows, macos and refused; for others give Meson a file of" \
            "packaging/cross/" || exit 2
        ;;
    esac
}

# configure_arm PACKAGE...: creates build-aarch64, with tests.
configure_arm() {
    need_to_cross qemu-user check:arm64 libmpfr-dev:arm64 libmd-dev:arm64 "$@"
    configure build-aarch64 --cross-file packaging/cross/aarch64-linux-gnu.ini
    enable build-aarch64 tests
}

cross_aarch64() {
    configure_arm libbenchmark-dev:arm64
    enable build-aarch64 bench
    say "building build-aarch64"
    build build-aarch64
    say "running the tests on emulated 64-bit ARM"
    run_tests build-aarch64 "$@"
}

# cross_bits NAME TRIPLET EMULATOR PACKAGE...: builds for a CPU with portable and scalar kernels only, which don't need SLEEF:
# the cross compiler is enough, and dpkg needs no other architecture.
cross_bits() {
    local name=$1 triplet=$2 emulator=$3 directory=build-$1
    shift 3
    need_to_build "gcc-$triplet" qemu-user "$@"
    configure build
    build build tools/inlay
    # Without vector registers, portable kernels take minutes to compile with -O3. Results don't depend on it.
    configure "$directory" --cross-file "packaging/cross/$triplet.ini" -Dwerror=true -Doptimization=1
    say "building $directory"
    build "$directory"
    say "embedding the same text here and on an emulated $name"
    local isa arguments=(embed --text-file README.md --table random --seed 1 --dim 512 --force --out)
    build/tools/inlay "${arguments[@]}" build/native.npy
    for isa in portable scalar; do
        INLAY_ISA=$isa "$emulator" -L "/usr/$triplet" "$directory/tools/inlay" "${arguments[@]}" "build/$name.npy"
        cmp build/native.npy "build/$name.npy"
    done
    echo "the bits are the same"
    echo "2 passed, 0 failed, 0 skipped"
}

# Tests with musl, linked with static libraries made for it. Kernels use polynomials instead of SLEEF's sincospi. The suites of
# the command and of installed libraries are skipped, since they expect glibc's messages and SLEEF.
cross_musl() {
    local prefix=$PWD/build-sources/musl
    need_to_build musl-tools check libmpfr-dev libmd-dev make m4 xz-utils curl binutils
    CC=musl-gcc build_autotools check "$prefix" --disable-subunit --disable-build-docs
    CC=musl-gcc build_autotools libmd "$prefix"
    CC=musl-gcc build_autotools gmp "$prefix"
    CC=musl-gcc build_autotools mpfr "$prefix" --with-gmp="$prefix"
    configure build-musl --native-file packaging/cross/x86_64-linux-musl.ini -Dwerror=true -Dsleef=disabled \
        "-Dpkg_config_path=$prefix/lib/pkgconfig"
    enable build-musl tests
    say "building build-musl"
    build build-musl
    say "running the tests with musl"
    [ $# -gt 0 ] || set -- --suite isa --suite api --suite file --suite audit
    run_tests build-musl "$@"
}

# A check for macOS without its SDK: the core compiles for it, with musl's headers, links by the rules of its linker, calls only
# functions of its C library, and exports only the public functions. Nothing runs.
cross_macos() {
    need clang-19 lld-19 llvm-19 musl-tools git
    local folder=build-macos source flags name
    rm -rf "$folder"
    mkdir "$folder"
    printf 'int issetugid(void); /* not in musl */\n' >"$folder/apple.h"
    flags=(-target arm64-apple-macos13 -std=c11 -O2 -D_GNU_SOURCE -DINLAY_HAVE_NEON -DINLAY_HAVE_PORTABLE -Iinclude -Isrc
        -ffp-contract=off -fno-math-errno -fvisibility=hidden -Wall -Wextra -Wpedantic -Wshadow -Werror
        -nostdlibinc -isystem "/usr/include/$(uname -m)-linux-musl" -include "$folder/apple.h")
    say "compiling the core for macOS on arm64"
    for source in $(git ls-files 'src/*.c' | grep -vE '^src/avx|_windows|_none'); do
        name=${source#src/}
        clang-19 "${flags[@]}" -c "$source" -o "$folder/${name//\//_}.o"
    done
    ld64.lld-19 -arch arm64 -platform_version macos 13.0 13.0 -dylib -undefined dynamic_lookup "$folder"/*.o \
        -o "$folder/libinlay.dylib"
    llvm-nm-19 --undefined-only --just-symbol-name "$folder/libinlay.dylib" | sed 's/^_//' | sort -u >"$folder/called"
    # musl's name of errno differs from macOS's.
    tr ' ' '\n' >"$folder/known" <<<"__errno_location __stack_chk_fail __stack_chk_guard bzero close dyld_stub_binder free \
fstat getenv issetugid madvise malloc memchr memcmp memcpy memmove memset memset_pattern16 open read snprintf strchr strcmp \
strcspn strlen strncmp strspn sysconf vsnprintf"
    llvm-nm-19 --extern-only --defined-only --just-symbol-name "$folder/libinlay.dylib" | sed 's/^_//' |
        sort >"$folder/exported"
    grep -o 'inlay_[a-z0-9_]*' src/inlay.map | sort >"$folder/public"
    ! grep -vxFf "$folder/known" "$folder/called" || complain "macOS has no such functions" || return
    diff "$folder/public" "$folder/exported"
    echo "$(wc -l <"$folder/exported") functions are exported"
    echo "1 passed, 0 failed, 0 skipped"
}

# Meson must reject hosts whose results would be wrong, with a reason. Each line has a host, its compiler, cpu_family and
# endianness, compiler options, and Meson's message.
cross_refused() {
    need meson ninja-build gcc libc6-dev gcc-s390x-linux-gnu gcc-i686-linux-gnu libc6-dev-s390x-cross libc6-dev-i386-cross
    local name compiler family endian option sentence
    rm -rf build-refused
    mkdir build-refused
    while IFS='|' read -r name compiler family endian option sentence; do
        cat >"build-refused/$name.ini" <<INI
[binaries]
c = '$compiler'
[built-in options]
c_args = [$option]
[host_machine]
system = 'linux'
cpu_family = '$family'
cpu = '$family'
endian = '$endian'
INI
        if meson setup "build-refused/$name" --cross-file "build-refused/$name.ini" >build-refused/log 2>&1; then
            echo "FAILED: $name was not refused"
            failed=$((failed + 1))
        elif grep "ERROR: .*$sentence" build-refused/log; then
            passed=$((passed + 1))
        else
            echo "FAILED: $name was refused, but not because '$sentence'"
            cat build-refused/log
            failed=$((failed + 1))
        fi
    done <<'HOSTS'
s390x|s390x-linux-gnu-gcc|s390x|big||this host is big-endian
i686|i686-linux-gnu-gcc|x86|little||this host is x86$
x87|gcc|x86_64|little|'-mfpmath=387'|the x87 rounds to 80 bits
HOSTS
    rm -rf build-refused
    print_counts
}

features() {
    need_to_test
    configure_arm
    configure build
    enable build tests
    build build tests/features
    build build-aarch64 tests/features
    python3 scripts/checks/features.py docs/features.md --native build --cross build-aarch64 \
        --emulator qemu-aarch64 "$@"
}

mca() {
    need_to_cross llvm-19
    configure build-aarch64 --cross-file packaging/cross/aarch64-linux-gnu.ini
    local object=src/libinlay_neon.a.p/neon_kernels.c.o
    build build-aarch64 "$object"
    python3 bench/neon_mca.py "build-aarch64/$object" llvm-mca-19
}
