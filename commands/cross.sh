# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Builds for ARM, and what is made of them.

# need_to_cross PACKAGE...: the cross compiler for 64-bit ARM, the library that inlay needs there, and these packages.
need_to_cross() {
    if [ "$(dpkg --print-architecture)" != arm64 ] && ! dpkg --print-foreign-architectures | grep -qx arm64; then
        as_root "dpkg --add-architecture arm64"
    fi
    need meson ninja-build pkg-config python3 g++-aarch64-linux-gnu libsleef-dev:arm64 "$@"
}

cross() {
    case ${1:-} in
    aarch64) cross_aarch64 "${@:2}" ;;
    armhf) cross_armhf ;;
    *)
        echo "dev: cross knows aarch64 and armhf; for others give Meson a file of cross/" >&2
        exit 2
        ;;
    esac
}

cross_aarch64() {
    need_to_cross qemu-user check:arm64 libmpfr-dev:arm64 libmd-dev:arm64 libbenchmark-dev:arm64
    configure build-aarch64 --cross-file cross/aarch64-linux-gnu.ini
    enable build-aarch64 tests
    enable build-aarch64 bench
    say "building build-aarch64"
    build build-aarch64
    say "running the tests on emulated 64-bit ARM"
    run_tests build-aarch64 "$@"
}

# 32-bit ARM has portable and scalar kernels only, which need no SLEEF: the cross compiler brings all that is needed, and
# dpkg needs no other architecture.
cross_armhf() {
    need_to_build gcc-arm-linux-gnueabihf libc6-dev-armhf-cross qemu-user
    configure build
    build build tools/inlay
    configure build-armhf --cross-file cross/arm-linux-gnueabihf.ini -Dwerror=true
    say "building build-armhf"
    build build-armhf
    say "embedding the same text here and on emulated 32-bit ARM"
    local arguments=(embed --text-file README.md --table random --seed 1 --dim 512 --out)
    build/tools/inlay "${arguments[@]}" build/native.npy
    local isa
    for isa in portable scalar; do
        INLAY_ISA=$isa qemu-arm -L /usr/arm-linux-gnueabihf build-armhf/tools/inlay "${arguments[@]}" build/armhf.npy
        cmp build/native.npy build/armhf.npy
    done
    echo "the bits are the same"
}

features() {
    need_to_cross qemu-user check:arm64 libmpfr-dev:arm64 libmd-dev:arm64
    configure build
    enable build tests
    build build tests/features
    configure build-aarch64 --cross-file cross/aarch64-linux-gnu.ini
    enable build-aarch64 tests
    build build-aarch64 tests/features
    python3 tests/features.py docs/features.md --native build --cross build-aarch64 \
        --emulator qemu-aarch64 "$@"
}

mca() {
    need_to_cross llvm-19
    configure build-aarch64 --cross-file cross/aarch64-linux-gnu.ini
    local object=src/libinlay_neon.a.p/neon_kernels.c.o
    build build-aarch64 "$object"
    python3 bench/neon_mca.py "build-aarch64/$object" llvm-mca-19
}
