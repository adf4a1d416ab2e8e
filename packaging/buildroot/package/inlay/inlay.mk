################################################################################
#
# inlay
#
################################################################################

INLAY_VERSION = 0.1.0
INLAY_SITE = $(realpath $(BR2_EXTERNAL_INLAY_PATH)/../..)
INLAY_SITE_METHOD = local
INLAY_LICENSE = MIT
INLAY_LICENSE_FILES = LICENSE
INLAY_INSTALL_STAGING = YES
INLAY_DEPENDENCIES = host-pkgconf
INLAY_CONF_OPTS = \
	-Dfile=enabled \
	-Dsleef=disabled

ifeq ($(BR2_PACKAGE_INLAY_TOOL),y)
INLAY_CONF_OPTS += -Dtool=enabled
else
INLAY_CONF_OPTS += -Dtool=disabled
endif

ifeq ($(BR2_PACKAGE_CAIRO)$(BR2_PACKAGE_CAIRO_PNG),yy)
INLAY_CONF_OPTS += -Dplot=enabled
INLAY_DEPENDENCIES += cairo
else
INLAY_CONF_OPTS += -Dplot=disabled
endif

$(eval $(meson-package))
