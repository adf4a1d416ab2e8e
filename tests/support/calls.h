/* SPDX-License-Identifier: MIT */
/*
 * Whole forward calls, drawn from a source of choices: a random generator in tests, or a fuzzer's bytes in
 * fuzz/fuzz_forward.c. Every array of a call is adjacent to a guard page. Calls are compared with the reference, and
 * calls with broken arguments with the scalar kernels.
 */
#pragma once

#include "support.h"

/* The source of choices. Contents of tables are always random. */
struct source {
    struct random random;
    const uint8_t *at, *end; /* remaining bytes; null: choices are random */
};

/* Returns a number below n: the next bytes modulo n, or 0 if none are left. */
uint64_t choose(struct source *source, uint64_t n);

/* Returns true once in n times; false if no bytes are left. */
bool one_in(struct source *source, uint64_t n);

/* Size limits of calls. */
struct call_sizes {
    const size_t *dims;
    size_t n_dims, max_dim; /* all at most REFERENCE_MAX_DIM */
    size_t tokens, out_bytes;
};

/* A layer, a batch, an output and an executor. */
struct call {
    inlay_table tokens;
    uint64_t after_tokens; /* nonzero fields of a later version's struct */
    inlay_table positions, segments;
    inlay_tuning tuning;
    uint64_t after_tuning;
    inlay_layer_spec spec;
    uint64_t after_spec;
    inlay_batch batch;
    uint64_t after_batch;
    inlay_sinusoid *sinusoid;
    const inlay_allocator *allocator; /* of the layer */
    inlay_executor executor;
    bool threads;    /* use the executor */
    bool broken;     /* some arguments were broken, and a call may reject them */
    size_t n_tokens; /* of all sequences */
    size_t rows, row_bytes, stride, bytes;
    unsigned char *out, *expected; /* within the arenas of output and expectation */
};

enum { MAX_TABLE_ROWS = 24 };

/* Makes the arenas for calls of these sizes. */
void calls_prepare(const struct call_sizes *sizes);

/* Draws a call that is valid except for ids, positions, segments and offsets. call_end() releases it. */
void call_draw(struct call *call, struct source *source, const struct call_sizes *sizes);
void call_end(struct call *call);

/* Draws a table with `rows` rows. `any_type`: not always float32; `arrays`: includes types with separate scales. */
enum table_place { TOKENS, POSITIONS, SEGMENTS };
inlay_table draw_table(struct source *source, enum table_place which, size_t rows, size_t dim, bool any_type,
                       bool arrays);

/* Returns an id that is probably bad, or bad when truncated. */
int64_t draw_hostile_id(struct source *source, int64_t limit);

/* The result of a call. */
struct outcome {
    inlay_status created, status;
    inlay_fault fault;
    bool explained; /* inlay_forward_explain() gives the same result, and writes only its text */
};

/* Computes the expected result; its rows stay in an arena for call_check(). */
struct outcome call_expect(struct call *call);

/* The run function of an executor with a struct random as ctx: runs all tasks on this thread, in random order. */
void run_shuffled(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg);

/* Explains and runs the call on the kernels in use. Returns null if the result is as expected and nothing was written
   outside its rows, otherwise an error text. */
const char *call_check(struct call *call, const struct outcome *expected);

/* Runs the call with another executor, or null, without comparing the result. Returns true if nothing was written
   outside its rows. */
bool call_stays_in_rows(struct call *call, const inlay_executor *executor, inlay_status *status);
