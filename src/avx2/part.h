/* SPDX-License-Identifier: MIT */
/*
 * The first n floats of a register of eight, n < 8, for AVX2 and AVX-512: loads and stores of 4, 2 and 1 floats instead
 * of masks. Sanitizers check these; qemu 7.2 reads masked-off lanes; and rows whose ends were masked took 1.25x to
 * 1.35x the time (Zen 4). Single floats are copied, since gcc's _mm_load_ss and _mm_store_ss require alignment.
 * Included after simd/vec_ops.h.
 */
#pragma once

VEC_INLINE __m256 part_load(const unsigned char *from, size_t n)
{
    __m128 whole = _mm_setzero_ps(), part = _mm_setzero_ps();
    if (n & 4) {
        whole = _mm_loadu_ps((const float *)from);
        from += 16;
    }
    if (n & 2) {
        part = _mm_loadl_pi(part, (const __m64 *)from);
        if (n & 1)
            part = _mm_movelh_ps(part, _mm_set_ss(inlay_load_f32(from, 2)));
    } else if (n & 1) {
        part = _mm_set_ss(inlay_load_f32(from, 0));
    }
    return n & 4 ? _mm256_set_m128(part, whole) : _mm256_zextps128_ps256(part);
}

VEC_INLINE void part_store(unsigned char *to, __m256 x, size_t n)
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
        inlay_store_f32(to, 0, _mm_cvtss_f32(part));
}
