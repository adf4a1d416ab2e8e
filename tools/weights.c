/* SPDX-License-Identifier: MIT */
/*
 * The tables of weights.h. Ids past the table are skipped here: reporting them is the library's part.
 */
#include "weights.h"

#include <stdio.h>
#include <stdlib.h>

#include "load.h"
#include "message.h"

/* What a row is made from: one of the two. */
struct formula {
    const inlay_sinusoid *sinusoid;
    uint64_t key;
};

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

static int make_row(const struct formula *formula, size_t row, size_t dim, float *out)
{
    if (formula->sinusoid != NULL)
        return check_status(
            inlay_sinusoid_rows(formula->sinusoid, (int64_t)row, 1, INLAY_F32, out, dim * sizeof *out, NULL));
    for (size_t column = 0; column < dim; column++)
        out[column] = uniform(formula->key, (uint64_t)row * dim + column);
    return DONE;
}

static int make(const struct formula *formula, size_t vocab, size_t dim, const struct tokens *tokens,
                struct weights *weights)
{
    size_t row_bytes;
    char *made = calloc(vocab, 1);
    if (!__builtin_mul_overflow(dim, sizeof(float), &row_bytes))
        weights->values = calloc(vocab, row_bytes);
    if (made == NULL || weights->values == NULL) {
        free(made);
        char what[80];
        snprintf(what, sizeof what, "a table float32 [%zu, %zu]", vocab, dim);
        return out_of_memory(what, (double)vocab * (double)dim * sizeof(float));
    }
    int outcome = DONE;
    for (size_t i = 0; outcome == DONE && i < tokens->sequences * tokens->length; i++) {
        int64_t id = tokens->ids[i];
        if (id < 0 || (uint64_t)id >= vocab || made[id])
            continue;
        made[id] = 1;
        outcome = make_row(formula, (size_t)id, dim, weights->values + (size_t)id * dim);
    }
    free(made);
    weights->view = inlay_table_f32(weights->values, vocab, dim);
    return outcome;
}

int weights_fixed(const inlay_sinusoid *sinusoid, size_t vocab, size_t dim, const struct tokens *tokens,
                  struct weights *weights)
{
    struct formula formula = {.sinusoid = sinusoid};
    return make(&formula, vocab, dim, tokens, weights);
}

int weights_random(int64_t seed, size_t vocab, size_t dim, const struct tokens *tokens, struct weights *weights)
{
    /* Mixed first, so that the sequences of neighbouring seeds are not shifts of each other. */
    struct formula formula = {.key = mix((uint64_t)seed + golden_gamma)};
    return make(&formula, vocab, dim, tokens, weights);
}

int weights_load(const char *path, struct weights *weights)
{
    size_t rows = 0;
    size_t dim = 0;
    int outcome = load_table(path, &weights->values, &rows, &dim);
    if (outcome == DONE)
        weights->view = inlay_table_f32(weights->values, rows, dim);
    return outcome;
}

void weights_free(struct weights *weights)
{
    free(weights->values);
    weights->values = NULL;
}
