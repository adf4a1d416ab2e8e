/* SPDX-License-Identifier: MIT */
/* Shared by the example programs: runs a layer large enough to be split, with an executor and without. */
#ifndef INLAY_EXAMPLE_CHECK_H
#define INLAY_EXAMPLE_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inlay/inlay.h>

enum { VOCAB = 1000, DIM = 512, SEQUENCES = 4, LENGTH = 128, ROWS = SEQUENCES * LENGTH };

static void require(inlay_status status)
{
    if (status == INLAY_OK)
        return;
    fprintf(stderr, "%s\n", inlay_status_string(status));
    exit(1);
}

static void *memory(size_t n, size_t size)
{
    void *made = calloc(n, size);
    if (made == NULL)
        require(INLAY_ERROR_NO_MEMORY);
    return made;
}

/* Returns 0 if the executor's result is bit-identical to a single thread's. */
static int check(const char *name, const inlay_executor *executor)
{
    float *table = (float *)memory((size_t)VOCAB * DIM, sizeof *table);
    float *alone = (float *)memory((size_t)ROWS * DIM, sizeof *alone);
    float *together = (float *)memory((size_t)ROWS * DIM, sizeof *together);
    int32_t ids[ROWS];
    for (int i = 0; i < VOCAB * DIM; i++)
        table[i] = (float)(i % 997) / 997;
    for (int i = 0; i < ROWS; i++)
        ids[i] = i * 619 % VOCAB;

    inlay_sinusoid *sinusoid = NULL;
    inlay_sinusoid_spec formula = inlay_sinusoid_spec_default(DIM);
    require(inlay_sinusoid_create(&formula, NULL, &sinusoid));
    inlay_layer *layer = NULL;
    inlay_table tokens = inlay_table_f32(table, VOCAB, DIM);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.sinusoid = sinusoid;
    spec.scale = inlay_sqrt_dim(DIM);
    require(inlay_layer_create(&spec, NULL, &layer));

    inlay_batch batch = inlay_batch_i32(ids, SEQUENCES, LENGTH, 0);
    require(inlay_forward(layer, &batch, alone, DIM * sizeof *alone, NULL, NULL));
    int differ = 0;
    for (int i = 0; i < 1000 && !differ; i++) { /* like a server: many calls on the same pool */
        memset(together, 0xff, ROWS * DIM * sizeof *together);
        require(inlay_forward(layer, &batch, together, DIM * sizeof *together, executor, NULL));
        differ = memcmp(alone, together, ROWS * DIM * sizeof *together) != 0;
    }
    printf("%s: %s\n", name, differ ? "NOT the bits of one thread" : "the same bits as on one thread");

    inlay_layer_destroy(layer);
    inlay_sinusoid_destroy(sinusoid);
    free(together);
    free(alone);
    free(table);
    return differ;
}

#endif
