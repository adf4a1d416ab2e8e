/* SPDX-License-Identifier: MIT */
/*
 * The definition of every kernel, written by hand from its formula: the fallback where no SIMD kernel runs, and the
 * oracle of all that do. It shares no text with simd/ and includes none of it. Order of trust: MPFR and golden values,
 * then this file, then SIMD.
 */
#include "../kernels.h"

#include <string.h>

static float load(const unsigned char *row, size_t column)
{
    float value;
    memcpy(&value, row + column * sizeof value, sizeof value);
    return value;
}

static void store(unsigned char *row, size_t column, float value)
{
    memcpy(row + column * sizeof value, &value, sizeof value);
}

static void embed_f32_scalar(const struct inlay_embed_tile *tile)
{
    for (size_t i = 0; i < tile->count; i++) {
        if (tile->scale == 1 && tile->positions == NULL) {
            memmove(tile->out[i], tile->rows[i], tile->columns * sizeof(float));
            continue;
        }
        for (size_t column = 0; column < tile->columns; column++) {
            float value = load(tile->rows[i], column) * tile->scale;
            if (tile->positions != NULL)
                value = value + load(tile->positions[i], column);
            store(tile->out[i], column, value);
        }
    }
}

/* No approximation, no state: each entry is in doubt until the integer path (../exact.c) has computed it. */
static void sinusoid_anchor_scalar(const struct inlay_sinusoid_anchor *anchor)
{
    (void)anchor;
}

static void sinusoid_leap_scalar(const struct inlay_sinusoid_leap *leap)
{
    (void)leap;
}

static bool sinusoid_rows_scalar(const struct inlay_sinusoid_tile *tile)
{
    size_t groups = inlay_padded(tile->pairs) / INLAY_PAIR_GROUP;
    memset(tile->marks, 0xff, tile->rows * groups * sizeof *tile->marks);
    return true;
}

const struct inlay_kernels inlay_kernels_scalar = {
    .name = "scalar",
    .embed = {[INLAY_F32] = embed_f32_scalar},
    .sinusoid_anchor = sinusoid_anchor_scalar,
    .sinusoid_leap = sinusoid_leap_scalar,
    .sinusoid_rows = sinusoid_rows_scalar,
};
