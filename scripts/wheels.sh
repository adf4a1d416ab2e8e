# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Virtual environments of Python with pinned wheels, and the wheel of inlay. Status 77: PyPI cannot be reached.

# The Python of the virtual environment that interop and peers share.
wheels=build/venv/bin/python

# install_wheels FILE SIZE: installs the pinned wheels of a list if it has changed since that was done. 77: PyPI cannot be
# reached.
install_wheels() {
    local wanted stamp
    stamp=build/venv/$(basename "$1" .txt).installed
    wanted=$(grep -v '^#' "$1" | sha256sum)
    [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ] || return 0
    say "installing the wheels of $1: $2"
    pinned "$1" || return
    echo "$wanted" >"$stamp"
}

pip() {
    "$wheels" -m pip --quiet --disable-pip-version-check install --no-cache-dir --no-deps "$@"
}

# pinned FILE: installs pinned wheels. 77: PyPI cannot be reached.
pinned() {
    local log=${wheels%/bin/python}/pip.log
    if ! pip --retries 1 --timeout 15 --require-hashes --only-binary :all: -r "$1" >"$log" 2>&1; then
        cat "$log" >&2
        ! grep -q "connection broken by" "$log" || return 77
        return 1
    fi
}

# pinned_into ENVIRONMENT FILE: installs pinned wheels in a virtual environment. 77: PyPI cannot be reached.
pinned_into() {
    local wheels=$1/bin/python
    pinned "$2"
}

# wheel_environment DIRECTORY PYTHON FILE: makes a virtual environment with pinned wheels, unless it has them already.
wheel_environment() {
    local wanted
    wanted=$("$2" -c 'import sys; print(sys.version)' && sha256sum "$3")
    [ "$(cat "$1/stamp" 2>/dev/null)" != "$wanted" ] || return 0
    "$2" -m venv --clear "$1" || return 1
    pinned_into "$1" "$3" || return
    echo "$wanted" >"$1/stamp"
}

# Prepares the environment that interop and peers share.
base_wheels() {
    local wanted stamp=build/venv/base.installed
    wanted=$(cat tests/interop/requirements.txt tests/interop/torch.txt | sha256sum)
    [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ] || return 0
    say "installing the wheels of tests/interop: 0.4 GB, or 3 GB if PyTorch's own index cannot be reached"
    python3 -m venv --clear build/venv || return 1
    torch_wheels || return
    echo "$wanted" >"$stamp"
}

# Installs PyTorch and its dependencies, from its own index if that can be reached.
torch_wheels() {
    pinned tests/interop/requirements.txt || return
    pip --retries 0 --timeout 15 --index-url https://download.pytorch.org/whl/cpu -r tests/interop/torch.txt \
        >"${wheels%/bin/python}/pip.log" 2>&1 ||
        quietly "$wheels" -m pip --quiet --disable-pip-version-check install --no-cache-dir -r tests/interop/torch.txt
}

# build_wheel PYTHON DIRECTORY OPTION...: builds the wheel in DIRECTORY/built, and one that runs on other systems, with
# SLEEF inside, in DIRECTORY/wheels.
build_wheel() {
    local python=$1 directory=$2 tools=$2/tools/bin
    shift 2
    umask 022 # Wheels hold the modes of files.
    rm -rf "$directory/built" "$directory/wheels"
    wheel_environment "$directory/tools" "$python" python/requirements.txt || return
    say "building the wheel"
    PATH="$PWD/$tools:$PATH" quietly "$tools/python" -m pip --disable-pip-version-check wheel --no-deps \
        --no-build-isolation --wheel-dir "$directory/built" "-Cbuild-dir=$directory-objects" -Csetup-args=-Dwerror=true "$@" . || return 1
    PATH="$PWD/$tools:$PATH" quietly "$tools/auditwheel" repair --wheel-dir "$directory/wheels" "$directory"/built/*.whl ||
        return 1
    "$tools/auditwheel" show "$directory"/wheels/*.whl | tr '\n' ' ' | grep -oE '"(many|musl)linux_[0-9a-z_]+"' | head -n 1
    (cd "$directory/wheels" && ls -sh -- *.whl)
}

# install_wheel DIRECTORY ENVIRONMENT: installs the wheel of DIRECTORY that runs on other systems.
install_wheel() {
    quietly "$2/bin/python" -m pip --disable-pip-version-check install --no-index --no-deps --force-reinstall \
        "$1"/wheels/*.whl
}
