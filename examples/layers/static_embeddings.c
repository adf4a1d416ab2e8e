/* SPDX-License-Identifier: MIT */
/*
 * Static embeddings (model2vec, fastText, GloVe): a sentence is the mean of its tokens' rows, and that is the whole
 * model. Rows are int8 with one scale each, a quarter of the memory. Sentences of any length are packed one after
 * another; an empty sentence is zeros.
 */
#include "check.h"

enum { VOCAB = 100, DIM = 64, SENTENCES = 4, TOKENS = 3 + 0 + 6 + 1 };

static int8_t words[VOCAB][DIM];
static float scales[VOCAB];

/* Converts a float32 table to int8, once, when the model is saved: the largest magnitude of each row becomes 127. */
static void quantise(float (*table)[DIM])
{
    inlay_table from = inlay_table_f32(table, VOCAB, DIM);
    inlay_table_storage to = inlay_table_storage_of(INLAY_I8, words, DIM);
    to.scales = scales;
    require(inlay_table_quantize(&from, &to, NULL, NULL));
}

static inlay_layer *static_embeddings(void)
{
    inlay_table word_table = inlay_table_i8(words, scales, VOCAB, DIM);
    inlay_layer_spec spec = inlay_layer_spec_default(&word_table);
    spec.pooling = INLAY_POOLING_MEAN;
    inlay_layer *layer = NULL;
    require(inlay_layer_create(&spec, NULL, &layer));
    return layer;
}

int main(void)
{
    const int32_t ids[TOKENS] = {42, 7, 99, 0, 13, 13, 98, 5, 71, 64};
    const int64_t offsets[SENTENCES + 1] = {0, 3, 3, 9, 10};
    static float out[SENTENCES][DIM];
    static float table[VOCAB][DIM];
    fill(table[0], VOCAB, DIM, 1);
    quantise(table);

    inlay_layer *layer = static_embeddings();
    inlay_batch batch = inlay_batch_ragged(ids, INLAY_ID_I32, offsets, SENTENCES, 0);
    require(inlay_forward(layer, &batch, out, sizeof out[0], NULL, NULL));
    inlay_layer_destroy(layer);

    /* The means of the quantised rows, and of the rows before: a step is at most 1 / 127, the error half a step. */
    static double quantised[SENTENCES][DIM], original[SENTENCES][DIM];
    for (int b = 0; b < SENTENCES; b++)
        for (int64_t t = offsets[b]; t < offsets[b + 1]; t++)
            for (int i = 0; i < DIM; i++) {
                double n = (double)(offsets[b + 1] - offsets[b]);
                quantised[b][i] += (double)words[ids[t]][i] * scales[ids[t]] / n;
                original[b][i] += table[ids[t]][i] / n;
            }
    int wrong = compare("static embeddings", out[0], quantised[0], SENTENCES * DIM, 5e-7);
    return compare("static embeddings before int8", out[0], original[0], SENTENCES * DIM, .5 / 127 + 5e-7) | wrong;
}
