/* SPDX-License-Identifier: MIT */
/*
 * inlay_backward() against the reference, with the layers and batches of test_calls.c: the same statuses, faults and
 * bits, for every number of parts and in every floating-point environment, and nothing written outside the rows. Also
 * its errors.
 */
#include "support/calls.h"
#include "support/reference.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TABLES = 3, MAX_DIM = 512, MAX_BYTES = MAX_TABLE_ROWS * (MAX_DIM * 4 + 68), OUT_BYTES = 700000 };

/* Gradients of a call's tables between guard pages, and their expected values. */
struct gradient {
    struct arena arena;
    unsigned char *rows, *expected;
    size_t count, stride_bytes;
};

static struct arena outputs;
static struct gradient gradients[TABLES];

static void prepare(void)
{
    outputs = arena_make(OUT_BYTES + 4096);
    for (int i = 0; i < TABLES; i++) {
        gradients[i].arena = arena_make(MAX_BYTES);
        gradients[i].expected = malloc(MAX_BYTES);
    }
}

static void release(void)
{
    arena_free(&outputs);
    for (int i = 0; i < TABLES; i++) {
        arena_free(&gradients[i].arena);
        free(gradients[i].expected);
    }
}

/* Draws gradients for a table, which may be absent, or not wanted. Returns their rows. */
static void *draw_gradient(struct gradient *gradient, struct source *source, const inlay_table *table, size_t dim)
{
    gradient->rows = NULL;
    if (table == NULL || table->rows == 0 || one_in(source, 5))
        return NULL;
    gradient->count = table->rows;
    gradient->stride_bytes = dim * 4 + (one_in(source, 2) ? choose(source, 67) : 0);
    const size_t bytes = (gradient->count - 1) * gradient->stride_bytes + dim * 4;
    gradient->rows = arena_place(&gradient->arena, bytes, one_in(source, 2) ? AT_END : INSIDE, choose(source, 64));
    random_rows(&source->random, gradient->rows, gradient->count, dim, gradient->stride_bytes);
    memcpy(gradient->expected, gradient->rows, bytes);
    return gradient->rows;
}

/* Returns the gradients of a call, or with `expected` the copies that the reference adds to. */
static inlay_gradients gradients_of(size_t dim, bool expected)
{
    inlay_gradients all = inlay_gradients_none(dim);
    void **rows[TABLES] = {&all.tokens, &all.positions, &all.segments};
    size_t *strides[TABLES] = {&all.tokens_stride_bytes, &all.positions_stride_bytes, &all.segments_stride_bytes};
    for (int i = 0; i < TABLES; i++)
        if (gradients[i].rows != NULL) {
            *rows[i] = expected ? gradients[i].expected : gradients[i].rows;
            *strides[i] = gradients[i].stride_bytes;
        }
    return all;
}

static bool same_gradient(const struct gradient *gradient, size_t dim)
{
    for (size_t row = 0; row < gradient->count; row++)
        for (size_t column = 0; column < dim; column++)
            if (!same_float(float_at(gradient->rows + row * gradient->stride_bytes, column),
                            float_at(gradient->expected + row * gradient->stride_bytes, column)))
                return false;
    return arena_untouched_outside(&gradient->arena, gradient->rows, gradient->count, gradient->stride_bytes, dim * 4);
}

/* Runs a call that was drawn, in one of the floating-point environments. Returns its status. */
static inlay_status check_call(struct call *call, struct source *source, uint64_t seed)
{
    const size_t dim = call->tokens.dim;
    call->spec.out_type = INLAY_F32;
    call->stride = call->stride < dim * 4 ? dim * 4 : call->stride;
    const size_t bytes = call->rows > 0 ? (call->rows - 1) * call->stride + dim * 4 : 0;
    unsigned char *from = arena_place(&outputs, bytes, AT_END, 0);
    random_rows(&source->random, from, call->rows, dim, call->stride);
    draw_gradient(&gradients[0], source, &call->tokens, dim);
    draw_gradient(&gradients[1], source, call->spec.positions, dim);
    draw_gradient(&gradients[2], source, call->spec.segments, dim);
    const inlay_gradients expected = gradients_of(dim, true), given = gradients_of(dim, false);

    inlay_fault must_fault = {.sequence = 77, .token = 77, .value = 77}, fault = must_fault;
    const inlay_status must = reference_backward(&call->spec, &call->batch, from, call->stride, &expected, &must_fault);
    if (must == INLAY_OK)
        must_fault = fault;
    inlay_layer *layer = make_layer_of(&call->spec);
    set_environment((int)choose(source, ENVIRONMENTS));
    const inlay_status status =
        inlay_backward(layer, &call->batch, from, call->stride, &given, call->threads ? &call->executor : NULL, &fault);
    set_environment(0);
    inlay_layer_destroy(layer);
    EXPECT(status == must && fault.sequence == must_fault.sequence && fault.token == must_fault.token &&
               fault.value == must_fault.value,
           "seed %lu: \"%s\" at [%zu][%zu], expected \"%s\" at [%zu][%zu]", (unsigned long)seed,
           inlay_status_string(status), fault.sequence, fault.token, inlay_status_string(must), must_fault.sequence,
           must_fault.token);
    for (int i = 0; i < TABLES; i++)
        EXPECT(gradients[i].rows == NULL || same_gradient(&gradients[i], dim), "seed %lu: other gradients of table %d",
               (unsigned long)seed, i);
    return status;
}

static void compare_calls(uint64_t first_seed, uint64_t n, const struct call_sizes *sizes)
{
    unsigned long succeeded = 0, failed = 0;
    calls_prepare(sizes);
    for (uint64_t seed = first_seed; seed < first_seed + n; seed++) {
        struct source source = {.random = {seed * UINT64_C(0x9e3779b97f4a7c15)}};
        struct call call;
        call_draw(&call, &source, sizes);
        if (check_call(&call, &source, seed) == INLAY_OK)
            succeeded++;
        else
            failed++;
        call_end(&call);
    }
    EXPECT(succeeded > failed && failed > 0, "%lu calls succeed, %lu fail", succeeded, failed);
}

START_TEST(small_calls)
{
    static const size_t dims[] = {1, 2, 3, 16, 17, 31, 32, 64, 100, 128};
    const struct call_sizes sizes = {dims, sizeof dims / sizeof *dims, 128, 60, 40000};
    compare_calls((uint64_t)_i * 1000, 1000, &sizes);
}
END_TEST

/* Outputs large enough to be split by executors. */
START_TEST(calls_in_parts)
{
    static const size_t dims[] = {63, 64, 129, 256, 511, 512};
    const struct call_sizes sizes = {dims, sizeof dims / sizeof *dims, MAX_DIM, 1500, OUT_BYTES};
    compare_calls(1000000, 200, &sizes);
}
END_TEST

/* ---- Parts ---- */

/* An executor that counts tasks, and runs the last one first. */
static void run_counted(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    *(size_t *)ctx += count;
    while (count > 0)
        task(arg, --count);
}

/* Every thread gets columns, if there are at least 64 for each and enough bytes. */
START_TEST(threads_get_columns)
{
    enum { N = 1000, DIM = 200 };
    static float from[N][DIM], to[2][DIM];
    static const uint8_t ids[N];
    const inlay_table tokens = inlay_table_f32(to, 2, DIM);
    const inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    inlay_layer *layer = make_layer_of(&spec);
    inlay_batch batch = inlay_batch_i32(NULL, 1, N, 0);
    batch.ids = ids;
    batch.id_type = INLAY_ID_U8;
    static float sums[2][DIM];
    static const struct {
        size_t threads, length, parts;
    } cases[] = {{2, N, 2}, {3, N, 3}, {8, N, 3}, {2, 100, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t parts = 0;
        const inlay_executor executor = {&parts, run_counted, cases[i].threads};
        inlay_gradients given = inlay_gradients_none(DIM);
        given.tokens = sums;
        batch.length = cases[i].length;
        ck_assert_int_eq(inlay_backward(layer, &batch, from, sizeof *from, &given, &executor, NULL), INLAY_OK);
        EXPECT(parts == cases[i].parts, "%zu parts for %zu threads, expected %zu", parts, cases[i].threads,
               cases[i].parts);
    }
    inlay_layer_destroy(layer);
}
END_TEST

/* With pooling, the tokens count, not the single row of their gradient. */
START_TEST(threads_get_columns_of_pooled_rows)
{
    enum { N = 1000, DIM = 200 };
    static float from[DIM], to[2][DIM], sums[2][DIM];
    static const uint8_t ids[N];
    static const int64_t offsets[] = {0, N};
    const inlay_table tokens = inlay_table_f32(to, 2, DIM);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.pooling = INLAY_POOLING_MEAN;
    inlay_layer *layer = make_layer_of(&spec);
    inlay_batch batch = inlay_batch_i32(NULL, 1, N, 0);
    batch.ids = ids;
    batch.id_type = INLAY_ID_U8;
    inlay_gradients given = inlay_gradients_none(DIM);
    given.tokens = sums;
    for (int ragged = 0; ragged < 2; ragged++) {
        size_t parts = 0;
        const inlay_executor executor = {&parts, run_counted, 2};
        batch.offsets = ragged ? offsets : NULL;
        ck_assert_int_eq(inlay_backward(layer, &batch, from, sizeof from, &given, &executor, NULL), INLAY_OK);
        EXPECT(parts == 2, "%zu parts for 2 threads", parts);
    }
    inlay_layer_destroy(layer);
}
END_TEST

/* ---- Errors ---- */

enum { DIM = 4, ROWS = 8, SEQ = 6 };

static float tables[TABLES][ROWS][DIM], from[SEQ][DIM], to[TABLES][ROWS][DIM];
static int32_t ids[SEQ];

#define EXPECT_BACKWARD(wanted, field, value)                                                                          \
    do {                                                                                                               \
        inlay_gradients changed = given;                                                                               \
        changed.field = (value);                                                                                       \
        expect_status(layer, &batch, &changed, wanted, #field " = " #value);                                           \
    } while (0)

static void expect_status(const inlay_layer *layer, const inlay_batch *batch, const inlay_gradients *given,
                          inlay_status wanted, const char *what)
{
    float before[TABLES][ROWS][DIM];
    memcpy(before, to, sizeof to);
    errno = 0;
    const inlay_status status = inlay_backward(layer, batch, from, sizeof *from, given, NULL, NULL);
    EXPECT(status == wanted, "%s: \"%s\", expected \"%s\"", what, inlay_status_string(status),
           inlay_status_string(wanted));
    EXPECT(errno == 0 && (status == INLAY_OK || memcmp(before, to, sizeof to) == 0), "%s: a failed call wrote", what);
}

START_TEST(errors)
{
    const inlay_table tokens = inlay_table_f32(tables[0], ROWS, DIM), learned = inlay_table_f32(tables[1], ROWS, DIM),
                      types = inlay_table_f32(tables[2], ROWS, DIM);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.positions = &learned;
    spec.segments = &types;
    inlay_layer *layer = make_layer_of(&spec);
    inlay_batch batch = inlay_batch_i32(ids, 1, SEQ, 0);
    inlay_gradients given = inlay_gradients_none(DIM);
    for (size_t i = 0; i < SEQ * DIM; i++)
        from[i / DIM][i % DIM] = 1;
    expect_status(layer, &batch, &given, INLAY_OK, "nothing is wanted");
    given.tokens = to[0];
    given.positions = to[1];
    given.segments = to[2];
    EXPECT_BACKWARD(INLAY_OK, segments, NULL);
    EXPECT_BACKWARD(INLAY_ERROR_OPTION, size, sizeof given - 1);
    EXPECT_BACKWARD(INLAY_ERROR_STRIDE, tokens_stride_bytes, DIM * 4 - 1);
    EXPECT_BACKWARD(INLAY_ERROR_STRIDE, positions_stride_bytes, 0);
    EXPECT_BACKWARD(INLAY_ERROR_STRIDE, segments_stride_bytes, 3);
    EXPECT_BACKWARD(INLAY_ERROR_OVERFLOW, segments_stride_bytes, SIZE_MAX / 2);
    EXPECT_BACKWARD(INLAY_ERROR_OVERLAP, positions, &to[0][ROWS - 1][DIM - 1]);
    EXPECT_BACKWARD(INLAY_ERROR_OVERLAP, segments, to[0]);
    EXPECT_BACKWARD(INLAY_ERROR_OVERLAP, tokens, tables[1]);
    EXPECT_BACKWARD(INLAY_ERROR_OVERLAP, positions, from);
    EXPECT_BACKWARD(INLAY_ERROR_OVERLAP, segments, ids);
    batch.sequences = 0;
    EXPECT_BACKWARD(INLAY_ERROR_STRIDE, tokens_stride_bytes, 0);
    EXPECT_BACKWARD(INLAY_OK, tokens, to[0]);
    batch.sequences = 1;
    ids[3] = ROWS;
    expect_status(layer, &batch, &given, INLAY_ERROR_ID, "a bad id");
    ids[3] = 0;
    batch.start = ROWS;
    expect_status(layer, &batch, &given, INLAY_ERROR_POSITION, "a bad position");
    batch.start = 0;
    expect_status(NULL, &batch, &given, INLAY_ERROR_NULL, "no layer");
    expect_status(layer, NULL, &given, INLAY_ERROR_NULL, "no batch");
    expect_status(layer, &batch, NULL, INLAY_ERROR_NULL, "no gradients");
    ck_assert_int_eq(inlay_backward(layer, &batch, NULL, sizeof *from, &given, NULL, NULL), INLAY_ERROR_NULL);
    ck_assert_int_eq(inlay_backward(layer, &batch, from, 15, &given, NULL, NULL), INLAY_ERROR_STRIDE);
    const inlay_executor incomplete = {NULL, NULL, 1};
    ck_assert_int_eq(inlay_backward(layer, &batch, from, 16, &given, &incomplete, NULL), INLAY_ERROR_NULL);
    inlay_layer_destroy(layer);
}
END_TEST

/* Gradients of absent terms, or of outputs that aren't float32. */
START_TEST(gradients_of_other_layers)
{
    const inlay_table tokens = inlay_table_f32(tables[0], ROWS, DIM);
    const inlay_batch batch = inlay_batch_i32(ids, 1, SEQ, 0);
    inlay_gradients given = inlay_gradients_none(DIM);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    inlay_layer *layer = make_layer_of(&spec);
    EXPECT_BACKWARD(INLAY_OK, tokens, to[0]);
    EXPECT_BACKWARD(INLAY_ERROR_OPTION, positions, to[1]);
    EXPECT_BACKWARD(INLAY_ERROR_OPTION, segments, to[2]);
    inlay_layer_destroy(layer);
    inlay_sinusoid *sinusoid = make_sinusoid(DIM, 10000, INLAY_SINUSOID_LAYOUT_SPLIT);
    spec.sinusoid = sinusoid;
    layer = make_layer_of(&spec);
    EXPECT_BACKWARD(INLAY_OK, tokens, to[0]);
    EXPECT_BACKWARD(INLAY_ERROR_OPTION, positions, to[1]);
    inlay_layer_destroy(layer);
    inlay_sinusoid_destroy(sinusoid);
    spec.sinusoid = NULL;
    spec.out_type = INLAY_BF16;
    layer = make_layer_of(&spec);
    EXPECT_BACKWARD(INLAY_ERROR_OPTION, tokens, to[0]);
    inlay_layer_destroy(layer);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("backward");
    TCase *calls = tcase_create("calls");
    tcase_add_checked_fixture(calls, prepare, release);
    tcase_set_timeout(calls, 600);
    tcase_add_loop_test(calls, small_calls, 0, 4);
    tcase_add_test(calls, calls_in_parts);
    tcase_add_test(calls, threads_get_columns);
    tcase_add_test(calls, threads_get_columns_of_pooled_rows);
    tcase_add_test(calls, errors);
    tcase_add_test(calls, gradients_of_other_layers);
    suite_add_tcase(suite, calls);
    return run_suite(argc, argv, suite);
}
