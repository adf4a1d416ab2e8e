/* SPDX-License-Identifier: MIT */
/*
 * The first n floats of a register of four, 0 < n < 4, through an array of its lanes: for ISAs without masks. Included
 * behind simd/words.h.
 */
#ifndef INLAY_SIMD_LANES_H
#define INLAY_SIMD_LANES_H

/* Copies n floats. The sizes are constants, so that memcpy is not called. */
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

#endif
