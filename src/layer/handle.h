/* SPDX-License-Identifier: MIT */
/*
 * The layer handle: a validated spec, copies of its views, and the cached rows of its sinusoid.
 */
#pragma once

#include "base/arguments.h"
#include "dispatch/tuning.h"
#include "tune/tuner.h"

/* The memory that a layer reads in each call, which no output may overlap: the arrays of three tables, gamma, beta, the
   token mapping and weights, the handle and its sinusoid's handle. The first `of_tables` ranges are those of the
   tables; if a table has extents, only some bytes of its range are read. */
struct inlay_layer_reads {
    struct inlay_extent extents[3 * 4 + 6];
    size_t count, of_tables;
};

struct inlay_layer {
    inlay_allocator allocator;
    inlay_layer_spec spec; /* its pointers to tables and tuning point to the copies below */
    inlay_table tokens, positions, segments;
    struct inlay_layer_reads reads;
    inlay_tuning tuning;
    size_t row_bytes;          /* of the output; 0 if they overflow */
    size_t id_limit;           /* one more than the largest valid id */
    bool bad_ids_fail;         /* other ids are errors */
    bool special_rows, pruned; /* as in struct inlay_work */
    struct inlay_tuner *tuner; /* null: no self-tuning */
    struct inlay_tuner own_tuner;
};

/* Returns the size of the full vocabulary. */
static inline size_t inlay_vocab_of(const inlay_table *tokens)
{
    return tokens->vocab > 0 ? tokens->vocab : tokens->rows;
}

/* Returns one more than the largest valid id. */
static inline size_t inlay_id_limit(const inlay_layer_spec *spec)
{
    return spec->token_mapping != NULL ? spec->token_mapping_length : inlay_vocab_of(spec->tokens);
}

/* Returns true if a table holds a part of its vocabulary. */
static inline bool inlay_is_shard(const inlay_table *tokens)
{
    return tokens->vocab > 0 && tokens->rows < tokens->vocab;
}

static inline bool inlay_has_positions(const inlay_layer_spec *spec)
{
    return spec->sinusoid != NULL || spec->positions != NULL;
}
