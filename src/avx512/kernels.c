/* SPDX-License-Identifier: MIT */
/*
 * The table of what AVX-512 runs: the shared bodies of src/simd over this folder's vocabulary. Compiled with this ISA's
 * flags; exports the table and nothing else.
 */
#include "../kernels.h"

#include "vec.h"

#include "../simd/span.h"

#include "../simd/cast.h"
#include "../simd/embed.h"
#include "../simd/norm.h"
#include "../simd/sinusoid.h"

static void embed_f32_avx512(const struct inlay_embed_tile *tile)
{
    embed_tile(tile);
}

static void sinusoid_anchor_avx512(const struct inlay_sinusoid_anchor *anchor)
{
    sinusoid_anchor(anchor);
}

static void sinusoid_leap_avx512(const struct inlay_sinusoid_leap *leap)
{
    sinusoid_leap(leap);
}

static bool sinusoid_rows_avx512(const struct inlay_sinusoid_tile *tile)
{
    return sinusoid_rows(tile);
}

static void norm_avx512(const struct inlay_norm_tile *tile)
{
    norm_tile(tile);
}

static void cast_avx512(const struct inlay_cast_tile *tile)
{
    cast_tile(tile);
}

const struct inlay_kernels inlay_kernels_avx512 = {
    .name = "avx512",
    .embed = {[INLAY_F32] = embed_f32_avx512},
    .sinusoid_anchor = sinusoid_anchor_avx512,
    .sinusoid_leap = sinusoid_leap_avx512,
    .sinusoid_rows = sinusoid_rows_avx512,
    .norm = norm_avx512,
    .cast = cast_avx512,
    .turns = true,
};
