/* SPDX-License-Identifier: MIT */
/*
 * The tables of weights.h. Ids past the table are skipped here: reporting them is the library's part.
 */
#include "weights.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "load.h"
#include "message.h"

/* The output function of splitmix64 (Steele, Lea and Flood 2014), a bijection of 64 bits. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static const uint64_t golden_gamma = UINT64_C(0x9e3779b97f4a7c15);

/* Element `index` of the sequence of `key`: the top 24 bits, which a float32 holds exactly. */
static float uniform(uint64_t key, uint64_t index)
{
    int32_t bits = (int32_t)(mix(key + (index + 1) * golden_gamma) >> 40);
    return (float)(bits - (1 << 23)) * 0x1p-23f;
}

/* Writes the row of an id: of the sinusoid, or where that is null, random. */
static int make_row(const inlay_sinusoid *sinusoid, uint64_t key, size_t id, size_t dim, float *out)
{
    if (sinusoid != NULL)
        return check_status(inlay_sinusoid_rows(sinusoid, (int64_t)id, 1, INLAY_F32, out, dim * sizeof *out, NULL));
    for (size_t column = 0; column < dim; column++)
        out[column] = uniform(key, (uint64_t)id * dim + column);
    return DONE;
}

int weights_make(const inlay_sinusoid *sinusoid, int64_t seed, size_t vocab, size_t dim, const struct tokens *tokens,
                 struct weights *weights)
{
    /* Mixed first, so that the sequences of neighbouring seeds are not shifts of each other. */
    uint64_t key = mix((uint64_t)seed + golden_gamma);
    size_t row_bytes;
    bool *made = calloc(vocab, sizeof *made);
    if (!__builtin_mul_overflow(dim, sizeof(float), &row_bytes))
        weights->values = calloc(vocab, row_bytes);
    int outcome = DONE;
    if (made == NULL || weights->values == NULL) {
        char what[80];
        snprintf(what, sizeof what, "a table float32 [%zu, %zu]", vocab, dim);
        outcome = out_of_memory(what, (double)vocab * (double)dim * sizeof(float));
    }
    for (size_t i = 0; outcome == DONE && i < tokens->sequences * tokens->length; i++) {
        uint64_t id = (uint64_t)tokens->ids[i];
        if (id >= vocab || made[id])
            continue;
        made[id] = true;
        outcome = make_row(sinusoid, key, (size_t)id, dim, weights->values + (size_t)id * dim);
    }
    free(made);
    weights->view = inlay_table_f32(weights->values, vocab, dim);
    return outcome;
}

int weights_load(const char *path, struct weights *weights)
{
    size_t rows, dim;
    TRY(load_table(path, &weights->values, &rows, &dim));
    weights->view = inlay_table_f32(weights->values, rows, dim);
    return DONE;
}

void weights_free(struct weights *weights)
{
    free(weights->values);
}
