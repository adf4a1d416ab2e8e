/* SPDX-License-Identifier: MIT */
/*
 * The cast kernel, once for every ISA, over the words of its vec.h. Included by simd/kernels.h. Holds no intrinsics and
 * includes nothing.
 */

enum { LINE_VECS = INLAY_CACHE_LINE / VEC_BYTES };

VEC_INLINE size_t cast_bytes(inlay_element_type type)
{
    return type == INLAY_F32 ? 4 : 2;
}

/* Returns any floats in a type. The bits of 16-bit types are the lower halves of the lanes. */
VEC_INLINE vec cast_value(vec x, inlay_element_type type)
{
    if (type == INLAY_F16)
        return vec_round_f16(x);
    if (type == INLAY_BF16)
        return vec_round_bf16_any(x);
    return x;
}

/* Returns any floats in a 16-bit type that is no constant. */
VEC_INLINE vec cast_half(vec x, inlay_element_type type)
{
    return type == INLAY_F16 ? cast_value(x, INLAY_F16) : cast_value(x, INLAY_BF16);
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

/* Writes any columns at any address with ordinary stores. */
VEC_INLINE void cast_cached(const unsigned char *row, unsigned char *out, size_t columns, inlay_element_type type)
{
    size_t column = 0;
    for (; column + VEC_LEN <= columns; column += VEC_LEN) {
        vec value = cast_value(vec_load(row + column * sizeof(float)), type);
        unsigned char *to = out + column * cast_bytes(type);
        type == INLAY_F32 ? vec_store(to, value) : vec_store_halves(to, value);
    }
    if (column < columns) {
        size_t n = columns - column;
        vec value = cast_value(vec_load_n(row + column * sizeof(float), n), type);
        unsigned char *to = out + column * cast_bytes(type);
        type == INLAY_F32 ? vec_store_n(to, value, n) : vec_store_halves_n(to, value, n);
    }
}

/* Writes the whole cache lines of `out` with streaming stores, those of a line one after the other, and the columns
   before and behind them with ordinary ones. */
VEC_INLINE void cast_streamed(const unsigned char *row, unsigned char *out, size_t columns, inlay_element_type type)
{
    const size_t element = cast_bytes(type), line_columns = INLAY_CACHE_LINE / element;
    size_t head = vec_columns_before_line(out, element, columns);
    if (head > 0)
        cast_cached(row, out, head, type);
    size_t end = head + (columns - head) / line_columns * line_columns;
    for (size_t column = head; column < end; column += line_columns) {
        vec line[INLAY_CACHE_LINE / 2 / VEC_LEN];
        for (size_t i = 0; i < line_columns / VEC_LEN; i++)
            line[i] = cast_value(vec_load(row + (column + i * VEC_LEN) * sizeof(float)), type);
        for (size_t i = 0; i < line_columns / VEC_LEN; i++) {
            unsigned char *to = out + (column + i * VEC_LEN) * element;
            type == INLAY_F32 ? vec_stream(to, line[i]) : vec_stream_halves(to, line[i]);
        }
    }
    if (end < columns)
        cast_cached(row + end * sizeof(float), out + end * element, columns - end, type);
}

VEC_INLINE void cast_rows(const struct inlay_cast_tile *tile, inlay_element_type type)
{
    for (size_t i = 0; i < tile->count; i++) {
        unsigned char *out = tile->out[i];
        /* Elements at odd addresses never fill a line. */
        if (VEC_STREAMS && tile->stream && (uintptr_t)out % cast_bytes(type) == 0)
            cast_streamed(tile->rows[i], out, tile->columns, type);
        else
            cast_cached(tile->rows[i], out, tile->columns, type);
    }
}

static void NAME(cast)(const struct inlay_cast_tile *tile)
{
    if (tile->type == INLAY_F16)
        cast_rows(tile, INLAY_F16);
    else if (tile->type == INLAY_BF16)
        cast_rows(tile, INLAY_BF16);
    else
        cast_rows(tile, INLAY_F32);
}
