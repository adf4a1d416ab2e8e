/* SPDX-License-Identifier: MIT */
/*
 * The embed kernel, once for every ISA: included by <isa>/kernels.c behind its vec.h, whose vocabulary it speaks
 * (CONTRIBUTING.md lists the words). Holds no intrinsics and includes nothing.
 */
#if VEC_LEN < 2
#error "the scalar kernels are written by hand, in src/scalar"
#endif

/* What a row goes through; constants where embed_row is called, so that each combination is a loop of its own. */
struct embed_terms {
    bool scaled, positioned, streamed;
};

static inline vec embed_value(vec x, vec position, vec scale, struct embed_terms terms)
{
    if (terms.scaled)
        x = vec_mul(x, scale);
    if (terms.positioned)
        x = vec_add(x, position);
    return x;
}

static inline void embed_part(const unsigned char *row, const unsigned char *position, unsigned char *out, size_t n,
                              vec scale, struct embed_terms terms)
{
    vec_store_n(out, embed_value(vec_load_n(row, n), vec_load_n(position, n), scale, terms), n);
}

/* Columns before `out`, a multiple of 4, is aligned for streaming. */
static inline size_t embed_peel(const unsigned char *out, size_t columns)
{
    size_t peel = (VEC_BYTES - (uintptr_t)out % VEC_BYTES) % VEC_BYTES / sizeof(float);
    return peel < columns ? peel : columns;
}

VEC_INLINE void embed_row(const unsigned char *row, const unsigned char *position, unsigned char *out, size_t columns,
                          vec scale, struct embed_terms terms)
{
    size_t column = 0;
    if (terms.streamed) {
        column = embed_peel(out, columns);
        if (column > 0)
            embed_part(row, position, out, column, scale, terms);
    }
    for (; column + VEC_LEN <= columns; column += VEC_LEN) {
        size_t at = column * sizeof(float);
        vec x = embed_value(vec_load(row + at), vec_load(position + at), scale, terms);
        if (terms.streamed)
            vec_stream(out + at, x);
        else
            vec_store(out + at, x);
    }
    if (column < columns) {
        size_t at = column * sizeof(float);
        embed_part(row + at, position + at, out + at, columns - column, scale, terms);
    }
}

/* Where there are no positions the row stands in for them, and the compiler drops the unused load. */
VEC_INLINE void embed_rows(const struct inlay_embed_tile *tile, struct embed_terms terms)
{
    vec scale = vec_set1(tile->scale);
    struct embed_terms cached = {terms.scaled, terms.positioned, false};
    for (size_t i = 0; i < tile->count; i++) {
        const unsigned char *row = tile->rows[i];
        const unsigned char *position = terms.positioned ? tile->positions[i] : row;
        unsigned char *out = tile->out[i];
        if (terms.streamed && (uintptr_t)out % sizeof(float) == 0)
            embed_row(row, position, out, tile->columns, scale, terms);
        else
            embed_row(row, position, out, tile->columns, scale, cached);
    }
}

static inline void embed_tile(const struct inlay_embed_tile *tile)
{
    bool positioned = tile->positions != NULL;
    bool scaled = tile->scale != 1 || positioned;
    if (positioned && tile->stream)
        embed_rows(tile, (struct embed_terms){true, true, true});
    else if (positioned)
        embed_rows(tile, (struct embed_terms){true, true, false});
    else if (scaled && tile->stream)
        embed_rows(tile, (struct embed_terms){true, false, true});
    else if (scaled)
        embed_rows(tile, (struct embed_terms){true, false, false});
    else if (tile->stream)
        embed_rows(tile, (struct embed_terms){false, false, true});
    else
        embed_rows(tile, (struct embed_terms){false, false, false});
}
