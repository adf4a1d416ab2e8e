# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What a run of the tests is too short for: entries judged by MPFR, fuzzers, counts of instructions, defects
# made on purpose.

verify() {
    need_to_test
    configure build
    enable build tests
    build build tests/verify
    build/tests/verify --entries 1e8 --processes "$(nproc)" "$@"
}

# fuzz [SECONDS [TARGET...]]
fuzz() {
    local targets=("${@:2}") folder=build-fuzz target length
    [ ${#targets[@]} -gt 0 ] || targets=(forward ngram gguf npy safetensors)
    local seconds=$((${1:-60} / ${#targets[@]}))
    need_to_test clang libclang-rt-dev
    CC=clang configure $folder -Dfuzz=enabled -Dbuildtype=debugoptimized -Ddefault_library=static \
        -Db_sanitize=address,undefined -Db_lundef=false \
        "-Dc_args=-fsanitize=fuzzer-no-link -fno-sanitize-recover=undefined"
    enable $folder tests
    for target in "${targets[@]}"; do
        case $target in
        forward | ngram) length=400 ;;
        *) length=2000 ;; # files
        esac
        build $folder fuzz/fuzz_"$target"
        mkdir -p $folder/corpus/"$target" $folder/found
        say "fuzzing $target for $seconds s"
        "$folder/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=$length -timeout=60 -print_final_stats=1 \
            -artifact_prefix="$folder/found/" $folder/corpus/"$target" fuzz/corpus/"$target"
    done
}

# Builds in a directory of its own: the counts are those of gcc in a release build.
instructions() {
    local directory=build-instructions status=0
    need_to_test valgrind
    CC=gcc CXX=g++ configure $directory -Dtool=disabled
    enable $directory tests
    build $directory tests/instructions
    python3 tests/instructions.py $directory/tests/instructions "gcc $(gcc -dumpversion)" tests/instructions.txt "$@" ||
        status=$?
    [ "$status" = 77 ] || return "$status"
}

mutate() {
    need_to_test qemu-user
    python3 tests/mutate.py . "$@"
}
