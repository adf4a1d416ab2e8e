# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The site of the documentation: built with warnings as errors, then its links and the code of its pages are checked.

# docs [--online]: --online also asks the servers of links to other sites.
docs() {
    need_to_build doxygen python3-breathe python3-sphinx python3-myst-parser furo python3-sphinx-copybutton \
        python3-matplotlib python3-venv binutils
    mkdir -p build-docs
    say "reading the comments of the public headers"
    { cat docs/site/Doxyfile && echo "OUTPUT_DIRECTORY = build-docs/doxygen"; } | doxygen - || return 1
    say "building the site"
    build_site || return 1
    docs_passed=0 docs_failed=0 docs_skipped=0
    say "checking the links of the site"
    add_counts python3 tests/site_links.py build-docs/site "$@"
    say "running the code of the pages"
    configure build
    build build
    add_counts python3 tests/code_blocks.py . build
    run_examples_of_python
    [ "$docs_failed" != 0 ] || say "the site is build-docs/site/index.html"
    echo "$docs_passed passed, $docs_failed failed, $docs_skipped skipped"
    [ "$docs_failed" = 0 ]
}

# Debian's python3, whose packages these are: the first one in PATH need not be it. -a writes every page, since a page also
# depends on the names of the C API.
build_site() {
    /usr/bin/python3 -B docs/site/prepare.py . build-docs/doxygen/xml build-docs/pages || return 1
    INLAY_SITE_BUILD=$PWD/build-docs INLAY_SITE_SOURCE=$PWD/docs/site PYTHONDONTWRITEBYTECODE=1 \
        /usr/bin/python3 -m sphinx -q -a -W --keep-going -j 2 -c docs/site -d build-docs/doctrees build-docs/pages build-docs/site
}

# add_counts COMMAND...: runs checks, whose last line is their counts, and adds these to those of the command.
add_counts() {
    local counts status=0
    "$@" 2>&1 | tee build-docs/log || status=$?
    counts=$(tail -n 1 build-docs/log)
    [ "$status" = 0 ] || [[ $counts != *' 0 failed,'* ]] || counts=
    if [[ $counts =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
        docs_passed=$((docs_passed + BASH_REMATCH[1]))
        docs_failed=$((docs_failed + BASH_REMATCH[2]))
        docs_skipped=$((docs_skipped + BASH_REMATCH[3]))
    else
        docs_failed=$((docs_failed + 1))
    fi
}

# The Python of the pages, with the wheel of inlay and NumPy; ./dev python runs what needs other frameworks too.
run_examples_of_python() {
    local environment=build-docs/python status=0
    python_passed=0 python_failed=0 python_skipped=0
    { build_wheel python3 build-wheel && wheel_environment $environment python3 python/tests/requirements.txt; } || status=$?
    if [ "$status" = 77 ]; then
        echo "skipped the Python of the pages: PyPI cannot be reached"
        docs_skipped=$((docs_skipped + 1))
        return
    fi
    if [ "$status" != 0 ] || ! install_wheel build-wheel $environment; then
        docs_failed=$((docs_failed + 1))
        return
    fi
    mkdir -p $environment/path $environment/home
    run_pytest $environment test_package.py -k examples_of_documents || [ "$python_failed" != 0 ] || python_failed=1
    echo "$python_passed passed, $python_failed failed, $python_skipped skipped"
    docs_passed=$((docs_passed + python_passed))
    docs_failed=$((docs_failed + python_failed))
    docs_skipped=$((docs_skipped + python_skipped))
}
