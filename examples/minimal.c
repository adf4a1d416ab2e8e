/* SPDX-License-Identifier: MIT */
/* Two token ids in, two vectors out: each id's table row, times sqrt(dim), plus the sinusoid of its position. */
#include <inlay/inlay.h>
#include <stdio.h>

int main(void)
{
    const float table[4][4] = {
        {.1f, .2f, .3f, .4f}, {.5f, .6f, .7f, .8f}, {.9f, 1, 1.1f, 1.2f}, {1.3f, 1.4f, 1.5f, 1.6f}};
    const int32_t ids[2] = {2, 3};
    float out[2][4];

    inlay_sinusoid *sinusoid = NULL;
    inlay_sinusoid_spec formula = inlay_sinusoid_spec_default(4);
    inlay_status status = inlay_sinusoid_create(&formula, NULL, &sinusoid);

    inlay_layer *layer = NULL;
    inlay_table tokens = inlay_table_f32(table, 4, 4);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.scale = inlay_sqrt_dim(4);
    spec.sinusoid = sinusoid;
    if (status == INLAY_OK)
        status = inlay_layer_create(&spec, NULL, &layer);

    inlay_batch batch = inlay_batch_i32(ids, 1, 2, 0); /* one sequence of two tokens, from position 0 */
    if (status == INLAY_OK)
        status = inlay_forward(layer, &batch, out, sizeof out[0], NULL, NULL);
    for (int i = 0; status == INLAY_OK && i < 2; i++)
        printf("%d: %.4f %.4f %.4f %.4f\n", (int)ids[i], out[i][0], out[i][1], out[i][2], out[i][3]);

    inlay_layer_destroy(layer);
    inlay_sinusoid_destroy(sinusoid);
    return status;
}
