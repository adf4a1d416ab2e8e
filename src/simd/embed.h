/* SPDX-License-Identifier: MIT */
/*
 * The embed kernel, once for every ISA: included by <isa>/kernels.c behind its vec.h, whose vocabulary it speaks
 * (CONTRIBUTING.md lists the words). Holds no intrinsics and includes nothing.
 */
#if VEC_LEN < 2
#error "the scalar kernels are written by hand, in src/scalar"
#endif

enum { EMBED_LINE = 64, EMBED_LINE_FLOATS = EMBED_LINE / sizeof(float) };

/* What a row goes through; constants where embed_rows is called, so that each combination is a loop of its own. */
struct embed_terms {
    bool scaled, positioned;
};

static inline vec embed_value(vec x, vec position, vec scale, struct embed_terms terms)
{
    if (terms.scaled)
        x = vec_mul(x, scale);
    if (terms.positioned)
        x = vec_add(x, position);
    return x;
}

static inline span embed_span_value(span x, span position, span scale, struct embed_terms terms)
{
    if (terms.scaled)
        x = span_mul(x, scale);
    if (terms.positioned)
        x = span_add(x, position);
    return x;
}

/* A cache line's worth of columns, by vectors, or by spans where the ISA has shorter ones. */
VEC_INLINE void embed_line(const unsigned char *row, const unsigned char *position, unsigned char *out, float scale,
                           struct embed_terms terms, bool narrow)
{
    enum { SPAN_BYTES = SPAN_LEN * sizeof(float) };
    if (narrow) {
        span line[EMBED_LINE / SPAN_BYTES];
        for (size_t i = 0; i < EMBED_LINE / SPAN_BYTES; i++) {
            span position_span = span_load(position + i * SPAN_BYTES);
            line[i] = embed_span_value(span_load(row + i * SPAN_BYTES), position_span, span_set1(scale), terms);
        }
        for (size_t i = 0; i < EMBED_LINE / SPAN_BYTES; i++)
            span_store(out + i * SPAN_BYTES, line[i]);
    } else {
        vec line[EMBED_LINE / VEC_BYTES];
        for (size_t i = 0; i < EMBED_LINE / VEC_BYTES; i++) {
            vec position_vec = vec_load(position + i * VEC_BYTES);
            line[i] = embed_value(vec_load(row + i * VEC_BYTES), position_vec, vec_set1(scale), terms);
        }
        for (size_t i = 0; i < EMBED_LINE / VEC_BYTES; i++)
            vec_store(out + i * VEC_BYTES, line[i]);
    }
}

/* Any columns at any address, through the caches. Meanwhile the row `next`, where it is not null, is asked for. */
VEC_INLINE void embed_cached(const unsigned char *row, const unsigned char *position, unsigned char *out,
                             size_t columns, float scale, struct embed_terms terms, const unsigned char *next,
                             bool narrow)
{
    const size_t bytes = columns * sizeof(float);
    size_t at = 0;
    for (; at + EMBED_LINE <= bytes; at += EMBED_LINE) {
        if (next != NULL)
            vec_prefetch(next + at);
        embed_line(row + at, position + at, out + at, scale, terms, narrow);
    }
    if (next != NULL && at < bytes)
        vec_prefetch(next + at);
    for (; at + VEC_BYTES <= bytes; at += VEC_BYTES)
        vec_store(out + at, embed_value(vec_load(row + at), vec_load(position + at), vec_set1(scale), terms));
    /* A masked store of a whole line would reach into the next one, and wait for what is streamed there. */
    const size_t span_bytes = SPAN_LEN * sizeof(float);
    if (SPAN_LEN < VEC_LEN && at + span_bytes <= bytes) {
        span value = span_load(row + at);
        span_store(out + at, embed_span_value(value, span_load(position + at), span_set1(scale), terms));
        at += span_bytes;
    }
    if (at < bytes) {
        size_t n = (bytes - at) / sizeof(float);
        vec value = vec_load_n(row + at, n);
        vec_store_n(out + at, embed_value(value, vec_load_n(position + at, n), vec_set1(scale), terms), n);
    }
}

/*
 * Whole cache lines of `out`, past the caches; what lies before and behind them goes through. A line that is half
 * streamed and half stored costs both, and one whose stores do not follow each other at once costs up to 1.4 as much.
 * Meanwhile the row `next` is asked for, line by line: what comes from memory in large calls takes up to a third less
 * time than by the hardware's prefetcher, which starts anew in every row and runs on behind its end.
 */
VEC_INLINE void embed_streamed(const unsigned char *row, const unsigned char *position, unsigned char *out,
                               size_t columns, float scale, struct embed_terms terms, const unsigned char *next)
{
    size_t head = (EMBED_LINE - (uintptr_t)out % EMBED_LINE) % EMBED_LINE / sizeof(float);
    head = head < columns ? head : columns;
    if (head > 0)
        embed_cached(row, position, out, head, scale, terms, NULL, false);
    size_t end = head + (columns - head) / EMBED_LINE_FLOATS * EMBED_LINE_FLOATS;
    const vec vec_scale = vec_set1(scale);
    for (size_t column = head; column < end; column += EMBED_LINE_FLOATS) {
        vec line[EMBED_LINE / VEC_BYTES];
        vec_prefetch(next + column * sizeof(float));
        for (size_t i = 0; i < EMBED_LINE / VEC_BYTES; i++) {
            size_t at = column * sizeof(float) + i * VEC_BYTES;
            line[i] = embed_value(vec_load(row + at), vec_load(position + at), vec_scale, terms);
        }
        for (size_t i = 0; i < EMBED_LINE / VEC_BYTES; i++)
            vec_stream(out + column * sizeof(float) + i * VEC_BYTES, line[i]);
    }
    if (end < columns) {
        size_t at = end * sizeof(float);
        embed_cached(row + at, position + at, out + at, columns - end, scale, terms, NULL, false);
    }
}

/* The first lines of a row to come, in small calls: with them under way the hardware's prefetcher has caught up before
   they are consumed, and where rows lie in cache no more would help. */
VEC_INLINE void embed_prefetch(const unsigned char *row)
{
    for (int line = 0; line < 4; line++)
        vec_prefetch(row + line * EMBED_LINE);
}

/* Where there are no positions the row stands in for them, and the compiler drops the unused load. The tile is copied:
   as far as the compiler knows every store could change the caller's. */
VEC_INLINE void embed_rows(const struct inlay_embed_tile *callers, struct embed_terms terms)
{
    const struct inlay_embed_tile tile = *callers;
    const size_t ahead = tile.prefetch_rows, known = ahead > 0 ? tile.count + tile.lookahead : 0;
    const bool narrow = tile.narrow_moves && SPAN_LEN < VEC_LEN;
    for (size_t i = 0; i < tile.count; i++) {
        const bool asks = i + ahead < known;
        const unsigned char *row = tile.rows[i], *next = asks ? tile.rows[i + ahead] : row;
        const unsigned char *position = terms.positioned ? tile.positions[i] : row;
        unsigned char *out = tile.out[i];
        /* Floats at odd addresses never fill a line. */
        if (tile.stream && (uintptr_t)out % sizeof(float) == 0) {
            embed_streamed(row, position, out, tile.columns, tile.scale, terms, next);
        } else if (tile.prefetch_whole_rows) {
            embed_cached(row, position, out, tile.columns, tile.scale, terms, asks ? next : NULL, false);
        } else {
            if (asks)
                embed_prefetch(next);
            if (narrow)
                embed_cached(row, position, out, tile.columns, tile.scale, terms, NULL, true);
            else
                embed_cached(row, position, out, tile.columns, tile.scale, terms, NULL, false);
        }
    }
}

static inline void embed_tile(const struct inlay_embed_tile *tile)
{
    if (tile->positions != NULL)
        embed_rows(tile, (struct embed_terms){.scaled = true, .positioned = true});
    else if (tile->scale != 1)
        embed_rows(tile, (struct embed_terms){.scaled = true, .positioned = false});
    else
        embed_rows(tile, (struct embed_terms){.scaled = false, .positioned = false});
}
