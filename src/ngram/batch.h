/* SPDX-License-Identifier: MIT */
/*
 * A batch of n-grams: its validation, one function per kind of argument, and access to its ids. Arrays may change after
 * validation, so ids are loaded once and clamped to the vocabulary.
 */
#pragma once

#include "base/minmax.h"
#include "ngram/handle.h"
#include "table/sequences.h"

/* A batch whose struct has been checked. */
struct inlay_ngram_input {
    const inlay_ngram *ngram;
    inlay_ngram_batch batch; /* a copy */
    struct inlay_sequences sequences;
    size_t tokens; /* of all sequences */
};

/* Checks the struct and counts the tokens. Returns INLAY_OK, or INLAY_ERROR_NULL, INLAY_ERROR_OPTION,
   INLAY_ERROR_OVERFLOW or INLAY_ERROR_OFFSETS with *fault. */
inlay_status inlay_ngram_validate(struct inlay_ngram_input *input, const inlay_ngram *ngram,
                                  const inlay_ngram_batch *batch, inlay_fault *fault);

/* Checks that all arrays of the batch are valid pointers, and that `written` overlaps none of them, nor the handle or
   its token map. Exception: the history or its lengths may be at `in_place`, which may be null. */
inlay_status inlay_ngram_check_reads(const struct inlay_ngram_input *input, struct inlay_extent written,
                                     const void *in_place, inlay_fault *fault);

/* Checks offsets, histories and ids, in this order. Returns INLAY_OK, or INLAY_ERROR_OFFSETS, INLAY_ERROR_HISTORY or
   INLAY_ERROR_ID with *fault. */
inlay_status inlay_ngram_check_contents(const struct inlay_ngram_input *input, inlay_fault *fault);

/* Returns the last ids of sequence b's history, at most `most` <= N - 1, as a range of history indices. */
static inline struct inlay_sequence inlay_ngram_past_of(const struct inlay_ngram_input *input, size_t b, size_t most)
{
    const size_t places = input->ngram->length - 1;
    uint64_t count = input->batch.history != NULL ? places : 0;
    if (input->batch.history_lengths != NULL)
        count = inlay_load_once((uint64_t)inlay_id_at(input->batch.history_lengths, INLAY_ID_U32, b));
    const size_t used = count < most ? (size_t)count : most;
    return (struct inlay_sequence){(b + 1) * places - used, used};
}

/* Returns id i of an array, or 0 if it has left the vocabulary since validation. */
static inline size_t inlay_ngram_id(const struct inlay_ngram_input *input, const void *ids, size_t i)
{
    const uint64_t id = inlay_load_once((uint64_t)inlay_id_at(ids, input->batch.id_type, i));
    return id < input->ngram->vocab ? (size_t)id : 0;
}
