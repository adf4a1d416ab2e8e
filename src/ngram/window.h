/* SPDX-License-Identifier: MIT */
/*
 * The places of tokens: what is hashed for a token, which is its mapped id and those before it, with the pad in blocked
 * places. A walk goes through consecutive tokens of a batch, over the ends of sequences.
 */
#pragma once

#include "ngram/batch.h"

struct inlay_ngram_walk {
    const struct inlay_ngram_input *input;
    size_t token, end;                               /* the next token, and the one behind the last */
    size_t sequence;                                 /* of the next token */
    size_t sequence_end;                             /* the token behind the last of the sequence */
    uint32_t unblocked;                              /* places that are not blocked before the next token */
    size_t count;                                    /* of `words` */
    const uint32_t *places[INLAY_NGRAM_LENGTH_MOST]; /* place s of the tokens of the last step; up to whole lanes they
                                                        are numbers without meaning */
    /* Mapped ids of the sequence, the latest last. */
    uint32_t words[INLAY_NGRAM_LENGTH_MOST - 1 + INLAY_NGRAM_TOKENS + INLAY_NGRAM_LANES];
    uint32_t windows[INLAY_NGRAM_LENGTH_MOST * INLAY_NGRAM_TOKENS]; /* places, if any of them is blocked */
};

/* Begins a walk through tokens [token, end), token < end. */
void inlay_ngram_walk_begin(struct inlay_ngram_walk *walk, const struct inlay_ngram_input *input, size_t token,
                            size_t end);

/* Goes on by n tokens and sets the places of these; n is at most `most`, which is at most INLAY_NGRAM_TOKENS. Returns
   n, which is 0 at the end. */
size_t inlay_ngram_walk_next(struct inlay_ngram_walk *walk, size_t most);
