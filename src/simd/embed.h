/* SPDX-License-Identifier: MIT */
/*
 * The embed kernel, once for every ISA: included by <isa>/kernels.c behind its vec.h, whose vocabulary it speaks
 * (CONTRIBUTING.md lists the words). Holds no intrinsics and includes nothing.
 */
#if VEC_LEN < 2
#error "the scalar kernels are written by hand, in src/scalar"
#endif

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

/* Any columns at any address, through the caches: two spans at once, while there are as many. */
VEC_INLINE void embed_cached(const unsigned char *row, const unsigned char *position, unsigned char *out,
                             size_t columns, float scale, struct embed_terms terms)
{
    const size_t span_bytes = SPAN_LEN * sizeof(float), bytes = columns * sizeof(float);
    const span span_scale = span_set1(scale);
    size_t at = 0;
    for (; at + 2 * span_bytes <= bytes; at += 2 * span_bytes) {
        span first = span_load(row + at), second = span_load(row + at + span_bytes);
        first = embed_span_value(first, span_load(position + at), span_scale, terms);
        second = embed_span_value(second, span_load(position + at + span_bytes), span_scale, terms);
        span_store(out + at, first);
        span_store(out + at + span_bytes, second);
    }
    if (at + span_bytes <= bytes) {
        span value = span_load(row + at);
        span_store(out + at, embed_span_value(value, span_load(position + at), span_scale, terms));
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
 */
VEC_INLINE void embed_streamed(const unsigned char *row, const unsigned char *position, unsigned char *out,
                               size_t columns, float scale, struct embed_terms terms)
{
    enum { LINE = 64, LINE_FLOATS = LINE / sizeof(float) };
    size_t head = (LINE - (uintptr_t)out % LINE) % LINE / sizeof(float);
    head = head < columns ? head : columns;
    if (head > 0)
        embed_cached(row, position, out, head, scale, terms);
    size_t end = head + (columns - head) / LINE_FLOATS * LINE_FLOATS;
    const vec vec_scale = vec_set1(scale);
    for (size_t column = head; column < end; column += LINE_FLOATS) {
        vec line[LINE / VEC_BYTES];
        for (size_t i = 0; i < LINE / VEC_BYTES; i++) {
            size_t at = column * sizeof(float) + i * VEC_BYTES;
            line[i] = embed_value(vec_load(row + at), vec_load(position + at), vec_scale, terms);
        }
        for (size_t i = 0; i < LINE / VEC_BYTES; i++)
            vec_stream(out + column * sizeof(float) + i * VEC_BYTES, line[i]);
    }
    if (end < columns) {
        size_t at = end * sizeof(float);
        embed_cached(row + at, position + at, out + at, columns - end, scale, terms);
    }
}

/* The first lines of a row to come: with them under way the hardware's prefetcher, which starts anew in every row, has
   caught up before they are consumed. Rows lie apart at random, so that nothing else could know. */
VEC_INLINE void embed_prefetch(const unsigned char *row)
{
    enum { LINE = 64, LINES = 4 };
    for (int line = 0; line < LINES; line++)
        vec_prefetch(row + line * LINE);
}

/* Where there are no positions the row stands in for them, and the compiler drops the unused load. */
VEC_INLINE void embed_rows(const struct inlay_embed_tile *tile, struct embed_terms terms)
{
    const float scale = tile->scale;
    const size_t ahead = tile->prefetch_rows;
    for (size_t i = 0; i < tile->count; i++) {
        const unsigned char *row = tile->rows[i];
        if (ahead > 0 && i + ahead < tile->count)
            embed_prefetch(tile->rows[i + ahead]);
        const unsigned char *position = terms.positioned ? tile->positions[i] : row;
        unsigned char *out = tile->out[i];
        /* Floats at odd addresses never fill a line. */
        if (tile->stream && (uintptr_t)out % sizeof(float) == 0)
            embed_streamed(row, position, out, tile->columns, scale, terms);
        else
            embed_cached(row, position, out, tile->columns, scale, terms);
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
