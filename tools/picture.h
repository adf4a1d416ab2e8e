/* SPDX-License-Identifier: MIT */
/*
 * Pictures to files. Two files implement it: picture_png.c, and picture_none.c where there is no libpng; the build
 * takes one of them.
 */
#ifndef INLAY_TOOL_PICTURE_H
#define INLAY_TOOL_PICTURE_H

#include <stdbool.h>
#include <stdio.h>

#include "raster.h"

/** What writes pictures, with its version, such as "libpng 1.6.39"; null where nothing does. */
const char *picture_writer(void);

/** Writes a PNG; false where memory ran out or the stream failed. */
bool picture_write(FILE *stream, const struct raster *raster);

#endif
