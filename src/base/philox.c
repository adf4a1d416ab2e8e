/* SPDX-License-Identifier: MIT */
/*
 * Philox4x32-10, sixteen blocks at a time. Integers only.
 */
#include "base/philox.h"

enum { ROUNDS = 10, RUN_WORDS = INLAY_PHILOX_WORDS, RUN_BLOCKS = RUN_WORDS / 4 };

static const uint32_t multipliers[2] = {0xd2511f53, 0xcd9e8d57};
static const uint32_t weyl[2] = {0x9e3779b9, 0xbb67ae85};

/* Blocks in columns: word[j][i] is word j of block i, first of the counter, then of the result. */
struct philox_run {
    uint32_t word[4][RUN_BLOCKS];
};

/* Transforms blocks. The outer loop is over blocks and has no exits or calls, so compilers vectorize it. */
static void philox_run(struct philox_run *run, uint32_t key_0, uint32_t key_1)
{
    for (int i = 0; i < RUN_BLOCKS; i++) {
        uint32_t a = run->word[0][i], b = run->word[1][i], c = run->word[2][i], d = run->word[3][i];
        for (uint32_t round = 0; round < ROUNDS; round++) {
            uint64_t first = (uint64_t)multipliers[0] * a, second = (uint64_t)multipliers[1] * c;
            a = (uint32_t)(second >> 32) ^ b ^ (key_0 + round * weyl[0]);
            c = (uint32_t)(first >> 32) ^ d ^ (key_1 + round * weyl[1]);
            b = (uint32_t)second;
            d = (uint32_t)first;
        }
        run->word[0][i] = a;
        run->word[1][i] = b;
        run->word[2][i] = c;
        run->word[3][i] = d;
    }
}

/* Computes the run of blocks that contains the next element. */
static void fill_stream(struct inlay_philox_stream *stream)
{
    struct philox_run run;
    uint64_t block = stream->next / RUN_WORDS * RUN_BLOCKS;
    for (unsigned i = 0; i < RUN_BLOCKS; i++) {
        run.word[0][i] = (uint32_t)(block + i);
        run.word[1][i] = (uint32_t)((block + i) >> 32);
        run.word[2][i] = (uint32_t)stream->offset;
        run.word[3][i] = (uint32_t)(stream->offset >> 32);
    }
    philox_run(&run, (uint32_t)stream->key, (uint32_t)(stream->key >> 32));
    for (unsigned i = 0; i < RUN_WORDS; i++)
        stream->words[i] = run.word[i % 4][i / 4];
}

void inlay_philox_begin(struct inlay_philox_stream *stream, uint64_t key, uint64_t offset, uint64_t first_element)
{
    stream->key = key;
    stream->offset = offset;
    stream->next = first_element;
    if (first_element % RUN_WORDS != 0) /* otherwise inlay_philox_take() fills it */
        fill_stream(stream);
}

const uint32_t *inlay_philox_take(struct inlay_philox_stream *stream, size_t n, size_t *taken)
{
    size_t at = (size_t)(stream->next % RUN_WORDS);
    if (at == 0)
        fill_stream(stream);
    *taken = n < RUN_WORDS - at ? n : RUN_WORDS - at;
    stream->next += *taken;
    return stream->words + at;
}
