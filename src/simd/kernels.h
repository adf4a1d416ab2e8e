/* SPDX-License-Identifier: MIT */
/*
 * The table of kernels, once for every ISA. <isa>/kernels.c includes its vec.h, defines ISA as the ISA's name and
 * includes this file. Names end in that of the ISA, so that backtraces and profiles tell the objects apart; the table
 * is all that an object exports.
 */

#include "simd/cast.h"
#include "simd/dequantise.h"
#include "simd/embed.h"
#include "simd/norm.h"
#include "simd/sinusoid.h"

/* In two steps, so that ISA is replaced by its value first. */
#define JOINED(name, isa) name##_##isa
#define JOIN(name, isa) JOINED(name, isa)
#define NAME(name) JOIN(name, ISA)
#define QUOTED(isa) #isa
#define QUOTE(isa) QUOTED(isa)

static void NAME(embed_f32)(const struct inlay_embed_tile *tile)
{
    embed_tile(tile);
}

static void NAME(embed_f16)(const struct inlay_embed_tile *tile)
{
    dequantise_tile(INLAY_F16, tile);
}

static void NAME(embed_bf16)(const struct inlay_embed_tile *tile)
{
    dequantise_tile(INLAY_BF16, tile);
}

static void NAME(embed_i8)(const struct inlay_embed_tile *tile)
{
    dequantise_tile(INLAY_I8, tile);
}

static void NAME(embed_i8_inverse)(const struct inlay_embed_tile *tile)
{
    dequantise_tile(INLAY_I8_INVERSE, tile);
}

static void NAME(embed_u8_rowwise)(const struct inlay_embed_tile *tile)
{
    dequantise_tile(INLAY_U8_ROWWISE, tile);
}

static void NAME(embed_u4_rowwise)(const struct inlay_embed_tile *tile)
{
    dequantise_tile(INLAY_U4_ROWWISE, tile);
}

static void NAME(embed_u4_grouped)(const struct inlay_embed_tile *tile)
{
    dequantise_tile(INLAY_U4_GROUPED, tile);
}

static void NAME(embed_u4_grouped_flat)(const struct inlay_embed_tile *tile)
{
    dequantise_tile(INLAY_U4_GROUPED_FLAT, tile);
}

static void NAME(embed_q8_0)(const struct inlay_embed_tile *tile)
{
    dequantise_tile(INLAY_Q8_0, tile);
}

static void NAME(embed_q4_0)(const struct inlay_embed_tile *tile)
{
    dequantise_tile(INLAY_Q4_0, tile);
}

static void NAME(sinusoid_anchor)(const struct inlay_sinusoid_anchor *anchor)
{
    sinusoid_anchor(anchor);
}

static void NAME(sinusoid_reanchor)(const struct inlay_sinusoid_reanchor *step)
{
    sinusoid_reanchor(step);
}

static bool NAME(sinusoid_rows)(const struct inlay_sinusoid_tile *tile)
{
    return sinusoid_rows(tile);
}

static void NAME(norm)(const struct inlay_norm_tile *tile)
{
    norm_tile(tile);
}

static void NAME(cast)(const struct inlay_cast_tile *tile)
{
    cast_tile(tile);
}

const struct inlay_kernels NAME(inlay_kernels) = {
    .name = QUOTE(ISA),
    .embed =
        {
            [INLAY_F32] = NAME(embed_f32),
            [INLAY_F16] = NAME(embed_f16),
            [INLAY_BF16] = NAME(embed_bf16),
            [INLAY_I8] = NAME(embed_i8),
            [INLAY_I8_INVERSE] = NAME(embed_i8_inverse),
            [INLAY_U8_ROWWISE] = NAME(embed_u8_rowwise),
            [INLAY_U4_ROWWISE] = NAME(embed_u4_rowwise),
            [INLAY_U4_GROUPED] = NAME(embed_u4_grouped),
            [INLAY_U4_GROUPED_FLAT] = NAME(embed_u4_grouped_flat),
            [INLAY_Q8_0] = NAME(embed_q8_0),
            [INLAY_Q4_0] = NAME(embed_q4_0),
        },
    .sinusoid_anchor = NAME(sinusoid_anchor),
    .sinusoid_reanchor = NAME(sinusoid_reanchor),
    .sinusoid_rows = NAME(sinusoid_rows),
    .norm = NAME(norm),
    .cast = NAME(cast),
    .lanes = VEC_LEN,
};
