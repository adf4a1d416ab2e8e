/* SPDX-License-Identifier: MIT */
/*
 * Spans: what a kernel moves through the caches at once where narrow moves are faster. A span is a vector, unless an
 * ISA's vec.h has shorter ones. Included by <isa>/kernels.c behind its vec.h.
 */
#ifndef SPAN_LEN

#define SPAN_LEN VEC_LEN
typedef vec span;

VEC_INLINE span span_set1(float x)
{
    return vec_set1(x);
}

VEC_INLINE span span_load(const unsigned char *from)
{
    return vec_load(from);
}

VEC_INLINE void span_store(unsigned char *to, span x)
{
    vec_store(to, x);
}

VEC_INLINE span span_add(span a, span b)
{
    return vec_add(a, b);
}

VEC_INLINE span span_mul(span a, span b)
{
    return vec_mul(a, b);
}

#endif
