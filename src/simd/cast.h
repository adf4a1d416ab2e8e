/* SPDX-License-Identifier: MIT */
/*
 * Floats rounded to 16-bit types, and the embed kernel from float32 tables to outputs of these, once for every ISA,
 * over the words of its vec.h. Included by simd/kernels.h. Holds no intrinsics and includes nothing.
 */

enum { LINE_VECS = INLAY_CACHE_LINE / VEC_BYTES, CAST_COLUMNS = 2 * LINE_FLOATS };

/* Returns any floats in a 16-bit type, whose bits become the lower halves of the lanes. */
VEC_INLINE vec cast_half(vec x, inlay_element_type type)
{
    return type == INLAY_F16 ? vec_round_f16(x) : vec_round_bf16_any(x);
}

/* Rounds floats that are no signalling NaN to bfloat16, whose bits become the upper halves of the lanes. Nothing is
   added to a NaN, of which the quiet bit stays. */
VEC_INLINE vec cast_upper(vec x)
{
    /* NOLINTNEXTLINE(misc-redundant-expression): a NaN is not equal to itself. */
    const vec_bits bits = (vec_bits)x, odd = bits >> 16 & 1, numbers = (vec_bits)(x == x);
    return (vec)(bits + ((odd + 0x7fff) & numbers));
}

/* Converts a cache line's worth of columns, results of arithmetic in 2 * LINE_VECS vectors, to a 16-bit type: they come
   to be in the first LINE_VECS. Small numbers times powers of two often need no rounding to bfloat16. */
VEC_INLINE void cast_line(vec *x, inlay_element_type type)
{
    if (type == INLAY_F16) {
        for (size_t i = 0; i < LINE_VECS; i++)
            x[i] = vec_pack_f16(x[2 * i], x[2 * i + 1]);
        return;
    }
    vec_bits seen = {0};
    for (size_t i = 0; i < 2 * LINE_VECS; i++)
        seen |= (vec_bits)x[i];
    if (vec_bits_test(seen, 0xffff))
        for (size_t i = 0; i < 2 * LINE_VECS; i++)
            x[i] = cast_upper(x[i]);
    for (size_t i = 0; i < LINE_VECS; i++)
        x[i] = vec_pack_upper(x[2 * i], x[2 * i + 1]);
}

/* A row, what is added to it, and where it goes in a 16-bit type. `positioned` and `type` are constants where
   cast_rows() is called, so that each combination is a loop of its own. */
struct cast_row {
    const unsigned char *row, *position; /* the row itself if there is no such term: the compiler drops that load */
    unsigned char *out;
    float scale;
    bool positioned;
    inlay_element_type type;
};

VEC_INLINE vec cast_sum(struct cast_row row, vec x, vec position)
{
    x = x * row.scale;
    return row.positioned ? (vec)(x + position) : x;
}

VEC_INLINE vec cast_sum_at(struct cast_row row, size_t column)
{
    const size_t at = column * sizeof(float);
    return cast_sum(row, vec_load(row.row + at), vec_load(row.position + at));
}

/* Writes a cache line's worth of columns, whose stores follow each other. */
VEC_INLINE void cast_columns(struct cast_row row, size_t column, bool stream)
{
    vec line[2 * LINE_VECS];
    for (size_t i = 0; i < 2 * LINE_VECS; i++)
        line[i] = cast_sum_at(row, column + i * VEC_LEN);
    cast_line(line, row.type);
    for (size_t i = 0; i < LINE_VECS; i++) {
        unsigned char *to = row.out + column * 2 + i * VEC_BYTES;
        stream ? vec_stream(to, line[i]) : vec_store(to, line[i]);
    }
}

/* Writes columns [column, end) at any address with ordinary stores. */
VEC_INLINE void cast_cached(struct cast_row row, size_t column, size_t end)
{
    for (; column + CAST_COLUMNS <= end; column += CAST_COLUMNS)
        cast_columns(row, column, false);
    for (; column + VEC_LEN <= end; column += VEC_LEN)
        vec_store_halves(row.out + column * 2, cast_half(cast_sum_at(row, column), row.type));
    if (column < end) {
        const size_t n = end - column, at = column * sizeof(float);
        const vec sum = cast_sum(row, vec_load_n(row.row + at, n), vec_load_n(row.position + at, n));
        vec_store_halves_n(row.out + column * 2, cast_half(sum, row.type), n);
    }
}

/* Writes the whole cache lines of `out` with streaming stores, and the columns before and behind them with ordinary
   ones. */
VEC_INLINE void cast_streamed(struct cast_row row, size_t columns)
{
    size_t column = vec_columns_before_line(row.out, 2, columns);
    cast_cached(row, 0, column);
    for (; column + CAST_COLUMNS <= columns; column += CAST_COLUMNS)
        cast_columns(row, column, true);
    cast_cached(row, column, columns);
}

VEC_INLINE void cast_rows(const struct inlay_embed_tile *callers, bool positioned, inlay_element_type type)
{
    const struct inlay_embed_tile tile = *callers; /* copied for the reason that embed_rows() has */
    for (size_t i = 0; i < tile.count; i++) {
        const unsigned char *position = positioned ? tile.positions[i] : tile.rows[i];
        const struct cast_row row = {tile.rows[i], position, tile.out[i], tile.scale, positioned, type};
        /* Elements at odd addresses never fill a line. */
        if (VEC_STREAMS && tile.stream && (uintptr_t)row.out % 2 == 0)
            cast_streamed(row, tile.columns);
        else
            cast_cached(row, 0, tile.columns);
    }
}

static void NAME(embed_f32_halves)(const struct inlay_embed_tile *tile)
{
    const bool positioned = tile->positions != NULL;
    if (tile->out_type == INLAY_F16)
        positioned ? cast_rows(tile, true, INLAY_F16) : cast_rows(tile, false, INLAY_F16);
    else
        positioned ? cast_rows(tile, true, INLAY_BF16) : cast_rows(tile, false, INLAY_BF16);
}
