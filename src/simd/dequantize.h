/* SPDX-License-Identifier: MIT */
/*
 * The embed kernel for tables of types other than float32, written once over the vector operations of vec.h. Included
 * by simd/kernels.h after simd/cast.h, simd/quantized.h (the layout of each type) and simd/e4m3.h; no intrinsics, no
 * includes. `type` is a constant where these functions are called, so each type gets its own loops.
 */

enum {
    QUANTIZED_CHUNK = 256, /* columns buffered in L1 per step, for streamed rows that start off a line */
};

_Static_assert(QUANTIZED_CHUNK % (8 * QUANTIZED_BLOCK) == 0, "chunks do not cut superblocks");

/* How rows are written. For float32 outputs every field is a constant, so each combination gets its own loop. 16-bit
   outputs and narrow groups have one loop per table type and output size. The other fields are tested per cache line.
   Those branches predict well, and more loops would compile slowly. */
struct dequantize_way {
    size_t element_bytes; /* of the output: 4 or 2 */
    inlay_element_type out_type;
    bool positioned, scaled, stream;
    bool narrow; /* groups have QUANTIZED_HALF columns */
};

VEC_INLINE struct dequantize_way dequantize_floats(bool positioned, bool scaled, bool stream)
{
    return (struct dequantize_way){sizeof(float), INLAY_F32, positioned, scaled, stream, false};
}

/* Columns [first, first + columns) of a row, its position row and its output; `first` is a multiple of QUANTIZED_BLOCK.
   A scale of 1 changes nothing except a NaN's payload. */
struct dequantize_part {
    struct quantized_row row;
    const unsigned char *position; /* null: none */
    const unsigned char *next;     /* a row to prefetch along with this one; null: none */
    unsigned char *out;
    size_t first, columns;
    vec scale;
    bool near; /* prefetch into L1 */
};

/* Returns the index of a column, relative to the part's first one. */
VEC_INLINE size_t dequantize_column(const struct dequantize_part *part, size_t block, size_t within)
{
    return block * QUANTIZED_BLOCK + within - part->first;
}

/* Computes n vectors of values, starting at column `within` of a block. */
VEC_INLINE void dequantize_vecs(inlay_element_type type, struct dequantize_way way, const struct dequantize_part *part,
                                size_t block, size_t within, struct quantized_terms terms, vec *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = quantized_values(type, &part->row, block, within + i * VEC_LEN, terms);
        if (way.scaled)
            x[i] = x[i] * part->scale;
    }
    if (way.positioned) {
        const unsigned char *position = part->position + dequantize_column(part, block, within) * sizeof(float);
        for (size_t i = 0; i < n; i++)
            x[i] = x[i] + vec_load(position + i * VEC_BYTES);
    }
}

/* Writes n vectors, with back-to-back stores. */
VEC_INLINE void dequantize_write(bool stream, unsigned char *out, const vec *x, size_t n)
{
    if (stream)
        for (size_t i = 0; i < n; i++)
            vec_stream(out + i * VEC_BYTES, x[i]);
    else
        for (size_t i = 0; i < n; i++)
            vec_store(out + i * VEC_BYTES, x[i]);
}

/* Computes the half block that starts at column `within`, after adding the half's terms. */
VEC_INLINE void dequantize_half(inlay_element_type type, struct dequantize_way way, const struct dequantize_part *part,
                                size_t block, size_t within, struct quantized_terms terms, vec *x)
{
    terms = quantized_half_terms(type, way.narrow, &part->row, block, within, terms);
    dequantize_vecs(type, way, part, block, within, terms, x, LINE_VECS);
}

/* Writes one cache line of columns: half a block of floats, or a whole block of 16-bit elements. */
VEC_INLINE void dequantize_line(inlay_element_type type, struct dequantize_way way, const struct dequantize_part *part,
                                size_t block, size_t within, struct quantized_terms terms)
{
    vec line[2 * LINE_VECS];
    dequantize_half(type, way, part, block, within, terms, line);
    if (way.element_bytes == 2) {
        dequantize_half(type, way, part, block, QUANTIZED_HALF, terms, line + LINE_VECS);
        cast_line(line, way.out_type);
    }
    dequantize_write(way.stream, part->out + dequantize_column(part, block, within) * way.element_bytes, line,
                     LINE_VECS);
}

/* Prefetches `bytes` of the next row, at the offset of the block or superblock being read. */
VEC_INLINE void dequantize_prefetch(const struct dequantize_part *part, size_t at, size_t bytes)
{
    for (size_t i = 0; i < bytes && part->next != NULL; i += INLAY_CACHE_LINE)
        inlay_prefetch_line(part->next + at + i, part->near);
}

VEC_INLINE void dequantize_block(inlay_element_type type, struct dequantize_way way, const struct dequantize_part *part,
                                 size_t block, struct quantized_terms terms)
{
    terms = quantized_block_terms(type, &part->row, block, terms);
    dequantize_line(type, way, part, block, 0, terms);
    if (way.element_bytes == sizeof(float))
        dequantize_line(type, way, part, block, QUANTIZED_HALF, terms);
}

/* Writes the last n columns of a row, n < VEC_LEN. They are read from a copy, since memory may end after them. */
VEC_INLINE void dequantize_last(inlay_element_type type, struct dequantize_way way, const struct dequantize_part *part,
                                size_t block, size_t within, size_t n, struct quantized_terms terms)
{
    const unsigned char *from = quantized_at(type, &part->row, block, within);
    const size_t column = dequantize_column(part, block, within);
    const size_t bytes = quantized_number_bytes(type, n) & (VEC_BYTES - 1); /* a no-op: gcc can't prove the bound */
    unsigned char copy[VEC_BYTES] = {0};
    /* The sizes are constants, so memcpy is inlined. */
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
    vec x = quantized_value(type, quantized_load(type, copy, within), terms) * part->scale;
    unsigned char *out = part->out + column * way.element_bytes;
    if (way.positioned)
        x = x + vec_load_n(part->position + column * sizeof(float), n);
    if (way.element_bytes == 2)
        vec_store_halves_n(out, cast_half(x, way.out_type), n);
    else
        vec_store_n(out, x, n);
}

/* True if whole blocks of a type become 16-bit elements by table lookup. */
VEC_INLINE bool dequantize_is_looked_up(inlay_element_type type, struct dequantize_way way)
{
    return (type == INLAY_E4M3 || type == INLAY_E4M3_E8M0) && way.element_bytes == 2 && way.out_type == INLAY_BF16 &&
           !way.positioned;
}

/* Writes blocks [block, end) by table lookup. Stops at the first block that needs the general path and returns its
   index. */
VEC_INLINE size_t dequantize_looked_up(inlay_element_type type, bool stream, const struct dequantize_part *part,
                                       size_t block, size_t end, struct quantized_terms terms, struct e4m3_table *table)
{
    e4m3_make_table(table, type, terms, part->scale);
    const struct vec_table words = table->words;
    for (; table->moderate && block < end; block++) {
        vec line[LINE_VECS];
        if (!e4m3_line(type, words, &part->row, block, line))
            break;
        dequantize_write(stream, part->out + dequantize_column(part, block, 0) * 2, line, LINE_VECS);
    }
    return block;
}

/* Writes the columns of a part, in whole blocks if the type has blocks. If way.stream, `out` starts on a cache line. */
VEC_INLINE void dequantize_columns(inlay_element_type type, struct dequantize_way way,
                                   const struct dequantize_part *part, struct e4m3_table *table)
{
    const struct quantized_terms row_terms = quantized_row_terms(type, &part->row);
    size_t block = part->first / QUANTIZED_BLOCK, end = block + part->columns / QUANTIZED_BLOCK;
    if (dequantize_is_looked_up(type, way))
        block = dequantize_looked_up(type, way.stream, part, block, end, row_terms, table);
    if (quantized_layouts[type].parts > 0) {
        for (size_t eight = block / 8; eight < end / 8; eight++) {
            dequantize_prefetch(part, eight * quantized_bytes(type), quantized_bytes(type));
            quantized_share(type, &part->row, eight * 8);
#pragma GCC unroll 8 /* makes the offsets of a block's numbers constant */
            for (size_t i = 0; i < 8; i++)
                dequantize_block(type, way, part, eight * 8 + i, row_terms);
        }
        return;
    }
    for (; block < end; block++) {
        /* NVFP4 stores two blocks of 32 columns in one. */
        const unsigned char *from = quantized_block(type, &part->row, block);
        dequantize_prefetch(part, (size_t)(from - part->row.bytes), quantized_bytes(type));
        dequantize_block(type, way, part, block, row_terms);
    }
    size_t left = part->columns % QUANTIZED_BLOCK, within = 0;
    if (left == 0 || quantized_whole(type))
        return;
    struct quantized_terms terms = quantized_block_terms(type, &part->row, block, row_terms);
    terms = quantized_half_terms(type, false, &part->row, block, 0, terms);
    if (way.element_bytes == sizeof(float) && left >= LINE_FLOATS) {
        dequantize_line(type, way, part, block, 0, terms);
        within = LINE_FLOATS;
    }
    for (; within + VEC_LEN <= left; within += VEC_LEN) {
        unsigned char *out = part->out + dequantize_column(part, block, within) * way.element_bytes;
        vec x;
        if (way.narrow && within == QUANTIZED_HALF)
            terms = quantized_half_terms(type, true, &part->row, block, QUANTIZED_HALF, terms);
        dequantize_vecs(type, way, part, block, within, terms, &x, 1);
        if (way.element_bytes == 2)
            vec_store_halves(out, cast_half(x, way.out_type));
        else
            vec_store(out, x);
    }
    if (way.narrow && within == QUANTIZED_HALF && within < left)
        terms = quantized_half_terms(type, true, &part->row, block, QUANTIZED_HALF, terms);
    if (within < left)
        dequantize_last(type, way, part, block, within, left - within, terms);
}

/* Writes `column_bytes` of columns, held in `lines` from offset `lead`, the output's offset within its cache line.
   Whole lines are streamed. The rest stays in `lines` for the next columns to complete, or is stored if these are the
   last. */
static void dequantize_flush(unsigned char *lines, size_t lead, unsigned char *out, size_t column_bytes, bool first,
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

/* Writes a row. A streamed row that starts off a line goes through L1 in chunks: vectors must not cut a block, so they
   can't start at the column where a line does. */
VEC_INLINE void dequantize_row(inlay_element_type type, struct dequantize_way way, struct dequantize_part row,
                               struct e4m3_table *table)
{
    /* Aligned to stay within one page: rows were 3x slower if it crossed a page boundary (Zen 4). */
    _Alignas(2048) unsigned char lines[INLAY_CACHE_LINE + QUANTIZED_CHUNK * sizeof(float)];
    _Static_assert(sizeof lines <= 2048, "its alignment keeps it within a page");
    float shared[32];
    row.row.shared = shared;
    const size_t lead = (uintptr_t)row.out % INLAY_CACHE_LINE;
    /* Elements at odd addresses never fill a line. */
    const bool streams = VEC_STREAMS && way.stream && lead % way.element_bytes == 0, askew = streams && lead > 0;
    const size_t step = askew ? QUANTIZED_CHUNK : row.columns;
    way.stream = streams && !askew;
    for (struct dequantize_part part = row; part.first < row.columns; part.first += step) {
        size_t left = row.columns - part.first, at = part.first * way.element_bytes;
        part.columns = left < step ? left : step;
        part.position = way.positioned ? row.position + part.first * sizeof(float) : NULL;
        part.out = askew ? lines + lead : row.out;
        if (way.element_bytes == 2 || way.narrow)
            dequantize_columns(type, way, &part, table);
        else if (way.stream)
            dequantize_columns(type, dequantize_floats(way.positioned, way.scaled, true), &part, table);
        else
            dequantize_columns(type, dequantize_floats(way.positioned, way.scaled, false), &part, table);
        if (askew)
            dequantize_flush(lines, lead, row.out + at, part.columns * way.element_bytes, at == 0, left <= step);
    }
}

VEC_INLINE void dequantize_rows(inlay_element_type type, struct dequantize_way way,
                                const struct inlay_embed_tile *callers)
{
    const struct inlay_embed_tile tile = *callers; /* a copy, as in embed_rows() */
    struct e4m3_table table = {.made = false};
    const size_t columns = QUANTIZED_BLOCK * (quantized_layouts[type].blocks > 0 ? quantized_layouts[type].blocks : 1);
    for (size_t i = 0; i < tile.count; i++) {
        const unsigned char *next = tile.next != NULL ? tile.next[i] : NULL;
        if (next != NULL && !tile.by_line) {
            inlay_prefetch_lines(next, tile.columns * quantized_bytes(type) / columns, tile.near);
            next = NULL;
        }
        const struct dequantize_part row = {
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
        dequantize_row(type, way, row, &table);
    }
}

/* Returns true if a tile has groups of half a block. Affine types have none. */
VEC_INLINE bool dequantize_is_narrow(inlay_element_type type, const struct inlay_embed_tile *tile)
{
    return quantized_layouts[type].grouped && !quantized_layouts[type].biased && tile->group == QUANTIZED_HALF;
}

/* Writes 16-bit rows. */
VEC_INLINE void dequantize_halves_tile(inlay_element_type type, const struct inlay_embed_tile *tile)
{
    struct dequantize_way way = {2, tile->out_type, tile->positions != NULL, true, tile->stream, false};
    if (!dequantize_is_narrow(type, tile)) {
        dequantize_rows(type, way, tile);
        return;
    }
    way.narrow = true;
    dequantize_rows(type, way, tile);
}

/* Writes float32 rows. */
VEC_INLINE void dequantize_floats_tile(inlay_element_type type, const struct inlay_embed_tile *tile)
{
    if (dequantize_is_narrow(type, tile))
        dequantize_rows(
            type, (struct dequantize_way){sizeof(float), INLAY_F32, tile->positions != NULL, true, tile->stream, true},
            tile);
    else if (tile->positions != NULL)
        dequantize_rows(type, dequantize_floats(true, true, tile->stream), tile);
    else if (quantized_layouts[type].parts > 0 && tile->scale == 1)
        dequantize_rows(type, dequantize_floats(false, false, tile->stream), tile);
    else
        dequantize_rows(type, dequantize_floats(false, true, tile->stream), tile);
}
