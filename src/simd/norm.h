/* SPDX-License-Identifier: MIT */
/*
 * The norm kernel, written once over the vector operations of vec.h. Included by simd/kernels.h; no intrinsics, no
 * includes.
 */

/* Returns the sums of values (if `centered`) and of squares of `count` rows, 1 or 2. */
VEC_INLINE void norm_sweep(const unsigned char *const *rows, size_t count, size_t columns, bool centered,
                           struct inlay_row_sums *sums)
{
    struct lane_sums lanes[2];
    for (size_t i = 0; i < count; i++)
        lanes[i] = lane_sums_zero();
    size_t column = 0;
    for (; column + SUM_LANES <= columns; column += SUM_LANES)
        for (size_t i = 0; i < count; i++)
            for (size_t k = 0; k < LINE_VECS; k++)
                lane_sums_add(&lanes[i], k, vec_load(rows[i] + column * sizeof(float) + k * VEC_BYTES), centered);
    for (size_t i = 0; i < count; i++)
        sums[i] = lane_sums_total(&lanes[i], rows[i] + column * sizeof(float), columns - column);
}

/* Adds (x - mean)^2 of `count` columns, at most SUM_LANES, to their lanes. */
VEC_INLINE void norm_add_deviations(double *lanes, const unsigned char *columns, size_t count, double mean)
{
    for (size_t lane = 0; lane < count; lane++) {
        const double distance = inlay_load_f32(columns, lane) - mean;
        lanes[lane] += distance * distance;
    }
}

/* Returns the sum of (x - mean)^2. Rarely called, hence not inlined. */
static __attribute__((noinline)) double norm_deviations(const unsigned char *row, size_t columns, double mean)
{
    double lanes[SUM_LANES] = {0};
    size_t column = 0;
    for (; column + SUM_LANES <= columns; column += SUM_LANES)
        norm_add_deviations(lanes, row + column * sizeof(float), SUM_LANES, mean);
    norm_add_deviations(lanes, row + column * sizeof(float), columns - column, mean);
    return lane_total(lanes, SUM_LANES);
}

/* Per-row constants: mean = high + low. */
struct norm_row {
    double mean, factor;
    float high, low, narrow; /* `narrow` is the factor */
};

/* `unit` (the L2 norm) is tested once per row: only the factor differs from RMSNorm, which doesn't justify separate
   loops. */
VEC_INLINE struct norm_row norm_row(const unsigned char *row, struct inlay_row_sums sums, size_t columns, float epsilon,
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

/* True if the factor is in range. */
VEC_INLINE bool norm_is_narrow(const struct norm_row *row)
{
    return row->factor >= INLAY_NORM_MIN_FACTOR && row->factor <= INLAY_NORM_MAX_FACTOR;
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

/* Finds the constants of `rows` rows, 1 or INLAY_NORM_ROWS. */
VEC_INLINE void norm_constants(const struct inlay_norm_tile *tile, size_t first, size_t rows, bool centered,
                               struct norm_row *row)
{
    /* Two rows at once hide the latency of the sums, where their registers suffice. */
    const size_t together = rows == 1 || (centered && SUM_VECS > 2) ? 1 : 2;
    struct inlay_row_sums sums[INLAY_NORM_ROWS];
    if (tile->sums != NULL)
        memcpy(sums, tile->sums + first, rows * sizeof *sums);
    else
        for (size_t i = 0; i < rows; i += together)
            norm_sweep(tile->rows + first + i, together, tile->columns, centered, sums + i);
    for (size_t i = 0; i < rows; i++)
        row[i] = norm_row(tile->rows[first + i], sums[i], tile->columns, tile->epsilon, centered,
                          tile->norm == INLAY_NORM_L2);
}

/* Not inlined into the loops of every combination of terms. */
static __attribute__((noinline)) void norm_find(const struct inlay_norm_tile *tile, size_t first, size_t rows,
                                                struct norm_row *row)
{
    if (tile->norm == INLAY_NORM_LAYER)
        rows == 1 ? norm_constants(tile, first, 1, true, row) : norm_constants(tile, first, INLAY_NORM_ROWS, true, row);
    else
        rows == 1 ? norm_constants(tile, first, 1, false, row)
                  : norm_constants(tile, first, INLAY_NORM_ROWS, false, row);
}

VEC_INLINE void norm_rows(const struct inlay_norm_tile *tile, struct norm_terms terms)
{
    struct norm_row row[INLAY_NORM_ROWS];
    for (size_t first = 0; first < tile->count;) {
        size_t rows = tile->count - first < INLAY_NORM_ROWS ? 1 : INLAY_NORM_ROWS;
        norm_find(tile, first, rows, row);
        bool narrow = rows == INLAY_NORM_ROWS;
        for (size_t i = 0; i < rows; i++)
            narrow = narrow && norm_is_narrow(&row[i]);
        if (narrow) {
            norm_write(tile, first, INLAY_NORM_ROWS, row, terms);
        } else {
            rows = 1;
            if (norm_is_narrow(row))
                norm_write(tile, first, 1, row, terms);
            else
                norm_in_double(tile, first, row);
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
