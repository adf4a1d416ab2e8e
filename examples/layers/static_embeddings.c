/* SPDX-License-Identifier: MIT */
/*
 * Static embeddings as in model2vec. The output for a sentence is the mean of its tokens' rows, scaled to length 1;
 * that is the whole model. A mapping lets many tokens share a row, and each token has a weight. Rows are int8 with one
 * scale each, a quarter of the memory. Without mapping, weights and norm, this is fastText or GloVe. Sentences of any
 * length are packed one after another; an empty sentence gives zeros.
 */
#include "check.h"

enum { VOCAB = 100, ROWS = 40, DIM = 64, SENTENCES = 4, TOKENS = 3 + 0 + 6 + 1 };

static int8_t words[ROWS][DIM];
static float scales[ROWS];
static int32_t mapping[VOCAB]; /* the row of each token */
static float weights[VOCAB];

/* Converts a float32 table to int8, once, when the model is saved. The largest magnitude of each row becomes 127. */
static void quantize(float (*table)[DIM])
{
    inlay_table from = inlay_table_f32(table, ROWS, DIM);
    inlay_table_storage to = inlay_table_storage_of(INLAY_I8, words, DIM);
    to.scales = scales;
    require(inlay_table_quantize(&from, &to, NULL, NULL));
}

static inlay_layer *static_embeddings(void)
{
    inlay_table word_table = inlay_table_i8(words, scales, ROWS, DIM);
    inlay_layer_spec spec = inlay_layer_spec_default(&word_table);
    spec.token_mapping = mapping;
    spec.token_mapping_type = INLAY_ID_I32;
    spec.token_mapping_length = VOCAB;
    spec.token_weights = weights;
    spec.token_weights_length = VOCAB;
    spec.pooling = INLAY_POOLING_MEAN;
    spec.norm = INLAY_NORM_L2;
    spec.epsilon = 1e-32f;
    inlay_layer *layer = NULL;
    require(inlay_layer_create(&spec, NULL, &layer));
    return layer;
}

/* Scales each sentence to length 1, as model2vec does. */
static void normalize(double (*sentences)[DIM])
{
    for (int b = 0; b < SENTENCES; b++) {
        double squares = 0;
        for (int i = 0; i < DIM; i++)
            squares += sentences[b][i] * sentences[b][i];
        for (int i = 0; i < DIM; i++)
            sentences[b][i] /= sqrt(squares) + 1e-32;
    }
}

int main(void)
{
    const int32_t ids[TOKENS] = {42, 7, 99, 0, 13, 13, 98, 5, 71, 64};
    const int64_t offsets[SENTENCES + 1] = {0, 3, 3, 9, 10};
    static float out[SENTENCES][DIM];
    static float table[ROWS][DIM];
    fill(table[0], ROWS, DIM, 1);
    fill(weights, VOCAB, 1, 2);
    for (int id = 0; id < VOCAB; id++) {
        mapping[id] = id * 7 % ROWS;
        weights[id] += 1.5f; /* in [0.5, 2.5) */
    }
    quantize(table);

    inlay_layer *layer = static_embeddings();
    inlay_batch batch = inlay_batch_ragged(ids, INLAY_ID_I32, offsets, SENTENCES, 0);
    require(inlay_forward(layer, &batch, out, sizeof out[0], NULL, NULL));
    inlay_layer_destroy(layer);

    /* The definition, for the quantized rows and for the original ones. The mean divides by the number of tokens. */
    static double quantized[SENTENCES][DIM], original[SENTENCES][DIM];
    for (int b = 0; b < SENTENCES; b++)
        for (int64_t t = offsets[b]; t < offsets[b + 1]; t++)
            for (int i = 0; i < DIM; i++) {
                const int row = mapping[ids[t]];
                const double factor = weights[ids[t]] / (double)(offsets[b + 1] - offsets[b]);
                quantized[b][i] += factor * words[row][i] * scales[row];
                original[b][i] += factor * table[row][i];
            }
    normalize(quantized);
    normalize(original);
    /* A row's step is at most 1 / 127, and an entry of a sentence of length 1 is about 1 / sqrt(DIM). */
    int wrong = compare("static embeddings", out[0], quantized[0], SENTENCES * DIM, 5e-7);
    return compare("static embeddings before int8", out[0], original[0], SENTENCES * DIM, .5 / 127) | wrong;
}
