# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Compares the public ABI with its record in packaging/abi: the types and functions of the public headers, as abidiff finds them.
# CONTRIBUTING.md lists the changes that are allowed.

# Deliberate breaks in a copy, to check that the comparison fails: description, file, sed command.
abi_defects=(
    "two fields of inlay_batch change places|include/inlay/layer.h|\
s/^    inlay_id_type id_type; /    float dropout; /; t; s/^    float dropout; /    inlay_id_type id_type; /"
    "an enumerator has another value|include/inlay/layer.h|s/INLAY_POOLING_MEAN = 2/INLAY_POOLING_MEAN = 3/"
    "a function is exported no longer|src/inlay.map|/^ *inlay_scale;$/d"
    "an array inside a struct of libinlay-file is longer|include/inlay/file.h|s/INLAY_FILE_RANK 8/INLAY_FILE_RANK 9/"
)

# dump_abi DIRECTORY: builds the libraries of the current folder in it, with debug information, and writes their public ABI to
# DIRECTORY/*.abi. SIMD kernels export nothing, and their debug information would take minutes.
dump_abi() {
    local library
    CC=gcc CFLAGS='' CPPFLAGS='' LDFLAGS='' configure "$1" -Doptimization=0 -Ddebug=true -Dunity=on -Dunity_size=1000 \
        '-Disas=[]' -Ddefault_library=shared -Dtool=disabled -Dfile=enabled
    build "$1" || return 1
    for library in src/libinlay file/libinlay-file; do
        abidw --headers-dir include/inlay --drop-private-types --exported-interfaces-only --no-show-locs \
            --no-corpus-path --no-comp-dir-path --no-elf-needed --out-file "$1/${library##*/}.abi" "$1/$library.so" || return 1
    done
}

# compare_abi DIRECTORY: prints the differences between the dumps in DIRECTORY and those in packaging/abi. Returns 4 or more if any.
compare_abi() {
    local library found status=0
    for library in libinlay libinlay-file; do
        found=0
        abidiff --harmless "packaging/abi/$library.abi" "$1/$library.abi" || found=$?
        status=$((status | found))
    done
    return "$status"
}

public_types() {
    sed -n 's/^} \(inlay_[a-z0-9_]*\);$/\1/p' include/inlay/*.h
}

# lacks_types DIRECTORY: prints public types that no dump in DIRECTORY describes, since no exported function uses them.
lacks_types() {
    local type
    public_types | while read -r type; do
        grep -qE "<(class-decl name='$type' size|enum-decl name='$type' )" "$1"/*.abi || echo "$type"
    done
}

# Breaks the ABI of a copy in each of these ways, and counts the breaks that the comparison misses.
break_abi() {
    local copy=$1 defect what file expression status
    rm -rf "$copy"
    mkdir -p "$copy"
    cp -r file include meson.build meson_options.txt packaging src "$copy"
    for defect in "${abi_defects[@]}"; do
        IFS='|' read -r what file expression <<<"$defect"
        sed "$expression" "$file" >"$copy/$file"
        ! cmp -s "$file" "$copy/$file" || complain "scripts/abi.sh finds nothing to break: $what" || return
        (cd "$copy" && dump_abi build) || return 1
        status=0
        (cd "$copy" && compare_abi build) >"$copy/report" || status=$?
        cp "$file" "$copy/$file"
        if [ "$status" -lt 4 ]; then
            cat "$copy/report"
            complain "abidiff did not find that $what (status $status)" || return
        fi
        echo "broken on purpose, and found: $what"
    done
}

# abi [--update]
abi() {
    local directory=build-abi missing
    if [ "$(dpkg --print-architecture)" != amd64 ]; then
        skip "the dumps in packaging/abi are those of x86-64"
        print_counts
        return
    fi
    need gcc libc6-dev meson ninja-build pkg-config python3 abigail-tools
    say "building $directory"
    dump_abi "$directory"
    missing=$(lacks_types "$directory")
    [ "$(public_types | wc -l)" -ge 10 ] || complain "scripts/abi.sh finds too few public types in the headers" || return
    [ -z "$missing" ] ||
        complain "no exported function uses these types, so the dumps lack them:" "$missing" || return
    say "comparing with packaging/abi"
    if [ "${1:-}" = --update ]; then
        compare_abi "$directory" || true
        cp "$directory"/*.abi packaging/abi/
        return
    fi
    compare_abi "$directory" ||
        complain "the ABI differs from packaging/abi. CONTRIBUTING.md lists the allowed changes; ./dev abi --update records them." || return
    say "breaking a copy on purpose"
    break_abi "$directory/broken"
    echo "$((2 + ${#abi_defects[@]})) passed, 0 failed, 0 skipped"
}
