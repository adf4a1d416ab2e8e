/* SPDX-License-Identifier: MIT */
/*
 * The input layer of Gemma: bfloat16 rows times sqrt(dim), rounded to bfloat16. The models also round sqrt(dim) to
 * bfloat16, so the scale must be that value. Positions are rotary and norms belong to the blocks, so the layer has
 * neither.
 */
#include "check.h"

enum { VOCAB = 100, DIM = 80, SEQUENCES = 2, LENGTH = 4, ROWS = SEQUENCES * LENGTH };

static uint16_t words[VOCAB][DIM];

static inlay_layer *gemma(void)
{
    inlay_table word_table = inlay_table_bf16(words, VOCAB, DIM);
    inlay_layer_spec spec = inlay_layer_spec_default(&word_table);
    spec.scale = from_bfloat16(to_bfloat16(inlay_sqrt_dim(DIM)));
    spec.out_type = INLAY_BF16;
    inlay_layer *layer = NULL;
    require(inlay_layer_create(&spec, NULL, &layer));
    return layer;
}

int main(void)
{
    const int64_t ids[ROWS] = {2, 42, 7, 99, 2, 13, 13, 0};
    static uint16_t out[ROWS][DIM];
    static float numbers[VOCAB][DIM];
    fill(numbers[0], VOCAB, DIM, 1);
    for (int row = 0; row < VOCAB; row++)
        for (int i = 0; i < DIM; i++)
            words[row][i] = to_bfloat16(numbers[row][i]);

    inlay_layer *layer = gemma();
    inlay_batch batch = inlay_batch_i64(ids, SEQUENCES, LENGTH, 0);
    require(inlay_forward(layer, &batch, out, sizeof out[0], NULL, NULL));
    inlay_layer_destroy(layer);

    /* A float holds the product of two bfloat16 exactly, so it is rounded only once. */
    const float scale = from_bfloat16(to_bfloat16((float)sqrt(DIM)));
    static float found[ROWS][DIM];
    static double expected[ROWS][DIM];
    for (int t = 0; t < ROWS; t++)
        for (int i = 0; i < DIM; i++) {
            found[t][i] = from_bfloat16(out[t][i]);
            expected[t][i] = from_bfloat16(to_bfloat16(from_bfloat16(words[ids[t]][i]) * scale));
        }
    return compare("gemma", found[0], expected[0], ROWS * DIM, 0);
}
