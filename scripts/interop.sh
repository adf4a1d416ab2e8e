# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Comparisons with other frameworks, in the virtual environment of wheels.sh. A failed comparison is counted, and the
# others still run.

interop() {
    need_to_build python3-venv g++ python3-dev
    configure build
    build build
    local status=0
    base_wheels || status=$?
    ! usable "$status" all || compare_all
    print_counts
}

# usable STATUS WHAT: returns 0 if installing was successful; otherwise counts WHAT as skipped or failed.
usable() {
    case $1 in
    0) return 0 ;;
    77) skip "$2, as PyPI cannot be reached" ;;
    *) failed=$((failed + 1)) ;;
    esac
    return 1
}

# compare WHAT PROGRAM ARGUMENT...: runs a program of Python, and counts it.
compare() {
    say "comparing $1"
    # shellcheck disable=SC2154 # it is the Python of wheels.sh
    if "$wheels" "${@:2}"; then
        passed=$((passed + 1))
    else
        echo "FAILED: $1"
        failed=$((failed + 1))
    fi
}

declare -A sizes=([checkpoints]="33 MB" [files_python]="84 MB" [models]="53 MB" [onnx_models]="35 MB" [quantized]="3 MB")

# has WHAT LIST...: installs lists of wheels of tests/interop. Returns 0 if WHAT can be compared. Every comparison names all
# lists that it imports from, since earlier ones may be skipped.
has() {
    local list status=0
    for list in "${@:2}"; do
        install_wheels "tests/interop/$list.txt" "${sizes[$list]}" || status=$?
        [ "$status" = 0 ] || break
    done
    usable "$status" "$1"
}

# has_inlay: builds the wheel of the Python package and installs it with the others. Returns 0 if it is installed.
has_inlay() {
    local status=0
    build_wheel python3 build-wheel && install_wheel build-wheel build/venv || status=$?
    usable "$status" "everything, without the Python package"
}

compare_all() {
    local tests=tests/interop
    compare "GGUF files, read and written, with llama.cpp" examples/files/compare_gguf.py build/tools/inlay
    has_inlay || return 0
    compare "sinusoids with those of other frameworks" $tests/interop.py
    compare "FP8 tables with PyTorch, and ggml's types with llama.cpp" $tests/formats.py
    compare "which model files are accepted with safetensors and gguf" $tests/files.py
    has "quantized checkpoints" models checkpoints files_python quantized &&
        compare "quantized tables with compressed-tensors and ModelOpt" $tests/quantized.py
    has "models of transformers" models checkpoints || return 0
    compare "16-bit layers of checkpoints with those of transformers" $tests/checkpoints.py
    compare "n-grams with those of transformers and sglang" $tests/ngrams.py build
    has "model2vec" checkpoints files_python &&
        compare "model files with safetensors, gguf, PyTorch, wordllama and model2vec" $tests/files_python.py
    compare "the layer of every text configuration of transformers with its model" $tests/families.py
    compare "rotary tables of every configuration of transformers" $tests/rotary.py
    compare "the layer without each key of config.json with the model that transformers loads" $tests/families.py --keys
    has "models of ONNX" models checkpoints onnx_models &&
        compare "exported models of transformers before and after inlay.onnx.fuse()" $tests/onnx_models.py &&
        compare "norms with long double, and those of PyTorch, ONNX Runtime and JAX" $tests/norms.py
    return 0
}
