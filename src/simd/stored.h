/* SPDX-License-Identifier: MIT */
/*
 * The embed kernel for tables of types other than float32, once for every ISA: included by <isa>/kernels.c behind its
 * vec.h. Holds no intrinsics and includes nothing.
 *
 * Rows are read in blocks of 32 columns: what is common to a vector's elements (scale, zero, which half of a byte) is
 * common to a block, whatever the type. `type` is a constant where these functions are called, so that each type is a
 * loop of its own.
 */

enum {
    STORED_BLOCK = 32,
    STORED_LINE = 64,
    STORED_LINE_COLUMNS = STORED_LINE / sizeof(float),
    STORED_LINE_VECS = STORED_LINE / VEC_BYTES,
    STORED_CHUNK = 256, /* columns that pass through L1 on their way to rows that begin off a line */
};

/* A row as the tile has it. */
struct stored_source {
    const unsigned char *bytes, *scales, *zeros;
    size_t zero_at, group;
};

/* What turns numbers as they are stored into values: (q + shift) * factor + bias, of which a type has some. */
struct stored_terms {
    vec shift, factor, bias;
};

VEC_INLINE float stored_float(const unsigned char *from)
{
    float x;
    memcpy(&x, from, sizeof x);
    return x;
}

VEC_INLINE bool stored_grouped(inlay_element_type type)
{
    return type == INLAY_U4_GROUPED || type == INLAY_U4_GROUPED_FLAT;
}

/* Bytes of a block, its own scale included. */
VEC_INLINE size_t stored_block_bytes(inlay_element_type type)
{
    switch (type) {
    case INLAY_F16:
    case INLAY_BF16:
        return 64;
    case INLAY_U4_ROWWISE:
    case INLAY_U4_GROUPED:
    case INLAY_U4_GROUPED_FLAT:
        return 16;
    case INLAY_Q8_0:
        return 34;
    case INLAY_Q4_0:
        return 18;
    default:
        return 32;
    }
}

/* Where column `within` of a block lies, which begins a vector. */
VEC_INLINE size_t stored_offset(inlay_element_type type, size_t within)
{
    switch (type) {
    case INLAY_F16:
    case INLAY_BF16:
        return 2 * within;
    case INLAY_U4_ROWWISE:
    case INLAY_U4_GROUPED:
    case INLAY_U4_GROUPED_FLAT:
        return within / 2;
    case INLAY_Q8_0:
        return 2 + within;
    case INLAY_Q4_0:
        return 2 + within % 16;
    default:
        return within;
    }
}

/* The bytes that n < VEC_LEN columns from there on touch. */
VEC_INLINE size_t stored_bytes(inlay_element_type type, size_t n)
{
    switch (type) {
    case INLAY_F16:
    case INLAY_BF16:
        return 2 * n;
    case INLAY_U4_ROWWISE:
    case INLAY_U4_GROUPED:
    case INLAY_U4_GROUPED_FLAT:
        return (n + 1) / 2;
    default:
        return n;
    }
}

/* What does not change along a row. */
VEC_INLINE struct stored_terms stored_row_terms(inlay_element_type type, const struct stored_source *row)
{
    struct stored_terms terms = {.shift = vec_set1(type == INLAY_U4_GROUPED_FLAT ? 0 : -8)};
    switch (type) {
    case INLAY_I8:
        terms.factor = vec_set1(stored_float(row->scales));
        break;
    case INLAY_I8_INVERSE:
        terms.factor = vec_set1(1 / stored_float(row->scales));
        break;
    case INLAY_U8_ROWWISE:
        terms.factor = vec_set1(stored_float(row->scales));
        terms.bias = vec_set1(stored_float(row->scales + 4));
        break;
    case INLAY_U4_ROWWISE:
        terms.factor = vec_set1_f16(row->scales);
        terms.bias = vec_set1_f16(row->scales + 2);
        break;
    default:
        break;
    }
    return terms;
}

/* What does, for one block. */
VEC_INLINE struct stored_terms stored_block_terms(inlay_element_type type, const struct stored_source *row,
                                                  size_t block, struct stored_terms terms)
{
    if (type == INLAY_Q8_0 || type == INLAY_Q4_0)
        terms.factor = vec_set1_f16(row->bytes + block * stored_block_bytes(type));
    if (stored_grouped(type)) {
        /* By a shift of what is a power of two: a division takes as long as the block. */
        size_t group = block * STORED_BLOCK >> __builtin_ctzl(row->group);
        terms.factor = vec_set1(stored_float(row->scales + group * sizeof(float)));
        if (row->zeros != NULL) {
            size_t zero = row->zero_at + group;
            terms.shift = vec_set1(-(float)(row->zeros[zero / 2] >> zero % 2 * 4 & 15));
        }
    }
    return terms;
}

/* VEC_LEN numbers as they are stored; integers are exact. */
VEC_INLINE vec stored_load(inlay_element_type type, const unsigned char *from, size_t within)
{
    switch (type) {
    case INLAY_F16:
        return vec_load_f16(from);
    case INLAY_BF16:
        return vec_load_bf16(from);
    case INLAY_U8_ROWWISE:
        return vec_load_u8(from);
    case INLAY_U4_ROWWISE:
    case INLAY_U4_GROUPED:
    case INLAY_U4_GROUPED_FLAT:
        return vec_load_u4(from);
    case INLAY_Q4_0:
        return within < 16 ? vec_load_low_u4(from) : vec_load_high_u4(from);
    default:
        return vec_load_i8(from);
    }
}

VEC_INLINE vec stored_value(inlay_element_type type, vec x, struct stored_terms terms)
{
    if (type == INLAY_F16 || type == INLAY_BF16)
        return x;
    if (stored_grouped(type) || type == INLAY_Q4_0)
        x = vec_add(x, terms.shift);
    x = vec_mul(x, terms.factor);
    return type == INLAY_U8_ROWWISE || type == INLAY_U4_ROWWISE ? vec_add(x, terms.bias) : x;
}

/* A row, what is added to it and where it goes: columns [first, first + columns) of all three, first being a multiple
   of STORED_BLOCK. A scale of 1 changes nothing but a NaN's payload. */
struct stored_part {
    struct stored_source row;
    const unsigned char *position; /* null: no such term */
    unsigned char *out;
    size_t first, columns;
    vec scale;
    /* A row to come, which is asked for meanwhile, and what will be added to it. */
    const unsigned char *next, *next_position;
};

VEC_INLINE vec stored_vec(inlay_element_type type, bool positioned, const struct stored_part *part, size_t block,
                          size_t within, struct stored_terms terms)
{
    const unsigned char *from = part->row.bytes + block * stored_block_bytes(type) + stored_offset(type, within);
    vec x = vec_mul(stored_value(type, stored_load(type, from, within), terms), part->scale);
    return positioned
               ? vec_add(x, vec_load(part->position + (block * STORED_BLOCK + within - part->first) * sizeof(float)))
               : x;
}

/* A cache line's worth of columns, stored back to back. */
VEC_INLINE void stored_line(inlay_element_type type, bool positioned, bool stream, const struct stored_part *part,
                            size_t block, size_t within, struct stored_terms terms)
{
    unsigned char *out = part->out + (block * STORED_BLOCK + within - part->first) * sizeof(float);
    vec line[STORED_LINE_VECS];
    for (size_t i = 0; i < STORED_LINE_VECS; i++)
        line[i] = stored_vec(type, positioned, part, block, within + i * VEC_LEN, terms);
    for (size_t i = 0; i < STORED_LINE_VECS; i++) {
        if (stream)
            vec_stream(out + i * VEC_BYTES, line[i]);
        else
            vec_store(out + i * VEC_BYTES, line[i]);
    }
}

/* The last columns of a row, n < VEC_LEN, whose bytes are read from a copy: behind them memory may end. */
VEC_INLINE void stored_last(inlay_element_type type, bool positioned, const struct stored_part *part, size_t block,
                            size_t within, size_t n, struct stored_terms terms)
{
    const unsigned char *from = part->row.bytes + block * stored_block_bytes(type) + stored_offset(type, within);
    size_t at = (block * STORED_BLOCK + within - part->first) * sizeof(float), bytes = stored_bytes(type, n);
    unsigned char copy[32] = {0}, *to = copy;
    /* Constant sizes, so that no call is made. */
    if (bytes & 16) {
        memcpy(to, from, 16);
        to += 16, from += 16;
    }
    if (bytes & 8) {
        memcpy(to, from, 8);
        to += 8, from += 8;
    }
    if (bytes & 4) {
        memcpy(to, from, 4);
        to += 4, from += 4;
    }
    if (bytes & 2) {
        memcpy(to, from, 2);
        to += 2, from += 2;
    }
    if (bytes & 1)
        *to = *from;
    vec x = vec_mul(stored_value(type, stored_load(type, copy, within), terms), part->scale);
    if (positioned)
        x = vec_add(x, vec_load_n(part->position + at, n));
    vec_store_n(part->out + at, x, n);
}

/* Asks for a block of the row to come. Stored rows are so short beside their positions that these are worth it too. */
VEC_INLINE void stored_ask(inlay_element_type type, bool positioned, const struct stored_part *part, size_t block)
{
    vec_prefetch(part->next + block * stored_block_bytes(type));
    for (size_t at = 0; positioned && at < STORED_BLOCK * sizeof(float); at += STORED_LINE)
        vec_prefetch(part->next_position + block * STORED_BLOCK * sizeof(float) + at);
}

/* `stream`: out begins on a line, and lines go past the caches. */
VEC_INLINE void stored_columns(inlay_element_type type, bool positioned, bool stream, const struct stored_part *part)
{
    const struct stored_terms row_terms = stored_row_terms(type, &part->row);
    size_t block = part->first / STORED_BLOCK, end = block + part->columns / STORED_BLOCK;
    for (; block < end; block++) {
        struct stored_terms terms = stored_block_terms(type, &part->row, block, row_terms);
        stored_ask(type, positioned, part, block);
        stored_line(type, positioned, stream, part, block, 0, terms);
        stored_line(type, positioned, stream, part, block, STORED_LINE_COLUMNS, terms);
    }
    size_t left = part->columns % STORED_BLOCK, within = 0;
    if (left == 0)
        return;
    struct stored_terms terms = stored_block_terms(type, &part->row, block, row_terms);
    if (left >= STORED_LINE_COLUMNS) {
        stored_line(type, positioned, stream, part, block, 0, terms);
        within = STORED_LINE_COLUMNS;
    }
    for (; within + VEC_LEN <= left; within += VEC_LEN)
        vec_store(part->out + (block * STORED_BLOCK + within - part->first) * sizeof(float),
                  stored_vec(type, positioned, part, block, within, terms));
    if (within < left)
        stored_last(type, positioned, part, block, within, left - within, terms);
}

/* Columns as they lie in `lines`, `lead` bytes behind a cache line's begin like the place where they go: whole lines
   past the caches. What does not fill the last one is left for the next columns to complete, if there are any. */
static void stored_flush(unsigned char *lines, size_t lead, unsigned char *out, size_t columns, bool first, bool last)
{
    size_t at = 0, bytes = lead + columns * sizeof(float), end = bytes / STORED_LINE * STORED_LINE;
    unsigned char *to = out - lead;
    if (first && lead > 0) {
        at = STORED_LINE < bytes ? STORED_LINE : bytes;
        memcpy(out, lines + lead, at - lead);
    }
    for (; at < end; at += STORED_LINE) {
        vec line[STORED_LINE_VECS];
        for (size_t i = 0; i < STORED_LINE_VECS; i++)
            line[i] = vec_load(lines + at + i * VEC_BYTES);
        for (size_t i = 0; i < STORED_LINE_VECS; i++)
            vec_stream(to + at + i * VEC_BYTES, line[i]);
    }
    if (last && at < bytes)
        memcpy(to + at, lines + at, bytes - at);
    else if (!last)
        memcpy(lines, lines + end, lead);
}

/* A streamed row that begins off a line goes through L1, some columns at a time: vectors cannot begin at any column, as
   they may not cut a block. */
VEC_INLINE void stored_row(inlay_element_type type, bool positioned, struct stored_part row, bool stream)
{
    _Alignas(64) unsigned char lines[STORED_LINE + STORED_CHUNK * sizeof(float)];
    const size_t lead = (uintptr_t)row.out % STORED_LINE;
    /* Floats at odd addresses never fill a line. */
    const bool streams = stream && lead % sizeof(float) == 0, askew = streams && lead > 0;
    const size_t step = askew ? STORED_CHUNK : row.columns;
    for (struct stored_part part = row; part.first < row.columns; part.first += step) {
        size_t left = row.columns - part.first, at = part.first * sizeof(float);
        part.columns = left < step ? left : step;
        part.position = positioned ? row.position + at : NULL;
        part.out = askew ? lines + lead : row.out;
        if (streams && !askew)
            stored_columns(type, positioned, true, &part);
        else
            stored_columns(type, positioned, false, &part);
        if (askew)
            stored_flush(lines, lead, row.out + at, part.columns, at == 0, left <= step);
    }
}

VEC_INLINE void stored_rows(inlay_element_type type, bool positioned, const struct inlay_embed_tile *callers)
{
    const struct inlay_embed_tile tile = *callers; /* as in embed_rows */
    const size_t ahead = tile.prefetch_rows, known = ahead > 0 ? tile.count + tile.lookahead : 0;
    for (size_t i = 0; i < tile.count; i++) {
        const size_t next = i + ahead < known ? i + ahead : i;
        if (tile.scales != NULL) /* read first, and maybe in a line of their own */
            vec_prefetch(tile.scales[next]);
        const struct stored_part row = {
            .row = {.bytes = tile.rows[i],
                    .scales = tile.scales != NULL ? tile.scales[i] : NULL,
                    .zeros = tile.zeros,
                    .zero_at = tile.zeros != NULL ? tile.zero_at[i] : 0,
                    .group = tile.group},
            .position = positioned ? tile.positions[i] : NULL,
            .out = tile.out[i],
            .columns = tile.columns,
            .scale = vec_set1(tile.scale),
            .next = tile.rows[next],
            .next_position = positioned ? tile.positions[next] : NULL,
        };
        stored_row(type, positioned, row, tile.stream);
    }
}

VEC_INLINE void stored_tile(inlay_element_type type, const struct inlay_embed_tile *tile)
{
    if (tile->positions != NULL)
        stored_rows(type, true, tile);
    else
        stored_rows(type, false, tile);
}
