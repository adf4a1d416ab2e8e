/* SPDX-License-Identifier: MIT */
/*
 * The norm kernel, once for every ISA: included by <isa>/kernels.c behind its vec.h, whose vocabulary it speaks
 * (CONTRIBUTING.md lists the words). Holds no intrinsics and includes nothing.
 */
#if VEC_LEN < 2
#error "the scalar kernels are written by hand, in src/scalar"
#endif

/* The lanes of the contract, in as many registers as they take here. */
enum { NORM_LANES = 16, NORM_VECS = NORM_LANES / VEC_LEN };

/* What a sweep adds up: the columns, their squares, or the squares of what they have beyond the mean. */
enum norm_sweep { NORM_VALUES, NORM_SQUARES, NORM_DEVIATIONS };

VEC_INLINE vec norm_term(vec x, vec mean, enum norm_sweep sweep)
{
    if (sweep == NORM_VALUES)
        return x;
    if (sweep == NORM_DEVIATIONS)
        x = vec_sub(x, mean);
    return vec_mul(x, x);
}

/*
 * Lanes begin as +0, and so never become -0: where a row ends within the lanes, the others add +0, which changes
 * nothing.
 */
VEC_INLINE float norm_sum(const unsigned char *row, size_t columns, float mean, enum norm_sweep sweep)
{
    const vec vec_mean = vec_set1(mean);
    vec lanes[NORM_VECS];
    for (size_t k = 0; k < NORM_VECS; k++)
        lanes[k] = vec_set1(0);
    size_t column = 0;
    for (; column + NORM_LANES <= columns; column += NORM_LANES)
        for (size_t k = 0; k < NORM_VECS; k++) {
            vec x = vec_load(row + (column + k * VEC_LEN) * sizeof(float));
            lanes[k] = vec_add(lanes[k], norm_term(x, vec_mean, sweep));
        }
    for (size_t k = 0; k < NORM_VECS && column < columns; k++, column += VEC_LEN) {
        const unsigned char *at = row + column * sizeof(float);
        size_t n = columns - column;
        vec term = n >= VEC_LEN ? norm_term(vec_load(at), vec_mean, sweep)
                                : vec_keep_n(norm_term(vec_load_n(at, n), vec_mean, sweep), n);
        lanes[k] = vec_add(lanes[k], term);
    }
    for (size_t half = NORM_VECS / 2; half > 0; half /= 2)
        for (size_t k = 0; k < half; k++)
            lanes[k] = vec_add(lanes[k], lanes[k + half]);
    return vec_sum(lanes[0]);
}

/* What a row goes through; constants where norm_rows is called, so that each combination is a loop of its own. */
struct norm_terms {
    bool centred, scaled, shifted;
};

/* What all columns of a row have in common. */
struct norm_row {
    vec mean, factor;
};

VEC_INLINE vec norm_value(vec x, struct norm_row row, vec gamma, vec beta, struct norm_terms terms)
{
    if (terms.centred)
        x = vec_sub(x, row.mean);
    x = vec_mul(x, row.factor);
    if (terms.scaled)
        x = vec_mul(x, gamma);
    if (terms.shifted)
        x = vec_add(x, beta);
    return x;
}

/* Where there is no gamma or beta the row stands in for it, and the compiler drops the unused load. */
VEC_INLINE void norm_write(const unsigned char *from, unsigned char *out, size_t columns, struct norm_row row,
                           const unsigned char *gamma, const unsigned char *beta, struct norm_terms terms)
{
    const size_t bytes = columns * sizeof(float);
    gamma = terms.scaled ? gamma : from;
    beta = terms.shifted ? beta : from;
    size_t at = 0;
    for (; at + VEC_BYTES <= bytes; at += VEC_BYTES) {
        vec value = vec_load(from + at);
        vec_store(out + at, norm_value(value, row, vec_load(gamma + at), vec_load(beta + at), terms));
    }
    if (at < bytes) {
        size_t n = (bytes - at) / sizeof(float);
        vec value = vec_load_n(from + at, n);
        value = norm_value(value, row, vec_load_n(gamma + at, n), vec_load_n(beta + at, n), terms);
        vec_store_n(out + at, value, n);
    }
}

VEC_INLINE void norm_rows(const struct inlay_norm_tile *tile, struct norm_terms terms)
{
    const size_t columns = tile->columns;
    const float divisor = (float)columns;
    for (size_t i = 0; i < tile->count; i++) {
        const unsigned char *from = tile->rows[i];
        float mean = terms.centred ? norm_sum(from, columns, 0, NORM_VALUES) / divisor : 0;
        float squares = norm_sum(from, columns, mean, terms.centred ? NORM_DEVIATIONS : NORM_SQUARES);
        float factor = 1 / vec_sqrt_one(squares / divisor + tile->epsilon);
        struct norm_row row = {vec_set1(mean), vec_set1(factor)};
        norm_write(from, tile->out[i], columns, row, tile->gamma, tile->beta, terms);
    }
}

VEC_INLINE void norm_centred(const struct inlay_norm_tile *tile, bool centred)
{
    if (tile->gamma != NULL && tile->beta != NULL)
        norm_rows(tile, (struct norm_terms){centred, true, true});
    else if (tile->gamma != NULL)
        norm_rows(tile, (struct norm_terms){centred, true, false});
    else if (tile->beta != NULL)
        norm_rows(tile, (struct norm_terms){centred, false, true});
    else
        norm_rows(tile, (struct norm_terms){centred, false, false});
}

static inline void norm_tile(const struct inlay_norm_tile *tile)
{
    if (tile->centred)
        norm_centred(tile, true);
    else
        norm_centred(tile, false);
}
