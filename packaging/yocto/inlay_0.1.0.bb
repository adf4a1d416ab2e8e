# SPDX-License-Identifier: MIT
# No release has a tarball yet: externalsrc builds the sources in the folder two levels above this file. A recipe of SLEEF is
# neither in openembedded-core nor in meta-openembedded, so the kernels use polynomials of their own unless you add one.
SUMMARY = "Input layer of Transformers on CPUs"
DESCRIPTION = "SIMD kernels, chosen at run time, that turn token ids into the vectors which a Transformer reads."
HOMEPAGE = "https://example.org/inlay.git"
SECTION = "libs"
LICENSE = "MIT"
LIC_FILES_CHKSUM = "file://LICENSE;md5=1e02b4ec138b1b885f10570ba02291f7"
CVE_PRODUCT = "inlay"

# EXTERNALSRC has the sources.
SRC_URI = ""

inherit meson pkgconfig externalsrc

EXTERNALSRC = "${@os.path.abspath(os.path.join(d.getVar('THISDIR'), '../..'))}"
EXTERNALSRC_BUILD = "${WORKDIR}/build"

PACKAGECONFIG ??= "tool"
PACKAGECONFIG[plot] = "-Dplot=enabled,-Dplot=disabled,cairo"
PACKAGECONFIG[sleef] = "-Dsleef=enabled,-Dsleef=disabled,sleef"
PACKAGECONFIG[tool] = "-Dtool=enabled,-Dtool=disabled"

EXTRA_OEMESON = "-Dfile=enabled"

PACKAGES =+ "${PN}-file ${PN}-tools"
FILES:${PN}-file += "${libdir}/libinlay-file${SOLIBS}"
FILES:${PN}-tools += "${bindir}/inlay ${datadir}/bash-completion ${datadir}/fish ${datadir}/zsh"

COMPATIBLE_HOST = "(x86_64|aarch64).*-linux"
