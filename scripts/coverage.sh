# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Line and branch coverage of the tests by gcov, with gcc and without optimization, so branches match the source.

# list_tests SUITE...: prints the names of the tests of build-coverage in these suites.
list_tests() {
    # shellcheck disable=SC2046
    meson test -C build-coverage --no-rebuild --list $(printf -- '--suite %s ' "$@") | sed 's/.* //'
}

# coverage [--list PATH]
coverage() {
    local directory=build-coverage tests status=0
    need_to_test
    CC=gcc CXX=g++ configure $directory -Doptimization=0 -Ddefault_library=static -Db_coverage=true \
        "-Dc_args=-fprofile-update=atomic"
    enable $directory tests
    say "building $directory"
    # gcc takes 6 GB for the kernels of one ISA.
    build $directory -j "$(awk -v cores="$(nproc)" '/^MemAvailable/ { jobs = int($2 / 6e6) }
        END { print jobs < 1 ? 1 : jobs < cores ? jobs : cores }' /proc/meminfo)"
    # Data of an earlier run, possibly of objects that have been recompiled.
    find $directory -name '*.gcda' -delete
    say "running the tests of $directory"
    # The rest of the library is the same for every ISA, and scalar kernels run too.
    tests=$(list_tests avx2 api file tool | grep -vE '^(features|verify)-' &&
        list_tests avx512 portable | grep -E '^(backward|embed|golden|layer|ngram|norm|quantized|sinusoid)-')
    # With a limit on file sizes, gcov can't write its own files either; ignore its message on standard error.
    # shellcheck disable=SC2086
    INLAY_TOOL_SECONDS=300 GCOV_ERROR_FILE=/dev/null run_tests $directory $tests || status=1
    say "coverage, by scripts/checks/coverage.txt"
    python3 scripts/checks/coverage.py $directory scripts/checks/coverage.txt "$@" || status=1
    return $status
}
