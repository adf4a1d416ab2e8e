/* SPDX-License-Identifier: MIT */
/*
 * The ticks of axes.h: at multiples of 1, 2 or 5 times a power of ten, as close as their labels allow.
 */
#include "axes.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

enum {
    LABEL_BYTES = 32,
    ROW_GAP = 28,    /* pixels from one label of rows to the next, unless every row has one */
    COLUMN_GAP = 20, /* pixels between labels of columns */
    BAR_GAP = 40,    /* pixels from one label of a colour bar to the next */
    BAR_LABELS = 12  /* labels that a colour bar has at most, roughly */
};

/* The smallest 1, 2 or 5 times a power of ten that is at least `least`. */
static double nice_step(double least)
{
    double power = pow(10, floor(log10(least)));
    static const double factors[] = {1, 2, 5};
    for (size_t i = 0; i < 3; i++) {
        /* The tolerance keeps 0.1 + 0.2 from being more than 0.3. */
        if (factors[i] * power >= least * (1 - 1e-9))
            return factors[i] * power;
    }
    return 10 * power;
}

/* The step between labels of whole numbers: 1 where that leaves `least` pixels each, otherwise at least `room`. */
static int64_t tick_step(const struct axis *axis, int least, int room)
{
    return axis->unit >= least ? 1 : (int64_t)nice_step(fmax(room / axis->unit, 1));
}

static int64_t first_tick(const struct axis *axis, int64_t step)
{
    return (axis->first + step - 1) / step * step;
}

static int centre_of(const struct axis *axis, int64_t number)
{
    return (int)(((double)(number - axis->first) + 0.5) * axis->unit);
}

static int label(int64_t number, char text[LABEL_BYTES])
{
    snprintf(text, LABEL_BYTES, "%" PRId64, number);
    return raster_text_width(text);
}

void axis_below(struct raster *raster, const struct axis *axis, int x, int y)
{
    char text[LABEL_BYTES];
    int64_t end = axis->first + axis->count;
    int64_t step = tick_step(axis, label(end - 1, text) + 6, label(end - 1, text) + COLUMN_GAP);
    for (int64_t number = first_tick(axis, step); number < end; number += step) {
        int centre = x + centre_of(axis, number);
        raster_fill(raster, centre, y + 1, 1, AXIS_TICK, INK);
        int width = label(number, text);
        raster_text(raster, centre - width / 2, y + AXIS_TICK + 2, text, INK);
    }
    int middle = x + (int)((double)axis->count * axis->unit / 2);
    raster_text(raster, middle - raster_text_width(axis->name) / 2, y + AXIS_TICK + 4 + TEXT_HEIGHT, axis->name,
                INK_SOFT);
}

void axis_left(struct raster *raster, const struct axis *axis, int x, int y)
{
    char text[LABEL_BYTES];
    int64_t step = tick_step(axis, TEXT_HEIGHT + 2, ROW_GAP);
    for (int64_t number = first_tick(axis, step); number < axis->first + axis->count; number += step) {
        int centre = y + centre_of(axis, number);
        raster_fill(raster, x - 1 - AXIS_TICK, centre, AXIS_TICK, 1, INK);
        int width = label(number, text);
        raster_text(raster, x - AXIS_TICK - 4 - width, centre - TEXT_HEIGHT / 2, text, INK);
    }
}

int axis_left_width(const struct axis *axis)
{
    char text[LABEL_BYTES];
    return AXIS_TICK + 4 + label(axis->first + axis->count - 1, text);
}

/* The step between the numbers of a colour bar. */
static double bar_step(const struct colour_scale *scale, int height)
{
    double labels = fmin((double)height / BAR_GAP, BAR_LABELS);
    return nice_step((scale->high - scale->low) / labels);
}

/* All numbers of a colour bar have as many decimals as its step, so that they are read at a glance. */
static int bar_label(double value, double step, char text[LABEL_BYTES])
{
    bool plain = step >= 1e-5 && fabs(value) < 1e6;
    int decimals = step < 1 ? (int)ceil(-log10(step)) : 0;
    /* Plus 0, because -0 + 0 is 0. */
    snprintf(text, LABEL_BYTES, plain ? "%.*f" : "%.*g", plain ? decimals : 4, value + 0.0);
    return raster_text_width(text);
}

int colour_bar_width(const struct colour_scale *scale, int height)
{
    char text[LABEL_BYTES];
    double step = bar_step(scale, height);
    int low = bar_label(ceil(scale->low / step) * step, step, text);
    int high = bar_label(floor(scale->high / step) * step, step, text);
    return BAR_WIDTH + AXIS_TICK + 4 + (low > high ? low : high);
}

void draw_colour_bar(struct raster *raster, const struct colour_scale *scale, int x, int y, int height)
{
    double span = scale->high - scale->low;
    for (int row = 0; row < height; row++) {
        double value = scale->high - span * (row + 0.5) / height;
        raster_fill(raster, x, y + row, BAR_WIDTH, 1, colour_of(scale, value));
    }
    raster_frame(raster, x, y, BAR_WIDTH, height, INK);

    double step = bar_step(scale, height);
    /* Multiples of the step rather than sums, so that 0 is 0 and not a rounding error. */
    for (double i = ceil(scale->low / step); i * step <= scale->high + span * 1e-9; i++) {
        int at = y + (int)lround((scale->high - i * step) / span * (height - 1));
        char text[LABEL_BYTES];
        bar_label(i * step, step, text);
        raster_fill(raster, x + BAR_WIDTH + 1, at, AXIS_TICK, 1, INK);
        raster_text(raster, x + BAR_WIDTH + AXIS_TICK + 4, at - TEXT_HEIGHT / 2, text, INK);
    }
}
