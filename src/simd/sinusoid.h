/* SPDX-License-Identifier: MIT */
/*
 * The sinusoid kernels, written once over the vector operations of vec.h. Included by simd/kernels.h; no intrinsics, no
 * includes.
 */
/*
 * Returns twice a bound of the state's error until the next exact phases, with m re-anchorings in between, each after K
 * rows, for amplitude 1. Below, u = 2^-53: a rounding error is at most u |x|, and at most u/2 if |x| <= 1. w is the
 * angle of a step. f is 0 if fma rounds once, and 1 if it rounds its product too.
 *
 * The first bound treats the state as a vector (sin, cos) of length 1, which turning does not stretch. (Errors may take
 * a component above 1, where rounding errs by up to u. This happens only in slow columns. They use 1.0 of the 1.21 u
 * allowed below, and their products with cos w = 1 are exact.) A step is sin' = fma(sin, cos w, cos * sin w) and cos' =
 * fma(cos, cos w, -(sin * sin w)). Its errors are at most: u/2 for each sum, together 0.71 u; 0.71 f u for the products
 * with cos w; u |sin w| or 0.71 u, whichever is less, for the products with sin w; and for the constants, u/2 for cos
 * w, and u |sin w| or u/2 for sin w. Together this is a vector of at most D u a step, D = 0.71 f + min(2.42, 1.21 + 2
 * |sin w|). Re-anchoring is a step by another angle with an error of R u, R = 2.42 + 0.71 f. Steps restart at each
 * anchor, and each anchor starts from the one before. The error of exact phases is u relative to themselves, hence pi/4
 * u of the vector, and that of sincos_pi() is SINCOS_PI_ERROR u of each component. Turning by the quadrant is exact.
 * Together these are below X u, X = 1 + SINCOS_PI_ERROR. So the errors of the sine and the cosine are less than
 *
 *      u (D K + R m + X)
 *
 * This is too coarse for slow columns: their sines are small. Let S be the largest |sin| of all those rows, S <= min(1,
 * |sin at the exact phases| + (m + 1) K |sin w|), as |sin(nw)| <= n |sin w|. A step adds to the sine u |sin w|
 * (product) + f u S (product) + u S (sum) + u/2 S + u |sin w| (constants). The error that a step adds to the cosine, at
 * most D u, is carried into the sine by n steps of turning, by |sin(nw)| <= min(1, n |sin w|): summed over K steps, D u
 * min(K, K^2/2 |sin w|). Re-anchoring, by an angle whose |sin| is at most K |sin w|, adds (3/2 + f) u S + 2 u K |sin w|
 * to the sine, and R u <= 2 D u to the cosine: summed over m re-anchorings, the last of which is K rows back, D u
 * min(2m, m (m + 1) K |sin w|) of the sine. The exact phases add X u S relative to their sine, as |x / tan x| <= 1 and
 * |x tan x| <= 1 for |x| <= pi/4, and X u min(1, (m + 1) K |sin w|) from their cosine. So the error of the sine is also
 * less than
 *
 *      u (((3/2 + f) (K + m) + X) S + 2 (m + 1) K |sin w| + D min(K + 2m + X, (K^2/2 + (m + 1) (m + X) K) |sin w|))
 *
 * and that of the cosine is the same with C, the largest |cos|, for S. The smaller of the two bounds holds. One
 * hundredth is added for products of errors and for the rounding of the bound itself.
 *
 * Values below 2^-100 are left to the integer path by a bound of up to 1: near them are subnormal floats, and phases,
 * which end at 2^-256, with few digits. Later sines are no smaller than that one, except in fast columns, where a sine
 * is undecided wherever it is closer to 0 than its bound.
 */
static inline vec_double sinusoid_bound(vec_double value, vec_double step, double rows, double reanchors)
{
    const double f = VEC_FMA_ONCE ? 0 : 1, most = 2.42 + 0.71 * f, phases = 1 + SINCOS_PI_ERROR;
    const double unit = 2 * 1.01 * 0x1p-53, since = rows * (reanchors + 1);
    const vec_double one = vec_double_set1(1);
    vec_double each = vec_double_fma(vec_double_set1(2), step, vec_double_set1(1.21 + 0.71 * f));
    each = vec_double_min(vec_double_set1(most), each);
    vec_double largest = vec_double_fma(vec_double_set1(since), step, vec_double_abs(value));
    largest = vec_double_min(one, largest);
    vec_double turned = step * (rows * rows / 2 + (reanchors + phases) * since);
    turned = vec_double_min(vec_double_set1(rows + 2 * reanchors + phases), turned);
    vec_double bound = largest * ((1.5 + f) * (rows + reanchors) + phases);
    bound = vec_double_fma(vec_double_set1(2 * since), step, bound);
    bound = vec_double_fma(each, turned, bound);
    bound =
        vec_double_min(bound, vec_double_fma(vec_double_set1(rows), each, vec_double_set1(most * reanchors + phases)));
    vec_double tiny = vec_double_min(one, vec_double_abs(value) * 0x1p100);
    return vec_double_fma(vec_double_set1(unit), bound, one - tiny);
}

/* Adds an angle to angles, each given by its sine and cosine. */
VEC_INLINE struct vec_sincos sinusoid_turn(struct vec_sincos x, struct vec_sincos by)
{
    return (struct vec_sincos){vec_double_fma(x.sin, by.cos, x.cos * by.sin),
                               vec_double_fma(x.cos, by.cos, -(x.sin * by.sin))};
}

VEC_INLINE struct vec_sincos sinusoid_load(const double *sin, const double *cos, size_t i)
{
    return (struct vec_sincos){vec_double_load(sin + i), vec_double_load(cos + i)};
}

/* Sets the state to an anchor. */
VEC_INLINE void sinusoid_begin(struct inlay_sinusoid_state *state, size_t i, struct vec_sincos here, double amplitude)
{
    vec_double_store(state->sin_anchor + i, here.sin);
    vec_double_store(state->cos_anchor + i, here.cos);
    vec_double_store(state->sin + i, here.sin * amplitude);
    vec_double_store(state->cos + i, here.cos * amplitude);
}

static void NAME(sinusoid_anchor)(const struct inlay_sinusoid_anchor *anchor)
{
    /*
     * The amplitude multiplies the state and its errors. Unless it is a power of two, the product is rounded too, by u
     * |x|, and rounding errs by up to u instead of u/2 if the largest value is above a power of two. Twice the bound
     * covers both.
     */
    const double amplitude = anchor->amplitude, bound_scale = amplitude == 1 ? 1 : 2 * amplitude;
    struct inlay_sinusoid_state *state = anchor->state;
    for (size_t i = 0; i < anchor->pairs; i += VEC_DOUBLES) {
        size_t at = anchor->first + i;
        struct vec_sincos within = sincos_pi(vec_double_load(anchor->half_turns + i));
        struct vec_sincos here = sinusoid_turn(within, sinusoid_load(anchor->quadrant_sin, anchor->quadrant_cos, i));
        vec_double step = vec_double_abs(vec_double_load(state->sin_step + at));
        vec_double sin_bound = sinusoid_bound(here.sin, step, anchor->rows, anchor->reanchors);
        vec_double cos_bound = sinusoid_bound(here.cos, step, anchor->rows, anchor->reanchors);
        vec_double_store(state->sin_bound + at, sin_bound * bound_scale);
        vec_double_store(state->cos_bound + at, cos_bound * bound_scale);
        sinusoid_begin(state, at, here, amplitude);
    }
}

static void NAME(sinusoid_reanchor)(const struct inlay_sinusoid_reanchor *step)
{
    const double amplitude = step->amplitude;
    struct inlay_sinusoid_state *state = step->state;
    for (size_t i = 0; i < step->pairs; i += VEC_DOUBLES) {
        struct vec_sincos before = sinusoid_load(state->sin_anchor, state->cos_anchor, i);
        sinusoid_begin(state, i, sinusoid_turn(before, sinusoid_load(step->sin, step->cos, i)), amplitude);
    }
}

/* Returns the upper 26 bits of a double, by Veltkamp's splitting. The rest has 26 bits and a sign, so products of such
   parts are exact. */
VEC_INLINE vec_double sinusoid_upper(vec_double x)
{
    const vec_double shifted = x * (0x1p27 + 1);
    return shifted - (shifted - x);
}

/* Returns a * b - whole, rounded once. If fma rounds twice, `whole` must be the integer nearest to the rounded product.
   Then subtracting it is exact, and so is the product's rounding error by Dekker's product. */
VEC_INLINE vec_double sinusoid_part(vec_double a, vec_double b, vec_double whole)
{
    if (VEC_FMA_ONCE)
        return vec_double_fma(a, b, -whole);
    const vec_double product = a * b, a_high = sinusoid_upper(a), b_high = sinusoid_upper(b);
    const vec_double a_low = a - a_high, b_low = b - b_high;
    const vec_double cut_off = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
    return (product - whole) + cut_off;
}

/*
 * Computes the sines and cosines of one position without a state.
 *
 * Let A = position * G quarter turns. G is the pair's quarter turns per position modulo 4, |G| <= 2, which turns_high +
 * turns_low approximates to within 2^-107 |G|. Adding 3 * 2^51 rounds position * turns_high to an integer n, in the
 * last bits of the sum. r = position * turns_high - n is rounded once, with an error of u |r|; then position *
 * turns_low, below 2^-53 |A|, is added. So the error of the angle within the quarter turn is less than
 *
 *      2 u |r| + 2^-104.4 |A|        and |r| <= 1/2 + 2^-20
 *
 * The first term is relative to r, so a sine next to a multiple of pi keeps its digits. As |x / tan x| <= 1 and |x tan
 * x| <= pi/4, it adds a relative error below 2 u to a sine and below 1.6 u to a cosine. sincos_quarter() adds 3 u to
 * both, and an amplitude u. The second term is at most 2^-102.7 |position|. Hence twice the error is less than
 *
 *      12.12 u |value| + 2^-101 max(1, |position|)
 *
 * for amplitude 1. The second term also leaves values below 2^-100 undecided, as sinusoid_bound() does.
 */
VEC_INLINE struct vec_sincos sinusoid_direct(const struct inlay_sinusoid_tile *tile, double position, size_t i)
{
    const vec_double x = vec_double_set1(position), shift = vec_double_set1(0x1.8p52);
    const vec_double high = vec_double_load(tile->turns_high + i), low = vec_double_load(tile->turns_low + i);
    const vec_double shifted = vec_double_fma(x, high, shift);
    const vec_double r = vec_double_fma(x, low, sinusoid_part(x, high, shifted - shift));
    const struct vec_sincos within = sincos_quarter(r);
    const vec_double_bits n = (vec_double_bits)shifted, sign = (vec_double_bits)vec_double_set1(-0.0);
    const vec_double sin = vec_double_select(n << 63, within.sin, within.cos);
    const vec_double cos = vec_double_select(n << 63, within.cos, within.sin);
    return (struct vec_sincos){(vec_double)((vec_double_bits)sin ^ (n << 62 & sign)),
                               (vec_double)((vec_double_bits)cos ^ ((n + 1) << 62 & sign))};
}

VEC_INLINE vec_double sinusoid_direct_bound(vec_double value, vec_double absolute)
{
    return vec_double_fma(vec_double_abs(value), vec_double_set1(12.12 * 0x1p-53), absolute);
}

VEC_INLINE double sinusoid_direct_absolute(double position)
{
    const double size = position < 0 ? -position : position;
    return (size < 1 ? 1 : size) * 0x1p-101;
}

/* Rounds values to a type. 16-bit types go through a float rounded to odd, so the result is rounded only once. */
VEC_INLINE vec sinusoid_cast(vec_double low, vec_double high, inlay_element_type type)
{
    if (type == INLAY_F16)
        return vec_round_f16(vec_from_doubles_odd(low, high));
    if (type == INLAY_BF16)
        return vec_round_bf16(vec_from_doubles_odd(low, high));
    return vec_from_doubles(low, high);
}

/*
 * The rounding test for float32, if fma rounds once. |x - v| < d, where x is the real number and v the double; `e` is E
 * = 2d. Sets bits of `seen` unless v - d and v + d round to the same float; if they do, x rounds to it too.
 *
 * Let 2^k <= |v| < 2^(k+1), where floats are g = 2^(k-23) apart, and P = 2^29 - 1. Doubles of the size of P v are g
 * apart too, and 2^29 v is one of them. So P v + E = 2^29 v - (v - E) rounds to 2^29 v - f, where f is the multiple of
 * g nearest to v - E. P v - E rounds in the same way to the one nearest to v + E. If they agree, v - E and v + E are
 * within g/2 of one f, a float, and x rounds to it, unless x < 2^k: there floats are g/2 apart, and x has to be within
 * g/4 of f = 2^k. It is, as d = E/2 <= g/4. (Just above 2^k, P v is below 2^(k+29), where doubles are g/2 apart: there
 * d <= g/8 and v - 2^k < g/16, and x rounds to 2^k again.)
 */
VEC_INLINE vec_double_bits sinusoid_test(vec_double_bits seen, vec_double v, vec_double e)
{
    const vec_double p = vec_double_set1(0x1p29 - 1);
    const vec_double_bits above = (vec_double_bits)vec_double_fma(v, p, e);
    return seen | (above ^ (vec_double_bits)vec_double_fma(v, p, -e));
}

/* VEC_LEN sines or cosines, and twice the bounds of their errors: either in memory, or computed from the values as in
   sinusoid_direct(). */
struct sinusoid_values {
    vec_double low, high;
    bool direct;
    const double *bound; /* unless `direct` */
    vec_double absolute; /* if `direct` */
};

VEC_INLINE struct sinusoid_values sinusoid_values(const double *state, const double *bound, size_t i)
{
    return (struct sinusoid_values){
        .low = vec_double_load(state + i), .high = vec_double_load(state + i + VEC_DOUBLES), .bound = bound + i};
}

/* Returns twice the error bounds of v.low (at = 0) or of v.high (at = VEC_DOUBLES). */
VEC_INLINE vec_double sinusoid_twice_bound(struct sinusoid_values v, size_t at)
{
    return v.direct ? sinusoid_direct_bound(at == 0 ? v.low : v.high, v.absolute) : vec_double_load(v.bound + at);
}

/* True if sinusoid_test() works for a type. */
VEC_INLINE bool sinusoid_tests(inlay_element_type type)
{
    return type == INLAY_F32 && VEC_FMA_ONCE;
}

/* Returns the bits that differ between v - E and v + E once rounded, where E is twice the error bound d. A value is
   undecided if any does. E exceeds d by more than the rounding of these sums, as d is more than u |v|. */
VEC_INLINE vec_bits sinusoid_difference(struct sinusoid_values v, inlay_element_type type)
{
    vec_double low_bound = sinusoid_twice_bound(v, 0), high_bound = sinusoid_twice_bound(v, VEC_DOUBLES);
    vec above = sinusoid_cast(v.low + low_bound, v.high + high_bound, type);
    vec below = sinusoid_cast(v.low - low_bound, v.high - high_bound, type);
    return (vec_bits)above ^ (vec_bits)below;
}

/* Returns a mask whose bit i is set if value i is undecided. Rarely called. */
VEC_INLINE uint32_t sinusoid_undecided(struct sinusoid_values v, inlay_element_type type)
{
    uint32_t undecided = 0;
    if (sinusoid_tests(type)) {
        const vec_double_bits low = sinusoid_test((vec_double_bits){0}, v.low, sinusoid_twice_bound(v, 0));
        const vec_double_bits high = sinusoid_test((vec_double_bits){0}, v.high, sinusoid_twice_bound(v, VEC_DOUBLES));
        for (size_t i = 0; i < VEC_DOUBLES; i++)
            undecided |= (uint32_t)(low[i] != 0) << i | (uint32_t)(high[i] != 0) << (i + VEC_DOUBLES);
    } else {
        const vec_bits difference = sinusoid_difference(v, type);
        for (size_t i = 0; i < VEC_LEN; i++)
            undecided |= (uint32_t)(difference[i] != 0) << i;
    }
    return undecided;
}

/* True if any value is undecided. Uses one test for all values where possible, since undecided ones are rare. */
VEC_INLINE bool sinusoid_any_undecided(struct sinusoid_values sin, struct sinusoid_values cos, inlay_element_type type)
{
    if (!sinusoid_tests(type))
        return vec_bits_test(sinusoid_difference(sin, type) | sinusoid_difference(cos, type), UINT32_MAX);
    vec_double_bits seen = sinusoid_test((vec_double_bits){0}, sin.low, sinusoid_twice_bound(sin, 0));
    seen = sinusoid_test(seen, sin.high, sinusoid_twice_bound(sin, VEC_DOUBLES));
    seen = sinusoid_test(seen, cos.low, sinusoid_twice_bound(cos, 0));
    seen = sinusoid_test(seen, cos.high, sinusoid_twice_bound(cos, VEC_DOUBLES));
    return vec_bits_test((vec_bits)seen, UINT32_MAX);
}

/* Stores the first n values of a vector, all of it if n >= VEC_LEN, nothing if n is 0. */
VEC_INLINE void sinusoid_store(unsigned char *out, vec x, size_t n, inlay_element_type type, bool stream)
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

/*
 * Rows computed together, to load and store the state once for all of them: its stores share a queue with those of the
 * rows. Two rows if tokens are added, or if rows are a multiple of 4 KiB apart. Four rows streamed at once to addresses
 * with equal lower 12 bits took 3.2x to 5.3x the time of a copy (Zen 3). On Zen 4, two take 0.95x to 1.02x the time of
 * four.
 */
enum { SINUSOID_ROWS = 4, SINUSOID_ROWS_APART = 2, SINUSOID_ALIAS_BYTES = 4096 };

/* Constants of a tile. They are known where sinusoid_rows_of() is called, so each combination gets its own loop. */
struct sinusoid_shape {
    inlay_element_type type;
    bool interleaved, stream, fused, direct;
};

/* The sines and cosines of VEC_LEN pairs of one row. */
struct sinusoid_both {
    struct sinusoid_values sin, cos;
};

VEC_INLINE struct sinusoid_both sinusoid_both(const struct inlay_sinusoid_tile *tile, size_t row, size_t i, bool direct)
{
    const struct inlay_sinusoid_state *state = tile->state;
    if (!direct)
        return (struct sinusoid_both){sinusoid_values(state->sin, state->sin_bound, i),
                                      sinusoid_values(state->cos, state->cos_bound, i)};
    const double position = tile->positions[row], amplitude = tile->amplitude;
    const struct vec_sincos low = sinusoid_direct(tile, position, i);
    const struct vec_sincos high = sinusoid_direct(tile, position, i + VEC_DOUBLES);
    const vec_double absolute = vec_double_set1(sinusoid_direct_absolute(position) * amplitude);
    return (struct sinusoid_both){{low.sin * amplitude, high.sin * amplitude, true, NULL, absolute},
                                  {low.cos * amplitude, high.cos * amplitude, true, NULL, absolute}};
}

/* Returns sinusoid_both() of a row, given the values of the row before. */
VEC_INLINE struct sinusoid_both sinusoid_next(const struct inlay_sinusoid_tile *tile, size_t row, size_t i,
                                              struct sinusoid_both before, bool direct)
{
    const struct inlay_sinusoid_state *state = tile->state;
    if (direct)
        return sinusoid_both(tile, row, i, true);
    const struct vec_sincos low = sinusoid_turn((struct vec_sincos){before.sin.low, before.cos.low},
                                                sinusoid_load(state->sin_step, state->cos_step, i));
    const struct vec_sincos high = sinusoid_turn((struct vec_sincos){before.sin.high, before.cos.high},
                                                 sinusoid_load(state->sin_step, state->cos_step, i + VEC_DOUBLES));
    before.sin.low = low.sin;
    before.cos.low = low.cos;
    before.sin.high = high.sin;
    before.cos.high = high.cos;
    return before;
}

/* Marks the undecided ones among pairs [i, i + VEC_LEN) of n rows. The state must still be that of the first row.
   Rarely called: one function serves all shapes. */
static __attribute__((noinline)) void sinusoid_set_undecided(const struct inlay_sinusoid_tile *tile, size_t row,
                                                             size_t n, size_t i)
{
    const bool direct = tile->positions != NULL;
    struct sinusoid_both values = sinusoid_both(tile, row, i, direct);
    for (size_t end = row + n;;) {
        uint32_t sines = sinusoid_undecided(values.sin, tile->type);
        uint32_t cosines = sinusoid_undecided(values.cos, tile->type);
        uint32_t undecided = (sines | cosines << INLAY_PAIR_GROUP) << i % INLAY_PAIR_GROUP;
        tile->undecided[(row * inlay_padded(tile->pairs) + i) / INLAY_PAIR_GROUP] |= undecided;
        if (++row == end)
            break;
        values = sinusoid_next(tile, row, i, values, direct);
    }
}

/* Returns token * scale + entry. Reads only the first n tokens. */
VEC_INLINE vec sinusoid_add(const unsigned char *tokens, float scale, vec entries, size_t n)
{
    vec x = n >= VEC_LEN ? vec_load(tokens) : vec_load_n(tokens, n);
    return x * scale + entries;
}

/* Writes pairs [i, i + VEC_LEN) of one row. Only the first `sines` and `cosines` have columns. */
VEC_INLINE void sinusoid_pairs(const struct inlay_sinusoid_tile *tile, size_t row, size_t i, size_t sines,
                               size_t cosines, struct sinusoid_shape shape, struct sinusoid_both values)
{
    const struct sinusoid_values sin = values.sin, cos = values.cos;
    vec sin_entries = sinusoid_cast(sin.low, sin.high, shape.type);
    vec cos_entries = sinusoid_cast(cos.low, cos.high, shape.type);
    const size_t element = shape.type == INLAY_F32 ? 4 : 2;
    unsigned char *sin_out = tile->sin_out + row * tile->out_stride_bytes + i * element;
    unsigned char *cos_out = tile->cos_out + row * tile->out_stride_bytes + i * element;
    vec first = sin_entries, second = cos_entries;
    if (shape.interleaved) {
        struct vec_two both = vec_interleave(sin_entries, cos_entries);
        size_t n = sines + cosines;
        first = both.low;
        second = both.high;
        sines = n;
        cosines = n > VEC_LEN ? n - VEC_LEN : 0;
        sin_out += i * element;
        cos_out = sin_out + VEC_LEN * element;
    }
    if (shape.fused) {
        const unsigned char *tokens = tile->tokens[row] + tile->sin_at + (shape.interleaved ? 2 * i : i) * element;
        first = sinusoid_add(tokens, tile->scale, first, sines);
        if (cosines > 0)
            second = sinusoid_add(tokens + (cos_out - sin_out), tile->scale, second, cosines);
    }
    sinusoid_store(sin_out, first, sines, shape.type, shape.stream);
    sinusoid_store(cos_out, second, cosines, shape.type, shape.stream);
}

/* Prefetches the next row's tokens for pairs [i, i + VEC_LEN). */
VEC_INLINE void sinusoid_prefetch(const struct inlay_sinusoid_tile *tile, size_t row, size_t i, bool interleaved)
{
    const unsigned char *next = tile->next[row];
    if (interleaved) {
        for (size_t at = 0; at < 2 * VEC_BYTES; at += INLAY_CACHE_LINE)
            inlay_prefetch_line(next + tile->sin_at + 2 * i * sizeof(float) + at, tile->near);
    } else {
        inlay_prefetch_line(next + tile->sin_at + i * sizeof(float), tile->near);
        inlay_prefetch_line(next + tile->cos_at + i * sizeof(float), tile->near);
    }
}

/* Writes pairs [i, i + VEC_LEN) of n rows and advances the state. Returns true if any entry is undecided. */
VEC_INLINE bool sinusoid_block(const struct inlay_sinusoid_tile *tile, size_t row, size_t n, size_t i, size_t sines,
                               size_t cosines, struct sinusoid_shape shape)
{
    struct sinusoid_both values = sinusoid_both(tile, row, i, shape.direct);
    bool any = false;
    for (size_t k = 0; k < n; k++) {
        if (k > 0)
            values = sinusoid_next(tile, row + k, i, values, shape.direct);
        if (tile->next != NULL)
            sinusoid_prefetch(tile, row + k, i, shape.interleaved);
        sinusoid_pairs(tile, row + k, i, sines, cosines, shape, values);
        any |= sinusoid_any_undecided(values.sin, values.cos, shape.type);
    }
    if (any)
        sinusoid_set_undecided(tile, row, n, i);
    if (!shape.direct) {
        values = sinusoid_next(tile, row + n, i, values, false);
        vec_double_store(tile->state->sin + i, values.sin.low);
        vec_double_store(tile->state->cos + i, values.cos.low);
        vec_double_store(tile->state->sin + i + VEC_DOUBLES, values.sin.high);
        vec_double_store(tile->state->cos + i + VEC_DOUBLES, values.cos.high);
    }
    return any;
}

/* Writes the last pairs of n rows, fewer than a vector. One function serves all shapes. */
static __attribute__((noinline)) bool sinusoid_tail(const struct inlay_sinusoid_tile *tile, size_t row, size_t n,
                                                    size_t i, struct sinusoid_shape shape)
{
    return sinusoid_block(tile, row, n, i, tile->sines - i, tile->cosines - i, shape);
}

VEC_INLINE bool sinusoid_rows_of(const struct inlay_sinusoid_tile *tile, struct sinusoid_shape shape)
{
    size_t both = tile->sines < tile->cosines ? tile->sines : tile->cosines;
    size_t whole = both - both % VEC_LEN, n;
    /* Direct rows share no state. Grouping rows takes 1.05x the time if a line takes several streaming stores
       (Zen 4). */
    const bool one = shape.direct || (shape.stream && !shape.fused && sizeof(vec) < INLAY_CACHE_LINE);
    const bool aliased = shape.stream && tile->out_stride_bytes % SINUSOID_ALIAS_BYTES == 0;
    const size_t most = one ? 1 : shape.fused || aliased ? SINUSOID_ROWS_APART : SINUSOID_ROWS;
    bool any = false;
    for (size_t row = 0; row < tile->rows; row += n) {
        n = one || tile->rows - row >= most ? most : tile->rows - row;
        for (size_t i = 0; i < whole; i += VEC_LEN)
            any |= sinusoid_block(tile, row, n, i, VEC_LEN, VEC_LEN, shape);
        if (whole < tile->pairs)
            any |= sinusoid_tail(tile, row, n, whole, shape);
    }
    return any;
}

VEC_INLINE bool sinusoid_rows_fused(const struct inlay_sinusoid_tile *tile, inlay_element_type type, bool fused)
{
    const bool no = false, yes = true, stream = VEC_STREAMS && tile->stream;
    if (tile->positions != NULL)
        return tile->interleaved ? sinusoid_rows_of(tile, (struct sinusoid_shape){type, yes, no, fused, .direct = yes})
                                 : sinusoid_rows_of(tile, (struct sinusoid_shape){type, no, no, fused, .direct = yes});
    if (tile->interleaved)
        return stream ? sinusoid_rows_of(tile, (struct sinusoid_shape){type, yes, yes, fused, no})
                      : sinusoid_rows_of(tile, (struct sinusoid_shape){type, yes, no, fused, no});
    return stream ? sinusoid_rows_of(tile, (struct sinusoid_shape){type, no, yes, fused, no})
                  : sinusoid_rows_of(tile, (struct sinusoid_shape){type, no, no, fused, no});
}

static bool NAME(sinusoid_rows)(const struct inlay_sinusoid_tile *tile)
{
    /* A copy that no store can alias, so its fields stay in registers. */
    const struct inlay_sinusoid_tile own = *tile;
    if (own.type == INLAY_F16)
        return sinusoid_rows_fused(&own, INLAY_F16, false);
    if (own.type == INLAY_BF16)
        return sinusoid_rows_fused(&own, INLAY_BF16, false);
    return own.tokens != NULL ? sinusoid_rows_fused(&own, INLAY_F32, true)
                              : sinusoid_rows_fused(&own, INLAY_F32, false);
}
