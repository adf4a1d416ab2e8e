/* SPDX-License-Identifier: MIT */
/*
 * The vector operations of src/simd in AVX2. With part.h and shared.h, all AVX2 intrinsics in the library.
 */
#pragma once

#if !defined(__AVX2__) || !defined(__FMA__) || !defined(__F16C__)
#error "compile this folder with -mavx2 -mfma -mf16c"
#endif

#include <immintrin.h>

#define VEC_LEN 8
#define WIDE(name) _mm256_##name
#define HALF(name) _mm_##name
#define VEC_SLEEF_SINCOSPI Sleef_sincospid4_u05avx2

typedef __m256 vec;
typedef __m256d vec_double;
typedef unsigned char vec_bytes __attribute__((vector_size(16)));

#include "simd/vec_ops.h"

#include "avx2/part.h"

VEC_INLINE vec vec_load_n(const unsigned char *from, size_t n)
{
    return part_load(from, n);
}

VEC_INLINE void vec_store_n(unsigned char *to, vec x, size_t n)
{
    part_store(to, x, n);
}

/* Loads VEC_LEN bytes. */
VEC_INLINE vec_bytes vec_load_bytes(const unsigned char *from)
{
    return (vec_bytes)_mm_loadl_epi64((const __m128i *)from);
}

/* Loads numbers [first, first + VEC_LEN) of 16 4-bit numbers: the lower halves of 8 bytes, then their upper halves. */
VEC_INLINE vec_bytes vec_load_u4_halves(const unsigned char *from, size_t first)
{
    const vec_bytes bytes = vec_load_bytes(from);
    return first < 8 ? bytes & 15 : bytes >> 4;
}

/* Loads VEC_LEN 4-bit numbers as bytes, the lower half of each byte first. */
VEC_INLINE vec_bytes vec_load_u4_bytes(const unsigned char *from)
{
    int word;
    memcpy(&word, from, sizeof word);
    __m128i bytes = _mm_cvtsi32_si128(word);
    __m128i both = _mm_unpacklo_epi8(bytes, _mm_srli_epi16(bytes, 4));
    return (vec_bytes)_mm_and_si128(both, _mm_set1_epi8(15));
}

/* Returns a0 b0 a1 b1 ... */
VEC_INLINE struct vec_two vec_interleave(vec a, vec b)
{
    vec low = _mm256_unpacklo_ps(a, b);
    vec high = _mm256_unpackhi_ps(a, b);
    return (struct vec_two){_mm256_permute2f128_ps(low, high, 0x20), _mm256_permute2f128_ps(low, high, 0x31)};
}

/* Returns a0 a2 ... b0 b2 ..., then a1 a3 ... b1 b3 ... */
VEC_INLINE struct vec_two vec_deinterleave(vec a, vec b)
{
    const __m256d even = _mm256_castps_pd(_mm256_shuffle_ps(a, b, 0x88));
    const __m256d odd = _mm256_castps_pd(_mm256_shuffle_ps(a, b, 0xdd));
    return (struct vec_two){_mm256_castpd_ps(_mm256_permute4x64_pd(even, 0xd8)),
                            _mm256_castpd_ps(_mm256_permute4x64_pd(odd, 0xd8))};
}

/* Returns the halves of lanes as a0 b0 a1 b1 ...: the lower halves, then the upper halves. */
VEC_INLINE struct vec_half_bits_two vec_zip_halves(vec a, vec b)
{
    const __m256i x = _mm256_castps_si256(a), y = _mm256_castps_si256(b);
    return (struct vec_half_bits_two){(vec_half_bits)_mm256_blend_epi16(x, _mm256_slli_epi32(y, 16), 0xaa),
                                      (vec_half_bits)_mm256_blend_epi16(_mm256_srli_epi32(x, 16), y, 0xaa)};
}

/* Returns lanes of b where the top bit of `by` is set, else lanes of a. */
VEC_INLINE vec_double vec_double_select(vec_double_bits by, vec_double a, vec_double b)
{
    return _mm256_blendv_pd(a, b, (__m256d)by);
}

VEC_INLINE vec vec_from_doubles(vec_double low, vec_double high)
{
    return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
}

/* Like vec_round_bf16(), for any floats. Rounding a NaN could carry into its exponent, so a NaN is made quiet instead
   and keeps the upper bits of its payload. */
VEC_INLINE vec vec_round_bf16_any(vec x)
{
    __m256i quiet = _mm256_or_si256(_mm256_srli_epi32(_mm256_castps_si256(x), 16), _mm256_set1_epi32(0x40));
    return _mm256_blendv_ps(vec_round_bf16(x), _mm256_castsi256_ps(quiet), _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

/* Returns the lower halves of the lanes, packed. */
VEC_INLINE __m128i vec_halves(vec x)
{
    __m256i bits = _mm256_castps_si256(x);
    __m256i packed = _mm256_packus_epi32(bits, bits);
    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08));
}

VEC_INLINE void vec_stream_halves(unsigned char *to, vec x)
{
    _mm_stream_si128((__m128i *)to, vec_halves(x));
}

VEC_INLINE void vec_store_halves_n(unsigned char *to, vec x, size_t n)
{
    __m128i part = vec_halves(x);
    if (n & 4) {
        _mm_storel_epi64((__m128i *)to, part);
        part = _mm_srli_si128(part, 8);
        to += 8;
    }
    uint64_t rest = (uint64_t)_mm_cvtsi128_si64(part);
    if (n & 2) {
        memcpy(to, &rest, 4);
        rest >>= 32;
        to += 4;
    }
    if (n & 1)
        memcpy(to, &rest, 2);
}

/* Returns the upper halves of the lanes of a, then of b. */
VEC_INLINE vec vec_pack_upper(vec a, vec b)
{
    const __m256i low = _mm256_srli_epi32(_mm256_castps_si256(a), 16);
    const __m256i packed = _mm256_packus_epi32(low, _mm256_srli_epi32(_mm256_castps_si256(b), 16));
    return _mm256_castsi256_ps(_mm256_permute4x64_epi64(packed, 0xd8));
}

/* Rounds two registers of floats to one of float16. */
VEC_INLINE vec vec_pack_f16(vec a, vec b)
{
    const __m128i low = _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m128i high = _mm256_cvtps_ph(b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return _mm256_castsi256_ps(_mm256_set_m128i(high, low));
}

/* Adds b to the lanes of a where `by` is not 0. */
VEC_INLINE vec_half_bits vec_half_bits_add_if(vec_half_bits a, vec_half_bits b, vec_half_bits by)
{
    return a + (b & ~(vec_half_bits)(by == 0));
}

/* True if any lane has any of `bits` set. */
VEC_INLINE bool vec_bits_test(vec_bits x, uint32_t bits)
{
    return !_mm256_testz_si256((__m256i)x, _mm256_set1_epi32((int)bits));
}

/* A table of 16 16-bit integers, for indices below 16. The lower byte of entry 0 must be 0. `lower` and `upper` hold
   the entries' lower and upper bytes, in both halves of the register. */
struct vec_table {
    __m256i lower, upper;
};

VEC_INLINE struct vec_table vec_table_load(const unsigned char *from)
{
    const __m128i first = _mm_loadu_si128((const __m128i *)from), last = _mm_loadu_si128((const __m128i *)(from + 16));
    const __m128i low = _mm_set1_epi16(0xff);
    const __m128i lower = _mm_packus_epi16(_mm_and_si128(first, low), _mm_and_si128(last, low));
    const __m128i upper = _mm_packus_epi16(_mm_srli_epi16(first, 8), _mm_srli_epi16(last, 8));
    return (struct vec_table){_mm256_broadcastsi128_si256(lower), _mm256_broadcastsi128_si256(upper)};
}

VEC_INLINE vec_half_bits vec_table_lookup(struct vec_table table, vec_half_bits at)
{
    const __m256i upper = _mm256_slli_epi16(_mm256_shuffle_epi8(table.upper, (__m256i)at), 8);
    return (vec_half_bits)_mm256_or_si256(_mm256_shuffle_epi8(table.lower, (__m256i)at), upper);
}

VEC_INLINE struct vec_double_two vec_to_doubles(vec x)
{
    return (struct vec_double_two){_mm256_cvtps_pd(_mm256_castps256_ps128(x)),
                                   _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))};
}

#include "avx2/shared.h"
