/* SPDX-License-Identifier: MIT */
/*
 * The definition of every kernel, written by hand from its formula: the fallback where no SIMD kernel runs, and the
 * oracle of all that do. It shares no text with simd/ and includes none of it. Order of trust: MPFR and golden values,
 * then this file, then SIMD.
 */
#include "../kernels.h"
#include "../exact.h"

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

/* Each entry is computed from its own position: there is no state. */
static void sinusoid_anchor_scalar(const struct inlay_sinusoid_anchor *anchor)
{
    (void)anchor;
}

static bool sinusoid_f32_scalar(const struct inlay_sinusoid_tile *tile)
{
    for (size_t row = 0; row < tile->rows; row++)
        for (size_t i = 0; i < tile->pairs; i++) {
            struct inlay_phase phase = inlay_phase_at(&tile->frequencies[i], tile->position + (uint32_t)row);
            struct inlay_sincos_f32 value = inlay_exact_sincos_f32(tile->taylor, &phase);
            unsigned char *sin_row = tile->sin_out + row * tile->out_stride_bytes;
            unsigned char *cos_row = tile->interleaved ? sin_row : tile->cos_out + row * tile->out_stride_bytes;
            memcpy(sin_row + (tile->interleaved ? 2 * i : i) * sizeof(float), &value.sin, sizeof value.sin);
            if (i < tile->cosines)
                memcpy(cos_row + (tile->interleaved ? 2 * i + 1 : i) * sizeof(float), &value.cos, sizeof value.cos);
        }
    return false;
}

const struct inlay_kernels inlay_kernels_scalar = {
    .name = "scalar",
    .embed_f32 = embed_f32_scalar,
    .sinusoid_anchor = sinusoid_anchor_scalar,
    .sinusoid_f32 = sinusoid_f32_scalar,
};
