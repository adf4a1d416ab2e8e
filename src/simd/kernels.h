/* SPDX-License-Identifier: MIT */
/*
 * The table of kernels, once for every ISA. <isa>/kernels.c includes its vec.h, defines ISA as the ISA's name and
 * includes this file. Names end in that of the ISA, so that backtraces and profiles tell the objects apart; the table
 * is all that an object exports.
 */

/* In two steps, so that ISA is replaced by its value first. */
#define JOINED(name, isa) name##_##isa
#define JOIN(name, isa) JOINED(name, isa)
#define NAME(name) JOIN(name, ISA)
#define QUOTED(isa) #isa
#define QUOTE(isa) QUOTED(isa)

#include "simd/cast.h"
#include "simd/quantised.h"

#include "simd/e4m3.h"

#include "simd/dequantise.h"

/* Defines the function that embeds rows of one type in 16-bit outputs. Not inlined, since compilers use registers worse
   in one function with the loops that write floats. */
#define EMBED_HALVES(name, type)                                                                                       \
    static __attribute__((noinline)) void NAME(name##_halves)(const struct inlay_embed_tile *tile)                     \
    {                                                                                                                  \
        dequantise_halves_tile(type, tile);                                                                            \
    }

EMBED_HALVES(embed_f32, INLAY_F32)

#include "simd/embed.h"
#include "simd/ngram.h"
#include "simd/norm.h"
#include "simd/sincos.h"
#include "simd/sinusoid.h"

/* Defines the function that embeds rows of one quantised type. Each type has a function of its own, in which the type
   is a constant: compilers use registers worse in one function for all of them. */
#define EMBED_QUANTISED(name, type)                                                                                    \
    EMBED_HALVES(name, type)                                                                                           \
    static void NAME(name)(const struct inlay_embed_tile *tile)                                                        \
    {                                                                                                                  \
        if (tile->out_type == INLAY_F32)                                                                               \
            dequantise_floats_tile(type, tile);                                                                        \
        else                                                                                                           \
            NAME(name##_halves)(tile);                                                                                 \
    }

EMBED_QUANTISED(embed_f16, INLAY_F16)
EMBED_QUANTISED(embed_bf16, INLAY_BF16)
EMBED_QUANTISED(embed_i8, INLAY_I8)
EMBED_QUANTISED(embed_i8_inverse, INLAY_I8_INVERSE)
EMBED_QUANTISED(embed_u8_rowwise, INLAY_U8_ROWWISE)
EMBED_QUANTISED(embed_u4_rowwise, INLAY_U4_ROWWISE)
EMBED_QUANTISED(embed_u4_grouped, INLAY_U4_GROUPED)
EMBED_QUANTISED(embed_u4_grouped_flat, INLAY_U4_GROUPED_FLAT)
EMBED_QUANTISED(embed_q8_0, INLAY_Q8_0)
EMBED_QUANTISED(embed_q4_0, INLAY_Q4_0)
EMBED_QUANTISED(embed_e4m3, INLAY_E4M3)
EMBED_QUANTISED(embed_e4m3_e8m0, INLAY_E4M3_E8M0)
EMBED_QUANTISED(embed_q4_1, INLAY_Q4_1)
EMBED_QUANTISED(embed_q5_0, INLAY_Q5_0)
EMBED_QUANTISED(embed_q5_1, INLAY_Q5_1)
EMBED_QUANTISED(embed_iq4_nl, INLAY_IQ4_NL)
EMBED_QUANTISED(embed_mxfp4, INLAY_MXFP4)
EMBED_QUANTISED(embed_nvfp4, INLAY_NVFP4)
EMBED_QUANTISED(embed_q3_k, INLAY_Q3_K)
EMBED_QUANTISED(embed_q4_k, INLAY_Q4_K)
EMBED_QUANTISED(embed_q5_k, INLAY_Q5_K)
EMBED_QUANTISED(embed_q6_k, INLAY_Q6_K)

static void NAME(embed)(const struct inlay_embed_tile *tile)
{
    static void (*const embed_type[INLAY_ELEMENT_TYPES])(const struct inlay_embed_tile *tile) = {
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
        [INLAY_E4M3] = NAME(embed_e4m3),
        [INLAY_E4M3_E8M0] = NAME(embed_e4m3_e8m0),
        [INLAY_Q4_1] = NAME(embed_q4_1),
        [INLAY_Q5_0] = NAME(embed_q5_0),
        [INLAY_Q5_1] = NAME(embed_q5_1),
        [INLAY_IQ4_NL] = NAME(embed_iq4_nl),
        [INLAY_MXFP4] = NAME(embed_mxfp4),
        [INLAY_NVFP4] = NAME(embed_nvfp4),
        [INLAY_Q3_K] = NAME(embed_q3_k),
        [INLAY_Q4_K] = NAME(embed_q4_k),
        [INLAY_Q5_K] = NAME(embed_q5_k),
        [INLAY_Q6_K] = NAME(embed_q6_k),
    };
    if (tile->type != INLAY_F32 && tile->type == tile->out_type && tile->scale == 1 && tile->positions == NULL)
        NAME(embed_copied_halves)(tile);
    else
        embed_type[tile->type](tile);
}

const struct inlay_kernels NAME(inlay_kernels) = {
    .name = QUOTE(ISA),
    .embed = NAME(embed),
    .sinusoid_anchor = NAME(sinusoid_anchor),
    .sinusoid_reanchor = NAME(sinusoid_reanchor),
    .sinusoid_rows = NAME(sinusoid_rows),
    .norm = NAME(norm),
    .cast = NAME(cast),
    .ngram_rows = NAME(ngram_rows),
    .lanes = VEC_LEN,
    .fma = VEC_FMA_ONCE,
    .streams = VEC_STREAMS,
    .prefetches = true,
};
