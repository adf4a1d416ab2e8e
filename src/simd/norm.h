/* SPDX-License-Identifier: MIT */
/*
 * The norm kernel, written once over the vector operations of vec.h. Included by simd/kernels.h; no intrinsics, no
 * includes.
 */
/* The lanes of sums that dispatch/kernels.h prescribes, the registers that hold them, and the rows written together,
   which share loads of gamma and beta. */
enum { NORM_LANES = 16, NORM_VECS = NORM_LANES / VEC_DOUBLES, NORM_ROWS = 4 };

_Static_assert(NORM_LANES % VEC_DOUBLES == 0, "registers hold the contract's lanes");

/* Returns the sum of all lanes, after adding the last `count` columns to theirs. */
VEC_INLINE double norm_lanes(vec_double *sums, const double *last, size_t count)
{
    double lanes[NORM_LANES];
    if (count > 0) {
        for (size_t k = 0; k < NORM_VECS; k++)
            vec_double_store(lanes + k * VEC_DOUBLES, sums[k]);
        for (size_t lane = 0; lane < count; lane++)
            lanes[lane] += last[lane];
        for (size_t k = 0; k < NORM_VECS; k++)
            sums[k] = vec_double_load(lanes + k * VEC_DOUBLES);
    }
    for (size_t half = NORM_VECS / 2; half > 0; half /= 2)
        for (size_t k = 0; k < half; k++)
            sums[k] = sums[k] + sums[k + half];
    vec_double_store(lanes, sums[0]);
    for (size_t half = VEC_DOUBLES / 2; half > 0; half /= 2)
        for (size_t lane = 0; lane < half; lane++)
            lanes[lane] += lanes[lane + half];
    return lanes[0];
}

struct norm_sums {
    double values, squares;
};

/* Returns a row's sum of values (if `centered`) and sum of squares; with `deviations`, the sum of (x - mean)^2 instead
   of the squares. The square of a float is exact in double, so fma rounds like a product and a sum. The square of a
   deviation is not exact, so it is not fused. */
VEC_INLINE struct norm_sums norm_sweep(const unsigned char *row, size_t columns, bool centered, bool deviations,
                                       double mean)
{
    vec_double values[NORM_VECS], squares[NORM_VECS];
    for (size_t k = 0; k < NORM_VECS; k++)
        values[k] = squares[k] = vec_double_set1(0);
    size_t column = 0;
    for (; column + NORM_LANES <= columns; column += NORM_LANES)
        for (size_t k = 0; k < NORM_VECS; k++) {
            vec_double x = vec_double_load_f32(row + (column + k * VEC_DOUBLES) * sizeof(float));
            if (centered)
                values[k] = values[k] + x;
            if (deviations)
                squares[k] = squares[k] + (x - mean) * (x - mean);
            else
                squares[k] = vec_double_fma(x, x, squares[k]);
        }
    double last[NORM_LANES], last_squares[NORM_LANES];
    size_t left = columns - column;
    for (size_t i = 0; i < left; i++) {
        last[i] = inlay_load_f32(row, column + i);
        double distance = deviations ? last[i] - mean : last[i];
        last_squares[i] = distance * distance;
    }
    return (struct norm_sums){centered ? norm_lanes(values, last, left) : 0, norm_lanes(squares, last_squares, left)};
}

/* Returns the sum of (x - mean)^2. Rarely called, hence not inlined. */
static __attribute__((noinline)) double norm_deviations(const unsigned char *row, size_t columns, double mean)
{
    return norm_sweep(row, columns, false, true, mean).squares;
}

/* Per-row constants. */
struct norm_row {
    double mean, factor;
};

/* `unit` (the L2 norm) is tested once per row: only the factor differs from RMSNorm, which doesn't justify separate
   loops. */
VEC_INLINE struct norm_row norm_row(const unsigned char *row, size_t columns, float epsilon, bool centered, bool unit)
{
    struct norm_sums sums = norm_sweep(row, columns, centered, false, 0);
    if (unit) {
        double length = __builtin_sqrt(sums.squares);
        return (struct norm_row){0, 1 / (length < (double)epsilon ? (double)epsilon : length)};
    }
    double mean = sums.values / (double)columns, variance = sums.squares / (double)columns;
    if (centered) {
        variance = variance - mean * mean;
        if (variance < mean * mean * INLAY_NORM_CANCELED)
            variance = norm_deviations(row, columns, mean) / (double)columns;
    }
    return (struct norm_row){mean, 1 / __builtin_sqrt(variance + (double)epsilon)};
}

/* The operations of a norm. They are constants where norm_rows() is called, so each combination gets its own loop. */
struct norm_terms {
    bool centered, scaled, shifted;
};

VEC_INLINE vec_double norm_value(const unsigned char *from, const struct norm_row *row, vec_double gamma,
                                 vec_double beta, struct norm_terms terms)
{
    vec_double x = vec_double_load_f32(from);
    if (terms.centered)
        x = x - row->mean;
    x = x * row->factor;
    if (terms.scaled)
        x = x * gamma;
    if (terms.shifted)
        x = x + beta;
    return x;
}

/* Writes the last columns of a row, fewer than a vector. */
static __attribute__((noinline)) void norm_last(const struct inlay_norm_tile *tile, size_t i,
                                                const struct norm_row *row, size_t column)
{
    const double mean = tile->norm == INLAY_NORM_LAYER ? row->mean : 0;
    for (; column < tile->columns; column++) {
        double x = (inlay_load_f32(tile->rows[i], column) - mean) * row->factor;
        x = tile->gamma != NULL ? x * inlay_load_f32(tile->gamma, column) : x;
        x = tile->beta != NULL ? x + inlay_load_f32(tile->beta, column) : x;
        inlay_store_f32(tile->out[i], column, (float)x);
    }
}

/* Writes `rows` rows. Without gamma or beta, the first row is passed in its place and the compiler drops the unused
   load. */
VEC_INLINE void norm_write(const struct inlay_norm_tile *tile, size_t first, size_t rows, const struct norm_row *row,
                           struct norm_terms terms)
{
    const unsigned char *gamma = terms.scaled ? tile->gamma : tile->rows[first];
    const unsigned char *beta = terms.shifted ? tile->beta : tile->rows[first];
    const size_t bytes = tile->columns * sizeof(float), half = VEC_BYTES / 2;
    size_t at = 0;
    for (; at + VEC_BYTES <= bytes; at += VEC_BYTES) {
        vec_double low_gamma = vec_double_load_f32(gamma + at), high_gamma = vec_double_load_f32(gamma + at + half);
        vec_double low_beta = vec_double_load_f32(beta + at), high_beta = vec_double_load_f32(beta + at + half);
        for (size_t i = 0; i < rows; i++) {
            const unsigned char *from = tile->rows[first + i] + at;
            vec_double low = norm_value(from, &row[i], low_gamma, low_beta, terms);
            vec_double high = norm_value(from + half, &row[i], high_gamma, high_beta, terms);
            vec_store(tile->out[first + i] + at, vec_from_doubles(low, high));
        }
    }
    if (at < bytes)
        for (size_t i = 0; i < rows; i++)
            norm_last(tile, first + i, &row[i], at / sizeof(float));
}

VEC_INLINE void norm_rows(const struct inlay_norm_tile *tile, struct norm_terms terms)
{
    struct norm_row row[NORM_ROWS];
    for (size_t first = 0; first < tile->count;) {
        size_t rows = tile->count - first < NORM_ROWS ? 1 : NORM_ROWS;
        for (size_t i = 0; i < rows; i++)
            row[i] = norm_row(tile->rows[first + i], tile->columns, tile->epsilon, terms.centered,
                              tile->norm == INLAY_NORM_L2);
        if (rows == NORM_ROWS)
            norm_write(tile, first, NORM_ROWS, row, terms);
        else
            norm_write(tile, first, 1, row, terms);
        first += rows;
    }
}

VEC_INLINE void norm_centered(const struct inlay_norm_tile *tile, bool centered)
{
    if (tile->gamma != NULL && tile->beta != NULL)
        norm_rows(tile, (struct norm_terms){centered, true, true});
    else if (tile->gamma != NULL)
        norm_rows(tile, (struct norm_terms){centered, true, false});
    else if (tile->beta != NULL)
        norm_rows(tile, (struct norm_terms){centered, false, true});
    else
        norm_rows(tile, (struct norm_terms){centered, false, false});
}

static void NAME(norm)(const struct inlay_norm_tile *tile)
{
    if (tile->norm == INLAY_NORM_LAYER)
        norm_centered(tile, true);
    else
        norm_centered(tile, false);
}
