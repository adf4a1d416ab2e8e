# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Installs another Debian in a folder with debootstrap, for chroot: for compilers and packages.

# install_root SUITE ROOT: replaces a folder by a minimal system of that Debian. Mounts below the folder are kept.
install_root() {
    need debootstrap debian-archive-keyring
    say "installing Debian $1 in $2 by debootstrap"
    rm -rf --one-file-system "$2"
    mkdir -p "$2"
    quietly debootstrap --variant=minbase "$1" "$2" http://deb.debian.org/debian
}
