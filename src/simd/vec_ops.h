/* SPDX-License-Identifier: MIT */
/*
 * Vector operations that are the same on every ISA, and the requirements on vector widths. A vec.h defines VEC_LEN, vec
 * and vec_double, then includes this file. If they differ from the defaults below, it also defines SPAN_LEN and span
 * (for an ISA with shorter registers too), VEC_FMA_ONCE and VEC_STREAMS. No intrinsics here. Sums, differences and
 * products are the compiler's vector operators; -ffp-contract=off rounds each of them separately.
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

/* The unit of loads and stores in tiles with narrow_transfers. */
#ifndef SPAN_LEN
#define SPAN_LEN VEC_LEN
typedef vec span;
#endif

/* 1 if vec_double_fma() rounds once; 0 if it rounds the product, then the sum. */
#ifndef VEC_FMA_ONCE
#define VEC_FMA_ONCE 1
#endif

/* 1 if vec_stream() and vec_stream_halves() are non-temporal stores. If 0, they are ordinary stores, no tile asks for
   them, and their loops are compiled out. */
#ifndef VEC_STREAMS
#define VEC_STREAMS 1
#endif

enum { SPAN_BYTES = SPAN_LEN * sizeof(float), LINE_FLOATS = INLAY_CACHE_LINE / sizeof(float) };

_Static_assert(VEC_BYTES >= 16 && INLAY_CACHE_LINE % VEC_BYTES == 0, "bodies fill cache lines with whole vectors");
_Static_assert(sizeof(vec) == VEC_BYTES && sizeof(vec_double) == VEC_BYTES, "registers match VEC_LEN");
_Static_assert(sizeof(span) == SPAN_BYTES && (SPAN_LEN == VEC_LEN || 2 * SPAN_LEN == VEC_LEN),
               "at most one span fits after a row's last vector");
_Static_assert(INLAY_PAIR_GROUP % VEC_LEN == 0 && 2 * INLAY_PAIR_GROUP <= 32,
               "a word of undecided entries holds the sines and cosines of whole vectors");

struct vec_two {
    vec low, high;
};

struct vec_double_two {
    vec_double low, high;
};

struct vec_sincos {
    vec_double sin, cos;
};

/* 16-bit integers; the bits of floats and of doubles; signed 32-bit integers. */
typedef uint16_t vec_half_bits __attribute__((vector_size(VEC_BYTES)));
typedef uint32_t vec_bits __attribute__((vector_size(VEC_BYTES)));
typedef uint64_t vec_double_bits __attribute__((vector_size(VEC_BYTES)));
typedef int32_t vec_ints __attribute__((vector_size(VEC_BYTES)));

struct vec_half_bits_two {
    vec_half_bits low, high;
};

/* Broadcasts. Subtracting 0 changes no number, not even -0, and compiles to nothing. */
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

/* The same types in memory: unaligned, and allowed to alias any object. */
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

/* Converts signed 32-bit integers to floats. */
VEC_INLINE vec vec_from_bits(vec_bits x)
{
    return __builtin_convertvector((vec_ints)x, vec);
}

/* Rounds doubles to odd at float precision: drops the bits below a float's last one and sets that one if any of them
   was set. Adding ones below it carries into it then. */
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

/* Rounds floats other than NaN to bfloat16, in the lower halves of the lanes. */
VEC_INLINE vec vec_round_bf16(vec x)
{
    vec_bits bits = (vec_bits)x;
    return (vec)((bits + (bits >> 16 & 1) + 0x7fff) >> 16);
}

/* Returns how many of `columns` elements precede the first cache line boundary, `columns` if there is none. */
VEC_INLINE size_t vec_columns_before_line(const unsigned char *out, size_t element_bytes, size_t columns)
{
    size_t head = (INLAY_CACHE_LINE - (uintptr_t)out % INLAY_CACHE_LINE) % INLAY_CACHE_LINE / element_bytes;
    return head < columns ? head : columns;
}
