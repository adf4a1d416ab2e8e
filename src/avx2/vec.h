/* SPDX-License-Identifier: MIT */
/*
 * The vocabulary of src/simd in AVX2: all AVX2 intrinsics of the library. Included by avx2/kernels.c alone.
 */
#ifndef INLAY_AVX2_VEC_H
#define INLAY_AVX2_VEC_H

#if !defined(__AVX2__) || !defined(__FMA__)
#error "compile this folder with -mavx2 -mfma"
#endif

#include <immintrin.h>
#include <sleef.h>
#include <string.h>

#define VEC_INLINE static inline __attribute__((always_inline))
#define VEC_LEN 8
#define VEC_BYTES 32
#define VEC_DOUBLES 4

typedef __m256 vec;
typedef __m256d vec_double;

struct vec_two {
    vec low, high;
};
struct vec_sincos {
    vec_double sin, cos;
};

VEC_INLINE vec vec_set1(float x)
{
    return _mm256_set1_ps(x);
}

VEC_INLINE vec vec_load(const unsigned char *from)
{
    return _mm256_loadu_ps((const float *)from);
}

VEC_INLINE void vec_store(unsigned char *to, vec x)
{
    _mm256_storeu_ps((float *)to, x);
}

VEC_INLINE void vec_stream(unsigned char *to, vec x)
{
    _mm256_stream_ps((float *)to, x);
}

/* As the unaligned float that it may be: gcc's _mm_load_ss and _mm_store_ss demand alignment. */
VEC_INLINE __m128 vec_load_one(const unsigned char *from)
{
    float x;
    memcpy(&x, from, sizeof x);
    return _mm_set_ss(x);
}

VEC_INLINE void vec_store_one(unsigned char *to, __m128 x)
{
    float low = _mm_cvtss_f32(x);
    memcpy(to, &low, sizeof low);
}

/*
 * The first n lanes, 0 < n < 8, by loads and stores of 4, 2 and 1 floats rather than by masks: sanitizers see these,
 * and qemu 7.2 reads masked lanes.
 */
VEC_INLINE vec vec_load_n(const unsigned char *from, size_t n)
{
    __m128 whole = _mm_setzero_ps(), part = _mm_setzero_ps();
    if (n & 4) {
        whole = _mm_loadu_ps((const float *)from);
        from += 16;
    }
    if (n & 2) {
        part = _mm_loadl_pi(part, (const __m64 *)from);
        if (n & 1)
            part = _mm_movelh_ps(part, vec_load_one(from + 8));
    } else if (n & 1) {
        part = vec_load_one(from);
    }
    return n & 4 ? _mm256_set_m128(part, whole) : _mm256_zextps128_ps256(part);
}

VEC_INLINE void vec_store_n(unsigned char *to, vec x, size_t n)
{
    __m128 part = _mm256_castps256_ps128(x);
    if (n & 4) {
        _mm_storeu_ps((float *)to, part);
        part = _mm256_extractf128_ps(x, 1);
        to += 16;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)to, part);
        part = _mm_movehl_ps(part, part);
        to += 8;
    }
    if (n & 1)
        vec_store_one(to, part);
}

VEC_INLINE vec vec_add(vec a, vec b)
{
    return _mm256_add_ps(a, b);
}

VEC_INLINE vec vec_mul(vec a, vec b)
{
    return _mm256_mul_ps(a, b);
}

/* Bit i: whether lane i of a and b differ. */
VEC_INLINE unsigned vec_differ(vec a, vec b)
{
    return (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_NEQ_UQ));
}

/* a0 b0 a1 b1 ... */
VEC_INLINE struct vec_two vec_interleave(vec a, vec b)
{
    vec low = _mm256_unpacklo_ps(a, b);
    vec high = _mm256_unpackhi_ps(a, b);
    return (struct vec_two){_mm256_permute2f128_ps(low, high, 0x20), _mm256_permute2f128_ps(low, high, 0x31)};
}

VEC_INLINE vec_double vec_double_load(const double *from)
{
    return _mm256_loadu_pd(from);
}

VEC_INLINE void vec_double_store(double *to, vec_double x)
{
    _mm256_storeu_pd(to, x);
}

VEC_INLINE vec_double vec_double_set1(double x)
{
    return _mm256_set1_pd(x);
}

VEC_INLINE vec_double vec_double_abs(vec_double x)
{
    return _mm256_andnot_pd(_mm256_set1_pd(-0.0), x);
}

VEC_INLINE vec_double vec_double_min(vec_double a, vec_double b)
{
    return _mm256_min_pd(a, b);
}

VEC_INLINE vec_double vec_double_add(vec_double a, vec_double b)
{
    return _mm256_add_pd(a, b);
}

VEC_INLINE vec_double vec_double_sub(vec_double a, vec_double b)
{
    return _mm256_sub_pd(a, b);
}

VEC_INLINE vec_double vec_double_mul(vec_double a, vec_double b)
{
    return _mm256_mul_pd(a, b);
}

/* a * b + c, rounded once. */
VEC_INLINE vec_double vec_double_fma(vec_double a, vec_double b, vec_double c)
{
    return _mm256_fmadd_pd(a, b, c);
}

/* c - a * b, rounded once. */
VEC_INLINE vec_double vec_double_fnma(vec_double a, vec_double b, vec_double c)
{
    return _mm256_fnmadd_pd(a, b, c);
}

VEC_INLINE vec vec_from_doubles(vec_double low, vec_double high)
{
    return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
}

/* sin(pi x) and cos(pi x) within 0.5 ULP. */
VEC_INLINE struct vec_sincos vec_sincospi(vec_double x)
{
    Sleef___m256d_2 both = Sleef_sincospid4_u05avx2(x);
    return (struct vec_sincos){both.x, both.y};
}

#endif
