/* SPDX-License-Identifier: MIT */
/*
 * Floats rounded to 16-bit types, in registers, once for every ISA over the words of its vec.h: for embed.h and
 * dequantise.h. Included by simd/kernels.h. Holds no intrinsics and includes nothing.
 */

enum { LINE_VECS = INLAY_CACHE_LINE / VEC_BYTES };

/* Returns any floats in a 16-bit type, whose bits become the lower halves of the lanes. */
VEC_INLINE vec cast_half(vec x, inlay_element_type type)
{
    return type == INLAY_F16 ? vec_round_f16(x) : vec_round_bf16_any(x);
}

/* Rounds floats that are no signalling NaN to bfloat16, whose bits become the upper halves of the lanes. Nothing is
   added to a NaN, of which the quiet bit stays. */
VEC_INLINE vec cast_upper(vec x)
{
    /* NOLINTNEXTLINE(misc-redundant-expression): a NaN is not equal to itself. */
    const vec_bits bits = (vec_bits)x, odd = bits >> 16 & 1, numbers = (vec_bits)(x == x);
    return (vec)(bits + ((odd + 0x7fff) & numbers));
}

/* Converts a cache line's worth of columns, results of arithmetic in 2 * LINE_VECS vectors, to a 16-bit type: they come
   to be in the first LINE_VECS. Small numbers times powers of two often need no rounding to bfloat16. */
VEC_INLINE void cast_line(vec *x, inlay_element_type type)
{
    if (type == INLAY_F16) {
        for (size_t i = 0; i < LINE_VECS; i++)
            x[i] = vec_pack_f16(x[2 * i], x[2 * i + 1]);
        return;
    }
    vec_bits seen = {0};
    for (size_t i = 0; i < 2 * LINE_VECS; i++)
        seen |= (vec_bits)x[i];
    if (vec_bits_test(seen, 0xffff))
        for (size_t i = 0; i < 2 * LINE_VECS; i++)
            x[i] = cast_upper(x[i]);
    for (size_t i = 0; i < LINE_VECS; i++)
        x[i] = vec_pack_upper(x[2 * i], x[2 * i + 1]);
}
