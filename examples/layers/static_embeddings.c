/* SPDX-License-Identifier: MIT */
/*
 * Static embeddings (model2vec, fastText, GloVe): a sentence is the mean of its tokens' rows, and that is the whole
 * model. Rows are int8 with one scale each, a quarter of the memory; sentences of any length lie packed one behind the
 * other, an empty one is zeros.
 */
#include "check.h"

enum { VOCAB = 100, DIM = 64, SENTENCES = 4, TOKENS = 3 + 0 + 6 + 1 };

static int8_t words[VOCAB][DIM];
static float scales[VOCAB];

/* Each row's largest magnitude becomes 127. */
static void quantise(const float *row, int8_t *quantised, float *scale)
{
    float largest = 0;
    for (int i = 0; i < DIM; i++)
        largest = fmaxf(largest, fabsf(row[i]));
    *scale = largest / 127;
    for (int i = 0; i < DIM; i++)
        quantised[i] = (int8_t)(largest > 0 ? lrintf(row[i] / *scale) : 0);
}

static inlay_layer *static_embeddings(void)
{
    inlay_rows word_rows = inlay_rows_f32(words, VOCAB, DIM);
    word_rows.type = INLAY_I8;
    word_rows.stride_bytes = inlay_row_bytes(INLAY_I8, DIM);
    word_rows.scales = scales;
    inlay_layer_spec spec = inlay_layer_spec_default(&word_rows);
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
    static double expected[SENTENCES][DIM];
    for (int row = 0; row < VOCAB; row++) {
        float numbers[DIM];
        fill(numbers, DIM, (uint32_t)row);
        quantise(numbers, words[row], &scales[row]);
    }

    inlay_layer *layer = static_embeddings();
    inlay_batch batch = inlay_batch_ragged(ids, INLAY_ID_I32, offsets, SENTENCES, 0);
    require(inlay_forward(layer, &batch, out, sizeof out[0], NULL, NULL));
    inlay_layer_destroy(layer);

    for (int b = 0; b < SENTENCES; b++)
        for (int64_t t = offsets[b]; t < offsets[b + 1]; t++)
            for (int i = 0; i < DIM; i++)
                expected[b][i] += (double)words[ids[t]][i] * scales[ids[t]] / (double)(offsets[b + 1] - offsets[b]);
    return compare("static embeddings", out[0], expected[0], SENTENCES * DIM, 5e-7);
}
