/* SPDX-License-Identifier: MIT */
/*
 * Maps tokens to rows of the table: ids, the out-of-vocabulary policy, padding and shards. All rules about ids belong
 * here.
 */
#pragma once

#include "layer/routes.h"
#include "tile/tile.h"

enum inlay_row_kind {
    INLAY_ROW,     /* a row of the table */
    INLAY_ZEROS,   /* a row of zeros, treated like any other row */
    INLAY_BARE,    /* zeros in the output, without position, segment or norm */
    INLAY_OUTSIDE, /* a row of another shard: -0.0 in the output */
    INLAY_SKIPPED, /* the output row is left unchanged */
};

/* Returns true if positions, segments and post-ops apply to a row of that kind. */
static inline bool inlay_row_gets_terms(enum inlay_row_kind kind)
{
    return kind == INLAY_ROW || kind == INLAY_ZEROS;
}

/* Returns true if an id maps to INLAY_NO_ROW and isn't padding without a row. */
bool inlay_id_lacks_row(const inlay_layer_spec *spec, uint64_t id);

/* Returns the kind of row of an id if the work has special rows. For INLAY_ROW, sets *row to its index and *id to the
   row's id, after policies and before the mapping. */
enum inlay_row_kind inlay_special_row_of(const struct inlay_work *work, uint64_t *id, size_t *row);

/* Returns the kind of row of a token. For INLAY_ROW, sets *row to its index; the id is then below the limit. */
static inline enum inlay_row_kind inlay_row_and_id_of(const struct inlay_work *work, size_t token, size_t *row,
                                                      uint64_t *id)
{
    *id = *row = token;
    if (work->batch.ids == NULL)
        return INLAY_ROW;
    *id = inlay_load_once((uint64_t)inlay_id_at(work->batch.ids, work->batch.id_type, token));
    if (work->special_rows)
        return inlay_special_row_of(work, id, row);
    *row = *id < work->tokens->rows ? (size_t)*id : 0;
    *id = *row;
    return INLAY_ROW;
}

static inline enum inlay_row_kind inlay_row_of(const struct inlay_work *work, size_t token, size_t *row)
{
    uint64_t id;
    return inlay_row_and_id_of(work, token, row, &id);
}

/* Returns the factor of a token's row in the sum of its sequence. Inlined into functions that run in the guarded
   environment. */
static inline float inlay_pooled_factor(const struct inlay_work *work, size_t token, uint64_t id)
{
    float factor = 1;
    if (work->spec->token_weights != NULL)
        factor = inlay_load_f32(work->spec->token_weights, (size_t)id);
    if (work->batch.weights != NULL)
        factor = factor * inlay_load_f32(work->batch.weights, token);
    return factor * work->spec->scale;
}

/* Writes the addresses of the rows of tokens [first, first + n), ignoring special rows: an id outside the table or
   mapping gets the first row. For rows given by pointer alone, and for prefetching. */
void inlay_row_addresses(const struct inlay_work *work, size_t first, size_t n, const unsigned char **rows);

/* For tiles without prefetching, which read tokens [token, token + count) next: prefetches their rows and those of
   later tokens below `end`, if the rows up to `prefetched` are nearly used up. Returns the new end of the prefetched
   tokens. */
size_t inlay_prefetch_tokens(const struct inlay_part *part, size_t token, size_t count, size_t prefetched, size_t end);

/* Adds a row of the segment table to the terms, in the layer's order. */
static inline struct inlay_terms inlay_with_segment(const struct inlay_work *work, struct inlay_terms terms,
                                                    size_t token, size_t column)
{
    const inlay_table *segments = work->spec->segments;
    const unsigned char *row = inlay_row_place(segments, inlay_segment_of(work, token), column).row;
    if (terms.position == NULL || work->spec->segments_first)
        return (struct inlay_terms){row, terms.position};
    return (struct inlay_terms){terms.position, row};
}

/* Writes `columns` floats for a token without a row in the table: nothing for skipped ones; zeros * scale + terms for
   INLAY_ZEROS. Runs kernels. */
void inlay_write_special_row(const struct inlay_kernels *kernels, enum inlay_row_kind kind, float scale,
                             struct inlay_terms terms, unsigned char *out, size_t columns);
