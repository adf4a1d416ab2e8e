/* SPDX-License-Identifier: MIT */
/*
 * The sequences of a batch: all of one length, or packed with offsets. The caller's offsets may change after
 * validation, so each is loaded once and clamped to the tokens.
 */
#pragma once

#include "base/arguments.h"
#include "table/ids.h"

struct inlay_sequences {
    size_t count;
    size_t length;          /* tokens per sequence; with offsets, total tokens or INLAY_LENGTH_FROM_OFFSETS */
    const int64_t *offsets; /* null, or [count + 1] */
};

/* Sets *tokens to the total number of tokens of sequences with offsets, and resolves INLAY_LENGTH_FROM_OFFSETS. Returns
   INLAY_OK, or INLAY_ERROR_OVERFLOW, INLAY_ERROR_NULL or INLAY_ERROR_OFFSETS with *fault. */
inlay_status inlay_count_ragged_tokens(struct inlay_sequences *sequences, size_t *tokens, inlay_fault *fault);

/* Same for any sequences. */
static inline inlay_status inlay_count_tokens(struct inlay_sequences *sequences, size_t *tokens, inlay_fault *fault)
{
    if (sequences->offsets != NULL || sequences->length == INLAY_LENGTH_FROM_OFFSETS)
        return inlay_count_ragged_tokens(sequences, tokens, fault);
    return __builtin_mul_overflow(sequences->count, sequences->length, tokens)
               ? inlay_blame(fault, INLAY_ERROR_OVERFLOW, "sequences", NULL)
               : INLAY_OK;
}

/* The functions below take sequences with a resolved length. */

/* Checks that offsets start at 0, never decrease and end at the number of tokens, and that no sequence is longer than
   `longest_allowed`. Returns INLAY_OK and sets *longest, or returns INLAY_ERROR_OFFSETS with *fault. */
inlay_status inlay_check_offsets(const struct inlay_sequences *sequences, size_t longest_allowed, size_t *longest,
                                 inlay_fault *fault);

/* Returns the sequence of a token: the last one that starts at or before it. */
size_t inlay_sequence_at(const struct inlay_sequences *sequences, size_t token);

/* Returns the location of a token, and its id in `ids`. */
inlay_fault inlay_fault_at(const struct inlay_sequences *sequences, const void *ids, inlay_id_type type, size_t token);

/* Returns true if the ids of all tokens are in [0, limit); otherwise sets *fault to the first that isn't. Inlined,
   since in calls of one token every instruction counts. */
static inline bool inlay_ids_in(const struct inlay_sequences *sequences, const void *ids, inlay_id_type type,
                                size_t tokens, size_t limit, inlay_fault *fault)
{
    const size_t bad = inlay_first_bad_id(ids, type, tokens, limit);
    if (bad == tokens)
        return true;
    *fault = inlay_fault_at(sequences, ids, type, bad);
    return false;
}

static inline size_t inlay_offset_at(const struct inlay_sequences *sequences, size_t b)
{
    uint64_t offset = inlay_load_once((uint64_t)inlay_id_at(sequences->offsets, INLAY_ID_I64, b));
    return offset < sequences->length ? (size_t)offset : sequences->length;
}

/* Returns the first token of sequence b; after the last sequence, the number of tokens. */
static inline size_t inlay_first_token(const struct inlay_sequences *sequences, size_t b)
{
    return sequences->offsets != NULL ? inlay_offset_at(sequences, b) : b * sequences->length;
}

/* Tokens of a sequence: [first, first + count) of the ids, or of its history. */
struct inlay_sequence {
    size_t first, count;
};

/* Returns the tokens of sequence b. */
static inline struct inlay_sequence inlay_sequence_tokens(const struct inlay_sequences *sequences, size_t b)
{
    if (sequences->offsets == NULL)
        return (struct inlay_sequence){b * sequences->length, sequences->length};
    const size_t first = inlay_offset_at(sequences, b), end = inlay_offset_at(sequences, b + 1);
    return (struct inlay_sequence){first, end > first ? end - first : 0};
}
