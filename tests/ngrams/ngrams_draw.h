/* SPDX-License-Identifier: MIT */
/*
 * Draws the parts of the calls of ngrams.h: specs, tables, lookups and batches, every array against a guard page. The
 * numbers of the source are taken in one order, so that what a fuzzer has found stays what it was.
 */
#pragma once

#include "ngrams/ngram_call.h"

#include "reference.h"

/* Makes the arenas of all inputs. */
void ngram_draw_prepare(void);

/* Draws all of a call but its handle, what it must come to, and the accepted tokens. */
void ngram_draw_inputs(struct ngram_call *call, struct source *source);

/* Draws the accepted tokens of a call whose status is known. */
void ngram_draw_accepted(struct ngram_call *call, struct source *source);

/* Returns the index in ids of the first token of sequence b, or the end of the one before. */
static inline size_t ngram_first_token(const struct ngram_call *call, size_t b)
{
    if (call->batch.offsets == NULL)
        return b * call->batch.length;
    return (size_t)reference_id(call->batch.offsets, INLAY_ID_I64, b);
}
