/* SPDX-License-Identifier: MIT */
/*
 * The hash of n-grams, once for every ISA, over the words of its vec.h. Included by simd/kernels.h. Holds no intrinsics
 * and includes nothing.
 */
/*
 * Lanes are columns. The remainder of x, |x| <= 2^63, modulo m comes from a quotient in double: q is x * (1 / m),
 * rounded to an integer by adding NGRAM_TO_INTEGER. With u = 2^-53, the conversion of x, 1 / m and (where fma rounds
 * twice) the product are each off by a factor of 1 +- u at most, so that the product is off by less than 3.01 u 2^63 /
 * m = 3.01 * 2^10 / m, which is below 0.38 for m >= INLAY_NGRAM_LANES_LEAST. |x / m| <= 2^50, so the sum lies in [2^52,
 * 2^53], where doubles are integers, and rounds by 1/2 at most. Hence |q - x / m| < 1, and r = x - q m lies in (-m, m).
 *
 * The last bits of the sum are those of q, modulo 2^32, since those of NGRAM_TO_INTEGER are zeros. m < 2^31, so r + m
 * lies in (0, 2^32), and the lower 32 bits of x - q m tell r. Where r is negative, they are 2^32 + r as an unsigned
 * number, which is larger than r + m; elsewhere r is smaller. So the smaller of r and r + m is the remainder, also for
 * negative x.
 */
#define NGRAM_TO_INTEGER 0x1.8p52

_Static_assert(INLAY_NGRAM_LANES % VEC_DOUBLES == 0, "arrays of columns are padded for whole vectors");

/* Writes the rows of VEC_DOUBLES columns from column c on. */
VEC_INLINE void ngram_reduce(const struct inlay_ngram_tile *tile, size_t c, vec_double_bits sum, vec_double sum_double,
                             uint64_t *rows)
{
    const vec_double_bits modulus = vec_double_bits_load(tile->moduli + c);
    const vec_double quotient =
        vec_double_fma(sum_double, vec_double_load(tile->inverses + c), vec_double_set1(NGRAM_TO_INTEGER));
    const vec_double_bits rest = sum - vec_mul_lower((vec_double_bits)quotient, modulus);
    const vec_bits remainder = vec_bits_min((vec_bits)rest, (vec_bits)(rest + modulus));
    const vec_double_bits lower = (vec_double_bits)remainder & UINT32_MAX;
    vec_double_bits_store(rows + c, vec_double_bits_load(tile->offsets + c) + lower);
}

/* Reduces a sum by any modulus: that of a negative x is m - 1 - (~x mod m). */
VEC_INLINE uint64_t ngram_reduce_one(uint64_t sum, uint64_t modulus)
{
    const uint64_t negative = 0 - (sum >> 63), remainder = (sum ^ negative) % modulus;
    return (remainder ^ negative) + (modulus & negative);
}

/* Computes the sums of a token, and their doubles. */
VEC_INLINE void ngram_sum(const struct inlay_ngram_tile *tile, const uint32_t *window, bool adds, uint64_t *sums,
                          double *doubles)
{
    uint64_t sum = 0;
    for (size_t k = 0; k < tile->sum_count; k++) {
        const struct inlay_ngram_sum *of = &tile->sums[k];
        size_t s = k > 0 ? of->begun : 0;
        if (s == 0)
            sum = 0;
        for (; s < of->length; s++) {
            const uint64_t product = window[s] * of->multipliers[s];
            sum = adds ? sum + product : sum ^ product;
        }
        sums[k] = sum;
        doubles[k] = (double)(int64_t)sum;
    }
}

/* Lanes behind the last column of a run belong to the next one, which overwrites them. */
VEC_INLINE void ngram_tile(const struct inlay_ngram_tile *callers, bool adds)
{
    const struct inlay_ngram_tile tile = *callers;
    uint64_t sums[INLAY_NGRAM_CHUNK + INLAY_NGRAM_LANES];
    double doubles[INLAY_NGRAM_CHUNK + INLAY_NGRAM_LANES];
    for (size_t i = 0; i < INLAY_NGRAM_LANES; i++) {
        sums[tile.sum_count + i] = 0;
        doubles[tile.sum_count + i] = 0;
    }
    for (size_t t = 0; t < tile.tokens; t++) {
        uint64_t *rows = tile.rows + t * tile.rows_stride;
        ngram_sum(&tile, tile.windows + t * tile.length, adds, sums, doubles);
        for (size_t i = 0; i < tile.run_count; i++) {
            const struct inlay_ngram_run run = tile.runs[i];
            const size_t end = run.first + run.count;
            if (!run.in_lanes) {
                for (size_t c = run.first; c < end; c++) {
                    const uint64_t sum = sums[run.sum + (c - run.first) * run.step];
                    rows[c] = tile.offsets[c] + ngram_reduce_one(sum, tile.moduli[c]);
                }
            } else if (run.step == 0) {
                const vec_double_bits sum = sums[run.sum] + (vec_double_bits){0};
                const vec_double sum_double = vec_double_set1(doubles[run.sum]);
                for (size_t c = run.first; c < end; c += VEC_DOUBLES)
                    ngram_reduce(&tile, c, sum, sum_double, rows);
            } else {
                for (size_t c = run.first; c < end; c += VEC_DOUBLES) {
                    const size_t k = run.sum + (c - run.first);
                    ngram_reduce(&tile, c, vec_double_bits_load(sums + k), vec_double_load(doubles + k), rows);
                }
            }
        }
    }
}

static void NAME(ngram_rows)(const struct inlay_ngram_tile *tile)
{
    if (tile->adds)
        ngram_tile(tile, true);
    else
        ngram_tile(tile, false);
}
