/* SPDX-License-Identifier: MIT */
/*
 * The colour maps of heat maps.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** The values that the ends of a colour map stand for. */
struct colour_scale {
    double low;
    double high;
    bool diverging; /**< white is 0, and the ends are equally far from it */
};

/** Of values that are not finite. */
enum { COLOUR_NOT_FINITE = 0x8a8a8a };

/** The scale for values in [low, high]: diverging where both signs occur. */
struct colour_scale colour_scale_for(double low, double high);

/** The colour of a value; values outside the scale have the colour of its end. */
uint32_t colour_of(const struct colour_scale *scale, double value);

/** Black or white, whichever reads better on `colour`. */
uint32_t colour_ink_on(uint32_t colour);
