/* SPDX-License-Identifier: MIT */
/*
 * Rounds vectors of floats to 16-bit types, for embed.h and dequantize.h. Written once over the vector operations of
 * vec.h. Included by simd/kernels.h; no intrinsics, no includes.
 */

enum { LINE_VECS = INLAY_CACHE_LINE / VEC_BYTES };

/* Rounds any floats to a 16-bit type, in the lower halves of the lanes. */
VEC_INLINE vec cast_half(vec x, inlay_element_type type)
{
    return type == INLAY_F16 ? vec_round_f16(x) : vec_round_bf16_any(x);
}

/* Rounds floats to bfloat16, in the upper halves of the lanes. NaNs must be quiet: they are truncated, which keeps the
   quiet bit. */
VEC_INLINE vec cast_upper(vec x)
{
    /* NOLINTNEXTLINE(misc-redundant-expression): a NaN is not equal to itself. */
    const vec_bits bits = (vec_bits)x, odd = bits >> 16 & 1, numbers = (vec_bits)(x == x);
    return (vec)(bits + ((odd + 0x7fff) & numbers));
}

/* Rounds one cache line of 16-bit output, given as 2 * LINE_VECS vectors of arithmetic results, into the first
   LINE_VECS. Skips the rounding to bfloat16 if no lower half has bits: small integers times powers of two often have
   none. */
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
