/* SPDX-License-Identifier: MIT */
/*
 * The colour maps of colour.h. Their anchors were laid out in CIE LCh so that lightness is linear in the value
 * (diverging: L* 30 at both ends, 96 in the middle; sequential: L* 16 to 94), because lightness is what eyes and grey
 * printers rank by; between anchors sRGB is interpolated.
 */
#include "pictures/colour.h"

#include <math.h>
#include <stddef.h>

static const unsigned char diverging[][3] = {
    {0, 70, 138},    {3, 111, 203},  {90, 154, 242}, {169, 198, 251}, {243, 243, 243},
    {255, 178, 165}, {244, 112, 97}, {202, 55, 52},  {144, 12, 24},
};

static const unsigned char sequential[][3] = {
    {44, 31, 80},  {0, 61, 118},   {0, 89, 128},    {2, 117, 142},   {4, 146, 154},
    {0, 177, 156}, {96, 204, 143}, {185, 221, 158}, {243, 240, 200},
};

struct colour_scale colour_scale_for(double low, double high)
{
    if (low < 0 && high > 0) {
        double end = fmax(-low, high);
        return (struct colour_scale){-end, end, true};
    }
    /* A constant still needs a scale with two ends; means of float32 that differ by less are one, but for rounding. */
    double largest = fmax(fabs(low), fabs(high));
    double margin = high - low <= largest * 0x1p-24 ? fmax(largest / 2, 1) : 0;
    return (struct colour_scale){low - margin, high + margin, false};
}

uint32_t colour_of(const struct colour_scale *scale, double value)
{
    if (!isfinite(value))
        return COLOUR_NOT_FINITE;
    enum { LAST = sizeof diverging / sizeof *diverging - 1 };
    _Static_assert(sizeof diverging == sizeof sequential, "both maps have as many anchors");
    const unsigned char(*anchors)[3] = scale->diverging ? diverging : sequential;

    double t = fmin(fmax((value - scale->low) / (scale->high - scale->low), 0), 1) * LAST;
    size_t i = t < LAST ? (size_t)t : LAST - 1;
    double part = t - (double)i;
    uint32_t colour = 0;
    for (size_t channel = 0; channel < 3; channel++) {
        double level = anchors[i][channel] + part * (anchors[i + 1][channel] - anchors[i][channel]);
        colour = colour << 8 | (uint32_t)(level + 0.5);
    }
    return colour;
}

uint32_t colour_ink_on(uint32_t colour)
{
    /* Rec. 709 weights, on the encoded values: close enough to choose between two. */
    double luma = 0.2126 * (colour >> 16) + 0.7152 * (colour >> 8 & 0xff) + 0.0722 * (colour & 0xff);
    return luma > 140 ? 0x000000 : 0xffffff;
}
