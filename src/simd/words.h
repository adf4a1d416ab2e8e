/* SPDX-License-Identifier: MIT */
/*
 * The words of src/simd that read the same on every ISA, and what their widths have to satisfy. A vec.h defines
 * VEC_LEN, vec and vec_double (and SPAN_LEN and span, if its ISA has shorter registers too; and VEC_FMA_ONCE and
 * VEC_STREAMS, if they are others), then includes this file. Holds no intrinsics. Sums, differences and products need
 * no words: the bodies write them with the operators that compilers have for vectors, and -ffp-contract=off keeps each
 * of them rounded on its own.
 */
#pragma once

#ifndef __NO_MATH_ERRNO__
#error "compile this folder with -fno-math-errno, so that a square root is an instruction"
#endif

#include "base/bits.h"
#include "base/line.h"
#include "dispatch/kernels.h"

#include <string.h>

#define VEC_INLINE static inline __attribute__((always_inline))

enum { VEC_BYTES = VEC_LEN * sizeof(float), VEC_DOUBLES = VEC_LEN / 2 };

/* A span is what tiles with narrow_moves load and store at once. */
#ifndef SPAN_LEN
#define SPAN_LEN VEC_LEN
typedef vec span;
#endif

/* Whether vec_double_fma() rounds once; else it rounds the product, then the sum. */
#ifndef VEC_FMA_ONCE
#define VEC_FMA_ONCE 1
#endif

/* Whether vec_stream() and vec_stream_halves() are non-temporal stores; else they are ordinary ones, and no tile asks
   for them, so that their loops are left out. */
#ifndef VEC_STREAMS
#define VEC_STREAMS 1
#endif

enum { SPAN_BYTES = SPAN_LEN * sizeof(float), LINE_FLOATS = INLAY_CACHE_LINE / sizeof(float) };

_Static_assert(VEC_BYTES >= 16 && INLAY_CACHE_LINE % VEC_BYTES == 0, "bodies fill cache lines with whole vectors");
_Static_assert(sizeof(vec) == VEC_BYTES && sizeof(vec_double) == VEC_BYTES, "registers are as long as VEC_LEN says");
_Static_assert(sizeof(span) == SPAN_BYTES && (SPAN_LEN == VEC_LEN || 2 * SPAN_LEN == VEC_LEN),
               "behind the last vector of a row there is room for one span");
_Static_assert(INLAY_PAIR_GROUP % VEC_LEN == 0 && 2 * INLAY_PAIR_GROUP <= 32,
               "a word of undecided entries holds the sines and cosines of whole vectors");

struct vec_two {
    vec low, high;
};

struct vec_sincos {
    vec_double sin, cos;
};

/* 16-bit integers; the bits of floats, and of doubles; signed integers of 32 bits. */
typedef uint16_t vec_half_bits __attribute__((vector_size(VEC_BYTES)));
typedef uint32_t vec_bits __attribute__((vector_size(VEC_BYTES)));
typedef uint64_t vec_double_bits __attribute__((vector_size(VEC_BYTES)));
typedef int32_t vec_ints __attribute__((vector_size(VEC_BYTES)));

/* The same bits in all lanes, and the same number: subtracting 0 changes none, -0 neither, and costs nothing. */
VEC_INLINE vec_bits vec_bits_set1(uint32_t x)
{
    return (vec_bits){0} + x;
}

VEC_INLINE vec vec_set1(float x)
{
    return x - (vec){0};
}

VEC_INLINE vec_double vec_double_set1(double x)
{
    return x - (vec_double){0};
}

/* The same registers in memory, at any address and whatever the type of the object there. */
typedef vec vec_in_memory __attribute__((aligned(1), may_alias));
typedef span span_in_memory __attribute__((aligned(1), may_alias));
typedef vec_double vec_double_in_memory __attribute__((aligned(1), may_alias));

VEC_INLINE vec vec_load(const unsigned char *from)
{
    return *(const vec_in_memory *)from;
}

VEC_INLINE void vec_store(unsigned char *to, vec x)
{
    *(vec_in_memory *)to = x;
}

VEC_INLINE span span_load(const unsigned char *from)
{
    return *(const span_in_memory *)from;
}

VEC_INLINE void span_store(unsigned char *to, span x)
{
    *(span_in_memory *)to = x;
}

VEC_INLINE vec_double vec_double_load(const void *from)
{
    return *(const vec_double_in_memory *)from;
}

VEC_INLINE void vec_double_store(void *to, vec_double x)
{
    *(vec_double_in_memory *)to = x;
}

/* Signed integers of 32 bits, as floats. */
VEC_INLINE vec vec_from_bits(vec_bits x)
{
    return __builtin_convertvector((vec_ints)x, vec);
}

/* Cuts a double off after the bits of a float, and sets the last of these if any bit was lost: adding ones below it
   carries into it then. */
VEC_INLINE vec_double vec_double_cut(vec_double x)
{
    const uint64_t below_float = 0x1fffffff;
    const vec_double_bits bits = (vec_double_bits)x, carried = (bits & below_float) + below_float;
    return (vec_double)((bits | carried) & ~below_float);
}

VEC_INLINE vec_double vec_double_abs(vec_double x)
{
    return (vec_double)((vec_double_bits)x & INT64_MAX);
}

/* Floats that are no NaN rounded to bfloat16, whose bits become the lower halves of the lanes. */
VEC_INLINE vec vec_round_bf16(vec x)
{
    vec_bits bits = (vec_bits)x;
    return (vec)((bits + (bits >> 16 & 1) + 0x7fff) >> 16);
}

/* Returns how many of `columns` elements lie before the first cache line that begins within them. */
VEC_INLINE size_t vec_columns_before_line(const unsigned char *out, size_t element_bytes, size_t columns)
{
    size_t head = (INLAY_CACHE_LINE - (uintptr_t)out % INLAY_CACHE_LINE) % INLAY_CACHE_LINE / element_bytes;
    return head < columns ? head : columns;
}
