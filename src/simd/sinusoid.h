/* SPDX-License-Identifier: MIT */
/*
 * The sinusoid kernel, once for every ISA: included by <isa>/kernels.c behind its vec.h, whose vocabulary it speaks
 * (CONTRIBUTING.md lists the words). Holds no intrinsics and includes nothing.
 */
#if VEC_LEN < 2
#error "the scalar kernels are written by hand, in src/scalar"
#endif

/*
 * Sine and cosine of VEC_DOUBLES angles from index i on. The phases are reduced to an eighth of a turn around each
 * quadrant, where sincospi errs by half an ULP of its result however small that is; the quadrant's own sine and cosine
 * are 0 and +-1, so turning by it is exact.
 */
static inline struct vec_sincos sinusoid_at(const struct inlay_sinusoid_tile *tile, size_t i)
{
    struct vec_sincos within = vec_sincospi(vec_double_load(tile->half_turns + i));
    vec_double quadrant_sin = vec_double_load(tile->quadrant_sin + i);
    vec_double quadrant_cos = vec_double_load(tile->quadrant_cos + i);
    struct vec_sincos angle;
    angle.sin = vec_double_add(vec_double_mul(within.sin, quadrant_cos), vec_double_mul(within.cos, quadrant_sin));
    angle.cos = vec_double_sub(vec_double_mul(within.cos, quadrant_cos), vec_double_mul(within.sin, quadrant_sin));
    return angle;
}

/* Stores the first n values of a vector, all of it where n reaches beyond; nothing for n = 0. */
static inline void sinusoid_store(unsigned char *out, vec x, size_t n)
{
    if (n >= VEC_LEN)
        vec_store(out, x);
    else if (n > 0)
        vec_store_n(out, x, n);
}

static inline void sinusoid_tile(const struct inlay_sinusoid_tile *tile)
{
    for (size_t i = 0; i < tile->pairs; i += VEC_LEN) {
        struct vec_sincos low = sinusoid_at(tile, i);
        struct vec_sincos high = sinusoid_at(tile, i + VEC_DOUBLES);
        vec sin = vec_from_doubles(low.sin, high.sin);
        vec cos = vec_from_doubles(low.cos, high.cos);
        size_t sines = tile->pairs - i;
        size_t cosines = tile->cosines - i;
        if (tile->interleaved) {
            struct vec_two both = vec_interleave(sin, cos);
            unsigned char *out = tile->sin + 2 * i * sizeof(float);
            size_t n = sines + cosines;
            sinusoid_store(out, both.low, n);
            sinusoid_store(out + VEC_BYTES, both.high, n > VEC_LEN ? n - VEC_LEN : 0);
        } else {
            sinusoid_store(tile->sin + i * sizeof(float), sin, sines);
            sinusoid_store(tile->cos + i * sizeof(float), cos, cosines);
        }
    }
}
