/* SPDX-License-Identifier: MIT */
/*
 * Whole forward calls, drawn from a source of choices: a random generator for the tests, the bytes of a fuzzer for
 * fuzz/fuzz_forward.c. Every array of a call lies against a guard page. A call is compared with the reference, and one
 * whose arguments were broken on purpose with the scalar kernels.
 */
#pragma once

#include "support.h"

/* Where choices come from. Contents of tables are always random. */
struct source {
    struct random random;
    const uint8_t *at, *end; /* the bytes that are left; null: choices are random */
};

/* Returns a number below n: with bytes the next ones, modulo n, and 0 when none are left. */
uint64_t choose(struct source *source, uint64_t n);

/* Returns true once in n times; false when no bytes are left. */
bool one_in(struct source *source, uint64_t n);

/* How large calls become. */
struct call_sizes {
    const size_t *dims;
    size_t n_dims, max_dim; /* all at most REFERENCE_MAX_DIM */
    size_t tokens, out_bytes;
};

/* A layer, a batch, an output and an executor. */
struct call {
    inlay_table tokens;
    uint64_t after_tokens; /* what a larger struct of a later version would have */
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
    bool threads;    /* whether the executor is used */
    bool broken;     /* whether arguments were changed to what a call may refuse */
    size_t n_tokens; /* of all sequences */
    size_t rows, row_bytes, stride, bytes;
    unsigned char *out, *expected; /* within the arenas of output and expectation */
};

enum { MAX_TABLE_ROWS = 24 };

/* Makes the arenas for calls of these sizes. */
void calls_prepare(const struct call_sizes *sizes);

/* Draws a call that is valid but for its ids, positions, segments and offsets. call_end() releases it. */
void call_draw(struct call *call, struct source *source, const struct call_sizes *sizes);
void call_end(struct call *call);

/* Draws a table of `rows` rows; `any_type`: not always float32; `arrays`: types with scales outside of rows too. */
enum table_place { TOKENS, POSITIONS, SEGMENTS };
inlay_table draw_table(struct source *source, enum table_place which, size_t rows, size_t dim, bool any_type,
                       bool arrays);

/* Returns an id that is likely to be bad, or bad when it is truncated. */
int64_t draw_hostile_id(struct source *source, int64_t limit);

/* What a call comes to. */
struct outcome {
    inlay_status created, status;
    inlay_fault fault;
    bool explained; /* whether inlay_forward_explain() comes to the same, and only writes its text */
};

/* Computes what the call must come to; its rows stay in an arena for call_check(). */
struct outcome call_expect(struct call *call);

/* The run function of an executor whose ctx is a struct random: calls all tasks on this thread in random order. */
void run_shuffled(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg);

/* Explains and runs the call on the kernels in use. Returns null if it comes to what is
   expected and wrote nothing outside of its rows, otherwise a text that says what is wrong. */
const char *call_check(struct call *call, const struct outcome *expected);

/* Runs the call with another executor, or null, and compares nothing; returns whether it wrote nothing outside of its
   rows. */
bool call_stays_in_rows(struct call *call, const inlay_executor *executor, inlay_status *status);
