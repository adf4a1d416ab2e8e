/* SPDX-License-Identifier: MIT */
/*
 * Promises of the header for hot calls beyond their results: no allocation, bounded stack, use in signal handlers and
 * by many threads, and memory safety if arrays change after validation. test_rewriting.c has a thread rewrite them.
 */
#include "support/support.h"

#include "support/system.h"
#include "table/ids.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 300, ROWS = 50, BATCH = 3, SEQ = 40, TOKENS = BATCH * SEQ, ROW_BYTES = DIM * sizeof(float) };

/* A layer with calls that use cached and computed positions, with its input and expected output. */
static struct {
    float table[ROWS][DIM];
    int32_t ids[TOKENS];
    inlay_sinusoid *sinusoid, *recipe;
    inlay_rotary *rotary[2];      /* exact angles and float angles, none cached */
    inlay_layer *layer, *general; /* the latter with everything that uses stack: recipes, segments, norm, 16 bits */
    inlay_ngram *ngram;
    inlay_batch batch;
    float expected[TOKENS][DIM];
} fixture;

/* Makes n-grams with the maximum number of columns. */
static inlay_ngram *make_ngram(void)
{
    static inlay_ngram_column columns[INLAY_NGRAM_MAX_COLUMNS];
    static const int64_t multipliers[INLAY_NGRAM_MAX_LENGTH] = {3, 5}, resets[] = {1};
    inlay_ngram_spec spec = inlay_ngram_spec_default(ROWS, INLAY_NGRAM_MAX_LENGTH, INLAY_NGRAM_MIX_XOR);
    inlay_ngram *ngram;
    for (uint32_t c = 0; c < INLAY_NGRAM_MAX_COLUMNS; c++)
        columns[c] = (inlay_ngram_column){1 + c % INLAY_NGRAM_MAX_LENGTH, 0, ROWS - c % 3, 0, 0};
    spec.resets = resets;
    spec.reset_count = 1;
    spec.multipliers = multipliers;
    spec.vectors = 1;
    spec.columns = columns;
    spec.column_count = INLAY_NGRAM_MAX_COLUMNS;
    ck_assert_int_eq(inlay_ngram_create(&spec, NULL, &ngram), INLAY_OK);
    return ngram;
}

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
    fixture.recipe = make_sinusoid_of(&recipe);
    inlay_table tokens = inlay_table_f32(fixture.table, ROWS, DIM);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.sinusoid = fixture.sinusoid;
    spec.cached_positions = SEQ / 2;
    spec.scale = inlay_sqrt_dim(DIM);
    fixture.layer = make_layer_of(&spec);
    spec.sinusoid = fixture.recipe;
    spec.cached_positions = 0;
    spec.segments = &tokens;
    spec.segments_first = 1;
    spec.norm = INLAY_NORM_LAYER;
    spec.out_type = INLAY_BF16;
    fixture.general = make_layer_of(&spec);
    fixture.ngram = make_ngram();
    inlay_rotary_spec rotary = inlay_rotary_spec_default(INLAY_ROTARY_MAX_DIM);
    rotary.cached_positions = 0;
    for (rotary.float_angles = 0; rotary.float_angles < 2; rotary.float_angles++)
        ck_assert_int_eq(inlay_rotary_create(&rotary, NULL, &fixture.rotary[rotary.float_angles]), INLAY_OK);
    fixture.batch = inlay_batch_i32(fixture.ids, BATCH, SEQ, 3);
    ck_assert_int_eq(run(fixture.expected), INLAY_OK);
}

static void free_fixture(void)
{
    inlay_layer_destroy(fixture.layer);
    inlay_layer_destroy(fixture.general);
    inlay_ngram_destroy(fixture.ngram);
    inlay_sinusoid_destroy(fixture.sinusoid);
    inlay_sinusoid_destroy(fixture.recipe);
    inlay_rotary_destroy(fixture.rotary[0]);
    inlay_rotary_destroy(fixture.rotary[1]);
}

#ifndef SANITIZED
/* The hot calls of n-grams, into one buffer. */
static inlay_status run_ngrams(float (*out)[DIM])
{
    static int32_t history[BATCH * (INLAY_NGRAM_MAX_LENGTH - 1)];
    static int64_t rows[INLAY_NGRAM_MAX_COLUMNS];
    const inlay_table table = inlay_table_f32(fixture.table, ROWS, DIM);
    const inlay_table *tables[] = {&table};
    const inlay_ngram_batch one = inlay_ngram_batch_i32(fixture.ids, 1, 1);
    inlay_ngram_batch batch = inlay_ngram_batch_i32(fixture.ids, BATCH, SEQ);
    inlay_ngram_lookup lookup = inlay_ngram_lookup_default(tables, 1);
    inlay_status status =
        inlay_ngram_ids(fixture.ngram, &one, 0, INLAY_NGRAM_ALL_COLUMNS, INLAY_ID_I64, rows, sizeof rows, NULL, NULL);
    batch.history = history;
    lookup.columns = 1;
    for (int type = INLAY_F32; type <= INLAY_BF16; type++)
        for (int combine = INLAY_NGRAM_CONCAT; combine <= INLAY_NGRAM_SUM; combine++) {
            lookup.out_type = (inlay_element_type)type;
            lookup.combine = (inlay_ngram_combine)combine;
            lookup.columns = combine == INLAY_NGRAM_SUM ? INLAY_NGRAM_ALL_COLUMNS : 1;
            status |= inlay_ngram_forward(fixture.ngram, &batch, &lookup, out, ROW_BYTES, NULL, NULL);
        }
    return status | inlay_ngram_history(fixture.ngram, &batch, NULL, history, NULL, NULL);
}

/* Every other hot call, into one buffer. */
static inlay_status run_others(float (*out)[DIM])
{
    static const double reals[] = {-0.5, 1e-40, 999.25, 2147483000.5};
    inlay_table tokens = inlay_table_f32(fixture.table, ROWS, DIM);
    inlay_batch alone = inlay_batch_i32(fixture.ids, 1, TOKENS, 1000);
    int64_t starts[BATCH] = {0, 5000, 3};
    inlay_batch separate = inlay_batch_i32(fixture.ids, BATCH, SEQ, 0);
    separate.starts = starts;
    inlay_rotary_spec spec = inlay_rotary_spec_default(64);
    spec.scaling = INLAY_ROTARY_YARN;
    spec.factor = 4;
    spec.original_length = 2048;
    double frequencies[32], attention_factor;
    inlay_status status = inlay_gather(&tokens, fixture.ids, INLAY_ID_I32, TOKENS, 2, out, ROW_BYTES, NULL, NULL);
    status |= run_ngrams(out);
    status |= inlay_scale(out, ROW_BYTES, TOKENS, DIM, 2, out, ROW_BYTES, NULL);
    status |= inlay_add_positions(out, ROW_BYTES, BATCH, SEQ, &tokens, 0, NULL, NULL);
    status |= inlay_forward(fixture.layer, &alone, out, ROW_BYTES, NULL, NULL);
    static float sums[ROWS][DIM];
    inlay_gradients gradients = inlay_gradients_none(DIM);
    gradients.tokens = sums;
    status |= inlay_backward(fixture.layer, &fixture.batch, out, ROW_BYTES, &gradients, NULL, NULL);
    status |= inlay_forward(fixture.layer, &separate, out, ROW_BYTES, NULL, NULL);
    separate.dropout = 0.5f;
    status |= inlay_forward(fixture.general, &separate, out, ROW_BYTES, NULL, NULL);
    for (int type = INLAY_F32; type <= INLAY_BF16; type++)
        for (int i = 0; i < 2; i++) {
            const inlay_sinusoid *sinusoid = i ? fixture.recipe : fixture.sinusoid;
            status |= inlay_sinusoid_rows(sinusoid, 1000, TOKENS, (inlay_element_type)type, out, ROW_BYTES, NULL);
            status |= inlay_sinusoid_at(sinusoid, reals, INLAY_POSITION_F64, 4, (inlay_element_type)type, out,
                                        ROW_BYTES, NULL, NULL);
            status |= inlay_rotary_rows(sinusoid, 7, SEQ, (inlay_element_type)type, INLAY_ROTARY_INTERLEAVED, out,
                                        out + SEQ, ROW_BYTES, NULL);
        }
    status |= inlay_rotary_frequencies(&spec, frequencies, &attention_factor);
    inlay_rotary_tensor heads = inlay_rotary_in_place(INLAY_F32, out, 1, INLAY_ROTARY_MAX_DIM);
    const inlay_batch positions = inlay_batch_i32(NULL, 1, (size_t)TOKENS * DIM / INLAY_ROTARY_MAX_DIM, 1000);
    for (int i = 0; i < 2; i++)
        status |= inlay_rotate(fixture.rotary[i], &positions, &heads, 1, INLAY_ROTARY_FORWARD, NULL, NULL);
    static unsigned char quantized[ROWS][DIM + 2 * sizeof(float)];
    const inlay_table_storage storage = inlay_table_storage_of(INLAY_U8_ROWWISE, quantized, DIM);
    inlay_table view;
    double error;
    status |= inlay_table_quantize(&tokens, &storage, &view, &error);
    status |= inlay_gather(&view, fixture.ids, INLAY_ID_I32, TOKENS, 2, out, ROW_BYTES, NULL, NULL);
    return status;
}
#endif

static bool is_expected(float (*out)[DIM])
{
    return memcmp(out, fixture.expected, sizeof fixture.expected) == 0;
}

#if defined(__GLIBC__) && !defined(SANITIZED)
/* Counts every call of malloc. scripts/checks/audit.py proves that the library calls no other allocator. */
static _Atomic unsigned long allocations;

void *__libc_malloc(size_t bytes);
void *malloc(size_t bytes)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_malloc(bytes);
}

#define COUNTS_ALLOCATIONS
#endif

START_TEST(hot_calls_allocate_nothing)
{
#ifdef COUNTS_ALLOCATIONS
    static float out[TOKENS][DIM];
    unsigned long before = atomic_load(&allocations);
    void *volatile probe = malloc(1); /* volatile: compilers can remove a visible pair */
    free(probe);
    ck_assert_uint_eq(atomic_load(&allocations), before + 1);
    before = atomic_load(&allocations);
    inlay_status status = run(out) | run_others(out);
    unsigned long after = atomic_load(&allocations);
    ck_assert_int_eq(status, INLAY_OK);
    EXPECT(after == before, "%lu allocations in hot calls", after - before);
#else
    printf("skipped the count of allocations: malloc is a sanitizer's, or not glibc's\n");
#endif
}
END_TEST

/* Without optimization, every temporary of every inlined vec op has its own stack slot. */
#if !defined(SANITIZED) && defined(__OPTIMIZE__)
enum { STACK_BYTES = 64 * 1024, UNTOUCHED = 0x5a };
static struct {
    unsigned char *begin;
    inlay_status status;
    float out[TOKENS][DIM];
} on_stack;

static void run_on_stack(void)
{
    on_stack.begin = __builtin_frame_address(0);
    inlay_status status = run_others(on_stack.out);
    on_stack.status = status | run(on_stack.out);
}

#define BOUNDS_STACK
#endif

START_TEST(a_stack_of_64_kib_is_enough)
{
#ifdef BOUNDS_STACK
    struct arena stack = arena_make(2 * STACK_BYTES); /* a thread reserves some of it */
    memset(stack.begin, UNTOUCHED, 2 * STACK_BYTES);
    call_on_stack(stack.begin, stack.end, run_on_stack);
    const unsigned char *lowest = stack.begin;
    while (*lowest == UNTOUCHED)
        lowest++;
    const ptrdiff_t used = on_stack.begin - lowest;
    EXPECT(used > 1024 && used <= STACK_BYTES, "hot calls use %td bytes of stack", used);
    EXPECT(on_stack.status == INLAY_OK && is_expected(on_stack.out), "wrong on a stack of its own");
    arena_free(&stack);
#else
    printf("skipped the bound of the stack: sanitized, or not optimized\n");
#endif
}
END_TEST

static float handler_out[TOKENS][DIM];
static volatile sig_atomic_t handler_runs, handler_failures;

/* qemu-user before 9.1 enters handlers with a misaligned stack. */
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
    int failures = 0;
    for (int shot = 0; shot < 40; shot++) {
        /* One signal at a time: a slow kernel in the handler must not starve the interrupted calls. */
        sig_atomic_t runs = handler_runs;
        if (!interrupt_after(50 + 20 * (unsigned)shot, handler)) {
            printf("skipped calls in signal handlers: this system interrupts no thread\n");
            return;
        }
        while (handler_runs == runs)
            failures += run(out) != INLAY_OK || !is_expected(out);
    }
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

static inline uint64_t seen_through(uint64_t value)
{
    return value;
}

/* A compiler that optimizes inlay_load_once() away may read a value again between validation and use. A run would
   rarely show that, so this asks the compiler if it can determine the result. */
START_TEST(loads_happen_once)
{
    const uint64_t loaded = inlay_load_once(5), copied = seen_through(5);
    const bool loaded_known = __builtin_constant_p(loaded), copied_known = __builtin_constant_p(copied);
    EXPECT(!loaded_known, "the compiler sees through inlay_load_once()");
#if defined(__OPTIMIZE__) && !defined(SANITIZED)
    EXPECT(copied_known, "the compiler sees through nothing: this test is blind");
#endif
    EXPECT(loaded == copied, "%d: a value changes on its way", copied_known);
}
END_TEST

/* Overwrites an array at the worst moment: in an executor, after validation and before use. */
struct overwrite {
    int64_t *values;
    size_t count;
    int64_t value;
};

static void overwrite_and_run(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    const struct overwrite *overwrite = ctx;
    for (size_t i = 0; i < overwrite->count; i++)
        overwrite->values[i] = overwrite->value;
    for (size_t i = 0; i < count; i++)
        task(arg, i);
}

START_TEST(what_changes_after_validation_stays_in_bounds)
{
    static const int64_t values[] = {-1,         INT64_MIN, INT64_MAX,        ROWS,
                                     TOKENS + 1, 1,         INT64_C(1) << 40, INT32_MAX - 2 * SEQ};
    static int64_t ids[TOKENS], starts[TOKENS], positions[TOKENS], segments[TOKENS], offsets[BATCH + 1];
    inlay_batch plain = inlay_batch_i64(ids, BATCH, SEQ, 0), with_starts = plain,
                starts_of_one = inlay_batch_i64(ids, TOKENS, 1, 0), with_positions = plain, with_segments = plain,
                ragged = inlay_batch_ragged(ids, INLAY_ID_I64, offsets, BATCH, 0), padded = ragged;
    with_starts.starts = starts_of_one.starts = starts;
    with_positions.position_ids = positions;
    with_positions.position_id_type = INLAY_ID_I64;
    with_segments.segment_ids = segments;
    with_segments.segment_id_type = INLAY_ID_I64;
    padded.padded_length = SEQ + 1;
    const struct {
        const inlay_batch *batch;
        int64_t *overwritten;
        size_t count, rows;
    } cases[] = {
        {&starts_of_one, ids, TOKENS, TOKENS},         {&with_starts, starts, BATCH, TOKENS},
        {&starts_of_one, starts, TOKENS, TOKENS},      {&with_positions, positions, TOKENS, TOKENS},
        {&with_segments, segments, TOKENS, TOKENS},    {&ragged, offsets, BATCH + 1, TOKENS},
        {&padded, offsets, BATCH + 1, TOKENS + BATCH}, {&plain, ids, TOKENS, TOKENS},
    };
    struct arena table = arena_make(ROWS * ROW_BYTES), written = arena_make(2 * TOKENS * ROW_BYTES);
    unsigned char *rows = arena_place(&table, ROWS * ROW_BYTES, AT_END, 0);
    memset(rows, 0, ROWS * ROW_BYTES);
    const inlay_table view = inlay_table_f32(rows, ROWS, DIM);
    inlay_layer_spec spec = inlay_layer_spec_default(&view);
    spec.positions = &view;
    inlay_layer *positioned = make_layer_of(&spec);
    spec.segments = &view;
    inlay_layer *segmented = make_layer_of(&spec);
    inlay_sinusoid *sinusoid = make_sinusoid(DIM, 10000, INLAY_SINUSOID_LAYOUT_SPLIT);
    spec.positions = NULL;
    spec.sinusoid = sinusoid;
    spec.cached_positions = ROWS;
    spec.norm = INLAY_NORM_RMS;
    inlay_layer *cached = make_layer_of(&spec);
    for (size_t k = 0; k < 2 * sizeof cases / sizeof *cases; k++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            const size_t i = k / 2;
            struct overwrite overwrite = {cases[i].overwritten, cases[i].count, values[v]};
            const inlay_executor executor = {.ctx = &overwrite, .run = overwrite_and_run, .threads = 8};
            const size_t n = cases[i].rows;
            unsigned char *out = arena_place(&written, n * ROW_BYTES, AT_END, 0);
            for (size_t token = 0; token < TOKENS; token++)
                ids[token] = starts[token] = positions[token] = segments[token] = 0;
            for (int b = 0; b <= BATCH; b++)
                offsets[b] = b * SEQ;
            const inlay_layer *layer = k % 2 > 0 ? cached : cases[i].overwritten == segments ? segmented : positioned;
            inlay_status status = inlay_forward(layer, cases[i].batch, out, ROW_BYTES, &executor, NULL);
            EXPECT(status == INLAY_OK, "case %zu: %s", i, inlay_status_string(status));
            EXPECT(arena_untouched_outside(&written, out, n, ROW_BYTES, ROW_BYTES), "case %zu wrote outside", i);
            EXPECT(overwrite.values[0] == values[v], "the executor never ran");
        }
    inlay_layer_destroy(positioned);
    inlay_layer_destroy(segmented);
    inlay_layer_destroy(cached);
    inlay_sinusoid_destroy(sinusoid);
    arena_free(&table);
    arena_free(&written);
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "promises", make_fixture, free_fixture, hot_calls_allocate_nothing,
                     a_stack_of_64_kib_is_enough, signal_handlers_may_call, threads_share_a_layer, loads_happen_once,
                     what_changes_after_validation_stays_in_bounds);
}
