/* SPDX-License-Identifier: MIT */
/*
 * The embed kernel for tables of types other than float32, once for every ISA, over the words of its vec.h. Included by
 * simd/kernels.h behind simd/cast.h, simd/quantised.h, which says what a block of each type is, and simd/e4m3.h. Holds
 * no intrinsics and includes nothing. `type` is a constant where these functions are called, so that each type has
 * loops of its own.
 */

enum {
    QUANTISED_CHUNK = 256, /* columns that pass through L1 on their way to streamed rows that begin off a line */
};

_Static_assert(QUANTISED_CHUNK % (8 * QUANTISED_BLOCK) == 0, "chunks do not cut superblocks");

/* How rows are written. Where they become floats all of it is constant, so that each combination is a loop of its own.
   16-bit outputs have one loop for each type of table, where only `element_bytes` is constant, and where each cache
   line decides by itself: its branches are predicted well, and more loops would take long to compile. */
struct dequantise_way {
    size_t element_bytes; /* of the output: 4 or 2 */
    inlay_element_type out_type;
    bool positioned, scaled, stream;
};

VEC_INLINE struct dequantise_way dequantise_floats(bool positioned, bool scaled, bool stream)
{
    return (struct dequantise_way){sizeof(float), INLAY_F32, positioned, scaled, stream};
}

/* Columns [first, first + columns) of a row, of what is added to them and of where they go; `first` is a multiple of
   QUANTISED_BLOCK. A scale of 1 changes nothing but a NaN's payload. */
struct dequantise_part {
    struct quantised_row row;
    const unsigned char *position; /* null: no such term */
    const unsigned char *next;     /* a row that is prefetched beside this one; null: none */
    unsigned char *out;
    size_t first, columns;
    vec scale;
    bool near; /* into L1 */
};

/* Returns the index of a column, counted from the part's first one. */
VEC_INLINE size_t dequantise_column(const struct dequantise_part *part, size_t block, size_t within)
{
    return block * QUANTISED_BLOCK + within - part->first;
}

/* Computes n vectors of values, from column `within` of a block on. */
VEC_INLINE void dequantise_vecs(inlay_element_type type, struct dequantise_way way, const struct dequantise_part *part,
                                size_t block, size_t within, struct quantised_terms terms, vec *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = quantised_values(type, &part->row, block, within + i * VEC_LEN, terms);
        if (way.scaled)
            x[i] = x[i] * part->scale;
    }
    if (way.positioned) {
        const unsigned char *position = part->position + dequantise_column(part, block, within) * sizeof(float);
        for (size_t i = 0; i < n; i++)
            x[i] = x[i] + vec_load(position + i * VEC_BYTES);
    }
}

/* Writes n vectors, whose stores follow each other. */
VEC_INLINE void dequantise_write(bool stream, unsigned char *out, const vec *x, size_t n)
{
    if (stream)
        for (size_t i = 0; i < n; i++)
            vec_stream(out + i * VEC_BYTES, x[i]);
    else
        for (size_t i = 0; i < n; i++)
            vec_store(out + i * VEC_BYTES, x[i]);
}

/* Computes half a block from column `within` on, whose terms are to be completed. */
VEC_INLINE void dequantise_half(inlay_element_type type, struct dequantise_way way, const struct dequantise_part *part,
                                size_t block, size_t within, struct quantised_terms terms, vec *x)
{
    terms = quantised_half_terms(type, &part->row, block, within, terms);
    dequantise_vecs(type, way, part, block, within, terms, x, LINE_VECS);
}

/* Writes a cache line's worth of columns: floats of half a block, or 16-bit elements of a whole one. */
VEC_INLINE void dequantise_line(inlay_element_type type, struct dequantise_way way, const struct dequantise_part *part,
                                size_t block, size_t within, struct quantised_terms terms)
{
    vec line[2 * LINE_VECS];
    dequantise_half(type, way, part, block, within, terms, line);
    if (way.element_bytes == 2) {
        dequantise_half(type, way, part, block, QUANTISED_HALF, terms, line + LINE_VECS);
        cast_line(line, way.out_type);
    }
    dequantise_write(way.stream, part->out + dequantise_column(part, block, within) * way.element_bytes, line,
                     LINE_VECS);
}

/* Prefetches what the next row has where a block or a superblock is read. */
VEC_INLINE void dequantise_prefetch(const struct dequantise_part *part, size_t at, size_t bytes)
{
    for (size_t i = 0; i < bytes && part->next != NULL; i += INLAY_CACHE_LINE)
        inlay_prefetch_line(part->next + at + i, part->near);
}

/* Writes a whole block. */
VEC_INLINE void dequantise_block(inlay_element_type type, struct dequantise_way way, const struct dequantise_part *part,
                                 size_t block, struct quantised_terms terms)
{
    terms = quantised_block_terms(type, &part->row, block, terms);
    dequantise_line(type, way, part, block, 0, terms);
    if (way.element_bytes == sizeof(float))
        dequantise_line(type, way, part, block, QUANTISED_HALF, terms);
}

/* Writes the last columns of a row, n < VEC_LEN. Their bytes are read from a copy, since memory may end behind them. */
VEC_INLINE void dequantise_last(inlay_element_type type, struct dequantise_way way, const struct dequantise_part *part,
                                size_t block, size_t within, size_t n, struct quantised_terms terms)
{
    const unsigned char *from = quantised_at(type, &part->row, block, within);
    const size_t column = dequantise_column(part, block, within);
    const size_t bytes = quantised_number_bytes(type, n) & (VEC_BYTES - 1); /* gcc does not see that it is less */
    unsigned char copy[VEC_BYTES] = {0};
    /* The sizes are constants, so that memcpy is not called. */
    if (sizeof copy > 32 && bytes & 32)
        memcpy(copy, from, 32);
    if (sizeof copy > 16 && bytes & 16)
        memcpy(copy + (bytes & 32), from + (bytes & 32), 16);
    if (bytes & 8)
        memcpy(copy + (bytes & 48), from + (bytes & 48), 8);
    if (bytes & 4)
        memcpy(copy + (bytes & 56), from + (bytes & 56), 4);
    if (bytes & 2)
        memcpy(copy + (bytes & 60), from + (bytes & 60), 2);
    if (bytes & 1)
        copy[bytes - 1] = from[bytes - 1];
    vec x = quantised_value(type, quantised_load(type, copy, within), terms) * part->scale;
    unsigned char *out = part->out + column * way.element_bytes;
    if (way.positioned)
        x = x + vec_load_n(part->position + column * sizeof(float), n);
    if (way.element_bytes == 2)
        vec_store_halves_n(out, cast_half(x, way.out_type), n);
    else
        vec_store_n(out, x, n);
}

/* Returns whether whole blocks of a type become 16-bit elements by a table. */
VEC_INLINE bool dequantise_is_looked_up(inlay_element_type type, struct dequantise_way way)
{
    return (type == INLAY_E4M3 || type == INLAY_E4M3_E8M0) && way.element_bytes == 2 && way.out_type == INLAY_BF16 &&
           !way.positioned;
}

/* Writes blocks [block, end) by a table, up to the first one that needs the general way, which is returned. */
VEC_INLINE size_t dequantise_looked_up(inlay_element_type type, bool stream, const struct dequantise_part *part,
                                       size_t block, size_t end, struct quantised_terms terms, struct e4m3_table *table)
{
    e4m3_make_table(table, type, terms, part->scale);
    const struct vec_table words = table->words;
    for (; table->moderate && block < end; block++) {
        vec line[LINE_VECS];
        if (!e4m3_line(type, words, &part->row, block, line))
            break;
        dequantise_write(stream, part->out + dequantise_column(part, block, 0) * 2, line, LINE_VECS);
    }
    return block;
}

/* Writes the columns of a part, which are whole blocks if the type stores those. If way.stream, `out` begins on a cache
   line. */
VEC_INLINE void dequantise_columns(inlay_element_type type, struct dequantise_way way,
                                   const struct dequantise_part *part, struct e4m3_table *table)
{
    const struct quantised_terms row_terms = quantised_row_terms(type, &part->row);
    size_t block = part->first / QUANTISED_BLOCK, end = block + part->columns / QUANTISED_BLOCK;
    if (dequantise_is_looked_up(type, way))
        block = dequantise_looked_up(type, way.stream, part, block, end, row_terms, table);
    if (quantised_layouts[type].parts > 0) {
        for (size_t eight = block / 8; eight < end / 8; eight++) {
            dequantise_prefetch(part, eight * quantised_bytes(type), quantised_bytes(type));
            quantised_share(type, &part->row, eight * 8);
#pragma GCC unroll 8 /* so that where its numbers lie is constant */
            for (size_t i = 0; i < 8; i++)
                dequantise_block(type, way, part, eight * 8 + i, row_terms);
        }
        return;
    }
    for (; block < end; block++) {
        /* A block of NVFP4 holds two blocks of 32 columns. */
        const unsigned char *from = quantised_block(type, &part->row, block);
        dequantise_prefetch(part, (size_t)(from - part->row.bytes), quantised_bytes(type));
        dequantise_block(type, way, part, block, row_terms);
    }
    size_t left = part->columns % QUANTISED_BLOCK, within = 0;
    if (left == 0 || quantised_whole(type))
        return;
    struct quantised_terms terms = quantised_block_terms(type, &part->row, block, row_terms);
    terms = quantised_half_terms(type, &part->row, block, 0, terms); /* no type of halves has more columns left */
    if (way.element_bytes == sizeof(float) && left >= LINE_FLOATS) {
        dequantise_line(type, way, part, block, 0, terms);
        within = LINE_FLOATS;
    }
    for (; within + VEC_LEN <= left; within += VEC_LEN) {
        unsigned char *out = part->out + dequantise_column(part, block, within) * way.element_bytes;
        vec x;
        dequantise_vecs(type, way, part, block, within, terms, &x, 1);
        if (way.element_bytes == 2)
            vec_store_halves(out, cast_half(x, way.out_type));
        else
            vec_store(out, x);
    }
    if (within < left)
        dequantise_last(type, way, part, block, within, left - within, terms);
}

/* Writes `column_bytes` of columns that lie in `lines`, `lead` bytes behind the begin of a cache line as they do in the
   output: whole lines with streaming stores. What does not fill the last line stays in `lines` for the next columns to
   complete, if there are any. */
static void dequantise_flush(unsigned char *lines, size_t lead, unsigned char *out, size_t column_bytes, bool first,
                             bool last)
{
    size_t at = 0, bytes = lead + column_bytes, end = bytes / INLAY_CACHE_LINE * INLAY_CACHE_LINE;
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
VEC_INLINE void dequantise_row(inlay_element_type type, struct dequantise_way way, struct dequantise_part row,
                               struct e4m3_table *table)
{
    /* Aligned so that it never crosses a page: rows took three times as long where it did (Zen 4). */
    _Alignas(2048) unsigned char lines[INLAY_CACHE_LINE + QUANTISED_CHUNK * sizeof(float)];
    _Static_assert(sizeof lines <= 2048, "so aligned it lies within a page");
    float shared[32];
    row.row.shared = shared;
    const size_t lead = (uintptr_t)row.out % INLAY_CACHE_LINE;
    /* Elements at odd addresses never fill a line. */
    const bool streams = VEC_STREAMS && way.stream && lead % way.element_bytes == 0, askew = streams && lead > 0;
    const size_t step = askew ? QUANTISED_CHUNK : row.columns;
    way.stream = streams && !askew;
    for (struct dequantise_part part = row; part.first < row.columns; part.first += step) {
        size_t left = row.columns - part.first, at = part.first * way.element_bytes;
        part.columns = left < step ? left : step;
        part.position = way.positioned ? row.position + part.first * sizeof(float) : NULL;
        part.out = askew ? lines + lead : row.out;
        if (way.element_bytes == 2)
            dequantise_columns(type, way, &part, table);
        else if (way.stream)
            dequantise_columns(type, dequantise_floats(way.positioned, way.scaled, true), &part, table);
        else
            dequantise_columns(type, dequantise_floats(way.positioned, way.scaled, false), &part, table);
        if (askew)
            dequantise_flush(lines, lead, row.out + at, part.columns * way.element_bytes, at == 0, left <= step);
    }
}

VEC_INLINE void dequantise_rows(inlay_element_type type, struct dequantise_way way,
                                const struct inlay_embed_tile *callers)
{
    const struct inlay_embed_tile tile = *callers; /* copied for the reason that embed_rows() has */
    struct e4m3_table table = {.made = false};
    const size_t columns = QUANTISED_BLOCK * (quantised_layouts[type].blocks > 0 ? quantised_layouts[type].blocks : 1);
    for (size_t i = 0; i < tile.count; i++) {
        const unsigned char *next = tile.next != NULL ? tile.next[i] : NULL;
        if (next != NULL && !tile.beside) {
            inlay_prefetch_lines(next, tile.columns * quantised_bytes(type) / columns, tile.near);
            next = NULL;
        }
        const struct dequantise_part row = {
            .row = {.bytes = tile.rows[i],
                    .scales = tile.scales != NULL ? tile.scales[i] : NULL,
                    .zeros = tile.zeros != NULL ? tile.zeros[i] : NULL,
                    .zero_at = tile.zeros != NULL ? tile.zero_at[i] : 0,
                    .group = tile.group},
            .position = way.positioned ? tile.positions[i] : NULL,
            .next = next,
            .near = tile.near,
            .out = tile.out[i],
            .columns = tile.columns,
            .scale = vec_set1(tile.scale),
        };
        dequantise_row(type, way, row, &table);
    }
}

/* Writes rows of a 16-bit type. */
VEC_INLINE void dequantise_halves_tile(inlay_element_type type, const struct inlay_embed_tile *tile)
{
    const struct dequantise_way way = {2, tile->out_type, tile->positions != NULL, true, tile->stream};
    dequantise_rows(type, way, tile);
}

/* Writes rows of floats. */
VEC_INLINE void dequantise_floats_tile(inlay_element_type type, const struct inlay_embed_tile *tile)
{
    if (tile->positions != NULL)
        dequantise_rows(type, dequantise_floats(true, true, tile->stream), tile);
    else if (quantised_layouts[type].parts > 0 && tile->scale == 1)
        dequantise_rows(type, dequantise_floats(false, false, tile->stream), tile);
    else
        dequantise_rows(type, dequantise_floats(false, true, tile->stream), tile);
}
