/* SPDX-License-Identifier: MIT */
/*
 * The measurement of timing.h. Rounds of copies and forward passes alternate, so a change of clock frequency or a noisy
 * neighbor affects both. The median drops the affected rounds.
 */
#include "embed/timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/message.h"
#include "text/progress.h"

enum { MIN_ROUNDS = 5, MAX_ROUNDS = 999 };

static const double seconds_in_all = 0.3;
static const double seconds_a_round = 1e-3; /* far above the clock's resolution */

struct work {
    const inlay_layer *layer;
    const inlay_table *table;
    const inlay_batch *batch;
    float *out;
    const inlay_executor *executor;
};

static void forward(const struct work *work)
{
    inlay_forward(work->layer, work->batch, work->out, work->table->dim * sizeof(float), work->executor, NULL);
}

static void copy(const struct work *work)
{
    const int64_t *ids = work->batch->ids;
    const inlay_table *table = work->table;
    size_t tokens = work->batch->sequences * work->batch->length, out_bytes = table->dim * sizeof(float);
    /* A row with few columns can be larger in its type than in float32. */
    size_t bytes = table->stride_bytes < out_bytes ? table->stride_bytes : out_bytes;
    for (size_t i = 0; i < tokens; i++)
        memcpy(work->out + i * table->dim, (const char *)table->data + (size_t)ids[i] * table->stride_bytes, bytes);
}

/* Calls through a volatile pointer, or the compiler could drop repeated copies. */
static double seconds_of(void (*function)(const struct work *), const struct work *work, int times)
{
    void (*volatile call)(const struct work *) = function;
    double start = seconds_now();
    for (int i = 0; i < times; i++)
        call(work);
    return (seconds_now() - start) / times;
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare_doubles);
    return values[n / 2];
}

/* Returns how many calls make a round long enough to measure. Also serves as the warm-up. */
static int calls_a_round(const struct work *work)
{
    int calls = 1;
    while (calls < 1 << 20 && calls * seconds_of(forward, work, calls) < seconds_a_round)
        calls *= 2;
    seconds_of(copy, work, calls);
    return calls;
}

int timing_print(const inlay_layer *layer, const inlay_table *table, const inlay_batch *batch, float *out,
                 const inlay_executor *executor)
{
    size_t tokens = batch->sequences * batch->length;
    if (tokens == 0)
        return failed("--time: there are no tokens to measure with");
    struct work work = {layer, table, batch, out, executor};
    double forwards[MAX_ROUNDS];
    double copies[MAX_ROUNDS];
    int calls = calls_a_round(&work);
    double start = seconds_now();
    size_t rounds = 0;
    while (rounds < MAX_ROUNDS && (rounds < MIN_ROUNDS || seconds_now() - start < seconds_in_all)) {
        copies[rounds] = seconds_of(copy, &work, calls);
        forwards[rounds] = seconds_of(forward, &work, calls);
        rounds++;
    }
    double forward_seconds = median(forwards, rounds);
    double copy_seconds = median(copies, rounds);
    double bytes = 2.0 * (double)tokens * (double)table->dim * sizeof(float);
    fprintf(stderr, "isa        %s\n", inlay_isa());
    fprintf(stderr, "threads    %zu\n", executor != NULL ? executor->threads : 1);
    fprintf(stderr, "tokens     %zu, dim %zu\n", tokens, table->dim);
    fprintf(stderr, "forward    %.3f us (median of %zu rounds of %d)\n", forward_seconds * 1e6, rounds, calls);
    fprintf(stderr, "rate       %.4g tokens/s\n", (double)tokens / forward_seconds);
    fprintf(stderr, "traffic    %.2f GB/s (rows read from the table and written)\n", bytes / forward_seconds * 1e-9);
    fprintf(stderr, "copy       %.3f us: the forward pass takes %.2f times a bare memcpy of the same rows%s\n",
            copy_seconds * 1e6, forward_seconds / copy_seconds, executor != NULL ? " on one thread" : "");
    return DONE;
}
