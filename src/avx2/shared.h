/* SPDX-License-Identifier: MIT */
/*
 * The words whose intrinsics AVX2 and AVX-512 name alike, but for the width of registers: WIDE() names those of whole
 * registers, HALF() those of registers half as long. Included at the end of both vec.h.
 */
#pragma once

/* A register of integers, and half of one; half a register in memory, of integers and of floats, at any address. */
typedef long long whole_register __attribute__((vector_size(VEC_BYTES)));
typedef long long half_register __attribute__((vector_size(VEC_BYTES / 2)));
typedef half_register half_in_memory __attribute__((aligned(1), may_alias));
typedef float half_floats_in_memory __attribute__((vector_size(VEC_BYTES / 2), aligned(1), may_alias));

VEC_INLINE half_register half_load(const void *from)
{
    return *(const half_in_memory *)from;
}

VEC_INLINE void vec_stream(unsigned char *to, vec x)
{
    WIDE(stream_ps)((float *)to, x);
}

/* VEC_LEN elements of a type, converted to floats exactly. */
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

/* VEC_LEN numbers of type E4M3, divided by 256: as float16 they have another bias, and NaN other bits. */
VEC_INLINE vec vec_load_e4m3(const unsigned char *from)
{
    const half_register wide = HALF(slli_epi16)(HALF(cvtepi8_epi16)((__m128i)vec_load_bytes(from)), 7);
    const half_register half = wide & HALF(set1_epi16)((short)0xbf80);
    const half_register nan = HALF(add_epi16)(half, HALF(set1_epi16)(0x80)) & HALF(set1_epi16)(0x4000);
    return WIDE(cvtph_ps)(half | nan);
}

/* Bytes as integers of 32 bits. */
VEC_INLINE vec_bits vec_bits_of_bytes(vec_bytes bytes)
{
    return (vec_bits)WIDE(cvtepu8_epi32)((__m128i)bytes);
}

/* The values of bytes below 16 in a table, as floats. */
VEC_INLINE vec vec_lookup(const signed char values[16], vec_bytes at)
{
    const __m128i found = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)values), (__m128i)at);
    return WIDE(cvtepi32_ps)(WIDE(cvtepi8_epi32)(found));
}

/* Both halves of VEC_LEN / 2 bytes, the lower half of each first, as floats. */
VEC_INLINE vec vec_load_u4(const unsigned char *from)
{
    return vec_from_bits(vec_bits_of_bytes(vec_load_u4_bytes(from)));
}

/* VEC_DOUBLES floats, as doubles. */
VEC_INLINE vec_double vec_double_load_f32(const unsigned char *from)
{
    return WIDE(cvtps_pd)(*(const half_floats_in_memory *)from);
}

VEC_INLINE vec_double vec_double_min(vec_double a, vec_double b)
{
    return WIDE(min_pd)(a, b);
}

/* a * b + c, rounded once. */
VEC_INLINE vec_double vec_double_fma(vec_double a, vec_double b, vec_double c)
{
    return WIDE(fmadd_pd)(a, b, c);
}

/* vec_from_doubles(), rounded to odd: the last bit is set if anything was cut off, so that a second rounding, to a type
   of fewer bits, gives what a single one would have given. */
VEC_INLINE vec vec_from_doubles_odd(vec_double low, vec_double high)
{
    return vec_from_doubles(vec_double_cut(low), vec_double_cut(high));
}

/* Floats rounded to float16, whose bits become the lower halves of the lanes. */
VEC_INLINE vec vec_round_f16(vec x)
{
    return (vec)WIDE(cvtepu16_epi32)(WIDE(cvtps_ph)(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/* Stores the lower halves of the lanes, packed together. */
VEC_INLINE void vec_store_halves(unsigned char *to, vec x)
{
    *(half_in_memory *)to = vec_halves(x);
}

/* VEC_DOUBLES unsigned 32-bit integers as 64-bit lanes. */
VEC_INLINE vec_double_bits vec_widen(const uint32_t *from)
{
    return (vec_double_bits)WIDE(cvtepu32_epi64)(half_load(from));
}

/* Signed bytes as 16-bit integers. */
VEC_INLINE vec_half_bits vec_half_bits_load_i8(const unsigned char *from)
{
    return (vec_half_bits)WIDE(cvtepi8_epi16)(half_load(from));
}

/* The smaller of each two unsigned 16-bit integers. */
VEC_INLINE vec_half_bits vec_half_bits_min(vec_half_bits a, vec_half_bits b)
{
    return (vec_half_bits)WIDE(min_epu16)((whole_register)a, (whole_register)b);
}

/* The products of the lower halves of 64-bit lanes. */
VEC_INLINE vec_double_bits vec_mul_lower(vec_double_bits a, vec_double_bits b)
{
    return (vec_double_bits)WIDE(mul_epu32)((whole_register)a, (whole_register)b);
}

/* The smaller of each two unsigned 32-bit lanes. */
VEC_INLINE vec_bits vec_bits_min(vec_bits a, vec_bits b)
{
    return (vec_bits)WIDE(min_epu32)((whole_register)a, (whole_register)b);
}
