# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Checks that take longer than the tests: comparison with MPFR, fuzzers, instruction counts, deliberate defects.

verify() {
    need_to_test
    configure build
    enable build tests
    build build tests/verify
    build/tests/verify --entries 1e8 --processes "$(nproc)" "$@"
}

# Builds with clang's sanitizers, for tests and fuzzers. Kernels take minutes to compile there, and all ISAs share their code:
# one SIMD ISA plus scalar is enough.
configure_sanitized() {
    CC=clang CXX=clang++ need_to_test
    CC=clang CXX=clang++ configure build-sanitize -Dtests=enabled -Dfuzz=enabled -Ddebug=true -Doptimization=1 -Disas=avx2,neon \
        -Db_sanitize=address,undefined -Db_lundef=false \
        "-Dc_args=-fsanitize=fuzzer-no-link -fno-sanitize-recover=undefined"
}

# sanitize [TEST_OPTION...]
sanitize() {
    configure_sanitized
    say "building build-sanitize"
    build build-sanitize
    say "running the tests of build-sanitize"
    run_tests build-sanitize "$@"
}

# fuzz [SECONDS [TARGET...]]: runs each target for that time, as many in parallel as there are cores.
fuzz() {
    local seconds=${1:-60} targets=("${@:2}") folder=build-sanitize programs=() target
    [ ${#targets[@]} -gt 0 ] || targets=(forward ngram gguf model npy safetensors spec)
    configure_sanitized
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
    passed=$(find $folder -maxdepth 1 -name '*.passed' | wc -l)
    # shellcheck disable=SC2034 # print_counts reads it
    failed=$((${#targets[@]} - passed))
    print_counts
}

# fuzz_target TARGET FOLDER SECONDS: fuzzes, prints what ran, and the end of the log if something was found.
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

# instructions [--update]: the test of that name, in a release build. `test` skips it if valgrind is not installed.
instructions() {
    local status=0
    need_to_test valgrind
    configure build
    enable build tests
    build build tests/instructions
    python3 - "$@" <<'PYTHON' || status=$?
import json, subprocess, sys
commands = [test["cmd"] for test in json.load(open("build/meson-info/intro-tests.json")) if test["name"] == "instructions"]
sys.exit(subprocess.call(commands[0] + sys.argv[1:], cwd="build") if commands else "dev: build/ is no release build")
PYTHON
    [ "$status" = 77 ] || return "$status"
    skip "counts of instructions"
    print_counts
}

mutate() {
    need_to_test qemu-user
    python3 scripts/checks/mutate.py . "$@"
}
