# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The Python package: its wheel, audited, installed and tested.

python_package() {
    local directory=build-wheel status=0 python keep=false torch=false
    need gcc libc6-dev libsleef-dev pkg-config binutils python3 python3-dev python3-venv
    while [[ ${1:-} = --* ]]; do
        case $1 in
        --keep) keep=true ;;
        --torch) torch=true ;;
        *) complain "python has no option $1" || return 2 ;;
        esac
        shift
    done
    "$keep" || rm -rf "$directory"/test*
    build_wheel python3 "$directory" || status=$?
    for python in python3 "$@"; do
        [ "$status" != 0 ] || test_wheel "$python" "$directory" "$directory/test-$(basename "$python")" || status=$?
    done
    [ "$status" != 0 ] ||
        test_frameworks "$directory/test-python3" python/tests/frameworks.txt python/tests/frameworks-new.txt || status=$?
    [ "$status" != 0 ] || ! "$torch" || test_torch "$directory/test-python3" || status=$?
    if [ "$status" = 77 ]; then
        skip "the Python package, as PyPI cannot be reached"
        print_counts
        return
    fi
    if [ "$status" = 0 ] && python=$(python_without_gil); then
        say "without the GIL"
        build_wheel "$python" "$directory-nogil" -Csetup-args=-Dpython.allow_limited_api=false || status=$?
        [ "$status" != 0 ] || test_wheel "$python" "$directory-nogil" "$directory-nogil/test" || status=$?
    elif [ "$status" = 0 ]; then
        skip "no Python without the GIL is installed"
    fi
    print_counts || return
    return "$status"
}

# Prints an interpreter without the GIL, if there is one.
python_without_gil() {
    local python
    for python in python3.13t python3.14t "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*t/bin/python3; do
        if "$python" -c 'import sysconfig, sys; sys.exit(sysconfig.get_config_var("Py_GIL_DISABLED") != 1)' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    return 1
}

# test_wheel PYTHON DIRECTORY ENVIRONMENT [PYTEST_OPTION...]: installs the wheel of DIRECTORY and runs its tests. PATH has
# only nm, which the tests use to read symbols.
test_wheel() {
    local python=$1 directory=$2 environment=$3
    shift 3
    wheel_environment "$environment" "$python" python/tests/requirements.txt || return
    install_wheel "$directory" "$environment" || return 1
    mkdir -p "$environment/path" "$environment/home"
    ln -sf "$(command -v nm)" "$environment/path/nm"
    say "running the tests of the wheel with $("$environment/bin/python" -V)"
    run_pytest "$environment" "$@" .
}

# test_frameworks ENVIRONMENT FILE...: installs each list of frameworks in an environment of test_wheel and runs the tests
# that use them.
test_frameworks() {
    local environment=$1 file
    shift
    for file in "$@"; do
        pinned_into "$environment" "$file" || return
        say "running the tests with $(grep -oE '^(jax|onnxruntime)==[0-9.]+' "$file" | tr '\n' ' ')"
        run_pytest "$environment" test_arrays.py test_files.py test_jax.py test_onnx.py test_package.py \
            test_static.py || return
    done
}

# test_torch ENVIRONMENT: installs PyTorch and transformers, and runs their tests.
test_torch() {
    # shellcheck disable=SC2034 # torch_wheels installs in the environment of this Python
    local wheels=$1/bin/python
    local list tests
    say "installing PyTorch and transformers"
    torch_wheels || return
    for list in models checkpoints; do
        pinned_into "$1" "tests/interop/$list.txt" || return
    done
    say "running the tests with $(grep -v '^#' tests/interop/torch.txt)"
    mapfile -t tests < <(cd python/tests && ls test_torch*.py)
    run_pytest "$1" test_arrays.py test_files.py test_package.py "${tests[@]}"
}

# run_pytest ENVIRONMENT ARGUMENT...: runs pytest in python/tests, and adds its counts to those of the command.
run_pytest() {
    local environment=$1
    shift
    local log=$environment/pytest.log status=0
    (cd python/tests && env -i PATH="$OLDPWD/$environment/path" HOME="$OLDPWD/$environment/home" \
        INLAY_SOAK_SECONDS="${INLAY_SOAK_SECONDS:-2}" PYTHONDONTWRITEBYTECODE=1 "$OLDPWD/$environment/bin/python" \
        -m pytest -q -rs --no-header -p no:cacheprovider "$@") >"$log" 2>&1 || status=$?
    grep -E '^(SKIPPED|FAILED|ERROR)' "$log" || true
    [ "$status" = 0 ] || cat "$log" >&2
    count_tests "$(tail -n 1 "$log")"
    return "$status"
}

# count_tests LINE: adds the counts of pytest's last line to those of the command.
count_tests() {
    number_of() { grep -oE "[0-9]+ $2" <<<"$1" | grep -oE '[0-9]+' || echo 0; }
    passed=$((passed + $(number_of "$1" passed)))
    failed=$((failed + $(number_of "$1" failed) + $(number_of "$1" error)))
    skipped=$((skipped + $(number_of "$1" skipped)))
}
