/* SPDX-License-Identifier: MIT */
/*
 * The input layers of translation models: rows times sqrt(dim), plus sinusoids. They differ in the sinusoid recipe
 * (docs/recipes.md) and in the first position:
 *
 *   Marian (opus-mt)   the recipe of transformers, in float64; positions from 0; padding is an ordinary token
 *   NLLB, M2M100       fairseq's recipe; padding-aware positions from padding id + 1; zeros for padding
 */
#include "check.h"

enum { VOCAB = 100, DIM = 64, SEQUENCES = 2, LENGTH = 5, ROWS = SEQUENCES * LENGTH, PAD = 1 };

static float words[VOCAB][DIM];

static inlay_sinusoid *sinusoids(inlay_recipe recipe)
{
    inlay_sinusoid_spec formula = inlay_sinusoid_spec_recipe(recipe, DIM);
    inlay_sinusoid *sinusoid = NULL;
    require(inlay_sinusoid_create(&formula, NULL, &sinusoid));
    return sinusoid;
}

static inlay_layer *marian(const inlay_sinusoid *sinusoid)
{
    inlay_table word_table = inlay_table_f32(words, VOCAB, DIM);
    inlay_layer_spec spec = inlay_layer_spec_default(&word_table);
    spec.scale = inlay_sqrt_dim(DIM);
    spec.sinusoid = sinusoid;
    inlay_layer *layer = NULL;
    require(inlay_layer_create(&spec, NULL, &layer));
    return layer;
}

static inlay_layer *nllb(const inlay_sinusoid *sinusoid)
{
    inlay_table word_table = inlay_table_f32(words, VOCAB, DIM);
    inlay_layer_spec spec = inlay_layer_spec_default(&word_table);
    spec.scale = inlay_sqrt_dim(DIM);
    spec.sinusoid = sinusoid;
    spec.padding_id = PAD;
    spec.position_mode = INLAY_POSITION_MODE_PADDING_AWARE; /* counted from batch.start, PAD + 1 */
    inlay_layer *layer = NULL;
    require(inlay_layer_create(&spec, NULL, &layer));
    return layer;
}

/* Computes one row by definition: all sines, then all cosines, of position * 10000^(-i / divisor). */
static void define(int32_t id, int position, double divisor, double *out)
{
    const int half = DIM / 2;
    for (int i = 0; i < half; i++) {
        double angle = position * pow(10000, -i / divisor);
        out[i] = words[id][i] * sqrt(DIM) + sin(angle);
        out[half + i] = words[id][half + i] * sqrt(DIM) + cos(angle);
    }
}

int main(void)
{
    const int32_t ids[ROWS] = {42, 7, 99, 0, 2, PAD, PAD, 42, 7, 2}; /* the second sequence is padded on the left */
    static float out[ROWS][DIM];
    static double expected[ROWS][DIM];
    fill(words[0], VOCAB, DIM, 1);

    inlay_sinusoid *sinusoid = sinusoids(INLAY_RECIPE_HF_MARIAN);
    inlay_layer *layer = marian(sinusoid);
    inlay_batch batch = inlay_batch_i32(ids, SEQUENCES, LENGTH, 0);
    require(inlay_forward(layer, &batch, out, sizeof out[0], NULL, NULL));
    inlay_layer_destroy(layer);
    inlay_sinusoid_destroy(sinusoid);
    for (int t = 0; t < ROWS; t++)
        define(ids[t], t % LENGTH, DIM / 2.0, expected[t]);
    int wrong = compare("marian", out[0], expected[0], ROWS * DIM, 2e-6);

    sinusoid = sinusoids(INLAY_RECIPE_FAIRSEQ);
    layer = nllb(sinusoid);
    batch = inlay_batch_i32(ids, SEQUENCES, LENGTH, PAD + 1);
    require(inlay_forward(layer, &batch, out, sizeof out[0], NULL, NULL));
    inlay_layer_destroy(layer);
    inlay_sinusoid_destroy(sinusoid);
    for (int t = 0, position = 0; t < ROWS; t++) {
        position = t % LENGTH == 0 ? PAD + 1 : position;
        if (ids[t] == PAD)
            for (int i = 0; i < DIM; i++)
                expected[t][i] = 0;
        else
            define(ids[t], position++, DIM / 2 - 1.0, expected[t]);
    }
    /* fairseq's angles are float32, which adds to the error at these positions. */
    return compare("nllb", out[0], expected[0], ROWS * DIM, 4e-6) | wrong;
}
