/* SPDX-License-Identifier: MIT */
/*
 * The words of src/simd in AVX-512: all AVX-512 intrinsics of the library.
 */
#ifndef INLAY_AVX512_VEC_H
#define INLAY_AVX512_VEC_H

#if !defined(__AVX512F__) || !defined(__AVX512VL__) || !defined(__AVX512DQ__) || !defined(__AVX512BW__)
#error "compile this folder with -mavx512f -mavx512vl -mavx512dq -mavx512bw"
#endif

#include <immintrin.h>

#define VEC_LEN 16
#define VEC_SLEEF_SINCOSPI Sleef_sincospid8_u05avx512f
#define SPAN_LEN 8 /* dispatch/cpu.c knows on which CPUs narrow moves are faster */

typedef __m512 vec;
typedef __m512d vec_double;
typedef unsigned char vec_bytes __attribute__((vector_size(16)));
typedef __m256 span;

#include "simd/words.h"

#include "avx2/part.h"

VEC_INLINE void vec_stream(unsigned char *to, vec x)
{
    _mm512_stream_ps((float *)to, x);
}

VEC_INLINE vec vec_load_n(const unsigned char *from, size_t n)
{
    if (n < 8)
        return _mm512_zextps256_ps512(part_load(from, n));
    const __m256 low = _mm256_loadu_ps((const float *)from);
    return _mm512_insertf32x8(_mm512_castps256_ps512(low), part_load(from + 32, n - 8), 1);
}

VEC_INLINE void vec_store_n(unsigned char *to, vec x, size_t n)
{
    __m256 part = _mm512_castps512_ps256(x);
    if (n >= 8) {
        _mm256_storeu_ps((float *)to, part);
        part = _mm512_extractf32x8_ps(x, 1);
        to += 32;
        n -= 8;
    }
    part_store(to, part, n);
}

/* VEC_LEN elements of a type, converted to floats exactly. */
VEC_INLINE vec vec_load_f16(const unsigned char *from)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from));
}

VEC_INLINE vec vec_load_bf16(const unsigned char *from)
{
    __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

VEC_INLINE vec vec_load_i8(const unsigned char *from)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)from)));
}

/* VEC_LEN bytes. */
VEC_INLINE vec_bytes vec_load_bytes(const unsigned char *from)
{
    return (vec_bytes)_mm_loadu_si128((const __m128i *)from);
}

/* Bytes as integers of 32 bits, and such integers, which are signed, as floats. */
VEC_INLINE vec_bits vec_bits_of_bytes(vec_bytes bytes)
{
    return (vec_bits)_mm512_cvtepu8_epi32((__m128i)bytes);
}

/* The values of bytes below 16 in a table, as floats. */
VEC_INLINE vec vec_lookup(const signed char values[16], vec_bytes at)
{
    const __m128i found = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)values), (__m128i)at);
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(found));
}

/* Numbers [first, first + VEC_LEN) of 16 of 4 bits, which are all: the lower halves of 8 bytes, then their upper
 * halves.
 */
VEC_INLINE vec_bytes vec_load_u4_halves(const unsigned char *from, size_t first)
{
    (void)first;
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)from);
    const __m128i both = _mm_unpacklo_epi64(bytes, _mm_srli_epi16(bytes, 4));
    return (vec_bytes)_mm_and_si128(both, _mm_set1_epi8(15));
}

/* VEC_LEN numbers of type E4M3, divided by 256: as float16 they have another bias, and NaN other bits. */
VEC_INLINE vec vec_load_e4m3(const unsigned char *from)
{
    const __m256i wide = _mm256_slli_epi16(_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)from)), 7);
    const __m256i half = _mm256_and_si256(wide, _mm256_set1_epi16((short)0xbf80));
    const __m256i nan = _mm256_and_si256(_mm256_add_epi16(half, _mm256_set1_epi16(0x80)), _mm256_set1_epi16(0x4000));
    return _mm512_cvtph_ps(_mm256_or_si256(half, nan));
}

/* Both halves of VEC_LEN / 2 bytes, the lower half of each first: as bytes, and as floats. */
VEC_INLINE vec_bytes vec_load_u4_bytes(const unsigned char *from)
{
    __m128i bytes = _mm_loadl_epi64((const __m128i *)from);
    __m128i both = _mm_unpacklo_epi8(bytes, _mm_srli_epi16(bytes, 4));
    return (vec_bytes)_mm_and_si128(both, _mm_set1_epi8(15));
}

VEC_INLINE vec vec_load_u4(const unsigned char *from)
{
    return vec_from_bits(vec_bits_of_bytes(vec_load_u4_bytes(from)));
}

/* a0 b0 a1 b1 ... */
VEC_INLINE struct vec_two vec_interleave(vec a, vec b)
{
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    return (struct vec_two){_mm512_permutex2var_ps(a, low, b), _mm512_permutex2var_ps(a, high, b)};
}

/* VEC_DOUBLES floats, as doubles. */
VEC_INLINE vec_double vec_double_load_f32(const unsigned char *from)
{
    return _mm512_cvtps_pd(_mm256_loadu_ps((const float *)from));
}

VEC_INLINE vec_double vec_double_min(vec_double a, vec_double b)
{
    return _mm512_min_pd(a, b);
}

/* a * b + c, rounded once. */
VEC_INLINE vec_double vec_double_fma(vec_double a, vec_double b, vec_double c)
{
    return _mm512_fmadd_pd(a, b, c);
}

/* The lanes of b where the uppermost bit of `by` is set, else those of a. */
VEC_INLINE vec_double vec_double_select(vec_double_bits by, vec_double a, vec_double b)
{
    return _mm512_mask_blend_pd(_mm512_movepi64_mask((__m512i)by), a, b);
}

VEC_INLINE vec vec_from_doubles(vec_double low, vec_double high)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1);
}

/* The same, rounded to odd: the last bit is set if anything was cut off, so that a second rounding, to a type of fewer
   bits, gives what a single one would have given. */
VEC_INLINE vec vec_from_doubles_odd(vec_double low, vec_double high)
{
    return vec_from_doubles(vec_double_cut(low), vec_double_cut(high));
}

/* Floats rounded to float16, whose bits become the lower halves of the lanes. */
VEC_INLINE vec vec_round_f16(vec x)
{
    __m256i halves = _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return _mm512_castsi512_ps(_mm512_cvtepu16_epi32(halves));
}

/* vec_round_bf16() of any floats. A NaN, whose rounding could carry into the exponent, becomes quiet and keeps the
   upper bits of its payload. */
VEC_INLINE vec vec_round_bf16_any(vec x)
{
    __m512i quiet = _mm512_or_si512(_mm512_srli_epi32(_mm512_castps_si512(x), 16), _mm512_set1_epi32(0x40));
    return _mm512_mask_mov_ps(vec_round_bf16(x), _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), _mm512_castsi512_ps(quiet));
}

/* The lower halves of the lanes, packed together. */
VEC_INLINE void vec_store_halves(unsigned char *to, vec x)
{
    _mm256_storeu_si256((__m256i *)to, _mm512_cvtepi32_epi16(_mm512_castps_si512(x)));
}

VEC_INLINE void vec_stream_halves(unsigned char *to, vec x)
{
    _mm256_stream_si256((__m256i *)to, _mm512_cvtepi32_epi16(_mm512_castps_si512(x)));
}

VEC_INLINE void vec_store_halves_n(unsigned char *to, vec x, size_t n)
{
    const __mmask16 first = (__mmask16)((1u << n) - 1);
    _mm256_mask_storeu_epi16(to, first, _mm512_cvtepi32_epi16(_mm512_castps_si512(x)));
}

/* The upper halves of the lanes of a, then those of b. */
VEC_INLINE vec vec_pack_upper(vec a, vec b)
{
    static const uint16_t upper[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                       33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    return _mm512_castsi512_ps(
        _mm512_permutex2var_epi16(_mm512_castps_si512(a), _mm512_loadu_si512(upper), _mm512_castps_si512(b)));
}

/* Two registers of floats rounded to float16, as one. */
VEC_INLINE vec vec_pack_f16(vec a, vec b)
{
    const __m256i low = _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m256i high = _mm512_cvtps_ph(b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return _mm512_castsi512_ps(_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
}

/* VEC_DOUBLES unsigned 32-bit integers as 64-bit lanes. */
VEC_INLINE vec_double_bits vec_widen(const uint32_t *from)
{
    return (vec_double_bits)_mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)from));
}

/* Signed bytes as 16-bit integers. */
VEC_INLINE vec_half_bits vec_half_bits_load_i8(const unsigned char *from)
{
    return (vec_half_bits)_mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)from));
}

/* The smaller of each two unsigned 16-bit integers. */
VEC_INLINE vec_half_bits vec_half_bits_min(vec_half_bits a, vec_half_bits b)
{
    return (vec_half_bits)_mm512_min_epu16((__m512i)a, (__m512i)b);
}

/* Adds b to the lanes of a where `by` is not 0. */
VEC_INLINE vec_half_bits vec_half_bits_add_if(vec_half_bits a, vec_half_bits b, vec_half_bits by)
{
    const __mmask32 lanes = _mm512_test_epi16_mask((__m512i)by, (__m512i)by);
    return (vec_half_bits)_mm512_mask_add_epi16((__m512i)a, lanes, (__m512i)a, (__m512i)b);
}

/* Whether any lane has any of some bits. */
VEC_INLINE bool vec_bits_test(vec_bits x, uint32_t bits)
{
    return _mm512_test_epi32_mask((__m512i)x, _mm512_set1_epi32((int)bits)) != 0;
}

/* 16 16-bit integers, and those at indices below 16. */
struct vec_table {
    __m512i words;
};

VEC_INLINE struct vec_table vec_table_load(const unsigned char *from)
{
    return (struct vec_table){_mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)from))};
}

VEC_INLINE vec_half_bits vec_table_lookup(struct vec_table table, vec_half_bits at)
{
    return (vec_half_bits)_mm512_permutexvar_epi16((__m512i)at, table.words);
}

/* The products of the lower halves of 64-bit lanes. */
VEC_INLINE vec_double_bits vec_mul_lower(vec_double_bits a, vec_double_bits b)
{
    return (vec_double_bits)_mm512_mul_epu32((__m512i)a, (__m512i)b);
}

/* The smaller of each two unsigned 32-bit lanes. */
VEC_INLINE vec_bits vec_bits_min(vec_bits a, vec_bits b)
{
    return (vec_bits)_mm512_min_epu32((__m512i)a, (__m512i)b);
}

#endif
