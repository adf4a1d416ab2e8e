/* SPDX-License-Identifier: MIT */
/*
 * Which row: ids, policies, padding, shards, starts, offsets end here, as pointers. All of it is read again after it
 * has been validated; what another thread has changed since is kept within tables and output. Included by embed.c and
 * stages.c.
 */
#ifndef INLAY_RESOLVE_H
#define INLAY_RESOLVE_H

#include "layer/embed.h"
#include "positions/list.h"
#include "table/ids.h"
#include "table/view.h"

/* ---- Where a sequence lies ---- */

static inline size_t inlay_offset_of(const struct inlay_embed_work *work, size_t b)
{
    uint64_t offset = inlay_load_once((uint64_t)inlay_id_at(work->offsets, INLAY_ID_I64, b));
    return offset < work->length ? (size_t)offset : work->length;
}

/* Tokens of sequence b: [first, first + count) of the ids. */
struct inlay_sequence {
    size_t first, count;
};

static inline struct inlay_sequence inlay_sequence_of(const struct inlay_embed_work *work, size_t b)
{
    if (work->offsets == NULL)
        return (struct inlay_sequence){b * work->length, work->length};
    size_t first = inlay_offset_of(work, b), end = inlay_offset_of(work, b + 1);
    size_t count = end > first ? end - first : 0;
    return (struct inlay_sequence){first, count < work->longest ? count : work->longest};
}

/* The output's row of token s of sequence b. */
static inline unsigned char *inlay_out_of(const struct inlay_embed_work *work, struct inlay_sequence sequence, size_t b,
                                          size_t s)
{
    size_t row = work->out_length > 0 ? b * work->out_length + s : sequence.first + s;
    return work->out + row * work->out_stride_bytes;
}

/* ---- Rows of tables ---- */

enum inlay_kind {
    INLAY_ROW,     /* of the table */
    INLAY_ZEROS,   /* a row of zeros that goes on like any other */
    INLAY_BARE,    /* zeros in the output, and nothing else */
    INLAY_OUTSIDE, /* the shard: -0.0, and nothing else */
    INLAY_SKIPPED, /* the output is left as it is */
};

static inline enum inlay_kind inlay_row_of_rules(const struct inlay_embed_work *work, uint64_t id, size_t *row)
{
    const inlay_table *tokens = work->tokens;
    uint64_t vocab = tokens->vocab > 0 ? tokens->vocab : tokens->rows;
    bool zeros = false;
    if (id >= vocab)
        switch (work->bad_id) {
        case INLAY_BAD_ID_ZERO:
            zeros = true;
            id = 0; /* of shards the first one has it */
            break;
        case INLAY_BAD_ID_SKIP:
            return INLAY_SKIPPED;
        case INLAY_BAD_ID_SUBSTITUTE:
            id = (uint64_t)work->substitute_id;
            break;
        case INLAY_BAD_ID_CLAMP:
            id = (int64_t)id < 0 ? 0 : vocab - 1;
            break;
        case INLAY_BAD_ID_ERROR:
            id = tokens->first_row; /* it was good when it was validated */
            break;
        }
    /* Also where an id was made the one of padding: its row is zeros. */
    zeros = zeros || (work->padding_id >= 0 && id == (uint64_t)work->padding_id);
    id -= tokens->first_row;
    /* A table without rows is no shard: it can have zeros all the same. */
    if (id >= tokens->rows && (tokens->vocab > 0 || !zeros))
        return INLAY_OUTSIDE;
    if (zeros)
        return work->zeros_positioned ? INLAY_ZEROS : INLAY_BARE;
    *row = (size_t)id;
    return INLAY_ROW;
}

/* The row of the table that a token takes, if it takes one. */
static inline enum inlay_kind inlay_row_of(const struct inlay_embed_work *work, size_t token, size_t *row)
{
    *row = token;
    if (work->ids == NULL)
        return INLAY_ROW;
    uint64_t id = inlay_load_once((uint64_t)inlay_id_at(work->ids, work->id_type, token));
    if (work->ruled)
        return inlay_row_of_rules(work, id, row);
    *row = id < work->tokens->rows ? (size_t)id : 0;
    return INLAY_ROW;
}

/* ---- Positions ---- */

/* One more than the last position that there is. */
static inline uint64_t inlay_position_limit(const struct inlay_embed_work *work)
{
    return work->sinusoid != NULL ? (uint64_t)INLAY_POSITION_LIMIT : work->positions->rows;
}

/* The start of a sequence, of which `count` positions exist. */
static inline size_t inlay_start_of(const struct inlay_embed_work *work, size_t b, size_t count)
{
    if (work->starts == NULL)
        return (size_t)work->start;
    uint64_t start = inlay_load_once((uint64_t)inlay_id_at(work->starts, INLAY_ID_I64, b));
    return start <= inlay_position_limit(work) - count ? (size_t)start : 0;
}

/* Whether n > 0 positions from the starts of sequences [b, b_end) on lie in [0, limit). */
static inline bool inlay_starts_in(const struct inlay_embed_work *work, size_t b, size_t b_end, size_t n,
                                   uint64_t limit)
{
    return n <= limit &&
           inlay_first_bad_id(work->starts + b, INLAY_ID_I64, b_end - b, (size_t)(limit - n) + 1) == b_end - b;
}

/* The numbers that tokens of a sequence have as positions, one after another; past every limit where negative. */
struct inlay_numbers {
    uint64_t start;
    uint64_t counted; /* tokens so far that are no padding */
};

static inline struct inlay_numbers inlay_numbers_of(const struct inlay_embed_work *work, size_t b)
{
    int64_t start = work->starts != NULL ? inlay_id_at(work->starts, INLAY_ID_I64, b) : work->start;
    return (struct inlay_numbers){(uint64_t)start, 0};
}

static inline uint64_t inlay_next_number(const struct inlay_embed_work *work, struct inlay_numbers *numbers,
                                         size_t token, size_t s)
{
    if (work->listed != NULL)
        return inlay_load_once((uint64_t)inlay_id_at(work->listed, work->listed_type, token));
    uint64_t number = numbers->start + s;
    if (work->numbered) {
        if (inlay_id_at(work->ids, work->id_type, token) == work->padding_id)
            return numbers->start - 1;
        number = numbers->start + numbers->counted++;
    }
    /* Counting up ends at the largest number, which is past every table but no negative one. */
    return numbers->start <= INT64_MAX && number > INT64_MAX ? INT64_MAX : number;
}

#endif
