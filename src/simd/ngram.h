/* SPDX-License-Identifier: MIT */
/*
 * The n-gram hash, written once over the vector operations of vec.h. Included by simd/kernels.h; no intrinsics, no
 * includes.
 */
/*
 * Lanes are tokens. The remainder of a sum x, -2^63 <= x < 2^63, modulo m is computed from a quotient in double: q is x
 * * (1 / m), rounded to an integer by adding NGRAM_TO_INTEGER. Let u = 2^-53. The conversion of x, 1 / m and (if fma
 * rounds twice) the product each have a relative error of at most u. So the product's error is less than 3.01 u 2^63 /
 * m = 3.01 * 2^10 / m, which is below 0.38 for m >= INLAY_NGRAM_MIN_LANES. |x / m| <= 2^50, so the sum is in [2^52,
 * 2^53], where doubles are integers, and its rounding error is at most 1/2. Hence |q - x / m| < 1, and r = x - q m is
 * in (-m, m).
 *
 * The low 32 bits of the sum are those of q, since those of NGRAM_TO_INTEGER are zeros. m < 2^31, so r + m is in (0,
 * 2^32), and the low 32 bits of x - q m determine r. If r is negative, these bits are 2^32 + r as an unsigned number,
 * which is larger than r + m; otherwise r is smaller than r + m. So the smaller of r and r + m, as unsigned 32-bit
 * numbers, is the remainder, also for negative x.
 */
#define NGRAM_TO_INTEGER 0x1.8p52

_Static_assert(INLAY_NGRAM_LANES % VEC_DOUBLES == 0, "places and rows have room for whole vectors");

/* Hash sums per token, and the same as doubles. */
struct ngram_sums {
    _Alignas(INLAY_CACHE_LINE) uint64_t bits[INLAY_NGRAM_TOKENS];
    double doubles[INLAY_NGRAM_TOKENS];
};

/* Converts signed 64-bit lanes to doubles, rounded once. The halves become the low bits of doubles with the exponents
   of 2^52 and, with the sign bit inverted, of 2^84. The offsets that this adds are subtracted exactly. */
VEC_INLINE vec_double ngram_doubles(vec_double_bits x)
{
    const uint64_t low_exponent = UINT64_C(0x433) << 52, high_exponent = UINT64_C(0x453) << 52;
    const vec_double low = (vec_double)((x & UINT32_MAX) | low_exponent);
    const vec_double high = (vec_double)(((x >> 32) ^ (UINT64_C(1) << 31)) | high_exponent);
    return (high - (0x1p84 + 0x1p63 + 0x1p52)) + low;
}

/* Mixes places [from, to) into the sums, starting from 0 if `from` is 0. A 64-bit product is word * low half of the
   multiplier, plus (word * high half) << 32. */
VEC_INLINE void ngram_mix(const struct inlay_ngram_tile *tile, const uint64_t *multipliers, size_t from, size_t to,
                          struct ngram_sums *sums, bool adds)
{
    for (size_t t = 0; t < tile->tokens; t += VEC_DOUBLES) {
        vec_double_bits sum = {0};
        if (from > 0)
            sum = (vec_double_bits)vec_double_load(sums->bits + t);
        for (size_t s = from; s < to; s++) {
            const vec_double_bits factor = multipliers[s] + (vec_double_bits){0};
            const vec_double_bits word = vec_widen(tile->places[s] + t);
            const vec_double_bits product = vec_mul_lower(word, factor) + (vec_mul_lower(word, factor >> 32) << 32);
            sum = adds ? sum + product : sum ^ product;
        }
        vec_double_store(sums->bits + t, (vec_double)sum);
        vec_double_store(sums->doubles + t, ngram_doubles(sum));
    }
}

/* Writes the rows of a column, reduced in vector lanes. */
VEC_INLINE void ngram_reduce(const struct ngram_sums *sums, const inlay_ngram_column *column, double inverse,
                             size_t tokens, uint64_t *rows)
{
    const vec_double_bits modulus = column->modulus + (vec_double_bits){0};
    const vec_double_bits offset = column->offset + (vec_double_bits){0};
    const vec_double inverses = vec_double_set1(inverse), to_integer = vec_double_set1(NGRAM_TO_INTEGER);
    for (size_t t = 0; t < tokens; t += VEC_DOUBLES) {
        const vec_double quotient = vec_double_fma(vec_double_load(sums->doubles + t), inverses, to_integer);
        const vec_double_bits rest =
            (vec_double_bits)vec_double_load(sums->bits + t) - vec_mul_lower((vec_double_bits)quotient, modulus);
        const vec_bits remainder = vec_bits_min((vec_bits)rest, (vec_bits)(rest + modulus));
        vec_double_store(rows + t, (vec_double)(offset + ((vec_double_bits)remainder & UINT32_MAX)));
    }
}

/* Writes the rows of a column, for any modulus. The remainder of a negative x is m - 1 - (~x mod m). */
VEC_INLINE void ngram_reduce_each(const struct ngram_sums *sums, const inlay_ngram_column *column, size_t tokens,
                                  uint64_t *rows)
{
    const uint64_t modulus = column->modulus;
    for (size_t t = 0; t < tokens; t++) {
        const uint64_t sum = sums->bits[t], negative = 0 - (sum >> 63), remainder = (sum ^ negative) % modulus;
        rows[t] = column->offset + (remainder ^ negative) + (modulus & negative);
    }
}

/* A column with the same n-gram as the column before reuses its sums. A longer n-gram with the same multipliers extends
   them. */
VEC_INLINE void ngram_tile(const struct inlay_ngram_tile *callers, bool adds)
{
    const struct inlay_ngram_tile tile = *callers;
    struct ngram_sums sums;
    for (size_t c = 0; c < tile.count; c++) {
        const inlay_ngram_column *column = &tile.columns[c];
        const bool same_vector = c > 0 && column->vector == column[-1].vector;
        const size_t mixed = same_vector && column->length >= column[-1].length ? column[-1].length : 0;
        uint64_t *rows = tile.rows + c * tile.rows_stride;
        if (mixed < column->length)
            ngram_mix(&tile, tile.multipliers + column->vector * tile.length, mixed, column->length, &sums, adds);
        if (column->modulus >= INLAY_NGRAM_MIN_LANES && column->modulus < INLAY_NGRAM_LANES_LIMIT)
            ngram_reduce(&sums, column, tile.inverses[c], tile.tokens, rows);
        else
            ngram_reduce_each(&sums, column, tile.tokens, rows);
    }
}

static void NAME(ngram_rows)(const struct inlay_ngram_tile *tile)
{
    if (tile->adds)
        ngram_tile(tile, true);
    else
        ngram_tile(tile, false);
}
