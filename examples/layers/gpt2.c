/* SPDX-License-Identifier: MIT */
/*
 * The input layer of GPT-2, GPT-3 and decoders like OPT: word + position, both learned, no scale. Prompts of different
 * lengths are packed one after another (prefill). Then each step has one token per sequence, at the position its KV
 * cache has reached (decode).
 */
#include "check.h"

enum { VOCAB = 100, POSITIONS = 32, DIM = 48, SEQUENCES = 3, STEPS = 4, PROMPTS = 2 + 5 + 1 };

static float words[VOCAB][DIM], positions[POSITIONS][DIM];

static inlay_layer *gpt2(void)
{
    inlay_table word_table = inlay_table_f32(words, VOCAB, DIM);
    inlay_table position_table = inlay_table_f32(positions, POSITIONS, DIM);
    inlay_layer_spec spec = inlay_layer_spec_default(&word_table);
    spec.positions = &position_table; /* a token past the end is INLAY_ERROR_POSITION: the sequence is full */
    inlay_layer *layer = NULL;
    require(inlay_layer_create(&spec, NULL, &layer));
    return layer;
}

static void define(int32_t id, int64_t position, double *out)
{
    for (int i = 0; i < DIM; i++)
        out[i] = words[id][i] + positions[position][i]; /* one sum, rounded to float */
}

int main(void)
{
    const int32_t prompts[PROMPTS] = {42, 7, 99, 0, 2, 42, 7, 13};
    const int64_t offsets[SEQUENCES + 1] = {0, 2, 7, 8};
    int64_t cached[SEQUENCES]; /* tokens in each sequence's KV cache */
    int32_t next[SEQUENCES];
    static float out[PROMPTS][DIM];
    static double expected[PROMPTS][DIM];
    fill(words[0], VOCAB, DIM, 1);
    fill(positions[0], POSITIONS, DIM, 2);
    inlay_layer *layer = gpt2();

    inlay_batch prefill = inlay_batch_ragged(prompts, INLAY_ID_I32, offsets, SEQUENCES, 0);
    require(inlay_forward(layer, &prefill, out, sizeof out[0], NULL, NULL));
    for (int b = 0; b < SEQUENCES; b++) {
        for (int64_t t = offsets[b]; t < offsets[b + 1]; t++)
            define(prompts[t], t - offsets[b], expected[t]);
        cached[b] = offsets[b + 1] - offsets[b];
        next[b] = prompts[offsets[b + 1] - 1];
    }
    int wrong = compare("gpt2, prefill", out[0], expected[0], PROMPTS * DIM, 0);

    inlay_batch decode = inlay_batch_i32(next, SEQUENCES, 1, 0);
    decode.starts = cached;
    for (int step = 0; step < STEPS; step++) {
        for (int b = 0; b < SEQUENCES; b++)
            next[b] = (next[b] * 31 + 17) % VOCAB; /* in place of the token the model would choose */
        require(inlay_forward(layer, &decode, out, sizeof out[0], NULL, NULL));
        for (int b = 0; b < SEQUENCES; b++)
            define(next[b], cached[b]++, expected[b]);
        wrong |= compare("gpt2, decode", out[0], expected[0], SEQUENCES * DIM, 0);
    }
    inlay_layer_destroy(layer);
    return wrong;
}
