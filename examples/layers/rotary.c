/* SPDX-License-Identifier: MIT */
/*
 * Rotary positions in a decoder like Llama. A projection gives the queries, keys and values of each new token, packed.
 * Queries are rotated in place, and keys straight into the cache: first the prompt of each sequence (prefill), then one
 * token per step (decode). When a cache is full, its oldest tokens are dropped, and the other keys are rotated back by
 * as many positions.
 */
#include "check.h"

enum {
    QUERIES = 4,
    KEYS = 2,
    HEADS = QUERIES + 2 * KEYS,
    COLUMNS = 16,
    SEQUENCES = 2,
    ROOM = 12,
    STEPS = 8,
    DROPPED = 5
};

static const double base = 500000;

typedef float head[COLUMNS];

static head projected[SEQUENCES][ROOM + STEPS][HEADS], rotated[SEQUENCES][ROOM + STEPS][HEADS];
static head cached_keys[SEQUENCES][KEYS][ROOM]; /* the order in which attention reads them */

/* Rotates n new tokens. Queries get the positions from `past` on, and keys the rows of the cache. */
static void rotate(const inlay_rotary *rotary, head (*tokens)[HEADS], head (*cache)[ROOM], size_t n, size_t past)
{
    inlay_rotary_tensor tensors[] = {inlay_rotary_in_place(INLAY_F32, tokens[0][0], QUERIES, COLUMNS),
                                     inlay_rotary_in_place(INLAY_F32, tokens[0][QUERIES], KEYS, COLUMNS)};
    tensors[0].data_strides.token = tensors[0].out_strides.token = sizeof tokens[0];
    tensors[1].data_strides.token = sizeof tokens[0];
    tensors[1].out = cache[0][past];
    tensors[1].out_strides.token = sizeof cache[0][0];
    tensors[1].out_strides.head = sizeof cache[0];
    const inlay_batch batch = inlay_batch_i32(NULL, 1, n, (int64_t)past);
    require(inlay_rotate(rotary, &batch, tensors, 2, INLAY_ROTARY_FORWARD, NULL, NULL));
}

/* Drops the oldest tokens of a cache: moves the other keys, and turns them from position p to p - DROPPED. */
static void drop_oldest(const inlay_rotary *rotary, head (*cache)[ROOM], size_t cached)
{
    int32_t positions[ROOM];
    const size_t kept = cached - DROPPED;
    for (size_t h = 0; h < KEYS; h++)
        memmove(cache[h][0], cache[h][DROPPED], kept * sizeof cache[h][0]);
    for (size_t i = 0; i < kept; i++)
        positions[i] = DROPPED;
    inlay_rotary_tensor keys = inlay_rotary_in_place(INLAY_F32, cache[0][0], KEYS, COLUMNS);
    keys.data_strides.token = sizeof cache[0][0];
    keys.data_strides.head = sizeof cache[0];
    keys.out_strides = keys.data_strides;
    inlay_batch batch = inlay_batch_i32(NULL, 1, kept, 0);
    batch.position_ids = positions;
    batch.position_id_type = INLAY_ID_I32;
    require(inlay_rotate(rotary, &batch, &keys, 1, INLAY_ROTARY_INVERSE, NULL, NULL));
}

static void define(const float *x, size_t position, double *y)
{
    for (int i = 0; i < COLUMNS / 2; i++) {
        const double angle = (double)position * pow(base, -2.0 * i / COLUMNS);
        y[i] = x[i] * cos(angle) - x[i + COLUMNS / 2] * sin(angle);
        y[i + COLUMNS / 2] = x[i + COLUMNS / 2] * cos(angle) + x[i] * sin(angle);
    }
}

/* Checks the queries of the n tokens that follow `past` cached ones, and all keys of the cache of sequence b, which has
   dropped `first` tokens. */
static int check(const char *name, size_t b, size_t n, size_t past, size_t first)
{
    static double queries[ROOM][QUERIES][COLUMNS], keys[KEYS][ROOM][COLUMNS];
    static head found[ROOM][QUERIES];
    for (size_t t = 0; t < n; t++)
        for (size_t h = 0; h < QUERIES; h++) {
            define(projected[b][first + past + t][h], past + t, queries[t][h]);
            memcpy(found[t][h], rotated[b][first + past + t][h], sizeof found[t][h]);
        }
    int wrong = compare(name, found[0][0], queries[0][0], n * QUERIES * COLUMNS, 1e-6);
    for (size_t h = 0; h < KEYS; h++) {
        for (size_t t = 0; t < past + n; t++)
            define(projected[b][first + t][QUERIES + h], t, keys[h][t]);
        wrong |= compare(name, cached_keys[b][h][0], keys[h][0], (past + n) * COLUMNS, 2e-6);
    }
    return wrong;
}

int main(void)
{
    const size_t prompts[SEQUENCES] = {7, 3};
    int wrong = 0;
    inlay_rotary_spec spec = inlay_rotary_spec_default(COLUMNS);
    spec.base = base;
    inlay_rotary *rotary = NULL;
    require(inlay_rotary_create(&spec, NULL, &rotary));
    fill(projected[0][0][0], SEQUENCES * (ROOM + STEPS) * HEADS, COLUMNS, 1); /* in place of the model's product */
    memcpy(rotated, projected, sizeof rotated);

    for (size_t b = 0; b < SEQUENCES; b++) {
        size_t cached = prompts[b], first = 0; /* tokens in the cache, and dropped before them */
        rotate(rotary, rotated[b], cached_keys[b], cached, 0);
        wrong |= check("rotary, prefill", b, cached, 0, 0);
        for (int step = 0; step < STEPS; step++) {
            if (cached == ROOM) {
                drop_oldest(rotary, cached_keys[b], cached);
                first += DROPPED;
                cached -= DROPPED;
                wrong |= check("rotary, drop", b, 0, cached, first);
            }
            rotate(rotary, &rotated[b][first + cached], cached_keys[b], 1, cached);
            wrong |= check("rotary, decode", b, 1, cached++, first);
        }
    }
    inlay_rotary_destroy(rotary);
    return wrong;
}
