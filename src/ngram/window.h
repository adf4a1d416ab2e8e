/* SPDX-License-Identifier: MIT */
/*
 * The windows that are hashed: a token's mapped id and those before it, with the pad in blocked
 * places. A walk visits consecutive tokens of a batch, across sequences.
 */
#pragma once

#include "ngram/batch.h"

struct inlay_ngram_walk {
    const struct inlay_ngram_input *input;
    size_t token, end;                              /* the next token, and the end of the walk */
    size_t sequence;                                /* of the next token */
    size_t sequence_end;                            /* the end of that sequence */
    uint32_t unblocked;                             /* unblocked places before the next token */
    size_t count;                                   /* of `words` */
    const uint32_t *places[INLAY_NGRAM_MAX_LENGTH]; /* place s of the last step's tokens, followed by unspecified
                                                        values up to a multiple of INLAY_NGRAM_LANES */
    /* Mapped ids of the sequence, most recent last. */
    uint32_t words[INLAY_NGRAM_MAX_LENGTH - 1 + INLAY_NGRAM_TOKENS + INLAY_NGRAM_LANES];
    uint32_t windows[INLAY_NGRAM_MAX_LENGTH * INLAY_NGRAM_TOKENS]; /* places of a step with blocked ones */
};

/* Starts a walk over tokens [token, end), token < end. */
void inlay_ngram_walk_begin(struct inlay_ngram_walk *walk, const struct inlay_ngram_input *input, size_t token,
                            size_t end);

/* Advances by n tokens and sets their places, n <= `most` <= INLAY_NGRAM_TOKENS. Returns n, 0 at the end. */
size_t inlay_ngram_walk_next(struct inlay_ngram_walk *walk, size_t most);
