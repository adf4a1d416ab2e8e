# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What a run of the tests is too short for: entries judged by MPFR, fuzzers, counts of instructions, defects
# made on purpose and at random.

verify() {
    need_to_test
    configure build
    enable build tests
    build build tests/verify
    build/tests/verify --entries 1e8 --processes "$(nproc)" "$@"
}

# fuzz [SECONDS [TARGET...]]: runs each target as long, as many at a time as there are cores.
fuzz() {
    local seconds=${1:-60} targets=("${@:2}") folder=build-fuzz programs=() target
    [ ${#targets[@]} -gt 0 ] || targets=(forward ngram gguf model npy safetensors spec)
    need_to_test clang libclang-rt-dev
    # Kernels take minutes to compile with sanitizers, and all ISAs share their bodies: one of vectors beside the scalar ones.
    CC=clang configure $folder -Dfuzz=enabled -Dbuildtype=debugoptimized -Ddefault_library=static -Disas=avx2,neon \
        -Db_sanitize=address,undefined -Db_lundef=false \
        "-Dc_args=-fsanitize=fuzzer-no-link -fno-sanitize-recover=undefined"
    enable $folder tests
    for target in "${targets[@]}"; do
        programs+=(fuzz/fuzz_"$target")
        mkdir -p $folder/corpus/"$target"
    done
    mkdir -p $folder/found
    build $folder "${programs[@]}"
    say "fuzzing ${targets[*]}, each for $seconds s"
    rm -f $folder/*.passed
    export -f fuzz_target
    printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c 'fuzz_target "$@"' fuzz {} "$folder" "$seconds" || true
    local passed
    passed=$(find $folder -maxdepth 1 -name '*.passed' | wc -l)
    echo "$passed passed, $((${#targets[@]} - passed)) failed, 0 skipped"
    [ "$passed" = ${#targets[@]} ]
}

# fuzz_target TARGET FOLDER SECONDS: fuzzes, prints what was run, and the end of the log if something was found.
fuzz_target() {
    local log=$2/$1.log length=2000 closed=0
    case $1 in
    forward | ngram) length=400 ;;
    spec) closed=2 ;; # a message for each input
    esac
    if "$2/fuzz/fuzz_$1" -max_total_time="$3" -max_len="$length" -timeout=60 -close_fd_mask="$closed" \
        -artifact_prefix="$2/found/$1-" "$2/corpus/$1" "fuzz/corpus/$1" >"$log" 2>&1; then
        touch "$2/$1.passed"
        echo "$1: $(grep -E '^Done' "$log"), $(grep -oE 'cov: [0-9]+' "$log" | tail -n 1) edges"
    else
        echo "$1: FAILED; inputs are in $2/found"
        grep -v '^#' "$log" | tail -n 40
    fi
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
    echo "0 passed, 0 failed, 1 skipped"
}

mutate() {
    need_to_test qemu-user
    python3 tests/mutate.py . "$@"
}

# mutants [N [SEED [FILE...]]]
mutants() {
    local status=0
    need_to_test python3-venv
    wheel_environment build-mutants python3 tests/mutants_requirements.txt || status=$?
    if [ "$status" = 77 ]; then
        echo "mutants: skipped: PyPI cannot be reached"
        echo "0 passed, 0 failed, 1 skipped"
        return 0
    fi
    [ "$status" = 0 ] || return "$status"
    build-mutants/bin/python tests/mutants.py . "$@"
}
