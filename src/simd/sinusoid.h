/* SPDX-License-Identifier: MIT */
/*
 * The sinusoid kernels, once for every ISA: included by <isa>/kernels.c behind its vec.h, whose vocabulary it speaks
 * (CONTRIBUTING.md lists the words). Holds no intrinsics and includes nothing.
 */
#if VEC_LEN < 2
#error "the scalar kernels are written by hand, in src/scalar"
#endif

/*
 * How far the state may be off within the K rows from an anchor on, for amplitude 1. u = 2^-53: rounding errs by u
 * |x| at the most, and by u/2 where |x| <= 1. w is the angle of a step.
 *
 * First as a vector (sin, cos), whose length is 1 and which turning does not stretch. A step is sin' = fma(sin, cos w,
 * cos * sin w), and cos' likewise. In each component the product errs by u/2, the sum by u/2, and the constants, each
 * off by u/2, by (|sin| + |cos|) u/2 <= 0.71 u: together a vector of at most 2.42 u a step. The anchor: the phase is
 * off by u of itself, hence the vector by pi/4 u, and sincospi by half an ULP in each component, 0.71 u; turning by the
 * quadrant is exact: below 2 u. The test's own sums err by u. So the sine and the cosine are off by less than
 *
 *     u (2.42 K + 3)
 *
 * Slow columns hold small sines, for which that is too coarse. Let S be the largest |sin| of the block, S <= min(1,
 * |sin of the anchor| + K |sin w|), as |sin(nw)| <= n |sin w|. A step adds to the sine u |sin w| (product) + u S (sum)
 * + u S + u |sin w| (constants). And what a step added to the cosine, 2.42 u or less, m steps of turning carry into the
 * sine by |sin(mw)| <= min(1, m |sin w|): summed over the block, 2.42 u min(K, K^2/2 |sin w|). The anchor, relative to
 * its sine, as |x / tan x| <= 1 and |x tan x| <= 1 for |x| <= pi/4: 2 u S, and 2 u min(1, K |sin w|) from its cosine.
 * The test: u S. So the sine is also off by less than
 *
 *     u ((2K + 3) S + 2K |sin w| + 2.42 min(K + 1, (K^2/2 + K) |sin w|))
 *
 * and the cosine by the same with C, the largest |cos|, for S. The smaller of the two bounds holds; one hundredth is
 * added for products of errors and for the rounding of the bound itself.
 *
 * Values below 2^-120 are left to the integer path, bounded by up to 1: there floats become subnormal, and phases,
 * which end at 2^-256, few-digited. A sine that is larger at the anchor stays so within the block: slow columns grow,
 * and fast ones come no nearer to 0 than 2^-100.
 */
static inline vec_double sinusoid_bound(vec_double value, vec_double step, double rows)
{
    const double unit = 1.01 * 0x1p-53;
    vec_double largest = vec_double_fma(vec_double_set1(rows), step, vec_double_abs(value));
    largest = vec_double_min(vec_double_set1(1), largest);
    vec_double turned = vec_double_mul(vec_double_set1(rows * rows / 2 + rows), step);
    turned = vec_double_min(vec_double_set1(rows + 1), turned);
    vec_double bound = vec_double_mul(vec_double_set1(unit * (2 * rows + 3)), largest);
    bound = vec_double_fma(vec_double_set1(unit * 2 * rows), step, bound);
    bound = vec_double_fma(vec_double_set1(unit * 2.42), turned, bound);
    bound = vec_double_min(bound, vec_double_set1(unit * (2.42 * rows + 3)));
    vec_double size = vec_double_mul(vec_double_abs(value), vec_double_set1(0x1p120));
    size = vec_double_min(vec_double_set1(1), size);
    return vec_double_add(bound, vec_double_fnma(size, vec_double_set1(1), vec_double_set1(1)));
}

static inline void sinusoid_anchor(const struct inlay_sinusoid_anchor *anchor)
{
    /*
     * An amplitude multiplies the state, and so its errors; one that is no power of two rounds once more, by u |x|, and
     * rounding errs by up to u instead of u/2 where the largest value lies above a power of two: twice the bound covers
     * both.
     */
    const double bound_scale = anchor->amplitude == 1 ? 1 : 2 * anchor->amplitude;
    vec_double amplitude = vec_double_set1(anchor->amplitude), scale = vec_double_set1(bound_scale);
    for (size_t i = 0; i < anchor->pairs; i += VEC_DOUBLES) {
        struct vec_sincos within = vec_sincospi(vec_double_load(anchor->half_turns + i));
        vec_double quadrant_sin = vec_double_load(anchor->quadrant_sin + i);
        vec_double quadrant_cos = vec_double_load(anchor->quadrant_cos + i);
        vec_double sin = vec_double_fma(within.sin, quadrant_cos, vec_double_mul(within.cos, quadrant_sin));
        vec_double cos = vec_double_fnma(within.sin, quadrant_sin, vec_double_mul(within.cos, quadrant_cos));
        vec_double step = vec_double_abs(vec_double_load(anchor->sin_step + i));
        vec_double sin_bound = sinusoid_bound(sin, step, anchor->rows);
        vec_double cos_bound = sinusoid_bound(cos, step, anchor->rows);
        vec_double_store(anchor->sin + i, vec_double_mul(sin, amplitude));
        vec_double_store(anchor->cos + i, vec_double_mul(cos, amplitude));
        vec_double_store(anchor->sin_bound + i, vec_double_mul(sin_bound, scale));
        vec_double_store(anchor->cos_bound + i, vec_double_mul(cos_bound, scale));
    }
}

/* A value in the type of a tile; 16-bit ones by way of a float that is rounded to odd. */
VEC_INLINE vec sinusoid_cast(vec_double low, vec_double high, inlay_type type)
{
    if (type == INLAY_F16)
        return vec_round_f16(vec_from_doubles_odd(low, high));
    if (type == INLAY_BF16)
        return vec_round_bf16(vec_from_doubles_odd(low, high));
    return vec_from_doubles(low, high);
}

/*
 * A value rounded, and whether it is in doubt: the real number lies within the bound around the double, so where both
 * ends of that interval round to one number, so does the real one.
 */
struct sinusoid_rounded {
    vec value;
    unsigned doubtful;
};

VEC_INLINE struct sinusoid_rounded sinusoid_round(vec_double low, vec_double high, const double *bound, inlay_type type)
{
    vec_double low_bound = vec_double_load(bound), high_bound = vec_double_load(bound + VEC_DOUBLES);
    vec above = sinusoid_cast(vec_double_add(low, low_bound), vec_double_add(high, high_bound), type);
    vec below = sinusoid_cast(vec_double_sub(low, low_bound), vec_double_sub(high, high_bound), type);
    return (struct sinusoid_rounded){above, vec_differ(above, below)};
}

/* Turns the state of VEC_DOUBLES pairs by one step. */
VEC_INLINE void sinusoid_step(const struct inlay_sinusoid_tile *tile, size_t i, vec_double sin, vec_double cos)
{
    vec_double sin_step = vec_double_load(tile->sin_step + i), cos_step = vec_double_load(tile->cos_step + i);
    vec_double_store(tile->sin + i, vec_double_fma(sin, cos_step, vec_double_mul(cos, sin_step)));
    vec_double_store(tile->cos + i, vec_double_fnma(sin, sin_step, vec_double_mul(cos, cos_step)));
}

/* Stores the first n values of a vector, all of it where n reaches beyond; nothing for n = 0. */
VEC_INLINE void sinusoid_store(unsigned char *out, vec x, size_t n, inlay_type type, bool stream)
{
    bool narrow = type != INLAY_F32;
    if (n == 0)
        return;
    if (n < VEC_LEN)
        narrow ? vec_store_halves_n(out, x, n) : vec_store_n(out, x, n);
    else if (stream)
        narrow ? vec_stream_halves(out, x) : vec_stream(out, x);
    else
        narrow ? vec_store_halves(out, x) : vec_store(out, x);
}

/* What is known when a tile begins: each combination is a loop of its own. */
struct sinusoid_shape {
    inlay_type type;
    bool interleaved, stream;
};

/* VEC_LEN pairs of one row, from pair i on; returns the marks of their sines and, 16 bits up, of their cosines. */
VEC_INLINE uint32_t sinusoid_pairs(const struct inlay_sinusoid_tile *tile, size_t row, size_t i,
                                   struct sinusoid_shape shape)
{
    vec_double sin_low = vec_double_load(tile->sin + i), sin_high = vec_double_load(tile->sin + i + VEC_DOUBLES);
    vec_double cos_low = vec_double_load(tile->cos + i), cos_high = vec_double_load(tile->cos + i + VEC_DOUBLES);
    struct sinusoid_rounded sin = sinusoid_round(sin_low, sin_high, tile->sin_bound + i, shape.type);
    struct sinusoid_rounded cos = sinusoid_round(cos_low, cos_high, tile->cos_bound + i, shape.type);
    sinusoid_step(tile, i, sin_low, cos_low);
    sinusoid_step(tile, i + VEC_DOUBLES, sin_high, cos_high);

    const size_t element = shape.type == INLAY_F32 ? 4 : 2;
    size_t sines = tile->sines - i, cosines = tile->cosines - i;
    unsigned char *out = tile->sin_out + row * tile->out_stride_bytes;
    if (shape.interleaved) {
        struct vec_two both = vec_interleave(sin.value, cos.value);
        size_t n = sines + cosines;
        out += 2 * i * element;
        sinusoid_store(out, both.low, n, shape.type, shape.stream);
        sinusoid_store(out + VEC_LEN * element, both.high, n > VEC_LEN ? n - VEC_LEN : 0, shape.type, shape.stream);
    } else {
        unsigned char *cos_out = tile->cos_out + row * tile->out_stride_bytes;
        sinusoid_store(out + i * element, sin.value, sines, shape.type, shape.stream);
        sinusoid_store(cos_out + i * element, cos.value, cosines, shape.type, shape.stream);
    }
    return sin.doubtful | (uint32_t)cos.doubtful << 16;
}

VEC_INLINE bool sinusoid_rows_of(const struct inlay_sinusoid_tile *tile, struct sinusoid_shape shape)
{
    uint32_t any = 0, *marks = tile->marks;
    for (size_t row = 0; row < tile->rows; row++)
        for (size_t group = 0; group < tile->pairs; group += INLAY_PAIR_GROUP) {
            uint32_t doubtful = 0;
            for (size_t i = 0; i < INLAY_PAIR_GROUP && group + i < tile->pairs; i += VEC_LEN)
                doubtful |= sinusoid_pairs(tile, row, group + i, shape) << i;
            any |= doubtful;
            *marks++ = doubtful;
        }
    return any != 0;
}

VEC_INLINE bool sinusoid_rows_as(const struct inlay_sinusoid_tile *tile, inlay_type type)
{
    if (tile->interleaved)
        return tile->stream ? sinusoid_rows_of(tile, (struct sinusoid_shape){type, true, true})
                            : sinusoid_rows_of(tile, (struct sinusoid_shape){type, true, false});
    return tile->stream ? sinusoid_rows_of(tile, (struct sinusoid_shape){type, false, true})
                        : sinusoid_rows_of(tile, (struct sinusoid_shape){type, false, false});
}

static inline bool sinusoid_rows(const struct inlay_sinusoid_tile *tile)
{
    /* A copy that no store can alias, so that its fields stay in registers. */
    const struct inlay_sinusoid_tile own = *tile;
    switch (own.type) {
    case INLAY_F16:
        return sinusoid_rows_as(&own, INLAY_F16);
    case INLAY_BF16:
        return sinusoid_rows_as(&own, INLAY_BF16);
    case INLAY_F32:
        break;
    }
    return sinusoid_rows_as(&own, INLAY_F32);
}
