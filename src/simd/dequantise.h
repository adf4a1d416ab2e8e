/* SPDX-License-Identifier: MIT */
/*
 * The embed kernel for tables of types other than float32, once for every ISA, over the words of its vec.h. Included by
 * simd/kernels.h behind simd/quantised.h, which says what a block of each type is. Holds no intrinsics and includes
 * nothing. `type` is a constant where these functions are called, so that each type is a loop of its own.
 */

enum {
    QUANTISED_CHUNK = 256, /* columns that pass through L1 on their way to streamed rows that begin off a line */
    LINE_VECS = INLAY_CACHE_LINE / VEC_BYTES,
};

_Static_assert(QUANTISED_CHUNK % (8 * QUANTISED_BLOCK) == 0, "chunks do not cut superblocks");

/* Columns [first, first + columns) of a row, of what is added to them and of where they go; `first` is a multiple of
   QUANTISED_BLOCK. A scale of 1 changes nothing but a NaN's payload. */
struct dequantise_part {
    struct quantised_row row;
    const unsigned char *position; /* null: no such term */
    unsigned char *out;
    size_t first, columns;
    vec scale;
};

/* Returns the offset in bytes of a column from the part's first one, in rows of floats. */
VEC_INLINE size_t dequantise_offset(const struct dequantise_part *part, size_t block, size_t within)
{
    return (block * QUANTISED_BLOCK + within - part->first) * sizeof(float);
}

VEC_INLINE vec dequantise_vec(inlay_element_type type, bool positioned, const struct dequantise_part *part,
                              size_t block, size_t within, struct quantised_terms terms)
{
    vec x = quantised_values(type, &part->row, block, within, terms) * part->scale;
    if (positioned)
        x = x + vec_load(part->position + dequantise_offset(part, block, within));
    return x;
}

/* Writes a cache line's worth of columns, whose stores follow each other. */
VEC_INLINE void dequantise_line(inlay_element_type type, bool positioned, bool stream,
                                const struct dequantise_part *part, size_t block, size_t within,
                                struct quantised_terms terms)
{
    unsigned char *out = part->out + dequantise_offset(part, block, within);
    vec line[LINE_VECS];
    for (size_t i = 0; i < LINE_VECS; i++)
        line[i] = dequantise_vec(type, positioned, part, block, within + i * VEC_LEN, terms);
    for (size_t i = 0; i < LINE_VECS; i++)
        stream ? vec_stream(out + i * VEC_BYTES, line[i]) : vec_store(out + i * VEC_BYTES, line[i]);
}

/* Writes the last columns of a row, n < VEC_LEN. Their bytes are read from a copy, since memory may end behind them. */
VEC_INLINE void dequantise_last(inlay_element_type type, bool positioned, const struct dequantise_part *part,
                                size_t block, size_t within, size_t n, struct quantised_terms terms)
{
    const unsigned char *from = quantised_at(type, &part->row, block, within);
    const size_t at = dequantise_offset(part, block, within), bytes = quantised_number_bytes(type, n);
    unsigned char copy[32] = {0};
    /* The sizes are constants, so that memcpy is not called. */
    if (bytes & 16)
        memcpy(copy, from, 16);
    if (bytes & 8)
        memcpy(copy + (bytes & 16), from + (bytes & 16), 8);
    if (bytes & 4)
        memcpy(copy + (bytes & 24), from + (bytes & 24), 4);
    if (bytes & 2)
        memcpy(copy + (bytes & 28), from + (bytes & 28), 2);
    if (bytes & 1)
        copy[bytes - 1] = from[bytes - 1];
    vec x = quantised_value(type, quantised_load(type, copy, within), terms) * part->scale;
    if (positioned)
        x = x + vec_load_n(part->position + at, n);
    vec_store_n(part->out + at, x, n);
}

/* Writes the columns of a part, which are whole blocks if the type stores those. `stream`: with streaming stores; `out`
 * begins on a cache line. */
VEC_INLINE void dequantise_columns(inlay_element_type type, bool positioned, bool stream,
                                   const struct dequantise_part *part)
{
    const struct quantised_terms row_terms = quantised_row_terms(type, &part->row);
    size_t block = part->first / QUANTISED_BLOCK, end = block + part->columns / QUANTISED_BLOCK;
    for (; block < end; block++) {
        const struct quantised_terms terms = quantised_block_terms(type, &part->row, block, row_terms);
        dequantise_line(type, positioned, stream, part, block, 0,
                        quantised_half_terms(type, &part->row, block, 0, terms));
        dequantise_line(type, positioned, stream, part, block, QUANTISED_HALF,
                        quantised_half_terms(type, &part->row, block, QUANTISED_HALF, terms));
    }
    size_t left = part->columns % QUANTISED_BLOCK, within = 0;
    if (left == 0 || quantised_whole(type))
        return;
    struct quantised_terms terms = quantised_block_terms(type, &part->row, block, row_terms);
    if (left >= LINE_FLOATS) {
        dequantise_line(type, positioned, stream, part, block, 0, terms);
        within = LINE_FLOATS;
    }
    for (; within + VEC_LEN <= left; within += VEC_LEN)
        vec_store(part->out + dequantise_offset(part, block, within),
                  dequantise_vec(type, positioned, part, block, within, terms));
    if (within < left)
        dequantise_last(type, positioned, part, block, within, left - within, terms);
}

/* Writes columns that lie in `lines`, `lead` bytes behind the begin of a cache line as they do in the output: whole
   lines with streaming stores. What does not fill the last line stays in `lines` for the next columns to complete, if
   there are any. */
static void dequantise_flush(unsigned char *lines, size_t lead, unsigned char *out, size_t columns, bool first,
                             bool last)
{
    size_t at = 0, bytes = lead + columns * sizeof(float), end = bytes / INLAY_CACHE_LINE * INLAY_CACHE_LINE;
    unsigned char *to = out - lead;
    if (first && lead > 0) {
        at = INLAY_CACHE_LINE < bytes ? INLAY_CACHE_LINE : bytes;
        memcpy(out, lines + lead, at - lead);
    }
    for (; at < end; at += INLAY_CACHE_LINE) {
        vec line[LINE_VECS];
        for (size_t i = 0; i < LINE_VECS; i++)
            line[i] = vec_load(lines + at + i * VEC_BYTES);
        for (size_t i = 0; i < LINE_VECS; i++)
            vec_stream(to + at + i * VEC_BYTES, line[i]);
    }
    if (last && at < bytes)
        memcpy(to + at, lines + at, bytes - at);
    else if (!last)
        memcpy(lines, lines + end, lead);
}

/* Writes a row. A streamed row that begins off a line goes through L1, a chunk of columns at a time: vectors may not
   cut a block, so they cannot begin at the column where a line does. */
VEC_INLINE void dequantise_row(inlay_element_type type, bool positioned, struct dequantise_part row, bool stream)
{
    /* Aligned so that it never crosses a page: rows took three times as long where it did (Zen 4). */
    _Alignas(2048) unsigned char lines[INLAY_CACHE_LINE + QUANTISED_CHUNK * sizeof(float)];
    _Static_assert(sizeof lines <= 2048, "so aligned it lies within a page");
    const size_t lead = (uintptr_t)row.out % INLAY_CACHE_LINE;
    /* Floats at odd addresses never fill a line. */
    const bool streams = stream && lead % sizeof(float) == 0, askew = streams && lead > 0;
    const size_t step = askew ? QUANTISED_CHUNK : row.columns;
    for (struct dequantise_part part = row; part.first < row.columns; part.first += step) {
        size_t left = row.columns - part.first, at = part.first * sizeof(float);
        part.columns = left < step ? left : step;
        part.position = positioned ? row.position + at : NULL;
        part.out = askew ? lines + lead : row.out;
        if (streams && !askew)
            dequantise_columns(type, positioned, true, &part);
        else
            dequantise_columns(type, positioned, false, &part);
        if (askew)
            dequantise_flush(lines, lead, row.out + at, part.columns, at == 0, left <= step);
    }
}

VEC_INLINE void dequantise_rows(inlay_element_type type, bool positioned, const struct inlay_embed_tile *callers)
{
    const struct inlay_embed_tile tile = *callers; /* copied for the reason that embed_rows() has */
    for (size_t i = 0; i < tile.count; i++) {
        const struct dequantise_part row = {
            .row = {.bytes = tile.rows[i],
                    .scales = tile.scales != NULL ? tile.scales[i] : NULL,
                    .zeros = tile.zeros != NULL ? tile.zeros[i] : NULL,
                    .zero_at = tile.zeros != NULL ? tile.zero_at[i] : 0,
                    .group = tile.group},
            .position = positioned ? tile.positions[i] : NULL,
            .out = tile.out[i],
            .columns = tile.columns,
            .scale = vec_set1(tile.scale),
        };
        dequantise_row(type, positioned, row, tile.stream);
    }
}

VEC_INLINE void dequantise_tile(inlay_element_type type, const struct inlay_embed_tile *tile)
{
    if (tile->positions != NULL)
        dequantise_rows(type, true, tile);
    else
        dequantise_rows(type, false, tile);
}
