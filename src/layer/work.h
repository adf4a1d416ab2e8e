/* SPDX-License-Identifier: MIT */
/*
 * struct inlay_work: the request of a call, fully validated. The public functions fill it in; it is immutable from then
 * on. The functions below locate sequences and their positions. The caller's arrays may have changed since validation,
 * so each value is loaded once and clamped to the tables and the output.
 */
#pragma once

#include "base/bits.h"
#include "base/minmax.h"
#include "table/element.h"
#include "table/sequences.h"

/* out = cast(dropout(norm(row * scale + position + segment))) */
struct inlay_work {
    const inlay_layer_spec *spec; /* with a tuning. With a sinusoid, its `positions` are the cached rows, and later rows
                                     are computed */
    const inlay_table *tokens;    /* of the spec */
    inlay_batch batch; /* a copy; length is that of each sequence, or of all tokens with offsets. Without ids, token i
                          uses row i */
    unsigned char *out;
    size_t out_stride_bytes;
    size_t row_bytes;         /* of the output */
    size_t rows;              /* of the output */
    size_t longest;           /* upper bound of sequence lengths */
    bool special_rows;        /* some ids have no row, or the row of another index */
    bool pruned;              /* some values of the token mapping are INLAY_NO_ROW */
    bool padding_aware;       /* positions count only tokens that aren't padding */
    uint64_t positions_end;   /* one more than the last position; UINT64_MAX if they are looked up per token */
    bool positions_per_token; /* positions aren't simply consecutive, or some don't exist */
};

/* ---- Sequences -------------------------------------------------------------------------------------------------- */

static inline struct inlay_sequences inlay_sequences_of(const inlay_batch *batch)
{
    return (struct inlay_sequences){batch->sequences, batch->length, batch->offsets};
}

static inline struct inlay_sequence inlay_sequence_of(const struct inlay_work *work, size_t b)
{
    const struct inlay_sequences sequences = inlay_sequences_of(&work->batch);
    struct inlay_sequence sequence = inlay_sequence_tokens(&sequences, b);
    sequence.count = inlay_min(sequence.count, work->longest);
    return sequence;
}

/* Returns the output row of token s of sequence b. */
static inline unsigned char *inlay_out_of(const struct inlay_work *work, struct inlay_sequence sequence, size_t b,
                                          size_t s)
{
    size_t row = work->batch.padded_length > 0 ? b * work->batch.padded_length + s : sequence.first + s;
    return work->out + row * work->out_stride_bytes;
}

/* Returns the number of tokens of all sequences. */
static inline size_t inlay_tokens_of(const struct inlay_work *work)
{
    return work->batch.offsets != NULL ? work->batch.length : work->batch.sequences * work->batch.length;
}

/* Returns true if a call has at most one token. */
static inline bool inlay_is_one_token(const struct inlay_work *work)
{
    return work->batch.sequences == 1 && work->longest == 1;
}

/* Returns true if no sequence is split into parts. */
static inline bool inlay_keeps_sequences_whole(const struct inlay_work *work)
{
    return work->spec->pooling != INLAY_POOLING_NONE || work->padding_aware;
}

/* Returns the bytes of all output rows. Pooled outputs are small, so with pooling returns the bytes of the rows that
   are pooled, which may exceed the address space. */
static inline size_t inlay_bytes_of(const struct inlay_work *work)
{
    const bool pooled = work->spec->pooling != INLAY_POOLING_NONE;
    return inlay_product(pooled ? inlay_tokens_of(work) : work->rows, work->row_bytes);
}

/* Returns true if dropout is applied. Tests the bits, since comparing could raise an exception in the caller's
   environment. */
static inline bool inlay_drops(const struct inlay_work *work)
{
    return inlay_bits_f32(work->batch.dropout) << 1 != 0;
}

/* Returns true if pooled rows have individual factors. */
static inline bool inlay_is_weighted(const struct inlay_work *work)
{
    return work->spec->token_weights != NULL || work->batch.weights != NULL;
}

/* Returns true if a row is fully described by one pointer: no separate scales, and no special rows. */
static inline bool inlay_addresses_suffice(const struct inlay_work *work)
{
    return inlay_row_formats[work->tokens->type].scales == INLAY_SCALES_NONE && !work->special_rows;
}

/* Returns true if rows are pooled by pointer alone; the kernel then prefetches ahead of the rows that it adds. */
static inline bool inlay_pools_addresses(const struct inlay_work *work)
{
    return !inlay_is_weighted(work) && inlay_addresses_suffice(work);
}

/* ---- Positions -------------------------------------------------------------------------------------------------- */

/* Returns one more than the last valid position. */
static inline uint64_t inlay_position_limit(const struct inlay_work *work)
{
    return work->spec->sinusoid != NULL ? (uint64_t)INLAY_POSITION_LIMIT : work->spec->positions->rows;
}

/* Returns true if the row of each position is in memory: learned, or a cached row of a sinusoid. */
static inline bool inlay_positions_are_in_memory(const struct inlay_work *work)
{
    return work->spec->sinusoid == NULL || work->positions_end <= work->spec->positions->rows;
}

/* Returns the first position of a sequence with `count` positions. */
static inline size_t inlay_start_of(const struct inlay_work *work, size_t b, size_t count)
{
    if (work->batch.starts == NULL)
        return (size_t)work->batch.start;
    uint64_t start = inlay_load_once((uint64_t)inlay_id_at(work->batch.starts, INLAY_ID_I64, b));
    return start <= inlay_position_limit(work) - count ? (size_t)start : 0;
}

/* Counts the positions of a sequence, token by token. Invalid ones, including negative ones, exceed every limit. */
struct inlay_position_counter {
    uint64_t start;
    uint64_t counted; /* tokens so far, without padding */
};

static inline struct inlay_position_counter inlay_count_positions(const struct inlay_work *work, size_t b)
{
    int64_t start = work->batch.starts != NULL ? inlay_id_at(work->batch.starts, INLAY_ID_I64, b) : work->batch.start;
    return (struct inlay_position_counter){inlay_load_once((uint64_t)start), 0};
}

static inline uint64_t inlay_next_position(const struct inlay_work *work, struct inlay_position_counter *counter,
                                           size_t token, size_t s)
{
    if (work->batch.position_ids != NULL)
        return inlay_load_once((uint64_t)inlay_id_at(work->batch.position_ids, work->batch.position_id_type, token));
    uint64_t position = counter->start + s;
    if (work->padding_aware) {
        if (inlay_id_at(work->batch.ids, work->batch.id_type, token) == work->spec->padding_id)
            return counter->start - (counter->start != (uint64_t)INT64_MIN); /* a negative one stays negative */
        position = counter->start + counter->counted++;
    }
    /* Counting stops at the largest int64, which is past every table but not negative. */
    return counter->start <= INT64_MAX && position > INT64_MAX ? INT64_MAX : position;
}

/* Returns a position as a row of a table or a sinusoid: it was validated, and is clamped in case it has changed since.
 */
static inline size_t inlay_position_within(const struct inlay_work *work, uint64_t position)
{
    const uint64_t limit = inlay_position_limit(work);
    if (position < limit)
        return (size_t)position;
    return work->spec->clamp_positions && limit > 0 ? (size_t)limit - 1 : 0;
}

/* Returns the table of positions; null if there is none, or if none of its rows can be read. */
static inline const inlay_table *inlay_position_table(const struct inlay_work *work)
{
    const inlay_table *table = work->spec->positions;
    return table != NULL && (work->spec->sinusoid != NULL || table->rows > 0) ? table : NULL;
}

/* ---- Segments --------------------------------------------------------------------------------------------------- */

/* Returns the row of a token in the segment table. */
static inline size_t inlay_segment_of(const struct inlay_work *work, size_t token)
{
    uint64_t segment = 0;
    if (work->batch.segment_ids != NULL)
        segment = inlay_load_once((uint64_t)inlay_id_at(work->batch.segment_ids, work->batch.segment_id_type, token));
    return segment < work->spec->segments->rows ? (size_t)segment : 0;
}

/* Returns true if rows are summed as floats before they are written: a norm follows, or the kernel has no 16-bit output
   for all terms or rows. */
static inline bool inlay_sums_floats(const struct inlay_work *work)
{
    return work->spec->norm != INLAY_NORM_NONE ||
           (work->spec->out_type != INLAY_F32 && (work->spec->segments != NULL || work->special_rows));
}

/* Returns true if the terms of tokens are float32 rows that the kernel adds as it reads the tokens' rows. It adds two
   terms to float32 rows only. */
static inline bool inlay_terms_are_rows(const struct inlay_work *work)
{
    const inlay_table *positions = inlay_position_table(work), *segments = work->spec->segments;
    return (positions == NULL || positions->type == INLAY_F32) && (segments == NULL || segments->type == INLAY_F32) &&
           (work->tokens->type == INLAY_F32 || positions == NULL || segments == NULL);
}
