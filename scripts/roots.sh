# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Another Debian in a folder, which chroot enters: made by debootstrap for the compilers and for the packages.

# install_root SUITE ROOT: installs the smallest system of that Debian in a folder, in place of what was there. What is
# mounted below the folder stays as it is.
install_root() {
    need debootstrap debian-archive-keyring
    say "installing Debian $1 in $2 by debootstrap"
    rm -rf --one-file-system "$2"
    mkdir -p "$2"
    quietly debootstrap --variant=minbase "$1" "$2" http://deb.debian.org/debian
}
