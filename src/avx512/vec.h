/* SPDX-License-Identifier: MIT */
/*
 * The vector operations of src/simd in AVX-512. With avx2/part.h and avx2/shared.h, all AVX-512 intrinsics in the
 * library.
 */
#pragma once

#if !defined(__AVX512F__) || !defined(__AVX512VL__) || !defined(__AVX512DQ__) || !defined(__AVX512BW__)
#error "compile this folder with -mavx512f -mavx512vl -mavx512dq -mavx512bw"
#endif

#include <immintrin.h>

#define VEC_LEN 16
#define WIDE(name) _mm512_##name
#define HALF(name) _mm256_##name
#define VEC_SLEEF_SINCOSPI Sleef_sincospid8_u05avx512f
#define SPAN_LEN 8 /* dispatch/cpu.c lists the CPUs where narrow moves are faster */

typedef __m512 vec;
typedef __m512d vec_double;
typedef unsigned char vec_bytes __attribute__((vector_size(16)));
typedef __m256 span;

#include "simd/vec_ops.h"

#include "avx2/part.h"

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

/* Loads VEC_LEN bytes. */
VEC_INLINE vec_bytes vec_load_bytes(const unsigned char *from)
{
    return (vec_bytes)_mm_loadu_si128((const __m128i *)from);
}

/* Loads 16 4-bit numbers: the lower halves of 8 bytes, then their upper halves. `first` is always 0. */
VEC_INLINE vec_bytes vec_load_u4_halves(const unsigned char *from, size_t first)
{
    (void)first;
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)from);
    const __m128i both = _mm_unpacklo_epi64(bytes, _mm_srli_epi16(bytes, 4));
    return (vec_bytes)_mm_and_si128(both, _mm_set1_epi8(15));
}

/* Loads VEC_LEN 4-bit numbers as bytes, the lower half of each byte first. */
VEC_INLINE vec_bytes vec_load_u4_bytes(const unsigned char *from)
{
    __m128i bytes = _mm_loadl_epi64((const __m128i *)from);
    __m128i both = _mm_unpacklo_epi8(bytes, _mm_srli_epi16(bytes, 4));
    return (vec_bytes)_mm_and_si128(both, _mm_set1_epi8(15));
}

/* Returns a0 b0 a1 b1 ... */
VEC_INLINE struct vec_two vec_interleave(vec a, vec b)
{
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    return (struct vec_two){_mm512_permutex2var_ps(a, low, b), _mm512_permutex2var_ps(a, high, b)};
}

/* Returns a0 a2 ... b0 b2 ..., then a1 a3 ... b1 b3 ... */
VEC_INLINE struct vec_two vec_deinterleave(vec a, vec b)
{
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return (struct vec_two){_mm512_permutex2var_ps(a, even, b), _mm512_permutex2var_ps(a, odd, b)};
}

/* Returns the halves of lanes as a0 b0 a1 b1 ...: the lower halves, then the upper halves. */
VEC_INLINE struct vec_half_bits_two vec_zip_halves(vec a, vec b)
{
    static const uint16_t lower[32] = {0,  32, 2,  34, 4,  36, 6,  38, 8,  40, 10, 42, 12, 44, 14, 46,
                                       16, 48, 18, 50, 20, 52, 22, 54, 24, 56, 26, 58, 28, 60, 30, 62};
    const __m512i low = _mm512_loadu_si512(lower), high = _mm512_add_epi16(low, _mm512_set1_epi16(1));
    const __m512i x = _mm512_castps_si512(a), y = _mm512_castps_si512(b);
    return (struct vec_half_bits_two){(vec_half_bits)_mm512_permutex2var_epi16(x, low, y),
                                      (vec_half_bits)_mm512_permutex2var_epi16(x, high, y)};
}

/* Returns lanes of b where the top bit of `by` is set, else lanes of a. */
VEC_INLINE vec_double vec_double_select(vec_double_bits by, vec_double a, vec_double b)
{
    return _mm512_mask_blend_pd(_mm512_movepi64_mask((__m512i)by), a, b);
}

VEC_INLINE vec vec_from_doubles(vec_double low, vec_double high)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1);
}

/* Like vec_round_bf16(), for any floats. Rounding a NaN could carry into its exponent, so a NaN is made quiet instead
   and keeps the upper bits of its payload. */
VEC_INLINE vec vec_round_bf16_any(vec x)
{
    __m512i quiet = _mm512_or_si512(_mm512_srli_epi32(_mm512_castps_si512(x), 16), _mm512_set1_epi32(0x40));
    return _mm512_mask_mov_ps(vec_round_bf16(x), _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), _mm512_castsi512_ps(quiet));
}

/* Returns the lower halves of the lanes, packed. */
VEC_INLINE __m256i vec_halves(vec x)
{
    return _mm512_cvtepi32_epi16(_mm512_castps_si512(x));
}

VEC_INLINE void vec_stream_halves(unsigned char *to, vec x)
{
    _mm256_stream_si256((__m256i *)to, vec_halves(x));
}

VEC_INLINE void vec_store_halves_n(unsigned char *to, vec x, size_t n)
{
    const __mmask16 first = (__mmask16)((1u << n) - 1);
    _mm256_mask_storeu_epi16(to, first, vec_halves(x));
}

/* Returns the upper halves of the lanes of a, then of b. */
VEC_INLINE vec vec_pack_upper(vec a, vec b)
{
    static const uint16_t upper[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                       33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    return _mm512_castsi512_ps(
        _mm512_permutex2var_epi16(_mm512_castps_si512(a), _mm512_loadu_si512(upper), _mm512_castps_si512(b)));
}

/* Rounds two registers of floats to one of float16. */
VEC_INLINE vec vec_pack_f16(vec a, vec b)
{
    const __m256i low = _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m256i high = _mm512_cvtps_ph(b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return _mm512_castsi512_ps(_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
}

/* Adds b to the lanes of a where `by` is not 0. */
VEC_INLINE vec_half_bits vec_half_bits_add_if(vec_half_bits a, vec_half_bits b, vec_half_bits by)
{
    const __mmask32 lanes = _mm512_test_epi16_mask((__m512i)by, (__m512i)by);
    return (vec_half_bits)_mm512_mask_add_epi16((__m512i)a, lanes, (__m512i)a, (__m512i)b);
}

/* True if any lane has any of `bits` set. */
VEC_INLINE bool vec_bits_test(vec_bits x, uint32_t bits)
{
    return _mm512_test_epi32_mask((__m512i)x, _mm512_set1_epi32((int)bits)) != 0;
}

/* A table of 16 16-bit integers, for indices below 16. */
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

VEC_INLINE struct vec_double_two vec_to_doubles(vec x)
{
    return (struct vec_double_two){_mm512_cvtps_pd(_mm512_castps512_ps256(x)),
                                   _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1))};
}

#include "avx2/shared.h"
