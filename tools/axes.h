/* SPDX-License-Identifier: MIT */
/*
 * Axes and colour bars of the pictures: which ticks there are, and how they are drawn. Included by plot.c alone.
 */
#ifndef INLAY_TOOL_AXES_H
#define INLAY_TOOL_AXES_H

#include <stddef.h>
#include <stdint.h>

#include "colour.h"
#include "raster.h"

/** A run of whole numbers along one edge of a heat map. */
struct axis {
    const char *name; /**< such as "position" */
    int64_t first;    /**< the number at the centre of the first unit */
    int64_t count;    /**< units */
    double unit;      /**< pixels of one, perhaps less than 1 */
};

enum {
    AXIS_TICK = 4,                        /* length of a tick */
    AXIS_BELOW = 8 + 2 * TEXT_HEIGHT + 4, /* pixels that an axis below takes */
    AXIS_NAME = TEXT_HEIGHT + 6,          /* pixels that the name of an axis on the left takes */
    BAR_WIDTH = 18                        /* pixels of a colour bar without its ticks */
};

/** Draws the axis below a heat map whose lower left corner is (x, y). */
void axis_below(struct raster *raster, const struct axis *axis, int x, int y);

/** Draws the axis to the left of a heat map whose upper left corner is (x, y), without its name. */
void axis_left(struct raster *raster, const struct axis *axis, int x, int y);

/** Pixels to the left of the heat map that axis_left needs. */
int axis_left_width(const struct axis *axis);

/** Pixels from the left of a colour bar to the right of its numbers. */
int colour_bar_width(const struct colour_scale *scale, int height);

/** Draws the colour bar with its ticks; (x, y) is the upper left corner. */
void draw_colour_bar(struct raster *raster, const struct colour_scale *scale, int x, int y, int height);

#endif
