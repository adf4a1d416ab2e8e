# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Builds the same sources in two different environments: installed files and wheels must have the same bytes. Both builds
# start from the same file modes, since wheels keep them.

# build_once TREE DIRECTORY JOBS [OPTION...]: builds TREE in DIRECTORY, installs it to DIRECTORY/installed, and builds the
# wheel to TREE/build-wheel/wheels if TREE has the tools for it.
build_once() {
    local tree=$1 directory=$2 jobs=$3
    shift 3
    quietly meson setup "$directory" "$tree" --prefix=/usr -Dtool=enabled -Dfile=enabled "$@" || return 1
    quietly ninja -j "$jobs" -C "$directory" || return 1
    DESTDIR="$directory/installed" quietly meson install -C "$directory" --no-rebuild || return 1
    [ -e "$tree/build-wheel/tools" ] || return 0
    # Wheels get the time of the commit. It is set only for them: gcc would use it for __DATE__.
    (cd "$tree" && SOURCE_DATE_EPOCH=$commit_time build_wheel python3 build-wheel "${@/#/-Csetup-args=}") || return 1
}

# same_files ONE OTHER: prints the differences in names, types and bytes of files, with diffoscope if it is installed.
same_files() {
    diff -rq --no-dereference "$1" "$2" || {
        ! command -v diffoscope >/dev/null || diffoscope --max-report-size 20000 "$1" "$2" || true
        return 1
    }
}

# modes DIRECTORY: prints the names and modes of its files.
modes() {
    (cd "$1" && find . -printf '%p %m\n' | LC_ALL=C sort)
}

# reproducible [OPTION...]: with options of Meson for both builds.
reproducible() {
    local top=$PWD/build-reproducible status=0 kind
    local faketime="/usr/\$LIB/faketime/libfaketime.so.1" commit_time
    local one=$top/one/inlay other="$top/another place/sources of inlay"
    need_to_build python3-dev python3-venv faketime
    rm -rf "$top"
    mkdir -p "$one" "$other" "$top/home"
    git ls-files -z | xargs -0 cp --parents -t "$one"
    cp -r "$one/." "$other"
    wheel_environment build-wheel/tools python3 python/requirements.txt || status=$?
    if [ "$status" = 77 ]; then
        skip "the wheel, as PyPI cannot be reached"
    elif [ "$status" != 0 ]; then
        return 1
    else
        for kind in "$one" "$other"; do
            mkdir "$kind/build-wheel"
            ln -s "$PWD/build-wheel/tools" "$kind/build-wheel/tools"
        done
    fi

    commit_time=$(git log -1 --format=%ct)
    unset SOURCE_DATE_EPOCH
    export CCACHE_DISABLE=1 # each build compiles
    [ "$(LD_PRELOAD=$faketime FAKETIME=+400d date +%Y)" != "$(date +%Y)" ] ||
        complain "faketime has no effect, so both builds would have the same time" || return
    say "building in $one"
    umask 022
    LC_ALL=C TZ=UTC build_once "$one" "$one/build" 1 "$@" || return 1
    say "building in $other"
    echo "with another build folder, in parallel, with another locale, time, time zone, home and umask"
    umask 077
    LC_ALL=C.UTF-8 TZ=XYZ-5:45 HOME=$top/home LD_PRELOAD=$faketime FAKETIME=+400d NO_FAKE_STAT=1 \
        build_once "$other" "$top/build" "$(nproc)" "$@" || return 1

    say "comparing"
    same_files "$one/build/installed" "$top/build/installed" || status=1
    diff <(modes "$one/build/installed") <(modes "$top/build/installed") || status=1
    passed=$(find "$one/build/installed" ! -type d | wc -l)
    if [ -e "$one/build-wheel" ]; then
        same_files "$one/build-wheel/wheels" "$other/build-wheel/wheels" || status=1
        passed=$((passed + 1))
    fi
    [ "$status" = 0 ] || complain "the two builds differ" || return
    print_counts
}
