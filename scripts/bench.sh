# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The benchmark harness, its kept runs, and benchmarks of other frameworks.

bench() {
    need_to_build g++ libbenchmark-dev
    configure build
    enable build bench
    build build bench/inlay_bench
    local harness=build/bench/inlay_bench arguments=() old="" save=""
    while [ $# -gt 0 ]; do
        case $1 in
        --save) save=yes ;;
        --json) arguments+=(--benchmark_format=json) ;;
        --filter)
            arguments+=("--benchmark_filter=${2:?--filter needs a regular expression}")
            shift
            ;;
        --against)
            old=${2:?--against needs an older harness or its build directory}
            shift
            ;;
        *) arguments+=("$1") ;;
        esac
        shift
    done
    if [ -n "$old" ]; then
        python3 bench/against.py "$old" "$harness" "${arguments[@]}"
    elif [ -n "$save" ]; then
        python3 bench/saved.py save bench/results "$harness" "${arguments[@]}"
    else
        "$harness" "${arguments[@]}"
    fi
}

results() {
    python3 bench/saved.py table bench/results docs/performance.md "$@"
}

# PyTorch's compiler needs g++ and Python's headers.
peers() {
    need_to_build python3-venv g++ python3-dev
    configure build
    build build
    local status=0
    { base_wheels && install_wheels bench/peers/requirements.txt "0.3 GB" && build_wheel python3 build-wheel &&
        install_wheel build-wheel build/venv; } >&2 || status=$?
    [ "$status" != 77 ] || { skip "peers, as PyPI cannot be reached" >&2 && return; }
    [ "$status" = 0 ] || return "$status"
    quietly gcc -O3 -fopenmp -shared -fPIC -Iinclude bench/peers/handles.c build/src/libinlay.so \
        "-Wl,-rpath,\$ORIGIN/src" -o build/libpeers.so
    # shellcheck disable=SC2154 # it is the Python of wheels.sh
    "$wheels" bench/peers/peers.py build/src/libinlay.so build/libpeers.so "$@"
}
