/* SPDX-License-Identifier: MIT */
/*
 * The per-layer embedding of Gemma 3n: one row of layers * 256 columns per token, times sqrt(256). Each layer of the
 * model uses 256 columns. Rows are Q5_K as in GGUF files, 176 bytes per 256 columns. Ids past the table (images and
 * sounds) take row 0.
 */
#include "check.h"

enum { VOCAB = 50, LAYERS = 3, PER_LAYER = 256, DIM = LAYERS * PER_LAYER, TOKENS = 5, BLOCK_BYTES = 176 };

static uint8_t table[VOCAB][LAYERS][BLOCK_BYTES];

static inlay_layer *gemma3n(void)
{
    inlay_table rows = inlay_table_q5_k(table, VOCAB, DIM);
    inlay_layer_spec spec = inlay_layer_spec_default(&rows);
    spec.scale = inlay_sqrt_dim(PER_LAYER);
    spec.bad_id = INLAY_BAD_ID_SUBSTITUTE;
    spec.substitute_id = 0;
    inlay_layer *layer = NULL;
    require(inlay_layer_create(&spec, NULL, &layer));
    return layer;
}

/* Returns a column's value: (d * scale) * q - dmin * minimum. Each 32 columns have a 6-bit scale and minimum, packed
   into 12 bytes. q is 0 to 31; its fifth bits are stored separately. */
static double define(const uint8_t *block, int column)
{
    const uint8_t *packed = block + 4, *high = block + 16, *low = block + 48;
    const int j = column / 32, l = column % 32;
    const int scale = j < 4 ? packed[j] & 63 : (packed[j + 4] & 15) + 16 * (packed[j - 4] >> 6);
    const int minimum = j < 4 ? packed[j + 4] & 63 : (packed[j + 4] >> 4) + 16 * (packed[j] >> 6);
    const int q = (low[j / 2 * 32 + l] >> (j % 2 * 4) & 15) + 16 * (high[l] >> j & 1);
    const float product = (float)(from_float16(block) * scale) * (float)q;
    return product - (float)(from_float16(block + 2) * minimum);
}

int main(void)
{
    const int32_t ids[TOKENS] = {42, 7, VOCAB, 0, 49};
    static float numbers[VOCAB][DIM], out[TOKENS][DIM]; /* [TOKENS, LAYERS, PER_LAYER] */
    fill(numbers[0], VOCAB, DIM, 1);
    inlay_table from = inlay_table_f32(numbers, VOCAB, DIM);
    inlay_table_storage to = inlay_table_storage_of(INLAY_Q5_K, table, DIM);
    require(inlay_table_quantize(&from, &to, NULL, NULL));

    inlay_layer *layer = gemma3n();
    inlay_batch batch = inlay_batch_i32(ids, 1, TOKENS, 0);
    require(inlay_forward(layer, &batch, out, sizeof out[0], NULL, NULL));
    inlay_layer_destroy(layer);

    static double expected[TOKENS][DIM], original[TOKENS][DIM];
    for (int t = 0; t < TOKENS; t++)
        for (int i = 0; i < DIM; i++) {
            const int row = ids[t] < VOCAB ? ids[t] : 0;
            expected[t][i] = 16 * (float)define(table[row][i / PER_LAYER], i % PER_LAYER);
            original[t][i] = 16 * numbers[row][i];
        }
    int wrong = compare("gemma 3n", out[0], expected[0], TOKENS * DIM, 0);
    /* 32 steps span the 32 columns of a scale, at most from -1 to 1: 1/16 each. The error is about half a step. */
    return compare("gemma 3n before Q5_K", out[0], original[0], TOKENS * DIM, 16 * .04) | wrong;
}
