# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The documentation site: built with warnings as errors; then its links and the code of its pages are checked.

# docs [--online]: --online also checks links to other sites.
docs() {
    need_to_build doxygen python3-breathe python3-sphinx python3-myst-parser furo python3-sphinx-copybutton \
        python3-matplotlib python3-venv binutils
    mkdir -p build-docs
    say "reading the comments of the public headers"
    { cat docs/site/Doxyfile && echo "OUTPUT_DIRECTORY = build-docs/doxygen"; } | doxygen - || return 1
    say "building the site"
    build_site || return 1
    say "checking the links of the site"
    count python3 scripts/checks/site_links.py build-docs/site "$@"
    say "running the code of the pages"
    configure build
    build build
    count python3 scripts/checks/code_blocks.py . build
    run_examples_of_python
    [ "$failed" != 0 ] || say "the site is build-docs/site/index.html"
    print_counts
}

# Debian's python3, which has these packages: the first one in PATH may be another. -a writes every page, since pages also
# depend on the names of the C API.
build_site() {
    /usr/bin/python3 -B docs/site/prepare.py . build-docs/doxygen/xml build-docs/pages || return 1
    INLAY_SITE_BUILD=$PWD/build-docs INLAY_SITE_SOURCE=$PWD/docs/site PYTHONDONTWRITEBYTECODE=1 \
        /usr/bin/python3 -m sphinx -q -a -W --keep-going -j 2 -c docs/site -d build-docs/doctrees build-docs/pages build-docs/site
}

# The Python of the pages, with inlay's wheel and NumPy; ./dev python covers pages that need other frameworks.
run_examples_of_python() {
    local environment=build-docs/python status=0
    { build_wheel python3 build-wheel && wheel_environment $environment python3 python/tests/requirements.txt; } || status=$?
    [ "$status" != 0 ] || install_wheel build-wheel $environment || status=1
    case $status in
    0) ;;
    77) skip "the Python of the pages, as PyPI cannot be reached" && return ;;
    *) failed=$((failed + 1)) && return ;;
    esac
    mkdir -p $environment/path $environment/home
    run_pytest $environment test_package.py -k examples_of_documents || [ "$failed" != 0 ] || failed=1
}
