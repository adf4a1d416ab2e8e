# SPDX-License-Identifier: MIT
# Builds the sources in the folder three levels above: no release has a tarball yet, for vcpkg_from_github or
# vcpkg_download_distfile. Use it as an overlay port: vcpkg install inlay --overlay-ports=packaging/vcpkg

get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_configure_meson(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -Dfile=enabled
        -Dtool=disabled
        -Dplot=disabled
)
vcpkg_install_meson()
vcpkg_fixup_pkgconfig()

# Meson installs both kinds of both libraries; a triplet has one.
if(VCPKG_LIBRARY_LINKAGE STREQUAL "static")
    file(GLOB unwanted "${CURRENT_PACKAGES_DIR}/lib/*.so*" "${CURRENT_PACKAGES_DIR}/debug/lib/*.so*")
else()
    file(GLOB unwanted "${CURRENT_PACKAGES_DIR}/lib/*.a" "${CURRENT_PACKAGES_DIR}/debug/lib/*.a")
endif()
if(unwanted)
    file(REMOVE ${unwanted})
endif()

# The package file of CMake moves to share/inlay, where vcpkg looks, and finds the library and the headers from there. Both
# configurations link the release library.
file(MAKE_DIRECTORY "${CURRENT_PACKAGES_DIR}/share")
file(RENAME "${CURRENT_PACKAGES_DIR}/lib/cmake/inlay" "${CURRENT_PACKAGES_DIR}/share/inlay")
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/lib/cmake" "${CURRENT_PACKAGES_DIR}/debug/lib/cmake")
vcpkg_replace_string("${CURRENT_PACKAGES_DIR}/share/inlay/inlay-config.cmake"
    [["${_inlay_here}/../.."]] [["${_inlay_here}/../../lib"]])
vcpkg_replace_string("${CURRENT_PACKAGES_DIR}/share/inlay/inlay-config.cmake"
    [["../../../include"]] [["../../include"]])

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
