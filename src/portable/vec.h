/* SPDX-License-Identifier: MIT */
/*
 * The vector operations of src/simd in C, for targets without an ISA folder here. Uses the vector types and operators
 * of gcc and clang, which map to the registers of any target; no intrinsics. There is no fused multiply-add: the
 * product is rounded too, and the bounds and rounding test in simd/sinusoid.h account for it.
 */
#pragma once

#if __FLT_EVAL_METHOD__ != 0
#error "each operation must be rounded to its own type, which the x87 does not do"
#endif
#if defined(__ARM_NEON) && !defined(__aarch64__)
#error "vectors of floats must form subnormals, which ARMv7's NEON does not do"
#endif

#include <stdint.h>

#define VEC_LEN 4
#define VEC_FMA_ONCE 0
#define VEC_STREAMS 0

typedef float vec __attribute__((vector_size(16)));
typedef double vec_double __attribute__((vector_size(16)));
typedef int32_t vec_bytes __attribute__((vector_size(16)));

#include "simd/vec_ops.h"

/* Selects bitwise: a where `by` is 1, b where it is 0. */
VEC_INLINE vec_bits vec_choose(vec_bits by, vec_bits a, vec_bits b)
{
    return b ^ ((a ^ b) & by);
}

/* Returns all ones in lanes where a < b. For numbers below 2^31, so a signed comparison works. */
VEC_INLINE vec_bits vec_below(vec_bits a, int b)
{
    return (vec_bits)((vec_ints)a < b);
}

/* Loads VEC_LEN bytes. */
VEC_INLINE vec_bytes vec_load_bytes(const unsigned char *from)
{
    return (vec_bytes){from[0], from[1], from[2], from[3]};
}

/* Widens bytes to 32-bit integers. */
VEC_INLINE vec_bits vec_bits_of_bytes(vec_bytes bytes)
{
    return (vec_bits)bytes;
}

/* Looks up bytes below 16 in a table, as floats. */
VEC_INLINE vec vec_lookup(const signed char values[16], vec_bytes at)
{
    return (vec){(float)values[at[0]], (float)values[at[1]], (float)values[at[2]], (float)values[at[3]]};
}

/* Loads VEC_LEN signed bytes as floats. */
VEC_INLINE vec vec_load_i8(const unsigned char *from)
{
    return vec_from_bits((vec_bits)((vec_load_bytes(from) ^ 0x80) - 0x80));
}

/* Loads VEC_LEN 4-bit numbers as bytes, the lower half of each byte first. */
VEC_INLINE vec_bytes vec_load_u4_bytes(const unsigned char *from)
{
    return (vec_bytes){from[0] & 15, from[0] >> 4, from[1] & 15, from[1] >> 4};
}

/* Loads VEC_LEN 4-bit numbers as floats. Converts each number in place, then scales it down. */
VEC_INLINE vec vec_load_u4(const unsigned char *from)
{
    const int both = from[0] | from[1] << 8;
    const vec_ints in_place = (vec_ints){both, both, both, both} & (vec_ints){0xf, 0xf0, 0xf00, 0xf000};
    return vec_from_bits((vec_bits)in_place) * (vec){1, 0x1p-4f, 0x1p-8f, 0x1p-12f};
}

VEC_INLINE vec_bits vec_load_halves(const unsigned char *from)
{
    uint16_t halves[VEC_LEN];
    memcpy(halves, from, sizeof halves);
    return (vec_bits){halves[0], halves[1], halves[2], halves[3]};
}

VEC_INLINE vec vec_load_bf16(const unsigned char *from)
{
    return (vec)(vec_load_halves(from) << 16);
}

/* Converts float16 bits. A float's exponent bias is larger by 112, and the largest exponent means infinity or NaN in
   both. Exponent 0 is subnormal: multiples of 2^-24. */
VEC_INLINE vec vec_from_f16(vec_bits halves)
{
    const vec_bits magnitude = halves & 0x7fff, sign = (halves & 0x8000) << 16;
    const vec_bits infinite = ~vec_below(magnitude, 0x7c00);
    const vec_bits normal = (magnitude << 13) + (112 << 23) + (infinite & 112 << 23);
    const vec_bits subnormal = (vec_bits)(vec_from_bits(magnitude) * 0x1p-24f);
    return (vec)(sign | vec_choose(vec_below(magnitude, 0x400), subnormal, normal));
}

VEC_INLINE vec vec_load_f16(const unsigned char *from)
{
    return vec_from_f16(vec_load_halves(from));
}

/* Loads VEC_LEN E4M3 numbers, divided by 256: read as float16 they differ in bias and in the bits of NaN. */
VEC_INLINE vec vec_load_e4m3(const unsigned char *from)
{
    const vec_bits bytes = (vec_bits)vec_load_bytes(from), magnitude = bytes & 0x7f;
    return vec_from_f16((bytes & 0x80) << 8 | magnitude << 7 | ((magnitude + 1) & 0x80) << 7);
}

/* Returns a0 b0 a1 b1 ... */
VEC_INLINE struct vec_two vec_interleave(vec a, vec b)
{
    return (struct vec_two){{a[0], b[0], a[1], b[1]}, {a[2], b[2], a[3], b[3]}};
}

/* Returns a0 a2 ... b0 b2 ..., then a1 a3 ... b1 b3 ... */
VEC_INLINE struct vec_two vec_deinterleave(vec a, vec b)
{
    return (struct vec_two){{a[0], a[2], b[0], b[2]}, {a[1], a[3], b[1], b[3]}};
}

/* Returns the halves of lanes as a0 b0 a1 b1 ...: the lower halves, then the upper halves. */
VEC_INLINE struct vec_half_bits_two vec_zip_halves(vec a, vec b)
{
    const vec_half_bits x = (vec_half_bits)a, y = (vec_half_bits)b;
    const vec_half_bits low = {x[0], y[0], x[2], y[2], x[4], y[4], x[6], y[6]};
    const vec_half_bits high = {x[1], y[1], x[3], y[3], x[5], y[5], x[7], y[7]};
    return (struct vec_half_bits_two){low, high};
}

/* Swaps lanes 2i and 2i + 1. */
VEC_INLINE vec vec_swap_neighbors(vec x)
{
    return (vec){x[1], x[0], x[3], x[2]};
}

VEC_INLINE struct vec_double_two vec_to_doubles(vec x)
{
    return (struct vec_double_two){{(double)x[0], (double)x[1]}, {(double)x[2], (double)x[3]}};
}

VEC_INLINE vec_double vec_double_min(vec_double a, vec_double b)
{
    return (vec_double)vec_choose((vec_bits)(a < b), (vec_bits)a, (vec_bits)b);
}

/* Returns a * b + c, rounded twice. */
VEC_INLINE vec_double vec_double_fma(vec_double a, vec_double b, vec_double c)
{
    return a * b + c;
}

/* Returns lanes of b where the top bit of `by` is set, else lanes of a. */
VEC_INLINE vec_double vec_double_select(vec_double_bits by, vec_double a, vec_double b)
{
    return (vec_double)vec_choose((vec_bits)(0 - (by >> 63)), (vec_bits)b, (vec_bits)a);
}

VEC_INLINE vec vec_from_doubles(vec_double low, vec_double high)
{
    return (vec){(float)low[0], (float)low[1], (float)high[0], (float)high[1]};
}

/* Like vec_from_doubles(), but rounds to odd: the last bit is set if the result is inexact, so rounding again to a
   narrower type equals rounding once. */
VEC_INLINE vec vec_from_doubles_odd(vec_double low, vec_double high)
{
    return vec_from_doubles(vec_double_cut(low), vec_double_cut(high));
}

/* Rounds floats to float16, in the lower halves of the lanes. Adding 1/2 rounds subnormal results, since the last bit
   of a float in [1/2, 1) is 2^-24, as theirs is. A NaN becomes quiet and keeps the upper bits of its payload. */
VEC_INLINE vec vec_round_f16(vec x)
{
    const vec_bits bits = (vec_bits)x, magnitude = bits & 0x7fffffff, fraction = magnitude >> 13;
    const vec_bits subnormal = (vec_bits)((vec)magnitude + 0.5f) - (vec_bits)vec_set1(0.5f);
    const vec_bits normal = ((magnitude + (fraction & 1) + 0xfff) >> 13) - (112 << 10);
    vec_bits rounded = vec_choose(vec_below(magnitude, 0x38800000), subnormal, normal);
    rounded = vec_choose(vec_below(magnitude, 0x477ff000), rounded, vec_bits_set1(0x7c00));
    rounded = vec_choose(vec_below(magnitude, 0x7f800001), rounded, (fraction & 0x3ff) | 0x7e00);
    return (vec)((bits >> 16 & 0x8000) | rounded);
}

/* Like vec_round_bf16(), for any floats. Rounding a NaN could carry into its exponent, so a NaN is made quiet instead
   and keeps the upper bits of its payload. */
VEC_INLINE vec vec_round_bf16_any(vec x)
{
    const vec_bits quiet = (vec_bits)x >> 16 | 0x40;
    /* NOLINTNEXTLINE(misc-redundant-expression): a NaN is not equal to itself. */
    return (vec)vec_choose((vec_bits)(x == x), (vec_bits)vec_round_bf16(x), quiet);
}

/* Stores the lower halves of the lanes, packed. */
VEC_INLINE void vec_store_halves(unsigned char *to, vec x)
{
    const vec_bits bits = (vec_bits)x;
    const uint16_t halves[VEC_LEN] = {(uint16_t)bits[0], (uint16_t)bits[1], (uint16_t)bits[2], (uint16_t)bits[3]};
    memcpy(to, halves, sizeof halves);
}

/* Rounds floats to float16 and stores them. */
VEC_INLINE void vec_store_f16(unsigned char *to, vec x)
{
    vec_store_halves(to, vec_round_f16(x));
}

/* Returns the upper halves of the lanes of a, then of b. */
VEC_INLINE vec vec_pack_upper(vec a, vec b)
{
    const vec_double_bits first = (vec_double_bits)a, second = (vec_double_bits)b, next = {0xffff0000, 0xffff0000};
    const vec_bits low = (vec_bits)((first >> 16 & 0xffff) | (first >> 32 & next));
    const vec_bits high = (vec_bits)((second >> 16 & 0xffff) | (second >> 32 & next));
    return (vec)(vec_bits){low[0], low[2], high[0], high[2]};
}

/* Rounds two registers of floats to one of float16. */
VEC_INLINE vec vec_pack_f16(vec a, vec b)
{
    return vec_pack_upper((vec)((vec_bits)vec_round_f16(a) << 16), (vec)((vec_bits)vec_round_f16(b) << 16));
}

/* Loads VEC_DOUBLES unsigned 32-bit integers into 64-bit lanes. */
VEC_INLINE vec_double_bits vec_widen(const uint32_t *from)
{
    return (vec_double_bits){from[0], from[1]};
}

/* Loads signed bytes as 16-bit integers. */
VEC_INLINE vec_half_bits vec_half_bits_load_i8(const unsigned char *from)
{
    const vec_half_bits bytes = {from[0], from[1], from[2], from[3], from[4], from[5], from[6], from[7]};
    return (bytes ^ 0x80) - 0x80;
}

/* Returns (a + b + 1) / 2 of unsigned 16-bit lanes. */
VEC_INLINE vec_half_bits vec_half_bits_average(vec_half_bits a, vec_half_bits b)
{
    return (a | b) - ((a ^ b) >> 1);
}

/* Returns the minimum of unsigned 16-bit lanes. */
VEC_INLINE vec_half_bits vec_half_bits_min(vec_half_bits a, vec_half_bits b)
{
    return b ^ ((a ^ b) & (vec_half_bits)(a < b));
}

/* Adds b to the lanes of a where `by` is not 0. */
VEC_INLINE vec_half_bits vec_half_bits_add_if(vec_half_bits a, vec_half_bits b, vec_half_bits by)
{
    return a + (b & ~(vec_half_bits)(by == 0));
}

/* True if any lane has any of `bits` set. */
VEC_INLINE bool vec_bits_test(vec_bits x, uint32_t bits)
{
    const vec_double_bits two = (vec_double_bits)(x & bits);
    return (two[0] | two[1]) != 0;
}

/* A table of 16 16-bit integers, for indices below 16. */
struct vec_table {
    uint16_t words[16];
};

VEC_INLINE struct vec_table vec_table_load(const unsigned char *from)
{
    struct vec_table table;
    memcpy(table.words, from, sizeof table.words);
    return table;
}

VEC_INLINE vec_half_bits vec_table_lookup(struct vec_table table, vec_half_bits at)
{
    vec_half_bits found;
    for (size_t i = 0; i < 8; i++)
        found[i] = table.words[at[i]];
    return found;
}

/* Multiplies the lower halves of 64-bit lanes. */
VEC_INLINE vec_double_bits vec_mul_lower(vec_double_bits a, vec_double_bits b)
{
    return (a & UINT32_MAX) * (b & UINT32_MAX);
}

/* Returns the minimum of unsigned 32-bit lanes. */
VEC_INLINE vec_bits vec_bits_min(vec_bits a, vec_bits b)
{
    return vec_choose((vec_bits)(a < b), a, b);
}

#include "simd/lanes.h"
