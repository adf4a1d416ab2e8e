# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Static libraries for the tests on systems without Debian packages, from the sources of Debian 12 (bookworm): check, GMP,
# MPFR and libmd.

# Each source package: the SHA-256 of its archive, and its path in Debian's pool.
sources() {
    cat <<'TABLE'
check 8451b68ac5d6f3157b24f22eceff575bcf566264f6d78f3852f89d4e08cf42e1 c/check/check_0.15.2.orig.tar.gz
gmp 471b9e463e04362a0124f215afc5f0a4b99caedeeb62634c61bbc12988efa64c g/gmp/gmp_6.2.1+dfsg1.orig.tar.xz
mpfr 06a378df13501248c1b2db5aa977a2c8126ae849a9d9b7be2546fb4a9c26d993 m/mpfr4/mpfr4_4.2.0.orig.tar.xz
libmd f51c921042e34beddeded4b75557656559cf5b1f2448033b4c1eec11c07e530f libm/libmd/libmd_1.0.4.orig.tar.xz
TABLE
}

# fetch_source NAME FOLDER: downloads a source package, unless it exists, and unpacks it into FOLDER.
fetch_source() {
    local name=$1 folder=$2 sum path archive
    read -r _ sum path < <(sources | grep "^$name ")
    archive=build-sources/$(basename "$path")
    mkdir -p build-sources "$folder"
    [ -e "$archive" ] || curl -fsS --retry 3 -o "$archive" "http://deb.debian.org/debian/pool/main/$path"
    echo "$sum  $archive" | sha256sum --check --quiet || {
        rm -f "$archive"
        echo "dev: $archive has another checksum and was deleted" >&2
        return 1
    }
    tar -xf "$archive" -C "$folder" --strip-components=1
}

# install_source NAME: installs the parts that the tests use, configured in the current folder.
install_source() {
    local jobs
    jobs=$(nproc)
    case $1 in
    check) make -j"$jobs" -C lib && make -j"$jobs" -C src install && make install-includeHEADERS install-pcdataDATA ;;
    libmd) make -j"$jobs" -C src install && make -C include install ;;
    *) make -j"$jobs" && make install ;;
    esac
}

# build_autotools NAME PREFIX CONFIGURE_OPTION...: builds a source package with CC and CFLAGS and installs it below PREFIX,
# unless it is installed.
build_autotools() {
    local name=$1 prefix=$2 folder=$2/source/$1
    shift 2
    [ ! -e "$prefix/$name.installed" ] || return 0
    say "building $name in $prefix"
    fetch_source "$name" "$folder"
    if [ "$name" = gmp ]; then
        # Debian omits the manual, which has another license.
        mkdir -p "$folder/doc"
        printf 'all install:\n' >"$folder/doc/Makefile.in"
    fi
    (
        cd "$folder" || exit
        quietly ./configure --prefix="$prefix" --disable-shared --enable-static CFLAGS="-O2 ${CFLAGS:-}" "$@" &&
            quietly install_source "$name"
    ) || return 1
    rm -rf "$folder"
    touch "$prefix/$name.installed"
}
