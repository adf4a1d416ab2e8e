/* SPDX-License-Identifier: MIT */
/*
 * The gather: the embed kernel for float32 tables. Copies the rows that a tile points to, scales them and adds position
 * and segment rows. Written once, in terms of the vector operations of vec.h. Included by simd/kernels.h after
 * simd/cast.h; no intrinsics, no includes.
 */

/* The operations of a call and its output type. They are compile-time constants at every call of embed_rows(), so
   each combination is specialized. */
struct embed_terms {
    bool scaled, positioned, segmented;
    enum embed_sums { EMBED_NO_SUMS, EMBED_SQUARES, EMBED_SUMS } sums;
    inlay_element_type type;
};

/* Returns the size of an output element, in bytes. */
VEC_INLINE size_t embed_bytes(struct embed_terms terms)
{
    return terms.type == INLAY_F32 ? 4 : 2;
}

VEC_INLINE vec embed_value(vec x, vec position, vec segment, float scale, struct embed_terms terms)
{
    if (terms.scaled)
        x = x * scale;
    if (terms.positioned)
        x = x + position;
    if (terms.segmented)
        x = x + segment;
    return x;
}

VEC_INLINE span embed_span_value(span x, span position, span segment, float scale, struct embed_terms terms)
{
    if (terms.scaled)
        x = x * scale;
    if (terms.positioned)
        x = x + position;
    if (terms.segmented)
        x = x + segment;
    return x;
}

/* Pointers to the current columns of a row, and of the position and segment rows to add to it. The pointer of an absent
   term equals `row`; the compiler drops the unused load. */
struct embed_from {
    const unsigned char *row, *position, *segment;
};

VEC_INLINE struct embed_from embed_at(struct embed_from from, size_t bytes)
{
    return (struct embed_from){from.row + bytes, from.position + bytes, from.segment + bytes};
}

/* Ordinary stores of vectors; ordinary stores of spans, which are narrow vectors (vec_ops.h); streaming stores of
   vectors. */
enum embed_stores { EMBED_VECTORS, EMBED_SPANS, EMBED_STREAM };

/* Writes one cache line of columns. Its stores are back to back. */
VEC_INLINE void embed_line(struct embed_from from, unsigned char *out, float scale, struct embed_terms terms,
                           enum embed_stores stores)
{
    if (stores == EMBED_SPANS) {
        span line[INLAY_CACHE_LINE / SPAN_BYTES];
        for (size_t i = 0; i < INLAY_CACHE_LINE / SPAN_BYTES; i++) {
            const struct embed_from at = embed_at(from, i * SPAN_BYTES);
            line[i] = embed_span_value(span_load(at.row), span_load(at.position), span_load(at.segment), scale, terms);
        }
        for (size_t i = 0; i < INLAY_CACHE_LINE / SPAN_BYTES; i++)
            span_store(out + i * SPAN_BYTES, line[i]);
    } else {
        vec line[2 * LINE_VECS];
        for (size_t i = 0; i < LINE_VECS * sizeof(float) / embed_bytes(terms); i++) {
            const struct embed_from at = embed_at(from, i * VEC_BYTES);
            line[i] = embed_value(vec_load(at.row), vec_load(at.position), vec_load(at.segment), scale, terms);
        }
        if (terms.type != INLAY_F32)
            cast_line(line, terms.type);
        for (size_t i = 0; i < LINE_VECS; i++)
            stores == EMBED_STREAM ? vec_stream(out + i * VEC_BYTES, line[i]) : vec_store(out + i * VEC_BYTES, line[i]);
    }
}

/* A row to prefetch, one cache line for each line of output; null: none. */
struct embed_ahead {
    const unsigned char *row;
    bool near;
};

static const struct embed_ahead embed_alone = {NULL, false};

VEC_INLINE void embed_prefetch(struct embed_ahead ahead, size_t at)
{
    if (ahead.row != NULL)
        inlay_prefetch_line(ahead.row + at, ahead.near);
}

/* Stores the first n columns, at most VEC_LEN. */
VEC_INLINE void embed_store(unsigned char *out, vec x, size_t n, inlay_element_type type)
{
    if (type == INLAY_F32)
        n < VEC_LEN ? vec_store_n(out, x, n) : vec_store(out, x);
    else
        n < VEC_LEN ? vec_store_halves_n(out, cast_half(x, type), n) : vec_store_halves(out, cast_half(x, type));
}

/* Writes any number of columns to any address with ordinary stores. `at` is a byte offset in the output; the offset in
   the inputs is `wide` times as large. */
VEC_INLINE void embed_cached(struct embed_from from, unsigned char *out, size_t columns, float scale,
                             struct embed_terms terms, enum embed_stores stores, struct embed_ahead ahead)
{
    const size_t element = embed_bytes(terms), wide = sizeof(float) / element, bytes = columns * element;
    size_t at = 0;
    for (; at + INLAY_CACHE_LINE <= bytes; at += INLAY_CACHE_LINE) {
        embed_prefetch(ahead, at * wide);
        embed_line(embed_at(from, at * wide), out + at, scale, terms, stores);
    }
    for (; at + VEC_LEN * element <= bytes; at += VEC_LEN * element) {
        const struct embed_from f = embed_at(from, at * wide);
        vec value = embed_value(vec_load(f.row), vec_load(f.position), vec_load(f.segment), scale, terms);
        embed_store(out + at, value, VEC_LEN, terms.type);
    }
    /* Use a span if it fits. A masked store as wide as a vector would extend into the next line, and would stall if
       embed_streamed() then streams that line. */
    if (SPAN_LEN < VEC_LEN && wide == 1 && at + SPAN_BYTES <= bytes) {
        const struct embed_from f = embed_at(from, at);
        span_store(out + at,
                   embed_span_value(span_load(f.row), span_load(f.position), span_load(f.segment), scale, terms));
        at += SPAN_BYTES;
    }
    if (at < bytes) {
        size_t n = (bytes - at) / element;
        const struct embed_from f = embed_at(from, at * wide);
        vec value =
            embed_value(vec_load_n(f.row, n), vec_load_n(f.position, n), vec_load_n(f.segment, n), scale, terms);
        embed_store(out + at, value, n, terms.type);
    }
}

/*
 * A buffer for cache lines of the output that rows share. The tail of a row is kept here until later rows complete its
 * line. A complete line is streamed only after EMBED_HELD_LINES - 1 more lines are complete. If it were streamed at
 * once, it would be loaded with wider vectors than it was stored with. Store forwarding would then fail: the load would
 * wait until the stores to this buffer, and all earlier streaming stores, have reached memory. Holding lines back cuts
 * the time to 0.75x for rows of 288 bytes (Zen 4).
 */
enum { EMBED_HELD_LINES = 16 };

struct embed_held {
    _Alignas(INLAY_CACHE_LINE) unsigned char line[EMBED_HELD_LINES][INLAY_CACHE_LINE];
    unsigned char *out[EMBED_HELD_LINES]; /* destination of each line */
    size_t streamed, full;                /* counts of lines streamed and completed; `line` is a ring buffer */
    unsigned char *end;                   /* address in the output after the last held column; null: none held */
};

VEC_INLINE void embed_stream_oldest(struct embed_held *held)
{
    const size_t at = held->streamed++ % EMBED_HELD_LINES;
    for (size_t i = 0; i < INLAY_CACHE_LINE; i += VEC_BYTES)
        vec_stream(held->out[at] + i, vec_load(held->line[at] + i));
}

/* Stores the columns of an incomplete line. */
VEC_INLINE void embed_release(struct embed_held *held)
{
    const size_t at = held->full % EMBED_HELD_LINES;
    if (held->end != NULL)
        memcpy(held->out[at], held->line[at], (size_t)(held->end - held->out[at]));
    held->end = NULL;
}

/*
 * Writes the whole cache lines of `out` with streaming stores. If a row ends within a cache line, the line is held
 * until later rows complete it. If a row starts within a line that isn't held, its columns in that line use ordinary
 * stores. A line written with both kinds of stores takes as long as two lines, one of each kind. Writing a line takes
 * up to 1.4x as long if stores to other addresses come between its streaming stores.
 */
VEC_INLINE void embed_streamed(struct embed_from from, unsigned char *out, size_t columns, float scale,
                               struct embed_terms terms, struct embed_held *held, struct embed_ahead ahead)
{
    const size_t element = embed_bytes(terms), wide = sizeof(float) / element, bytes = columns * element;
    const size_t head = vec_columns_before_line(out, element, columns), head_bytes = head * element;
    if (head > 0 && held->end == out) {
        const size_t at = held->full % EMBED_HELD_LINES;
        const size_t filled = (size_t)(out - held->out[at]);
        embed_cached(from, held->line[at] + filled, head, scale, terms, EMBED_VECTORS, embed_alone);
        held->end += head_bytes;
        if (filled + head_bytes == INLAY_CACHE_LINE) {
            held->end = NULL;
            held->full++;
            if (held->full - held->streamed == EMBED_HELD_LINES)
                embed_stream_oldest(held);
        }
    } else if (head > 0) {
        embed_cached(from, out, head, scale, terms, EMBED_VECTORS, embed_alone);
    }
    size_t at = head_bytes;
    for (; at + INLAY_CACHE_LINE <= bytes; at += INLAY_CACHE_LINE) {
        embed_prefetch(ahead, at * wide);
        embed_line(embed_at(from, at * wide), out + at, scale, terms, EMBED_STREAM);
    }
    if (at < bytes) {
        embed_release(held);
        const size_t next = held->full % EMBED_HELD_LINES;
        embed_cached(embed_at(from, at * wide), held->line[next], (bytes - at) / element, scale, terms, EMBED_VECTORS,
                     embed_alone);
        held->out[next] = out + at;
        held->end = out + bytes;
    }
}

/* Writes a row with ordinary stores and returns its sums. A norm then needn't read the row to compute them. */
VEC_INLINE struct inlay_row_sums embed_summed(struct embed_from from, unsigned char *out, size_t columns, float scale,
                                              struct embed_terms terms, struct embed_ahead ahead)
{
    struct lane_sums sums = lane_sums_zero();
    const size_t whole = columns / LINE_FLOATS * INLAY_CACHE_LINE;
    for (size_t at = 0; at < whole; at += INLAY_CACHE_LINE) {
        embed_prefetch(ahead, at);
        for (size_t k = 0; k < LINE_VECS; k++) {
            const struct embed_from f = embed_at(from, at + k * VEC_BYTES);
            const vec x = embed_value(vec_load(f.row), vec_load(f.position), vec_load(f.segment), scale, terms);
            vec_store(out + at + k * VEC_BYTES, x);
            lane_sums_add(&sums, k, x, terms.sums == EMBED_SUMS);
        }
    }
    const size_t left = columns % LINE_FLOATS;
    embed_cached(embed_at(from, whole), out + whole, left, scale, terms, EMBED_VECTORS, embed_alone);
    return lane_sums_total(&sums, out + whole, left);
}

/* The tile is copied to a local, since byte stores could alias the caller's struct. */
VEC_INLINE void embed_rows(const struct inlay_embed_tile *callers, struct embed_terms terms)
{
    const struct inlay_embed_tile tile = *callers;
    const bool narrow_transfers = tile.narrow_transfers && SPAN_LEN < VEC_LEN && terms.type == INLAY_F32;
    struct embed_held held;
    held.streamed = held.full = 0;
    held.end = NULL;
    for (size_t i = 0; i < tile.count; i++) {
        const unsigned char *row = tile.rows[i];
        const struct embed_from from = {row, terms.positioned ? tile.positions[i] : row,
                                        terms.segmented ? tile.segments[i] : row};
        unsigned char *out = tile.out[i];
        /* Misaligned elements straddle cache lines, so no line consists of whole elements. */
        const bool stream = VEC_STREAMS && tile.stream && (uintptr_t)out % embed_bytes(terms) == 0;
        /* For 16-bit outputs, the tile prefetches, not the kernel. */
        const bool prefetches = terms.type == INLAY_F32 && tile.next != NULL;
        struct embed_ahead ahead = {prefetches ? tile.next[i] : NULL, tile.near};
        if (ahead.row != NULL && !tile.by_line) {
            inlay_prefetch_lines(ahead.row, tile.columns * sizeof(float), tile.near);
            ahead.row = NULL;
        }
        if (terms.sums != EMBED_NO_SUMS)
            tile.sums[i] = embed_summed(from, out, tile.columns, tile.scale, terms, ahead);
        else if (stream)
            embed_streamed(from, out, tile.columns, tile.scale, terms, &held, ahead);
        else if (narrow_transfers)
            embed_cached(from, out, tile.columns, tile.scale, terms, EMBED_SPANS, ahead);
        else
            embed_cached(from, out, tile.columns, tile.scale, terms, EMBED_VECTORS, ahead);
    }
    while (held.streamed < held.full)
        embed_stream_oldest(&held);
    embed_release(&held);
}

/* Copies rows of 16-bit elements without conversion, two elements per 32-bit lane. The last element of an odd number is
   copied separately. */
static void NAME(embed_copied_halves)(const struct inlay_embed_tile *tile)
{
    struct inlay_embed_tile floats = *tile;
    floats.columns = tile->columns / 2;
    embed_rows(&floats, (struct embed_terms){.type = INLAY_F32});
    const size_t last = floats.columns * sizeof(float);
    for (size_t i = 0; i < tile->count && tile->columns % 2 == 1; i++)
        memcpy(tile->out[i] + last, tile->rows[i] + last, 2);
}

/* Not inlined: register allocation suffers if this shares a function with the float32 loops. */
static __attribute__((noinline)) void NAME(embed_f32_halves)(const struct inlay_embed_tile *tile)
{
    if (tile->out_type == INLAY_F16 && tile->positions != NULL)
        embed_rows(tile, (struct embed_terms){.scaled = true, .positioned = true, .type = INLAY_F16});
    else if (tile->out_type == INLAY_F16)
        embed_rows(tile, (struct embed_terms){.scaled = true, .type = INLAY_F16});
    else if (tile->positions != NULL)
        embed_rows(tile, (struct embed_terms){.scaled = true, .positioned = true, .type = INLAY_BF16});
    else
        embed_rows(tile, (struct embed_terms){.scaled = true, .type = INLAY_BF16});
}

VEC_INLINE void embed_summed_terms(const struct inlay_embed_tile *tile, bool scaled, enum embed_sums sums)
{
    if (tile->segments != NULL)
        embed_rows(tile, (struct embed_terms){scaled, true, true, sums, INLAY_F32});
    else if (tile->positions != NULL)
        embed_rows(tile, (struct embed_terms){scaled, true, false, sums, INLAY_F32});
    else
        embed_rows(tile, (struct embed_terms){scaled, false, false, sums, INLAY_F32});
}

/* Layers with both a norm and a scale are rare, so no loop is specialized for scaled rows that need only squares. */
static __attribute__((noinline)) void NAME(embed_f32_summed)(const struct inlay_embed_tile *tile)
{
    if (tile->scale != 1)
        embed_summed_terms(tile, true, EMBED_SUMS);
    else if (tile->squares_only)
        embed_summed_terms(tile, false, EMBED_SQUARES);
    else
        embed_summed_terms(tile, false, EMBED_SUMS);
}

static void NAME(embed_f32)(const struct inlay_embed_tile *tile)
{
    if (tile->out_type != INLAY_F32)
        NAME(embed_f32_halves)(tile);
    else if (tile->sums != NULL)
        NAME(embed_f32_summed)(tile);
    else if (tile->segments != NULL)
        embed_rows(tile,
                   (struct embed_terms){.scaled = true, .positioned = true, .segmented = true, .type = INLAY_F32});
    else if (tile->positions != NULL)
        embed_rows(tile, (struct embed_terms){.scaled = true, .positioned = true, .type = INLAY_F32});
    else if (tile->scale != 1)
        embed_rows(tile, (struct embed_terms){.scaled = true, .type = INLAY_F32});
    else
        embed_rows(tile, (struct embed_terms){.type = INLAY_F32});
}
