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
#include "simd/dequantise.h"
#include "simd/embed.h"
#include "simd/norm.h"
#include "simd/sincos.h"
#include "simd/sinusoid.h"

/* Defines the function that embeds rows of one quantised type. Each type has a function of its own, in which the type
   is a constant: compilers use registers worse in one function for all of them. */
#define EMBED_QUANTISED(name, type)                                                                                    \
    static void NAME(name)(const struct inlay_embed_tile *tile)                                                        \
    {                                                                                                                  \
        dequantise_tile(type, tile);                                                                                   \
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
    };
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
    .lanes = VEC_LEN,
    .fma = VEC_FMA_ONCE,
};
