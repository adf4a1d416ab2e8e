/* SPDX-License-Identifier: MIT */
/*
 * Draws the parts of the calls of ngrams.h: specs, tables, lookups and batches, with every array adjacent to a guard
 * page. Numbers are taken from the source in a fixed order, to keep fuzzer inputs valid.
 */
#pragma once

#include "ngrams/ngram_call.h"

#include "support/reference.h"

/* Makes the arenas of all inputs. */
void ngram_draw_prepare(void);

/* Draws a whole call except its handle, its expected result, and the accepted tokens. */
void ngram_draw_inputs(struct ngram_call *call, struct source *source);

/* Draws the accepted tokens of a call with a known status. */
void ngram_draw_accepted(struct ngram_call *call, struct source *source);

/* Returns the index in ids of the first token of sequence b, which is the end of the previous one. */
static inline size_t ngram_first_token(const struct ngram_call *call, size_t b)
{
    if (call->batch.offsets == NULL)
        return b * call->batch.length;
    return (size_t)reference_id(call->batch.offsets, INLAY_ID_I64, b);
}
