# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Build directories and their tests: the two commands of the README, also with other settings and on emulated CPUs.

# configure DIRECTORY OPTION...: creates a build directory with only the library and the command. An existing one keeps its
# options unless others are given.
configure() {
    local directory=$1 again=()
    shift
    if [ -e "$directory/build.ninja" ]; then
        [ $# != 0 ] && [ "$*" != "$(cat "$directory/options" 2>/dev/null)" ] || return 0
        again=(--reconfigure)
    fi
    quietly meson setup "${again[@]}" "$directory" -Dtool=enabled "$@"
    echo "$*" >"$directory/options"
}

# enable DIRECTORY FEATURE: turns on a feature of a build directory.
enable() {
    python3 - "$1/meson-info/intro-buildoptions.json" "$2" <<'PYTHON' || quietly meson configure "$1" "-D$2=enabled"
import json, sys
options = json.load(open(sys.argv[1]))
sys.exit(not any(option["name"] == sys.argv[2] and option["value"] == "enabled" for option in options))
PYTHON
}

build() {
    quietly ninja -C "$@"
}

# run_tests DIRECTORY TEST_OPTION...: runs tests that are built, and prints counts and failures.
run_tests() {
    local directory=$1 base=testlog
    shift
    case " $* " in *" --wrapper "*) base=testlog-$(basename "${WRAPPED_BY%% *}") ;; esac
    rm -f "$directory/meson-logs/$base.json"
    meson test -C "$directory" --no-rebuild --quiet "$@" >/dev/null 2>&1 || true
    python3 scripts/checks/summary.py "$directory" "$base"
}

# build_and_test [DIRECTORY [OPTION...]] [-- TEST_OPTION...]
build_and_test() {
    local directory=build options=() word
    [ $# = 0 ] || [ "$1" = -- ] || {
        directory=$1
        shift
    }
    while [ $# -gt 0 ]; do
        word=$1
        shift
        [ "$word" != -- ] || break
        options+=("$word")
    done
    need_to_test
    configure "$directory" "${options[@]}"
    enable "$directory" tests
    say "building $directory"
    build "$directory"
    say "running the tests of $directory"
    run_tests "$directory" "$@"
}

# Prints the ISA whose kernels this machine selects.
best_isa() {
    case "$(uname -m) $(grep -m 1 ^flags /proc/cpuinfo) " in
    aarch64*) echo neon ;;
    *' avx512bw '*) echo avx512 ;;
    *' avx2 '*) echo avx2 ;;
    *) echo portable ;;
    esac
}

# A check of changes in src/, in seconds: a library of one ISA plus scalar, the suite `quick` of tests/, and the suite
# `kernels` if kernels or tests were compiled since it last passed.
quick() {
    need_to_test
    # Results don't depend on optimization, and kernels compile five times as fast with less of it.
    configure build-quick -Doptimization=1 -Dtests=enabled -Dtool=disabled -Dfile=disabled -Ddefault_library=static \
        "-Disas=$(best_isa)"
    say "building build-quick"
    build build-quick quick
    say "running the tests of suite quick"
    local suites=(--suite quick) tested=build-quick/tested
    if [ ! -e $tested ] || [ -n "$(find build-quick \( -name '*kernels.c.o' -o -path '*test*.c.o' \) -newer $tested)" ]; then
        suites+=(--suite kernels)
    fi
    run_tests build-quick "${suites[@]}" || return
    touch $tested
}

demo() {
    need_to_build
    configure build
    build build tools/inlay
    local inlay=build/tools/inlay text=/usr/share/common-licenses/GPL-3
    say "two sentences of a tutorial; a token's vector is the sum of two sinusoids, of its id and of its position"
    "$inlay" embed --text "I am a robot" --text "you too robot" --length 5 --max-tokens 8 --table fixed --dim 6
    say "the GNU General Public License, at dim 512"
    "$inlay" embed --text-file "$text" --table random --seed 1 --dim 512 --plot build/demo.png --force
    say "the picture is in build/demo.png"
}

# A separate command, since MPI is large: `test` skips these programs if MPI is not installed.
mpi() {
    need_to_test libopenmpi-dev openmpi-bin
    configure build
    enable build tests
    build build
    say "running the examples, including vocabulary shards on MPI ranks"
    run_tests build --suite install
}

emulate() {
    [ $# -ge 2 ] || complain "emulate needs a CPU of qemu-x86_64 and the ISA that it must choose" || exit 2
    need_to_test qemu-user
    configure build
    enable build tests
    build build
    say "running the tests on an emulated $1, which must choose $2"
    # Tests that are scripts would run their interpreter under emulation, so they only run on the real CPU.
    local tests=("${@:3}")
    [ $# -gt 2 ] || tests=(dispatch {backward,environment,features,golden,layer,promises}-"$2")
    WRAPPED_BY=qemu-x86_64 INLAY_TEST_BEST=$2 run_tests build --wrapper "qemu-x86_64 -cpu $1" "${tests[@]}"
}

format() {
    need clang-format
    local files
    files=$(git ls-files '*.c' '*.h' '*.cc' '*.hpp')
    if [ "${1:-}" = --check ]; then
        # shellcheck disable=SC2086
        clang-format --dry-run --Werror $files
        echo "all sources are formatted"
    else
        # shellcheck disable=SC2086
        clang-format -i $files
    fi
}
