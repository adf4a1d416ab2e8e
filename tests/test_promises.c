/* SPDX-License-Identifier: MIT */
/*
 * What the header promises of hot calls beyond their results: no allocation, a bounded stack, use in signal handlers
 * and by many threads, and memory safety while another thread rewrites the ids.
 */
#define _GNU_SOURCE /* makecontext, __libc_malloc */
#include "support.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

enum { DIM = 300, ROWS = 50, BATCH = 3, SEQ = 40, TOKENS = BATCH * SEQ, ROW_BYTES = DIM * sizeof(float) };

/* A layer whose calls use rows held and rows computed, with its input and its right output. */
static struct {
    float table[ROWS][DIM];
    int32_t ids[TOKENS];
    inlay_sinusoid *sinusoid, *recipe;
    inlay_layer *layer, *staged; /* the latter with all that takes stack: recipes, segments, norm, 16 bits */
    inlay_batch batch;
    float expected[TOKENS][DIM];
} fixture;

static inlay_status run(float (*out)[DIM])
{
    return inlay_forward(fixture.layer, &fixture.batch, out, ROW_BYTES, NULL, NULL);
}

static void make_fixture(void)
{
    struct random random = {5};
    for (size_t row = 0; row < ROWS; row++)
        for (size_t column = 0; column < DIM; column++)
            fixture.table[row][column] = (float)(random_below(&random, 2001)) / 1000 - 1;
    for (size_t i = 0; i < TOKENS; i++)
        fixture.ids[i] = (int32_t)random_below(&random, ROWS);
    fixture.sinusoid = make_sinusoid(DIM, 10000, INLAY_SINUSOID_LAYOUT_SPLIT);
    inlay_sinusoid_spec recipe = inlay_sinusoid_spec_recipe(INLAY_RECIPE_MLX, DIM);
    ck_assert_int_eq(inlay_sinusoid_create(&recipe, NULL, &fixture.recipe), INLAY_OK);
    inlay_table tokens = inlay_table_f32(fixture.table, ROWS, DIM);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.sinusoid = fixture.sinusoid;
    spec.cached_positions = SEQ / 2;
    spec.scale = inlay_sqrt_dim(DIM);
    ck_assert_int_eq(inlay_layer_create(&spec, NULL, &fixture.layer), INLAY_OK);
    spec.sinusoid = fixture.recipe;
    spec.cached_positions = 0;
    spec.segments = &tokens;
    spec.segments_first = 1;
    spec.norm = INLAY_NORM_LAYER;
    spec.out_type = INLAY_BF16;
    ck_assert_int_eq(inlay_layer_create(&spec, NULL, &fixture.staged), INLAY_OK);
    fixture.batch = inlay_batch_i32(fixture.ids, BATCH, SEQ, 3);
    ck_assert_int_eq(run(fixture.expected), INLAY_OK);
}

static void free_fixture(void)
{
    inlay_layer_destroy(fixture.layer);
    inlay_layer_destroy(fixture.staged);
    inlay_sinusoid_destroy(fixture.sinusoid);
    inlay_sinusoid_destroy(fixture.recipe);
}

#ifndef SANITIZED
/* Every other hot call, into one buffer. */
static inlay_status run_others(float (*out)[DIM])
{
    static const double reals[] = {-0.5, 1e-40, 999.25, 2147483000.5};
    inlay_table tokens = inlay_table_f32(fixture.table, ROWS, DIM);
    inlay_batch alone = inlay_batch_i32(fixture.ids, 1, TOKENS, 1000);
    int64_t starts[BATCH] = {0, 5000, 3};
    inlay_batch apart = inlay_batch_i32(fixture.ids, BATCH, SEQ, 0);
    apart.starts = starts;
    inlay_rotary_spec spec = inlay_rotary_spec_default(64);
    spec.scaling = INLAY_ROTARY_YARN;
    spec.factor = 4;
    double frequencies[32], attention_factor;
    inlay_status status = inlay_gather(&tokens, fixture.ids, INLAY_ID_I32, TOKENS, 2, out, ROW_BYTES, NULL, NULL);
    status |= inlay_scale(out, ROW_BYTES, TOKENS, DIM, 2, out, ROW_BYTES, NULL);
    status |= inlay_add_positions(out, ROW_BYTES, BATCH, SEQ, &tokens, 0, NULL, NULL);
    status |= inlay_forward(fixture.layer, &alone, out, ROW_BYTES, NULL, NULL);
    status |= inlay_forward(fixture.layer, &apart, out, ROW_BYTES, NULL, NULL);
    apart.dropout = 0.5f;
    status |= inlay_forward(fixture.staged, &apart, out, ROW_BYTES, NULL, NULL);
    for (int type = INLAY_F32; type <= INLAY_BF16; type++)
        for (int i = 0; i < 2; i++) {
            const inlay_sinusoid *sinusoid = i ? fixture.recipe : fixture.sinusoid;
            status |= inlay_sinusoid_rows(sinusoid, 1000, TOKENS, (inlay_element_type)type, out, ROW_BYTES, NULL);
            status |=
                inlay_sinusoid_at(sinusoid, reals, INLAY_POSITION_F64, 4, (inlay_element_type)type, out, ROW_BYTES, NULL, NULL);
            status |= inlay_rotary_rows(sinusoid, 7, SEQ, (inlay_element_type)type, INLAY_ROTARY_INTERLEAVED, out, out + SEQ,
                                        ROW_BYTES, NULL);
        }
    status |= inlay_rotary_frequencies(&spec, frequencies, &attention_factor);
    static unsigned char stored[ROWS][DIM + 2 * sizeof(float)];
    inlay_table bytes = inlay_table_f32(stored, ROWS, DIM);
    bytes.type = INLAY_U8_ROWWISE;
    bytes.stride_bytes = sizeof *stored;
    double error;
    status |= quantize(&tokens, &bytes, &error);
    status |= inlay_gather(&bytes, fixture.ids, INLAY_ID_I32, TOKENS, 2, out, ROW_BYTES, NULL, NULL);
    return status;
}
#endif

static bool is_expected(float (*out)[DIM])
{
    return memcmp(out, fixture.expected, sizeof fixture.expected) == 0;
}

#if defined(__GLIBC__) && !defined(SANITIZED)
/* Every call of malloc goes through here; that the library calls no other allocator is the audit's to prove. */
static _Atomic unsigned long allocations;

void *__libc_malloc(size_t bytes);
void *malloc(size_t bytes)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_malloc(bytes);
}

START_TEST(hot_calls_allocate_nothing)
{
    static float out[TOKENS][DIM];
    unsigned long before = atomic_load(&allocations);
    void *volatile probe = malloc(1); /* volatile: compilers drop a pair that they see through */
    free(probe);
    ck_assert_uint_eq(atomic_load(&allocations), before + 1);
    before = atomic_load(&allocations);
    inlay_status status = run(out) | run_others(out);
    unsigned long after = atomic_load(&allocations);
    ck_assert_int_eq(status, INLAY_OK);
    EXPECT(after == before, "%lu allocations in hot calls", after - before);
}
END_TEST
#endif

/* Without optimisation every temporary of every inlined word has a place of its own on the stack. */
#if !defined(SANITIZED) && defined(__OPTIMIZE__)
#define STACK_IS_PROMISED 1
enum { STACK_BYTES = 64 * 1024 };
static ucontext_t on_small_stack, back;
static inlay_status small_stack_status;
static float small_stack_out[TOKENS][DIM];

static void run_on_small_stack(void)
{
    inlay_status status = run_others(small_stack_out);
    small_stack_status = status | run(small_stack_out);
}

START_TEST(a_stack_of_64_kib_is_enough)
{
    struct arena stack = arena_make(STACK_BYTES);
    ck_assert_int_eq(getcontext(&on_small_stack), 0);
    on_small_stack.uc_stack.ss_sp = stack.begin;
    on_small_stack.uc_stack.ss_size = STACK_BYTES;
    on_small_stack.uc_link = &back;
    makecontext(&on_small_stack, run_on_small_stack, 0);
    ck_assert_int_eq(swapcontext(&back, &on_small_stack), 0);
    EXPECT(small_stack_status == INLAY_OK && is_expected(small_stack_out), "wrong on a small stack");
    arena_free(&stack);
}
END_TEST
#endif

static float handler_out[TOKENS][DIM];
static volatile sig_atomic_t handler_runs, handler_failures;

/* qemu-user before 9.1 enters handlers with a stack that is not aligned as the ABI has it. */
#ifdef __x86_64__
__attribute__((force_align_arg_pointer))
#endif
static void
handler(int signal)
{
    (void)signal;
    handler_failures += run(handler_out) != INLAY_OK || !is_expected(handler_out);
    handler_runs++;
}

START_TEST(signal_handlers_may_call)
{
    static float out[TOKENS][DIM];
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, before;
    sigaction(SIGALRM, &action, &before);
    int failures = 0;
    for (int shot = 0; shot < 40; shot++) {
        /* One signal at a time: a slow kernel in the handler must not starve the calls that it interrupts. */
        struct itimerval once = {{0, 0}, {0, 50 + 20 * shot}};
        sig_atomic_t runs = handler_runs;
        setitimer(ITIMER_REAL, &once, NULL);
        while (handler_runs == runs)
            failures += run(out) != INLAY_OK || !is_expected(out);
    }
    sigaction(SIGALRM, &before, NULL);
    EXPECT(handler_runs == 40, "%d signals came", (int)handler_runs);
    EXPECT(failures == 0 && handler_failures == 0, "%d calls and %d calls in handlers went wrong", failures,
           (int)handler_failures);
}
END_TEST

static void *run_often(void *failures)
{
    float(*out)[DIM] = malloc(sizeof fixture.expected);
    for (int i = 0; i < 100; i++)
        if (run(out) != INLAY_OK || !is_expected(out))
            atomic_fetch_add((_Atomic int *)failures, 1);
    free(out);
    return NULL;
}

START_TEST(threads_share_a_layer)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    _Atomic int failures = 0;
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_often, &failures), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    EXPECT(atomic_load(&failures) == 0, "%d calls went wrong", atomic_load(&failures));
}
END_TEST

/* Ids as another thread rewrites them, between guard pages around a table of which every row is valid. */
static _Atomic bool stop_rewriting;

static void *rewrite_ids(void *ids)
{
    static const int32_t values[] = {0, INT32_MIN, ROWS, INT32_MAX, -1, ROWS - 1};
    for (unsigned i = 0; !atomic_load_explicit(&stop_rewriting, memory_order_relaxed); i++)
        __atomic_store_n((int32_t *)ids + i % TOKENS, values[i / TOKENS % 6], __ATOMIC_RELAXED);
    return NULL;
}

START_TEST(rewritten_ids_stay_in_the_table)
{
    enum { CALLS = 3000 };
    struct arena table = arena_make(ROWS * ROW_BYTES);
    int32_t *ids = calloc(TOKENS, sizeof *ids);
    static float out[TOKENS][DIM];
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, rewrite_ids, ids), 0);
    int good = 0, bad = 0;
    for (int at = AT_BEGIN; at <= AT_END; at++) {
        unsigned char *rows = arena_place(&table, ROWS * ROW_BYTES, (enum placement)at, 0);
        inlay_table tokens = inlay_table_f32(rows, ROWS, DIM);
        inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
        inlay_layer *layer;
        ck_assert_int_eq(inlay_layer_create(&spec, NULL, &layer), INLAY_OK);
        inlay_batch batch = inlay_batch_i32(ids, BATCH, SEQ, 0);
        for (int i = 0; i < CALLS; i++) {
            inlay_status status = i % 2
                                      ? inlay_gather(&tokens, ids, INLAY_ID_I32, TOKENS, 1, out, ROW_BYTES, NULL, NULL)
                                      : inlay_forward(layer, &batch, out, ROW_BYTES, NULL, NULL);
            good += status == INLAY_OK;
            bad += status == INLAY_ERROR_ID;
        }
        inlay_layer_destroy(layer);
    }
    atomic_store(&stop_rewriting, true);
    pthread_join(thread, NULL);
    EXPECT(good + bad == 2 * CALLS, "a call came to something else");
    EXPECT(bad > 0, "no call ever met a rewritten id");
    free(ids);
    arena_free(&table);
}
END_TEST

/* Positions as another thread rewrites them: starts of sequences whose rows lie at the end of a table, and lists that
   are no numbers for a moment. */
static void *rewrite_positions(void *both)
{
    static const int64_t starts[] = {0, INT64_MIN, ROWS - SEQ, INT64_MAX, -1, ROWS};
    static const uint64_t reals[] = {0,          UINT64_C(0x7ff0000000000000), UINT64_C(0x4090000000000000),
                                     UINT64_MAX, UINT64_C(0x7fefffffffffffff), 1};
    int64_t *const to = both;
    for (unsigned i = 0; !atomic_load_explicit(&stop_rewriting, memory_order_relaxed); i++) {
        __atomic_store_n(to + i % BATCH, starts[i / BATCH % 6], __ATOMIC_RELAXED);
        __atomic_store_n((uint64_t *)(to + BATCH) + i % SEQ, reals[i / SEQ % 6], __ATOMIC_RELAXED);
    }
    return NULL;
}

START_TEST(rewritten_positions_stay_in_the_table)
{
    enum { CALLS = 3000 };
    struct arena table = arena_make(ROWS * ROW_BYTES);
    int64_t *both = calloc(BATCH + SEQ, sizeof *both);
    static float out[TOKENS][DIM];
    unsigned char *rows = arena_place(&table, ROWS * ROW_BYTES, AT_END, 0);
    inlay_table learned = inlay_table_f32(rows, ROWS, DIM), tokens = inlay_table_f32(fixture.table, ROWS, DIM);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.positions = &learned;
    inlay_layer *layer;
    ck_assert_int_eq(inlay_layer_create(&spec, NULL, &layer), INLAY_OK);
    inlay_batch batch = inlay_batch_i32(fixture.ids, BATCH, SEQ, 0);
    batch.starts = both;
    pthread_t thread;
    atomic_store(&stop_rewriting, false);
    ck_assert_int_eq(pthread_create(&thread, NULL, rewrite_positions, both), 0);
    int good = 0, bad = 0;
    for (int i = 0; i < CALLS; i++) {
        inlay_status status = i % 2 ? inlay_forward(layer, &batch, out, ROW_BYTES, NULL, NULL)
                                    : inlay_sinusoid_at(fixture.sinusoid, both + BATCH, INLAY_POSITION_F64, SEQ,
                                                        INLAY_F32, out, ROW_BYTES, NULL, NULL);
        good += status == INLAY_OK;
        bad += status == INLAY_ERROR_POSITION;
    }
    atomic_store(&stop_rewriting, true);
    pthread_join(thread, NULL);
    EXPECT(good + bad == CALLS, "a call came to something else");
    EXPECT(bad > 0, "no call ever met a rewritten position");
    inlay_layer_destroy(layer);
    free(both);
    arena_free(&table);
}
END_TEST

/* What a thread may write at the worst moment: an executor runs behind the checks and ahead of the use. */
struct spoiled {
    int64_t *values;
    size_t count;
    int64_t value;
};

static void spoil_and_run(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    const struct spoiled *spoiled = ctx;
    for (size_t i = 0; i < spoiled->count; i++)
        spoiled->values[i] = spoiled->value;
    for (size_t i = 0; i < count; i++)
        task(arg, i);
}

START_TEST(what_changes_behind_the_checks_stays_in_bounds)
{
    static const int64_t values[] = {-1, INT64_MIN, INT64_MAX, ROWS, TOKENS + 1, 1, INT64_C(1) << 40};
    enum { IDS, STARTS, STARTS_OF_ONE, LISTED, SEGMENTS, OFFSETS, PADDED, ARRAYS };
    struct arena table = arena_make(ROWS * ROW_BYTES), written = arena_make(2 * TOKENS * ROW_BYTES);
    unsigned char *rows = arena_place(&table, ROWS * ROW_BYTES, AT_END, 0);
    memset(rows, 0, ROWS * ROW_BYTES);
    inlay_table view = inlay_table_f32(rows, ROWS, DIM);
    for (int array = 0; array < ARRAYS; array++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            int64_t ids[TOKENS] = {0}, starts[TOKENS] = {0}, listed[TOKENS] = {0}, segments[TOKENS] = {0};
            int64_t offsets[BATCH + 1] = {0, SEQ, 2 * SEQ, TOKENS};
            inlay_layer_spec spec = inlay_layer_spec_default(&view);
            spec.positions = &view;
            spec.segments = array == SEGMENTS ? &view : NULL;
            inlay_batch batch = inlay_batch_i64(ids, BATCH, SEQ, 0);
            struct spoiled spoiled = {ids, TOKENS, values[v]};
            size_t n = TOKENS;
            if (array == STARTS) {
                batch.starts = starts;
                spoiled = (struct spoiled){starts, BATCH, values[v]};
            } else if (array == STARTS_OF_ONE) {
                batch = inlay_batch_i64(ids, TOKENS, 1, 0);
                batch.starts = starts;
                spoiled = (struct spoiled){starts, TOKENS, values[v]};
            } else if (array == LISTED) {
                batch.position_ids = listed;
                batch.position_id_type = INLAY_ID_I64;
                spoiled = (struct spoiled){listed, TOKENS, values[v]};
            } else if (array == SEGMENTS) {
                batch.segment_ids = segments;
                batch.segment_id_type = INLAY_ID_I64;
                spoiled = (struct spoiled){segments, TOKENS, values[v]};
            } else if (array == OFFSETS || array == PADDED) {
                batch = inlay_batch_ragged(ids, INLAY_ID_I64, offsets, BATCH, 0);
                batch.padded_length = array == PADDED ? SEQ + 1 : 0;
                n = array == PADDED ? BATCH * (SEQ + 1) : TOKENS;
                spoiled = (struct spoiled){offsets, BATCH + 1, values[v]};
            }
            inlay_layer *layer;
            ck_assert_int_eq(inlay_layer_create(&spec, NULL, &layer), INLAY_OK);
            const inlay_executor executor = {.ctx = &spoiled, .run = spoil_and_run, .threads = 8};
            unsigned char *out = arena_place(&written, n * ROW_BYTES, AT_END, 0);
            inlay_status status = inlay_forward(layer, &batch, out, ROW_BYTES, &executor, NULL);
            EXPECT(status == INLAY_OK, "array %d: %s", array, inlay_status_string(status));
            EXPECT(arena_untouched_outside(&written, out, n, ROW_BYTES, ROW_BYTES), "array %d wrote outside", array);
            EXPECT(spoiled.values[0] == values[v], "the executor never ran");
            inlay_layer_destroy(layer);
        }
    arena_free(&table);
    arena_free(&written);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("promises");
    TCase *hot = tcase_create("hot calls");
    tcase_set_timeout(hot, 300);
    tcase_add_checked_fixture(hot, make_fixture, free_fixture);
#if defined(__GLIBC__) && !defined(SANITIZED)
    tcase_add_test(hot, hot_calls_allocate_nothing);
#else
    printf("skipped the count of allocations: malloc is a sanitizer's, or not glibc's\n");
#endif
#ifdef STACK_IS_PROMISED
    tcase_add_test(hot, a_stack_of_64_kib_is_enough);
#else
    printf("skipped the bound of the stack: sanitized, or not optimised\n");
#endif
    tcase_add_test(hot, signal_handlers_may_call);
    tcase_add_test(hot, threads_share_a_layer);
    tcase_add_test(hot, rewritten_ids_stay_in_the_table);
    tcase_add_test(hot, rewritten_positions_stay_in_the_table);
    tcase_add_test(hot, what_changes_behind_the_checks_stays_in_bounds);
    suite_add_tcase(suite, hot);
    return run_suite(argc, argv, suite);
}
