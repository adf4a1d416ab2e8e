/* SPDX-License-Identifier: MIT */
/*
 * struct inlay_work: what a call asks for, with every field validated. It is filled in by the public functions and
 * immutable from then on. The functions below say where a sequence and its positions lie. What they read from the
 * caller's arrays may have changed since it was validated, so they load it once and keep it within tables and output.
 */
#ifndef INLAY_LAYER_WORK_H
#define INLAY_LAYER_WORK_H

#include "dispatch/tuning.h"
#include "positions/sinusoid.h"
#include "table/ids.h"

/* out = cast(dropout(norm(row * scale + position + segment))). Absent terms are null or 0. */
struct inlay_work {
    const inlay_table *tokens;
    const void *ids; /* null: token i takes row i */
    inlay_id_type id_type;
    float scale;

    /* The out-of-vocabulary policy and the other special rows; looked at only if special_rows is set. */
    bool special_rows;
    bool zeros_positioned;
    inlay_bad_id bad_id;
    int64_t padding_id, substitute_id;

    /* Positions. With a sinusoid, `positions` are its cached rows and later ones are computed. */
    const inlay_table *positions;
    const inlay_sinusoid *sinusoid;
    int64_t start;
    const int64_t *starts; /* [sequences], or null: `start` for all */
    const void *position_ids;
    inlay_id_type position_id_type;
    bool padding_aware, clamped;
    bool positions_per_token; /* positions do not simply follow each other, or not all of them exist */

    size_t sequences, length, dim;
    const int64_t *offsets; /* [sequences + 1], or null: each sequence has `length` tokens; else all together have */
    size_t longest;         /* no sequence has more tokens */
    size_t padded_length;   /* rows of the output for each sequence; 0: packed, as the ids are */
    unsigned char *out;
    size_t out_stride_bytes;

    const inlay_table *segments;
    const void *segment_ids;
    inlay_id_type segment_id_type;
    bool segments_first; /* (row * scale + segment) + position */

    /* Post-ops. */
    inlay_norm norm;
    float epsilon;
    const unsigned char *gamma, *beta;
    inlay_pooling pooling;
    const unsigned char *weights;
    float dropout; /* positive, or 0: none */
    uint64_t dropout_key, dropout_offset;
    inlay_element_type out_type;

    struct inlay_thresholds thresholds;
};

static inline size_t inlay_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- Sequences -------------------------------------------------------------------------------------------------- */

static inline size_t inlay_offset_of(const struct inlay_work *work, size_t b)
{
    uint64_t offset = inlay_load_once((uint64_t)inlay_id_at(work->offsets, INLAY_ID_I64, b));
    return offset < work->length ? (size_t)offset : work->length;
}

/* Tokens of a sequence: [first, first + count) of the ids. */
struct inlay_sequence {
    size_t first, count;
};

static inline struct inlay_sequence inlay_sequence_of(const struct inlay_work *work, size_t b)
{
    if (work->offsets == NULL)
        return (struct inlay_sequence){b * work->length, work->length};
    size_t first = inlay_offset_of(work, b), end = inlay_offset_of(work, b + 1);
    return (struct inlay_sequence){first, end > first ? inlay_least(end - first, work->longest) : 0};
}

/* The output row of token s of sequence b. */
static inline unsigned char *inlay_out_of(const struct inlay_work *work, struct inlay_sequence sequence, size_t b,
                                          size_t s)
{
    size_t row = work->padded_length > 0 ? b * work->padded_length + s : sequence.first + s;
    return work->out + row * work->out_stride_bytes;
}

/* ---- Positions -------------------------------------------------------------------------------------------------- */

/* One more than the last position that exists. */
static inline uint64_t inlay_position_limit(const struct inlay_work *work)
{
    return work->sinusoid != NULL ? (uint64_t)INLAY_POSITION_LIMIT : work->positions->rows;
}

/* The first position of a sequence, of which `count` positions exist. */
static inline size_t inlay_start_of(const struct inlay_work *work, size_t b, size_t count)
{
    if (work->starts == NULL)
        return (size_t)work->start;
    uint64_t start = inlay_load_once((uint64_t)inlay_id_at(work->starts, INLAY_ID_I64, b));
    return start <= inlay_position_limit(work) - count ? (size_t)start : 0;
}

/* Whether positions [starts[b], starts[b] + n), n > 0, of all sequences without offsets lie in [0, limit). */
static inline bool inlay_starts_in(const struct inlay_work *work, size_t n, uint64_t limit)
{
    return n <= limit &&
           inlay_first_bad_id(work->starts, INLAY_ID_I64, work->sequences, (size_t)(limit - n) + 1) == work->sequences;
}

/* The positions of a sequence, token by token. Those that exist nowhere are past every limit, also negative ones. */
struct inlay_position_counter {
    uint64_t start;
    uint64_t counted; /* tokens so far that are no padding */
};

static inline struct inlay_position_counter inlay_count_positions(const struct inlay_work *work, size_t b)
{
    int64_t start = work->starts != NULL ? inlay_id_at(work->starts, INLAY_ID_I64, b) : work->start;
    return (struct inlay_position_counter){(uint64_t)start, 0};
}

static inline uint64_t inlay_next_position(const struct inlay_work *work, struct inlay_position_counter *counter,
                                           size_t token, size_t s)
{
    if (work->position_ids != NULL)
        return inlay_load_once((uint64_t)inlay_id_at(work->position_ids, work->position_id_type, token));
    uint64_t position = counter->start + s;
    if (work->padding_aware) {
        if (inlay_id_at(work->ids, work->id_type, token) == work->padding_id)
            return counter->start - 1;
        position = counter->start + counter->counted++;
    }
    /* Counting up ends at the largest int64, which is past every table but not negative. */
    return counter->start <= INT64_MAX && position > INT64_MAX ? INT64_MAX : position;
}

#endif
