/* SPDX-License-Identifier: MIT */
/*
 * Vector operations whose intrinsics differ between AVX2 and AVX-512 only in register width. WIDE() names the intrinsic
 * for whole registers, HALF() the one for half as wide ones. Included at the end of both vec.h.
 */
#pragma once

/* An integer register, and half of one; half a register in memory, of integers and of floats, unaligned. */
typedef long long whole_register __attribute__((vector_size(VEC_BYTES)));
typedef long long half_register __attribute__((vector_size(VEC_BYTES / 2)));
typedef half_register half_in_memory __attribute__((aligned(1), may_alias));

VEC_INLINE half_register half_load(const void *from)
{
    return *(const half_in_memory *)from;
}

VEC_INLINE void vec_stream(unsigned char *to, vec x)
{
    WIDE(stream_ps)((float *)to, x);
}

/* These load VEC_LEN elements of a type and convert them to floats, exactly. */
VEC_INLINE vec vec_load_f16(const unsigned char *from)
{
    return WIDE(cvtph_ps)(half_load(from));
}

VEC_INLINE vec vec_load_bf16(const unsigned char *from)
{
    return (vec)WIDE(slli_epi32)(WIDE(cvtepu16_epi32)(half_load(from)), 16);
}

VEC_INLINE vec vec_load_i8(const unsigned char *from)
{
    return WIDE(cvtepi32_ps)(WIDE(cvtepi8_epi32)((__m128i)vec_load_bytes(from)));
}

/* Loads VEC_LEN E4M3 numbers, divided by 256: read as float16 they differ in bias and in the bits of NaN. */
VEC_INLINE vec vec_load_e4m3(const unsigned char *from)
{
    const half_register wide = HALF(slli_epi16)(HALF(cvtepi8_epi16)((__m128i)vec_load_bytes(from)), 7);
    const half_register half = wide & HALF(set1_epi16)((short)0xbf80);
    const half_register nan = HALF(add_epi16)(half, HALF(set1_epi16)(0x80)) & HALF(set1_epi16)(0x4000);
    return WIDE(cvtph_ps)(half | nan);
}

/* Widens bytes to 32-bit integers. */
VEC_INLINE vec_bits vec_bits_of_bytes(vec_bytes bytes)
{
    return (vec_bits)WIDE(cvtepu8_epi32)((__m128i)bytes);
}

/* Looks up bytes below 16 in a table, as floats. */
VEC_INLINE vec vec_lookup(const signed char values[16], vec_bytes at)
{
    const __m128i found = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)values), (__m128i)at);
    return WIDE(cvtepi32_ps)(WIDE(cvtepi8_epi32)(found));
}

/* Loads VEC_LEN 4-bit numbers as floats, the lower half of each byte first. */
VEC_INLINE vec vec_load_u4(const unsigned char *from)
{
    return vec_from_bits(vec_bits_of_bytes(vec_load_u4_bytes(from)));
}

/* Returns x in a register. Without the empty asm, compilers load x again for each use. */
VEC_INLINE vec vec_keep(vec x)
{
    __asm__("" : "+v"(x));
    return x;
}

/* Swaps lanes 2i and 2i + 1. */
VEC_INLINE vec vec_swap_neighbors(vec x)
{
    return WIDE(permute_ps)(x, 0xb1);
}

VEC_INLINE vec_double vec_double_min(vec_double a, vec_double b)
{
    return WIDE(min_pd)(a, b);
}

/* Returns a * b + c, rounded once. */
VEC_INLINE vec_double vec_double_fma(vec_double a, vec_double b, vec_double c)
{
    return WIDE(fmadd_pd)(a, b, c);
}

/* Like vec_from_doubles(), but rounds to odd: the last bit is set if the result is inexact, so rounding again to a
   narrower type equals rounding once. */
VEC_INLINE vec vec_from_doubles_odd(vec_double low, vec_double high)
{
    return vec_from_doubles(vec_double_cut(low), vec_double_cut(high));
}

/* Rounds floats to float16, in the lower halves of the lanes. */
VEC_INLINE vec vec_round_f16(vec x)
{
    return (vec)WIDE(cvtepu16_epi32)(WIDE(cvtps_ph)(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/* Stores the lower halves of the lanes, packed. */
VEC_INLINE void vec_store_halves(unsigned char *to, vec x)
{
    *(half_in_memory *)to = vec_halves(x);
}

/* Rounds floats to float16 and stores them. */
VEC_INLINE void vec_store_f16(unsigned char *to, vec x)
{
    *(half_in_memory *)to = (half_register)WIDE(cvtps_ph)(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* Loads VEC_DOUBLES unsigned 32-bit integers into 64-bit lanes. */
VEC_INLINE vec_double_bits vec_widen(const uint32_t *from)
{
    return (vec_double_bits)WIDE(cvtepu32_epi64)(half_load(from));
}

/* Loads signed bytes as 16-bit integers. */
VEC_INLINE vec_half_bits vec_half_bits_load_i8(const unsigned char *from)
{
    return (vec_half_bits)WIDE(cvtepi8_epi16)(half_load(from));
}

/* Returns (a + b + 1) / 2 of unsigned 16-bit lanes. */
VEC_INLINE vec_half_bits vec_half_bits_average(vec_half_bits a, vec_half_bits b)
{
    return (vec_half_bits)WIDE(avg_epu16)((whole_register)a, (whole_register)b);
}

/* Returns the minimum of unsigned 16-bit lanes. */
VEC_INLINE vec_half_bits vec_half_bits_min(vec_half_bits a, vec_half_bits b)
{
    return (vec_half_bits)WIDE(min_epu16)((whole_register)a, (whole_register)b);
}

/* Multiplies the lower halves of 64-bit lanes. */
VEC_INLINE vec_double_bits vec_mul_lower(vec_double_bits a, vec_double_bits b)
{
    return (vec_double_bits)WIDE(mul_epu32)((whole_register)a, (whole_register)b);
}

/* Returns the minimum of unsigned 32-bit lanes. */
VEC_INLINE vec_bits vec_bits_min(vec_bits a, vec_bits b)
{
    return (vec_bits)WIDE(min_epu32)((whole_register)a, (whole_register)b);
}
