/* SPDX-License-Identifier: MIT */
/*
 * A picture in memory and the three things that are drawn into it: rectangles, text, text upwards. Included by the
 * files that draw. Whatever lies outside the picture is cut off silently.
 */
#ifndef INLAY_TOOL_RASTER_H
#define INLAY_TOOL_RASTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Colours are 0xRRGGBB. */
enum { INK = 0x202020, INK_SOFT = 0x707070, PAPER = 0xffffff };

/** What a line of text takes, in pixels. */
enum { TEXT_HEIGHT = 13 };

struct raster {
    int width;
    int height;
    unsigned char *rgb; /**< [height, width, 3] */
};

/** A white picture; false where there is no memory for it. */
bool raster_init(struct raster *raster, int width, int height);

void raster_free(struct raster *raster);

void raster_fill(struct raster *raster, int x, int y, int width, int height, uint32_t colour);

/** The outline of a rectangle, one pixel wide, just outside it. */
void raster_frame(struct raster *raster, int x, int y, int width, int height, uint32_t colour);

/** UTF-8 text whose top left corner is (x, y). */
void raster_text(struct raster *raster, int x, int y, const char *text, uint32_t colour);

/** Text that runs upwards: its beginning is at the bottom, (x, y) is its top left corner. */
void raster_text_up(struct raster *raster, int x, int y, const char *text, uint32_t colour);

/** The width of text in pixels. */
int raster_text_width(const char *text);

#endif
