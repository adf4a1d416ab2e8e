/* SPDX-License-Identifier: MIT */
/*
 * Vector operations shared by ISAs with registers of four floats. There are no masks, so the first n lanes, 0 < n < 4,
 * go through an array. There are no non-temporal stores, so streaming is an ordinary store. (C has none, and aarch64
 * has no intrinsic for them; its cores detect streams.) Included at the end of a vec.h.
 */
#pragma once

/* Copies n floats. The sizes are constants, so memcpy is inlined. */
VEC_INLINE void vec_copy_n(unsigned char *to, const unsigned char *from, size_t n)
{
    if (n & 2)
        memcpy(to, from, 8);
    if (n & 1)
        memcpy(to + (n & 2) * 4, from + (n & 2) * 4, 4);
}

VEC_INLINE vec vec_load_n(const unsigned char *from, size_t n)
{
    unsigned char lanes[VEC_BYTES] = {0};
    vec_copy_n(lanes, from, n);
    return vec_load(lanes);
}

VEC_INLINE void vec_store_n(unsigned char *to, vec x, size_t n)
{
    unsigned char lanes[VEC_BYTES];
    vec_store(lanes, x);
    vec_copy_n(to, lanes, n);
}

VEC_INLINE void vec_store_halves_n(unsigned char *to, vec x, size_t n)
{
    unsigned char lanes[VEC_BYTES / 2];
    vec_store_halves(lanes, x);
    if (n & 2)
        memcpy(to, lanes, 4);
    if (n & 1)
        memcpy(to + (n & 2) * 2, lanes + (n & 2) * 2, 2);
}

VEC_INLINE vec vec_keep(vec x)
{
    return x;
}

VEC_INLINE void vec_stream(unsigned char *to, vec x)
{
    vec_store(to, x);
}

VEC_INLINE void vec_stream_halves(unsigned char *to, vec x)
{
    vec_store_halves(to, x);
}

/* Loads numbers [first, first + VEC_LEN) of 16 4-bit numbers: the lower halves of 8 bytes, then their upper halves. */
VEC_INLINE vec_bytes vec_load_u4_halves(const unsigned char *from, size_t first)
{
    const vec_bytes bytes = vec_load_bytes(from + first % 8);
    return first < 8 ? bytes & 15 : bytes >> 4;
}
