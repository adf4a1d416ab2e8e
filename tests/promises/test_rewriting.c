/* SPDX-License-Identifier: MIT */
/*
 * Batches with arrays that change during the call, e.g. by mistake in the caller's threads. The call must stay within
 * its tables and its output, with any result. Guard pages and sanitizers catch reads outside, patterns catch writes.
 */
#include "ngrams/ngrams.h"
#include "support/reference.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { MAX_TOKENS = 1500, ARRAYS = 6 };

/* An array of a batch, and its drawn values. */
struct array {
    const void *ids;
    inlay_id_type type;
    size_t n;
    int64_t limit; /* of good values */
    int64_t drawn[MAX_TOKENS];
};

static void remember(struct array *array, const void *ids, inlay_id_type type, size_t n, int64_t limit)
{
    array->ids = ids;
    array->type = type;
    array->n = ids != NULL ? n : 0;
    array->limit = limit;
    for (size_t i = 0; i < array->n; i++)
        array->drawn[i] = reference_id(ids, type, i);
}

static void remember_all(struct array arrays[ARRAYS], const struct call *call)
{
    const inlay_batch *batch = &call->batch;
    size_t n = call->n_tokens;
    remember(&arrays[0], batch->ids, batch->id_type, n, MAX_TABLE_ROWS);
    remember(&arrays[1], batch->position_ids, batch->position_id_type, n, MAX_TABLE_ROWS);
    remember(&arrays[2], batch->segment_ids, batch->segment_id_type, n, 3);
    remember(&arrays[3], batch->starts, INLAY_ID_I64, batch->sequences, MAX_TABLE_ROWS);
    remember(&arrays[5], call->spec.token_mapping, call->spec.token_mapping_type, call->spec.token_mapping_length,
             MAX_TABLE_ROWS);
    remember(&arrays[4], batch->offsets, INLAY_ID_I64, batch->sequences + 1, (int64_t)n);
}

/* Rewrites all arrays: one value in `bad_in` is changed, the others are restored. */
static void rewrite(const struct array arrays[ARRAYS], struct source *source, uint64_t bad_in)
{
    for (const struct array *array = arrays; array < arrays + ARRAYS; array++)
        for (size_t i = 0; i < array->n; i++) {
            int64_t value = array->drawn[i];
            if (one_in(source, bad_in))
                value = one_in(source, 2) ? draw_hostile_id(source, array->limit)
                                          : (int64_t)choose(source, (uint64_t)array->limit + 2);
            reference_put_id((void *)(uintptr_t)array->ids, array->type, i, value);
        }
}

/* ---- Another thread rewrites the arrays during the whole call ---- */

static struct array arrays_of_thread[ARRAYS];
static _Atomic bool stop_rewriting;

static void *rewrite_until_stopped(void *seed)
{
    struct source source = {.random = {*(const uint64_t *)seed}};
    while (!atomic_load_explicit(&stop_rewriting, memory_order_relaxed)) {
        rewrite(arrays_of_thread, &source, 40); /* mostly good, so some calls pass their checks */
        rewrite(arrays_of_thread, &source, UINT64_MAX);
    }
    return NULL;
}

START_TEST(rewritten_during_the_call)
{
    const struct call_sizes sizes = {
        .dims = (const size_t[]){64}, .n_dims = 1, .max_dim = 64, .tokens = 30, .out_bytes = 40000};
    unsigned long statuses[INLAY_ERROR_HISTORY + 1] = {0};
    calls_prepare(&sizes);
    for (uint64_t seed = 5000000; seed < 5000400; seed++) {
        struct source source = {.random = {seed}};
        struct call call;
        pthread_t thread;
        call_draw(&call, &source, &sizes);
        if (call.batch.length == INLAY_LENGTH_FROM_OFFSETS) /* or the thread would change the size of arrays */
            call.batch.length = call.n_tokens;
        remember_all(arrays_of_thread, &call);
        atomic_store(&stop_rewriting, false);
        ck_assert_int_eq(pthread_create(&thread, NULL, rewrite_until_stopped, &seed), 0);
        for (int round = 0; round < 15; round++) {
            inlay_status status;
            EXPECT(call_stays_in_rows(&call, NULL, &status), "seed %lu wrote outside its rows", (unsigned long)seed);
            statuses[status]++;
        }
        atomic_store(&stop_rewriting, true);
        pthread_join(thread, NULL);
        call_end(&call);
    }
    EXPECT(statuses[INLAY_OK] > 0 && statuses[INLAY_ERROR_OFFSETS] > 0, "%lu calls succeed, %lu have bad offsets",
           statuses[INLAY_OK], statuses[INLAY_ERROR_OFFSETS]);
}
END_TEST

/* ---- All arrays change between validation and use ---- */

struct rewriter {
    struct array arrays[ARRAYS];
    struct source *source;
};

static void run_rewritten(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    const struct rewriter *rewriter = ctx;
    for (size_t i = 0; i < count; i++) {
        rewrite(rewriter->arrays, rewriter->source, 2);
        task(arg, i);
    }
}

START_TEST(rewritten_between_validation_and_use)
{
    static struct rewriter rewriter;
    const struct call_sizes sizes = {.dims = (const size_t[]){64, 100, 256, 512},
                                     .n_dims = 4,
                                     .max_dim = 512,
                                     .tokens = MAX_TOKENS,
                                     .out_bytes = 700000};
    const inlay_executor executor = {&rewriter, run_rewritten, 4};
    unsigned long parts = 0;
    calls_prepare(&sizes);
    for (uint64_t seed = 3000000; seed < 3000000 + (strcmp(tested->name, "scalar") == 0 ? 100 : 600); seed++) {
        struct source source = {.random = {seed}};
        struct call call;
        inlay_status status;
        call_draw(&call, &source, &sizes);
        remember_all(rewriter.arrays, &call);
        rewriter.source = &source;
        EXPECT(call_stays_in_rows(&call, &executor, &status), "seed %lu wrote outside its rows", (unsigned long)seed);
        parts += status == INLAY_OK && call.bytes >= 2 * 65536;
        call_end(&call);
    }
    EXPECT(parts > 10, "%lu calls were cut into parts", parts);
}
END_TEST

/* Listed positions, as bytes, which are out of range as integers and as doubles. */
static _Alignas(8) unsigned char listed[MAX_TOKENS * 8];

static void run_out_of_range(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    (void)ctx;
    memset(listed, 0x7f, sizeof listed);
    for (size_t i = 0; i < count; i++)
        task(arg, i);
}

/* Listed positions that become invalid are read as 0, with sine 0 and cosine 1. */
START_TEST(listed_positions_rewritten)
{
    static float rows[MAX_TOKENS * 64];
    const inlay_executor executor = {NULL, run_out_of_range, 4};
    const inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(64);
    const inlay_position_type types[] = {INLAY_POSITION_I64, INLAY_POSITION_F64};
    inlay_sinusoid *sinusoid;
    ck_assert_int_eq(inlay_sinusoid_create(&spec, NULL, &sinusoid), INLAY_OK);
    for (size_t type = 0; type < 2; type++) {
        memset(listed, 0, sizeof listed);
        memset(rows, 0x7f, sizeof rows);
        ck_assert_int_eq(
            inlay_sinusoid_at(sinusoid, listed, types[type], MAX_TOKENS, INLAY_F32, rows, 256, &executor, NULL),
            INLAY_OK);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            EXPECT(rows[i] == (float)(i % 2), "type %zu: entry %zu is %g", type, i, rows[i]);
    }
    inlay_sinusoid_destroy(sinusoid);
}
END_TEST

/* ---- The arrays of n-grams change between validation and use ---- */

static void run_ngrams_rewritten(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    struct rewriter *rewriter = ctx;
    for (size_t i = 0; i < count; i++) {
        rewrite(rewriter->arrays, rewriter->source, 3);
        task(arg, i);
    }
}

/* Token maps are rewritten too: for any values, rows stay within their moduli. */
START_TEST(ngrams_rewritten)
{
    static struct rewriter rewriter;
    const inlay_executor executor = {&rewriter, run_ngrams_rewritten, 4};
    unsigned long calls = 0;
    ngrams_prepare();
    for (uint64_t seed = 7000000; seed < 7004000; seed++) {
        struct source source = {.random = {seed}};
        struct ngram_call call;
        ngram_draw(&call, &source);
        for (size_t i = 0; i < NGRAM_ARRAYS; i++) {
            void *array;
            inlay_id_type type;
            const size_t n = ngram_array(&call, i, &array, &type);
            remember(&rewriter.arrays[i], array, type, n <= MAX_TOKENS ? n : MAX_TOKENS, (int64_t)call.spec.vocab);
        }
        if (call.batch.length == INLAY_LENGTH_FROM_OFFSETS)
            call.batch.length = call.tokens;
        rewriter.source = &source;
        inlay_status status;
        EXPECT(ngram_stays_in_rows(&call, &executor, &status), "seed %lu wrote outside its rows", (unsigned long)seed);
        calls += status == INLAY_OK && call.out_bytes >= 2 * 65536;
        ngram_end(&call);
    }
    EXPECT(calls > 10, "%lu calls were cut into parts", calls);
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "rewriting", NULL, NULL, rewritten_during_the_call,
                     rewritten_between_validation_and_use, listed_positions_rewritten, ngrams_rewritten);
}
