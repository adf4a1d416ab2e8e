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

static inlay_table int8_rows(void)
{
    inlay_table rows = inlay_table_f32(words, VOCAB, DIM);
    rows.type = INLAY_I8;
    rows.stride_bytes = inlay_table_row_bytes(INLAY_I8, DIM);
    rows.scales = scales;
    return rows;
}

/* A table of float32 to int8: each row's largest magnitude becomes 127. Once, when the model is stored. */
static void quantise(float (*table)[DIM])
{
    inlay_table from = inlay_table_f32(table, VOCAB, DIM), to = int8_rows();
    require(inlay_table_quantize(&from, &to, NULL));
}

static inlay_layer *static_embeddings(void)
{
    inlay_table word_rows = int8_rows();
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
    static float table[VOCAB][DIM];
    fill(table[0], VOCAB, DIM, 1);
    quantise(table);

    inlay_layer *layer = static_embeddings();
    inlay_batch batch = inlay_batch_ragged(ids, INLAY_ID_I32, offsets, SENTENCES, 0);
    require(inlay_forward(layer, &batch, out, sizeof out[0], NULL, NULL));
    inlay_layer_destroy(layer);

    /* The means of what is stored, and those of the table before: steps are at most 1 / 127, and half of one is lost.
     */
    static double stored[SENTENCES][DIM], before[SENTENCES][DIM];
    for (int b = 0; b < SENTENCES; b++)
        for (int64_t t = offsets[b]; t < offsets[b + 1]; t++)
            for (int i = 0; i < DIM; i++) {
                double n = (double)(offsets[b + 1] - offsets[b]);
                stored[b][i] += (double)words[ids[t]][i] * scales[ids[t]] / n;
                before[b][i] += table[ids[t]][i] / n;
            }
    int wrong = compare("static embeddings", out[0], stored[0], SENTENCES * DIM, 5e-7);
    return compare("static embeddings before int8", out[0], before[0], SENTENCES * DIM, .5 / 127 + 5e-7) | wrong;
}
