/* SPDX-License-Identifier: MIT */
/*
 * The walk of window.h. A token has one more unblocked place than the token before, unless that is a reset or either is
 * a mask. Most steps have no blocked places and take a fast path.
 */
#include "ngram/window.h"

#include <string.h>

/* Appends an id to the words of its sequence and returns its number of unblocked places. */
static inline uint32_t append(struct inlay_ngram_walk *walk, size_t id)
{
    const inlay_ngram *ngram = walk->input->ngram;
    uint64_t word = id;
    if (ngram->token_map != NULL)
        word = inlay_load_once((uint64_t)inlay_id_at(ngram->token_map, INLAY_ID_U32, id));
    walk->words[walk->count++] = (uint32_t)word;
    const uint32_t places = inlay_ngram_in(ngram->masks, id) ? 0 : walk->unblocked + 1;
    walk->unblocked = inlay_ngram_in(ngram->resets, id) ? 0 : (uint32_t)inlay_min(places, ngram->length - 1);
    return places;
}

/* Reads the ids before the next token: at most N - 1, from the call and then from the history. */
static void begin_sequence(struct inlay_ngram_walk *walk)
{
    const struct inlay_ngram_input *input = walk->input;
    const struct inlay_sequences *sequences = &input->sequences;
    const size_t first = inlay_first_token(sequences, walk->sequence);
    const bool last = walk->sequence + 1 >= sequences->count;
    const size_t end = last ? input->tokens : inlay_first_token(sequences, walk->sequence + 1);
    /* Offsets may have changed since validation; the walk still makes progress. */
    walk->sequence_end = inlay_max(end, walk->token + 1);
    const size_t places = input->ngram->length - 1;
    const size_t before = first < walk->token ? inlay_min(walk->token - first, places) : 0;
    walk->count = 0;
    walk->unblocked = 0;
    const struct inlay_sequence past = inlay_ngram_past_of(input, walk->sequence, places - before);
    for (size_t i = 0; i < past.count; i++)
        append(walk, inlay_ngram_id(input, input->batch.history, past.first + i));
    for (size_t i = 0; i < before; i++)
        append(walk, inlay_ngram_id(input, input->batch.ids, walk->token - before + i));
}

void inlay_ngram_walk_begin(struct inlay_ngram_walk *walk, const struct inlay_ngram_input *input, size_t token,
                            size_t end)
{
    walk->input = input;
    walk->token = token;
    walk->end = end;
    walk->sequence = inlay_sequence_at(&input->sequences, token);
    begin_sequence(walk);
}

/* Appends the words of n ids from the next token on. `type` is a constant where this is called. Returns true if any id
   is a reset or a mask. */
static inline __attribute__((always_inline)) bool append_ids(struct inlay_ngram_walk *walk, inlay_id_type type,
                                                             size_t n)
{
    const inlay_ngram *ngram = walk->input->ngram;
    const void *ids = walk->input->batch.ids;
    const size_t vocab = ngram->vocab, token = walk->token;
    uint32_t *words = walk->words + walk->count;
    bool blocks = false;
    for (size_t i = 0; i < n; i++) {
        const uint64_t loaded = inlay_load_once((uint64_t)inlay_id_at(ids, type, token + i));
        const size_t id = loaded < vocab ? (size_t)loaded : 0;
        words[i] = (uint32_t)id;
        if (ngram->token_map != NULL)
            words[i] = (uint32_t)inlay_load_once((uint64_t)inlay_id_at(ngram->token_map, INLAY_ID_U32, id));
        blocks |= inlay_ngram_in(ngram->masks, id) || inlay_ngram_in(ngram->resets, id);
    }
    return blocks;
}

/* Fast path: appends n tokens of one sequence without blocked places. Place s is then the array of words, s words
   earlier. Returns false and appends nothing if a place may be blocked. */
static bool append_unblocked(struct inlay_ngram_walk *walk, size_t n)
{
    const size_t length = walk->input->ngram->length, places = length - 1;
    const inlay_id_type type = walk->input->batch.id_type;
    if (walk->unblocked < places || walk->sequence_end - walk->token < n)
        return false;
    const bool blocks = type == INLAY_ID_I32   ? append_ids(walk, INLAY_ID_I32, n)
                        : type == INLAY_ID_I64 ? append_ids(walk, INLAY_ID_I64, n)
                                               : append_ids(walk, type, n);
    if (blocks)
        return false;
    for (size_t s = 0; s < length; s++)
        walk->places[s] = walk->words + walk->count - s;
    walk->count += n;
    walk->token += n;
    for (size_t i = 0; i < INLAY_NGRAM_LANES; i++)
        walk->words[walk->count + i] = 0;
    return true;
}

/* Appends n tokens of any sequences and writes their places. */
static void append_windows(struct inlay_ngram_walk *walk, size_t n)
{
    const struct inlay_ngram_input *input = walk->input;
    const struct inlay_sequences *sequences = &input->sequences;
    const size_t length = input->ngram->length;
    const uint32_t pad = input->ngram->pad;
    for (size_t i = 0; i < n; i++, walk->token++) {
        if (walk->token == walk->sequence_end) {
            do
                walk->sequence++;
            while (walk->sequence + 1 < sequences->count &&
                   inlay_first_token(sequences, walk->sequence + 1) <= walk->token);
            begin_sequence(walk);
        }
        const uint32_t unblocked = append(walk, inlay_ngram_id(input, input->batch.ids, walk->token));
        for (size_t s = 0; s < length; s++)
            walk->windows[s * INLAY_NGRAM_TOKENS + i] = s < unblocked ? walk->words[walk->count - 1 - s] : pad;
    }
    for (size_t i = n; i % INLAY_NGRAM_LANES != 0; i++)
        for (size_t s = 0; s < length; s++)
            walk->windows[s * INLAY_NGRAM_TOKENS + i] = pad;
    for (size_t s = 0; s < length; s++)
        walk->places[s] = walk->windows + s * INLAY_NGRAM_TOKENS;
}

size_t inlay_ngram_walk_next(struct inlay_ngram_walk *walk, size_t most)
{
    const size_t places = walk->input->ngram->length - 1, n = inlay_min(walk->end - walk->token, most);
    if (walk->count > places) {
        memmove(walk->words, walk->words + walk->count - places, places * sizeof *walk->words);
        walk->count = places;
    }
    if (!append_unblocked(walk, n))
        append_windows(walk, n);
    return n;
}
