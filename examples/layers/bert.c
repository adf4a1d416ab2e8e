/* SPDX-License-Identifier: MIT */
/*
 * The input layer of BERT and similar models (MiniLM, E5, BGE): word + segment + position, then LayerNorm. Real
 * checkpoints have 30522 words, 512 positions, 2 segments and dim 384 to 1024; these tables are small and random.
 */
#include "check.h"

enum { VOCAB = 100, POSITIONS = 16, SEGMENTS = 2, DIM = 48, SEQUENCES = 2, LENGTH = 6, ROWS = SEQUENCES * LENGTH };
static const double epsilon = 1e-12; /* layer_norm_eps in config.json */

static float words[VOCAB][DIM], positions[POSITIONS][DIM], segments[SEGMENTS][DIM], weight[DIM], bias[DIM];

static inlay_layer *bert(void)
{
    inlay_table word_table = inlay_table_f32(words, VOCAB, DIM);
    inlay_table position_table = inlay_table_f32(positions, POSITIONS, DIM);
    inlay_table segment_table = inlay_table_f32(segments, SEGMENTS, DIM);
    inlay_layer_spec spec = inlay_layer_spec_default(&word_table);
    spec.positions = &position_table;
    spec.segments = &segment_table;
    spec.segments_first = 1; /* the summation order of Hugging Face transformers */
    spec.norm = INLAY_NORM_LAYER;
    spec.epsilon = (float)epsilon;
    spec.gamma = weight;
    spec.beta = bias;
    inlay_layer *layer = NULL;
    require(inlay_layer_create(&spec, NULL, &layer));
    return layer;
}

/* The definition, in double. */
static void define(const int32_t *ids, const int32_t *types, double (*out)[DIM])
{
    for (int t = 0; t < ROWS; t++) {
        double mean = 0, variance = 0;
        for (int i = 0; i < DIM; i++) {
            out[t][i] = (double)words[ids[t]][i] + segments[types[t]][i] + positions[t % LENGTH][i];
            mean += out[t][i] / DIM;
        }
        for (int i = 0; i < DIM; i++)
            variance += (out[t][i] - mean) * (out[t][i] - mean) / DIM;
        for (int i = 0; i < DIM; i++)
            out[t][i] = (out[t][i] - mean) / sqrt(variance + epsilon) * weight[i] + bias[i];
    }
}

int main(void)
{
    /* Sentence pairs: [CLS] a [SEP] b b [SEP]. */
    const int32_t ids[ROWS] = {1, 42, 2, 77, 78, 2, 1, 99, 2, 0, 99, 2};
    const int32_t types[ROWS] = {0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1};
    static float out[ROWS][DIM];
    static double expected[ROWS][DIM];

    fill(words[0], VOCAB, DIM, 1);
    fill(positions[0], POSITIONS, DIM, 2);
    fill(segments[0], SEGMENTS, DIM, 3);
    fill(weight, 1, DIM, 4);
    fill(bias, 1, DIM, 5);

    inlay_layer *layer = bert();
    inlay_batch batch = inlay_batch_i32(ids, SEQUENCES, LENGTH, 0);
    batch.segment_ids = types;
    batch.segment_id_type = INLAY_ID_I32;
    require(inlay_forward(layer, &batch, out, sizeof out[0], NULL, NULL));
    inlay_layer_destroy(layer);

    define(ids, types, expected);
    return compare("bert", out[0], expected[0], ROWS * DIM, 2e-6);
}
