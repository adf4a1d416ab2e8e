/* SPDX-License-Identifier: MIT */
/*
 * Ids to rows.
 */
#include "layer/rows.h"

#include "layer/handle.h"

#include "base/bits.h"
#include "table/view.h"

#include <string.h>

/* Returns the mapping's value for an id below the limit. It may have changed since the layer was made. */
static inline uint64_t mapping_at(const inlay_layer_spec *spec, uint64_t id)
{
    return inlay_load_once((uint64_t)inlay_id_at(spec->token_mapping, spec->token_mapping_type, (size_t)id));
}

/* Returns the row of the vocabulary for an id below the limit. Values of the mapping that are no row become row 0. */
static inline uint64_t mapped(const struct inlay_work *work, uint64_t id)
{
    if (work->spec->token_mapping == NULL)
        return id;
    const uint64_t row = mapping_at(work->spec, id);
    return row < inlay_vocab_of(work->tokens) ? row : 0;
}

/* Returns true if an id below the limit is padding with a row of zeros. */
static inline bool is_zero_padding(const inlay_layer_spec *spec, uint64_t id)
{
    return spec->padding_id >= 0 && id == (uint64_t)spec->padding_id && spec->zero_rows != INLAY_ZERO_ROWS_TABLE;
}

bool inlay_id_lacks_row(const inlay_layer_spec *spec, uint64_t id)
{
    return mapping_at(spec, id) == (uint64_t)INLAY_NO_ROW && !is_zero_padding(spec, id);
}

enum inlay_row_kind inlay_special_row_of(const struct inlay_work *work, uint64_t *id, size_t *row)
{
    const inlay_table *tokens = work->tokens;
    const uint64_t limit = inlay_id_limit(work->spec);
    bool zeros = false;
    if (*id >= limit || (work->pruned && inlay_id_lacks_row(work->spec, *id)))
        switch (work->spec->bad_id) {
        case INLAY_BAD_ID_ZERO:
            zeros = true;
            *id = 0; /* the shard of the first id writes the zeros */
            break;
        case INLAY_BAD_ID_SKIP:
            return INLAY_SKIPPED;
        case INLAY_BAD_ID_SUBSTITUTE:
            *id = (uint64_t)work->spec->substitute_id;
            break;
        case INLAY_BAD_ID_CLAMP:
            *id = (int64_t)*id < 0 ? 0 : limit - 1;
            break;
        case INLAY_BAD_ID_ERROR: /* it was valid when it was checked */
            *id = work->spec->token_mapping == NULL ? tokens->first_row : 0;
            break;
        }
    /* This includes ids that became padding_id above. */
    zeros = zeros || is_zero_padding(work->spec, *id);
    const uint64_t index = mapped(work, *id) - tokens->first_row;
    /* A table without rows that isn't a shard can still have zero rows. */
    if (index >= tokens->rows && (tokens->vocab > 0 || !zeros))
        return INLAY_OUTSIDE;
    if (zeros)
        return work->spec->zero_rows == INLAY_ZERO_ROWS_BARE ? INLAY_BARE : INLAY_ZEROS;
    *row = (size_t)index;
    return INLAY_ROW;
}

/* Inlined with constant types, so each type has its own loop of a few instructions per token. */
static inline __attribute__((always_inline)) void addresses_of_ids(const struct inlay_work *work, inlay_id_type type,
                                                                   size_t first, size_t n, const unsigned char **rows)
{
    const unsigned char *data = work->tokens->data;
    const size_t stride_bytes = work->tokens->stride_bytes, count = work->tokens->rows;
    const size_t first_row = work->tokens->first_row; /* of a shard */
    for (size_t i = 0; i < n; i++) {
        uint64_t id = inlay_load_once((uint64_t)inlay_id_at(work->batch.ids, type, first + i)) - first_row;
        rows[i] = data + (id < count ? (size_t)id : 0) * stride_bytes;
    }
}

/* Same with a mapping or extents. Not inlined, so other calls don't need its registers. */
static __attribute__((noinline)) void addresses_one_by_one(const struct inlay_work *work, size_t first, size_t n,
                                                           const unsigned char **rows)
{
    const inlay_table *tokens = work->tokens;
    for (size_t i = 0; i < n; i++) {
        uint64_t id = inlay_load_once((uint64_t)inlay_id_at(work->batch.ids, work->batch.id_type, first + i));
        id = mapped(work, id < inlay_id_limit(work->spec) ? id : 0) - tokens->first_row;
        rows[i] = inlay_row_place(tokens, id < tokens->rows ? (size_t)id : 0, 0).row;
    }
}

void inlay_row_addresses(const struct inlay_work *work, size_t first, size_t n, const unsigned char **rows)
{
    if (work->batch.ids == NULL)
        for (size_t i = 0; i < n; i++)
            rows[i] = (const unsigned char *)work->tokens->data + (first + i) * work->tokens->stride_bytes;
    else if (work->tokens->extents != NULL || work->spec->token_mapping != NULL)
        addresses_one_by_one(work, first, n, rows);
    else if (work->batch.id_type == INLAY_ID_I32)
        addresses_of_ids(work, INLAY_ID_I32, first, n, rows);
    else if (work->batch.id_type == INLAY_ID_I64)
        addresses_of_ids(work, INLAY_ID_I64, first, n, rows);
    else
        addresses_of_ids(work, work->batch.id_type, first, n, rows);
}

size_t inlay_prefetch_tokens(const struct inlay_part *part, size_t token, size_t count, size_t prefetched, size_t end)
{
    const struct inlay_work *work = part->work;
    const struct inlay_strategy *strategy = &inlay_strategies[part->timer->prefetch];
    const size_t row_bytes = inlay_table_row_bytes(work->tokens->type, work->tokens->dim);
    if (!strategy->lines && !strategy->blocks)
        return prefetched;
    const size_t rows = inlay_max(inlay_block_rows(strategy, row_bytes), count);
    const size_t ahead = strategy->blocks ? rows : 0;
    const size_t needed = token + inlay_max(count, ahead + 1);
    if (prefetched >= inlay_min(end, needed))
        return prefetched;
    const size_t next = inlay_min(end, token + ahead + rows);
    const bool scaled = inlay_row_formats[work->tokens->type].scales != INLAY_SCALES_NONE;
    const unsigned char *weights = work->spec->token_weights;
    while (prefetched < next) {
        const unsigned char *found[INLAY_BLOCK_ROWS], *scales[INLAY_BLOCK_ROWS];
        size_t n = 0;
        if (weights == NULL && inlay_addresses_suffice(work)) {
            n = inlay_min(next - prefetched, INLAY_BLOCK_ROWS);
            inlay_row_addresses(work, prefetched, n, found);
            prefetched += n;
        }
        for (; prefetched < next && n < INLAY_BLOCK_ROWS; prefetched++) {
            size_t row;
            uint64_t id;
            if (inlay_row_and_id_of(work, prefetched, &row, &id) == INLAY_ROW) {
                if (weights != NULL)
                    inlay_prefetch_line(weights + (size_t)id * sizeof(float), true);
                const struct inlay_row_place place = inlay_row_place(work->tokens, row, 0);
                found[n] = place.row;
                scales[n++] = place.scales;
            }
        }
        inlay_prefetch_rows(strategy, found, scaled ? scales : NULL, n, row_bytes);
    }
    return next;
}

/* Writes zeros * scale + terms with the kernel that computes all other rows, so signs and NaN match. */
static void write_zeros(const struct inlay_kernels *kernels, float scale, struct inlay_terms terms, unsigned char *out,
                        size_t columns)
{
    enum { COLUMNS = 256 };
    static const float zeros[COLUMNS];
    const unsigned char *row = (const unsigned char *)zeros;
    struct inlay_embed_tile tile = inlay_floats_tile(&row, &out, 1, COLUMNS);
    tile.scale = scale;
    tile.positions = terms.position != NULL ? &terms.position : NULL;
    tile.segments = terms.segment != NULL ? &terms.segment : NULL;
    for (size_t left = columns; left > 0; left -= tile.columns) {
        tile.columns = inlay_min(left, COLUMNS);
        kernels->embed(&tile);
        out += tile.columns * sizeof(float);
        if (terms.position != NULL)
            terms.position += tile.columns * sizeof(float);
        if (terms.segment != NULL)
            terms.segment += tile.columns * sizeof(float);
    }
}

void inlay_write_special_row(const struct inlay_kernels *kernels, enum inlay_row_kind kind, float scale,
                             struct inlay_terms terms, unsigned char *out, size_t columns)
{
    if (kind == INLAY_BARE)
        memset(out, 0, columns * sizeof(float));
    else if (kind == INLAY_ZEROS)
        write_zeros(kernels, scale, terms, out, columns);
    else if (kind == INLAY_OUTSIDE)
        for (size_t column = 0; column < columns; column++)
            inlay_store_f32(out, column, -0.0f);
}
