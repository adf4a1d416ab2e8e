/* SPDX-License-Identifier: MIT */
/*
 * The kernel table of one ISA. <isa>/kernels.c includes its vec.h, defines ISA as the ISA's name and includes this
 * file. Function names end in the ISA's name to tell objects apart in backtraces and profiles. The table is an object's
 * only export.
 */

/* In two steps, so ISA is expanded first. */
#define JOINED(name, isa) name##_##isa
#define JOIN(name, isa) JOINED(name, isa)
#define NAME(name) JOIN(name, ISA)
#define QUOTED(isa) #isa
#define QUOTE(isa) QUOTED(isa)

#include "simd/cast.h"
#include "simd/quantized.h"
#include "simd/row_sums.h"

#include "simd/e4m3.h"

#include "simd/dequantize.h"

#include "simd/embed.h"
#include "simd/ngram.h"
#include "simd/norm.h"
#include "simd/rotate.h"
#include "simd/sincos.h"
#include "simd/sinusoid.h"

/* Defines the functions that embed rows of one quantized type. Each type has its own functions, so the type is a
   constant. The loops for 16-bit outputs are not inlined: compilers allocate registers worse if they share a function
   with the float32 loops. */
#define QUANTIZED_TYPE(name, type, ...)                                                                                \
    static __attribute__((noinline)) void NAME(name##_halves)(const struct inlay_embed_tile *tile)                     \
    {                                                                                                                  \
        dequantize_halves_tile(type, tile);                                                                            \
    }                                                                                                                  \
    static void NAME(name)(const struct inlay_embed_tile *tile)                                                        \
    {                                                                                                                  \
        if (tile->out_type == INLAY_F32)                                                                               \
            dequantize_floats_tile(type, tile);                                                                        \
        else                                                                                                           \
            NAME(name##_halves)(tile);                                                                                 \
    }
#include "simd/quantized_types.h"
#undef QUANTIZED_TYPE

static void NAME(embed)(const struct inlay_embed_tile *tile)
{
    static void (*const embed_type[INLAY_ELEMENT_TYPES])(const struct inlay_embed_tile *tile) = {
        [INLAY_F32] = NAME(embed_f32),
#define QUANTIZED_TYPE(name, type, ...) [type] = NAME(name),
#include "simd/quantized_types.h"
#undef QUANTIZED_TYPE
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
    .ngram_rows = NAME(ngram_rows),
    .rotate = NAME(rotate),
    .lanes = VEC_LEN,
    .fma = VEC_FMA_ONCE,
    .streams = VEC_STREAMS,
    .prefetches = true,
    .sums = true,
};
