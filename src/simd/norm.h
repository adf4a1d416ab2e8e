/* SPDX-License-Identifier: MIT */
/*
 * The norm kernel, written once over the vector operations of vec.h. Included by simd/kernels.h; no intrinsics, no
 * includes.
 */
/* The lanes of sums that dispatch/kernels.h prescribes, the registers that hold them, and the rows written together,
   which share loads of gamma and beta. */
enum { NORM_LANES = 16, NORM_VECS = NORM_LANES / VEC_DOUBLES };

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

/* Returns the sums of values (if `centered`) and of squares of `count` rows, 1 or 2; with `deviations`, the sums of
   (x - mean)^2 instead of the squares. The square of a float is exact in double, so fma rounds like a product and a
   sum. The square of a deviation is not exact, so it is not fused. */
VEC_INLINE void norm_sweep(const unsigned char *const *rows, size_t count, size_t columns, bool centered,
                           bool deviations, double mean, struct norm_sums *sums)
{
    vec_double values[2][NORM_VECS], squares[2][NORM_VECS];
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < NORM_VECS; k++)
            values[i][k] = squares[i][k] = vec_double_set1(0);
    size_t column = 0;
    for (; column + NORM_LANES <= columns; column += NORM_LANES)
        for (size_t i = 0; i < count; i++)
            for (size_t k = 0; k < NORM_VECS; k++) {
                vec_double x = vec_double_load_f32(rows[i] + (column + k * VEC_DOUBLES) * sizeof(float));
                if (centered)
                    values[i][k] = values[i][k] + x;
                if (deviations)
                    squares[i][k] = squares[i][k] + (x - mean) * (x - mean);
                else
                    squares[i][k] = vec_double_fma(x, x, squares[i][k]);
            }
    const size_t left = columns - column;
    for (size_t i = 0; i < count; i++) {
        double last[NORM_LANES], last_squares[NORM_LANES];
        for (size_t lane = 0; lane < left; lane++) {
            last[lane] = inlay_load_f32(rows[i], column + lane);
            double distance = deviations ? last[lane] - mean : last[lane];
            last_squares[lane] = distance * distance;
        }
        sums[i].values = centered ? norm_lanes(values[i], last, left) : 0;
        sums[i].squares = norm_lanes(squares[i], last_squares, left);
    }
}

/* Returns the sum of (x - mean)^2. Rarely called, hence not inlined. */
static __attribute__((noinline)) double norm_deviations(const unsigned char *row, size_t columns, double mean)
{
    struct norm_sums sums;
    norm_sweep(&row, 1, columns, false, true, mean, &sums);
    return sums.squares;
}

/* Per-row constants: mean = high + low. */
struct norm_row {
    double mean, factor;
    float high, low, narrow; /* `narrow` is the factor */
};

/* `unit` (the L2 norm) is tested once per row: only the factor differs from RMSNorm, which doesn't justify separate
   loops. */
VEC_INLINE struct norm_row norm_row(const unsigned char *row, struct norm_sums sums, size_t columns, float epsilon,
                                    bool centered, bool unit)
{
    double mean = sums.values / (double)columns, variance = sums.squares / (double)columns;
    if (centered) {
        variance = variance - mean * mean;
        if (variance < mean * mean * INLAY_NORM_CANCELED)
            variance = norm_deviations(row, columns, mean) / (double)columns;
    }
    double divisor = __builtin_sqrt(variance + (double)epsilon);
    if (unit) {
        divisor = __builtin_sqrt(sums.squares);
        divisor = divisor < (double)epsilon ? (double)epsilon : divisor;
    }
    const double factor = 1 / divisor;
    const float high = (float)mean;
    return (struct norm_row){mean, factor, high, (float)(mean - (double)high), (float)factor};
}

/* The operations of a norm. They are constants where norm_rows() is called, so each combination gets its own loop. */
struct norm_terms {
    bool centered, scaled, shifted;
};

VEC_INLINE vec norm_value(vec x, const struct norm_row *row, vec gamma, vec beta, struct norm_terms terms)
{
    if (terms.centered)
        x = (x - row->high) - row->low;
    x = x * row->narrow;
    if (terms.scaled)
        x = x * gamma;
    if (terms.shifted)
        x = x + beta;
    return x;
}

/* Writes a row whose factor is out of range. */
static __attribute__((noinline)) void norm_in_double(const struct inlay_norm_tile *tile, size_t i,
                                                     const struct norm_row *row)
{
    const double mean = tile->norm == INLAY_NORM_LAYER ? row->mean : 0;
    for (size_t column = 0; column < tile->columns; column++) {
        double x = (inlay_load_f32(tile->rows[i], column) - mean) * row->factor;
        x = tile->gamma != NULL ? x * inlay_load_f32(tile->gamma, column) : x;
        x = tile->beta != NULL ? x + inlay_load_f32(tile->beta, column) : x;
        inlay_store_f32(tile->out[i], column, (float)x);
    }
}

/* Writes `rows` rows, line by line. Without gamma or beta, the first row is passed in its place and the compiler drops
   the unused load. Pointers are copied because any store could alias the tile's. */
VEC_INLINE void norm_write(const struct inlay_norm_tile *tile, size_t first, size_t rows, const struct norm_row *row,
                           struct norm_terms terms)
{
    const unsigned char *from[INLAY_NORM_ROWS];
    unsigned char *to[INLAY_NORM_ROWS];
    struct norm_row constants[INLAY_NORM_ROWS];
    for (size_t i = 0; i < rows; i++) {
        from[i] = tile->rows[first + i];
        to[i] = tile->out[first + i];
        constants[i] = row[i];
    }
    const unsigned char *gamma = terms.scaled ? tile->gamma : from[0], *beta = terms.shifted ? tile->beta : from[0];
    const size_t bytes = tile->columns * sizeof(float);
    const bool stream = VEC_STREAMS && tile->stream;
    size_t at = 0;
    for (; at + INLAY_CACHE_LINE <= bytes; at += INLAY_CACHE_LINE) {
        vec factors[LINE_VECS], shifts[LINE_VECS];
        for (size_t k = 0; k < LINE_VECS; k++) {
            factors[k] = vec_load(gamma + at + k * VEC_BYTES);
            shifts[k] = vec_load(beta + at + k * VEC_BYTES);
        }
        for (size_t i = 0; i < rows; i++)
            for (size_t k = 0; k < LINE_VECS; k++) {
                const vec x = vec_load(from[i] + at + k * VEC_BYTES);
                const vec y = norm_value(x, &constants[i], factors[k], shifts[k], terms);
                unsigned char *out = to[i] + at + k * VEC_BYTES;
                stream ? vec_stream(out, y) : vec_store(out, y);
            }
    }
    while (at < bytes) {
        const size_t n = bytes - at < VEC_BYTES ? (bytes - at) / sizeof(float) : VEC_LEN;
        const vec factors = n < VEC_LEN ? vec_load_n(gamma + at, n) : vec_load(gamma + at);
        const vec shifts = n < VEC_LEN ? vec_load_n(beta + at, n) : vec_load(beta + at);
        for (size_t i = 0; i < rows; i++) {
            const vec x = n < VEC_LEN ? vec_load_n(from[i] + at, n) : vec_load(from[i] + at);
            const vec y = norm_value(x, &constants[i], factors, shifts, terms);
            n < VEC_LEN ? vec_store_n(to[i] + at, y, n) : vec_store(to[i] + at, y);
        }
        at += n * sizeof(float);
    }
}

VEC_INLINE void norm_rows(const struct inlay_norm_tile *tile, struct norm_terms terms)
{
    /* Two rows at once hide the latency of the sums, where their registers suffice. */
    const size_t together = terms.centered && NORM_VECS > 2 ? 1 : 2;
    struct norm_row row[INLAY_NORM_ROWS];
    for (size_t first = 0; first < tile->count;) {
        size_t rows = tile->count - first < INLAY_NORM_ROWS ? 1 : INLAY_NORM_ROWS;
        struct norm_sums sums[INLAY_NORM_ROWS];
        if (rows == INLAY_NORM_ROWS)
            for (size_t i = 0; i < INLAY_NORM_ROWS; i += together)
                norm_sweep(tile->rows + first + i, together, tile->columns, terms.centered, false, 0, sums + i);
        else
            norm_sweep(tile->rows + first, 1, tile->columns, terms.centered, false, 0, sums);
        for (size_t i = 0; i < rows; i++)
            row[i] = norm_row(tile->rows[first + i], sums[i], tile->columns, tile->epsilon, terms.centered,
                              tile->norm == INLAY_NORM_L2);
        bool narrow = true;
        for (size_t i = 0; i < rows; i++)
            narrow = narrow && row[i].factor >= INLAY_NORM_MIN_FACTOR && row[i].factor <= INLAY_NORM_MAX_FACTOR;
        if (!narrow) {
            rows = 1;
            if (row->factor >= INLAY_NORM_MIN_FACTOR && row->factor <= INLAY_NORM_MAX_FACTOR)
                norm_write(tile, first, 1, row, terms);
            else
                norm_in_double(tile, first, row);
        } else if (rows == INLAY_NORM_ROWS) {
            norm_write(tile, first, INLAY_NORM_ROWS, row, terms);
        } else {
            norm_write(tile, first, 1, row, terms);
        }
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
