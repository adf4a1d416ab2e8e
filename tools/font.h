/* SPDX-License-Identifier: MIT */
/*
 * The bitmap font of the pictures: fixed width, ASCII and Latin-1. Included by raster.c alone.
 */
#ifndef INLAY_TOOL_FONT_H
#define INLAY_TOOL_FONT_H

#include <stdint.h>

enum { FONT_WIDTH = 7, FONT_HEIGHT = 13, FONT_ASCENT = 11 };

/** The glyph of a code point, top row first, leftmost pixel in the highest bit; a hollow box for those it lacks. */
const unsigned char *font_glyph(uint32_t code);

#endif
