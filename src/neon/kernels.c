/* SPDX-License-Identifier: MIT */
/*
 * The table of what NEON runs: the shared bodies of src/simd over this folder's vocabulary. Compiled with this ISA's
 * flags; exports the table and nothing else.
 */
#include "dispatch/kernels.h"

#include "vec.h"

#include "../simd/span.h"

#include "../simd/cast.h"
#include "../simd/embed.h"
#include "../simd/norm.h"
#include "../simd/sinusoid.h"
#include "../simd/stored.h"

static void embed_f32_neon(const struct inlay_embed_tile *tile)
{
    embed_tile(tile);
}

static void embed_f16_neon(const struct inlay_embed_tile *tile)
{
    stored_tile(INLAY_F16, tile);
}

static void embed_bf16_neon(const struct inlay_embed_tile *tile)
{
    stored_tile(INLAY_BF16, tile);
}

static void embed_i8_neon(const struct inlay_embed_tile *tile)
{
    stored_tile(INLAY_I8, tile);
}

static void embed_i8_inverse_neon(const struct inlay_embed_tile *tile)
{
    stored_tile(INLAY_I8_INVERSE, tile);
}

static void embed_u8_rowwise_neon(const struct inlay_embed_tile *tile)
{
    stored_tile(INLAY_U8_ROWWISE, tile);
}

static void embed_u4_rowwise_neon(const struct inlay_embed_tile *tile)
{
    stored_tile(INLAY_U4_ROWWISE, tile);
}

static void embed_u4_grouped_neon(const struct inlay_embed_tile *tile)
{
    stored_tile(INLAY_U4_GROUPED, tile);
}

static void embed_u4_grouped_flat_neon(const struct inlay_embed_tile *tile)
{
    stored_tile(INLAY_U4_GROUPED_FLAT, tile);
}

static void embed_q8_0_neon(const struct inlay_embed_tile *tile)
{
    stored_tile(INLAY_Q8_0, tile);
}

static void embed_q4_0_neon(const struct inlay_embed_tile *tile)
{
    stored_tile(INLAY_Q4_0, tile);
}

static void sinusoid_anchor_neon(const struct inlay_sinusoid_anchor *anchor)
{
    sinusoid_anchor(anchor);
}

static void sinusoid_reanchor_neon(const struct inlay_sinusoid_reanchor *step)
{
    sinusoid_reanchor(step);
}

static bool sinusoid_rows_neon(const struct inlay_sinusoid_tile *tile)
{
    return sinusoid_rows(tile);
}

static void norm_neon(const struct inlay_norm_tile *tile)
{
    norm_tile(tile);
}

static void cast_neon(const struct inlay_cast_tile *tile)
{
    cast_tile(tile);
}

const struct inlay_kernels inlay_kernels_neon = {
    .name = "neon",
    .embed =
        {
            [INLAY_F32] = embed_f32_neon,
            [INLAY_F16] = embed_f16_neon,
            [INLAY_BF16] = embed_bf16_neon,
            [INLAY_I8] = embed_i8_neon,
            [INLAY_I8_INVERSE] = embed_i8_inverse_neon,
            [INLAY_U8_ROWWISE] = embed_u8_rowwise_neon,
            [INLAY_U4_ROWWISE] = embed_u4_rowwise_neon,
            [INLAY_U4_GROUPED] = embed_u4_grouped_neon,
            [INLAY_U4_GROUPED_FLAT] = embed_u4_grouped_flat_neon,
            [INLAY_Q8_0] = embed_q8_0_neon,
            [INLAY_Q4_0] = embed_q4_0_neon,
        },
    .sinusoid_anchor = sinusoid_anchor_neon,
    .sinusoid_reanchor = sinusoid_reanchor_neon,
    .sinusoid_rows = sinusoid_rows_neon,
    .norm = norm_neon,
    .cast = cast_neon,
    .lanes = VEC_LEN,
};
