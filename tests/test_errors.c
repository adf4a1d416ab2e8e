/* SPDX-License-Identifier: MIT */
/*
 * Every error, for every argument that can cause it: the right status, the place of the fault, and an output that
 * nobody touched.
 */
#include "support.h"

#include "base/arguments.h"
#include "table/ids.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 4, ROWS = 8, BATCH = 2, SEQ = 3, TOKENS = BATCH * SEQ, ROW_BYTES = DIM * sizeof(float) };

static float table[ROWS][DIM];
static struct arena out;
static inlay_sinusoid *sinusoid;

static void make_all(void)
{
    out = arena_make(TOKENS * ROW_BYTES);
    sinusoid = make_sinusoid(DIM, 10000, INLAY_SINUSOID_LAYOUT_INTERLEAVED);
}

static void free_all(void)
{
    inlay_sinusoid_destroy(sinusoid);
    arena_free(&out);
}

static inlay_table good_rows(void)
{
    return inlay_table_f32(table, ROWS, DIM);
}

static inlay_layer *make_layer(const inlay_table *tokens, const inlay_sinusoid *formula, const inlay_table *learned)
{
    inlay_layer_spec spec = inlay_layer_spec_default(tokens);
    spec.sinusoid = formula;
    spec.positions = learned;
    spec.cached_positions = 2;
    inlay_layer *layer;
    ck_assert_int_eq(inlay_layer_create(&spec, NULL, &layer), INLAY_OK);
    return layer;
}

#define EXPECT_STATUS(call, wanted)                                                                                    \
    do {                                                                                                               \
        arena_place(&out, 0, AT_BEGIN, 0);                                                                             \
        errno = 0;                                                                                                     \
        inlay_status got = (call);                                                                                     \
        EXPECT(got == (wanted), "%s is \"%s\", not \"%s\"", #call, inlay_status_string(got),                           \
               inlay_status_string(wanted));                                                                           \
        EXPECT((wanted) == INLAY_OK || arena_untouched(&out), "%s wrote to its output", #call);                        \
        EXPECT(errno == 0, "%s touched errno", #call);                                                                 \
    } while (0)

START_TEST(every_status_has_its_own_sentence)
{
    for (int a = INLAY_OK; a <= INLAY_ERROR_SEGMENT; a++)
        for (int b = INLAY_OK; b < a; b++)
            EXPECT(strcmp(inlay_status_string((inlay_status)a), inlay_status_string((inlay_status)b)) != 0,
                   "status %d and %d read the same", a, b);
    EXPECT(inlay_status_string((inlay_status)-1) != NULL && inlay_status_string((inlay_status)999) != NULL,
           "no sentence outside the enum");
}
END_TEST

START_TEST(version_is_that_of_the_header)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", INLAY_VERSION_MAJOR, INLAY_VERSION_MINOR, INLAY_VERSION_PATCH);
    EXPECT(strcmp(inlay_version(), text) == 0, "version %s is not %s", inlay_version(), text);
    EXPECT(strcmp(inlay_version(), MESON_VERSION) == 0, "version %s is not Meson's %s", inlay_version(), MESON_VERSION);
}
END_TEST

/* What is wrong with a view is found wherever a view is taken. */
static void expect_bad_view(const inlay_table *view, inlay_status wanted)
{
    const int32_t ids[1] = {0};
    EXPECT_STATUS(inlay_gather(view, ids, INLAY_ID_I32, 1, 1, out.begin, ROW_BYTES, NULL, NULL), wanted);
    EXPECT_STATUS(inlay_add_positions(out.begin, ROW_BYTES, 1, 1, view, 0, NULL, NULL), wanted);
    inlay_table tokens = good_rows();
    inlay_layer *layer = (inlay_layer *)1;
    inlay_layer_spec spec = inlay_layer_spec_default(view);
    EXPECT_STATUS(inlay_layer_create(&spec, NULL, &layer), wanted);
    EXPECT(layer == NULL, "a failed creation left a handle");
    spec = inlay_layer_spec_default(&tokens);
    spec.positions = view;
    EXPECT_STATUS(inlay_layer_create(&spec, NULL, &layer), wanted);
}

START_TEST(bad_views)
{
    inlay_table view;
    /* One byte more is a later version, if it is zero; behind this one lies another. */
    struct {
        inlay_table view;
        unsigned char behind;
    } larger = {good_rows(), 1};
    larger.view.size++;
    expect_bad_view(&larger.view, INLAY_ERROR_OPTION);
    static const size_t sizes[] = {0, 1, sizeof view - 1, 1025, UINT32_MAX, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        view = good_rows();
        view.size = sizes[i];
        expect_bad_view(&view, INLAY_ERROR_OPTION);
    }
    view = good_rows();
    view.type = (inlay_element_type)0;
    expect_bad_view(&view, INLAY_ERROR_OPTION);
    view.type = (inlay_element_type)77;
    expect_bad_view(&view, INLAY_ERROR_OPTION);
    view = good_rows();
    view.group = 1;
    expect_bad_view(&view, INLAY_ERROR_OPTION);
    view = good_rows();
    view.dim = 0;
    expect_bad_view(&view, INLAY_ERROR_SHAPE);
    view = good_rows();
    view.stride_bytes = ROW_BYTES - 1;
    expect_bad_view(&view, INLAY_ERROR_STRIDE);
    view.stride_bytes = 0;
    expect_bad_view(&view, INLAY_ERROR_STRIDE);
    view = good_rows();
    view.data = NULL;
    expect_bad_view(&view, INLAY_ERROR_NULL);
    view = good_rows();
    view.dim = SIZE_MAX / 2;
    expect_bad_view(&view, INLAY_ERROR_OVERFLOW);
    view = good_rows();
    view.rows = SIZE_MAX / 8;
    expect_bad_view(&view, INLAY_ERROR_OVERFLOW);
    view = good_rows();
    view.stride_bytes = SIZE_MAX / 4;
    expect_bad_view(&view, INLAY_ERROR_OVERFLOW);
}
END_TEST

START_TEST(structs_of_later_versions)
{
    struct {
        inlay_table known;
        uint64_t appended;
    } later = {good_rows(), 0};
    later.known.size = sizeof later;
    const int32_t ids[1] = {1};
    EXPECT_STATUS(inlay_gather(&later.known, ids, INLAY_ID_I32, 1, 1, out.begin, ROW_BYTES, NULL, NULL), INLAY_OK);
    /* A layer keeps what it knows of both views, and their extents. */
    static float own_table[ROWS][DIM];
    later.known.data = own_table;
    inlay_table other = good_rows();
    for (int i = 0; i < 2; i++) {
        inlay_layer *layer = i == 0 ? make_layer(&later.known, NULL, &other) : make_layer(&other, NULL, &later.known);
        inlay_batch batch = inlay_batch_i32(ids, 1, 1, 0);
        EXPECT_STATUS(inlay_forward(layer, &batch, own_table, ROW_BYTES, NULL, NULL), INLAY_ERROR_OVERLAP);
        EXPECT_STATUS(inlay_forward(layer, &batch, out.begin, ROW_BYTES, NULL, NULL), INLAY_OK);
        inlay_layer_destroy(layer);
    }
    later.appended = 1;
    EXPECT_STATUS(inlay_gather(&later.known, ids, INLAY_ID_I32, 1, 1, out.begin, ROW_BYTES, NULL, NULL), INLAY_ERROR_OPTION);
}
END_TEST

START_TEST(bad_ids)
{
    static const int64_t bad[] = {-1,
                                  INT32_MIN,
                                  INT64_MIN,
                                  ROWS,
                                  ROWS + 1,
                                  INT32_MAX,
                                  UINT32_MAX,
                                  INT64_MAX,
                                  INT64_C(1) << 32,
                                  (INT64_C(1) << 32) + 1};
    inlay_table tokens = good_rows();
    inlay_layer *layer = make_layer(&tokens, sinusoid, NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (size_t place = 0; place < TOKENS; place++) {
            int64_t wide[TOKENS] = {0, ROWS - 1, 0, ROWS - 1, 0, 1};
            int32_t narrow[TOKENS] = {0, ROWS - 1, 0, ROWS - 1, 0, 1};
            wide[place] = bad[i];
            inlay_fault fault = {99, 99, 99};
            inlay_batch batch = inlay_batch_i64(wide, BATCH, SEQ, 0);
            EXPECT_STATUS(inlay_forward(layer, &batch, out.begin, ROW_BYTES, NULL, &fault), INLAY_ERROR_ID);
            EXPECT(fault.sequence == place / SEQ && fault.token == place % SEQ && fault.value == bad[i],
                   "fault is at [%zu][%zu] = %ld", fault.sequence, fault.token, (long)fault.value);
            EXPECT_STATUS(inlay_forward(layer, &batch, out.begin, ROW_BYTES, NULL, NULL), INLAY_ERROR_ID);
            EXPECT_STATUS(inlay_gather(&tokens, wide, INLAY_ID_I64, TOKENS, 1, out.begin, ROW_BYTES, NULL, &fault),
                          INLAY_ERROR_ID);
            EXPECT(fault.sequence == 0 && fault.token == place && fault.value == bad[i], "fault of gather");
            if (bad[i] < INT32_MIN || bad[i] > INT32_MAX)
                continue;
            narrow[place] = (int32_t)bad[i];
            EXPECT_STATUS(inlay_gather(&tokens, narrow, INLAY_ID_I32, TOKENS, 1, out.begin, ROW_BYTES, NULL, &fault),
                          INLAY_ERROR_ID);
            EXPECT(fault.token == place && fault.value == bad[i], "fault of gather, int32");
        }
    /* The first of several, the last of many. */
    enum { MANY = 100000 };
    int32_t *many = calloc(MANY, sizeof *many);
    float *large = malloc(MANY * sizeof *large);
    float one_column[ROWS] = {0};
    inlay_table narrow_table = inlay_table_f32(one_column, ROWS, 1);
    inlay_fault fault;
    many[MANY - 1] = ROWS;
    EXPECT_STATUS(inlay_gather(&narrow_table, many, INLAY_ID_I32, MANY, 1, large, 4, NULL, &fault), INLAY_ERROR_ID);
    EXPECT(fault.token == MANY - 1 && fault.value == ROWS, "the last of many");
    many[5000] = -7;
    EXPECT_STATUS(inlay_gather(&narrow_table, many, INLAY_ID_I32, MANY, 1, large, 4, NULL, &fault), INLAY_ERROR_ID);
    EXPECT(fault.token == 5000 && fault.value == -7, "the first of several");
    free(large);
    free(many);
    /* A table without rows has no valid id. */
    inlay_table empty = inlay_table_f32(NULL, 0, DIM);
    const int32_t zero[1] = {0};
    EXPECT_STATUS(inlay_gather(&empty, zero, INLAY_ID_I32, 1, 1, out.begin, ROW_BYTES, NULL, &fault), INLAY_ERROR_ID);
    EXPECT_STATUS(inlay_gather(&empty, zero, INLAY_ID_I32, 0, 1, out.begin, ROW_BYTES, NULL, &fault), INLAY_OK);
    inlay_layer_destroy(layer);
}
END_TEST

/* Tables of more rows than an int32 can name. */
START_TEST(ids_at_the_edge_of_int32)
{
    const int32_t narrow[3] = {INT32_MAX, -1, INT32_MIN};
    EXPECT(inlay_first_bad_id(narrow, INLAY_ID_I32, 1, INT32_MAX) == 0, "INT32_MAX of INT32_MAX rows");
    EXPECT(inlay_first_bad_id(narrow, INLAY_ID_I32, 1, (size_t)INT32_MAX + 1) == 1, "INT32_MAX of 2^31 rows");
    EXPECT(inlay_first_bad_id(narrow, INLAY_ID_I32, 2, (size_t)INT32_MAX + 1) == 1, "-1 of 2^31 rows");
    EXPECT(inlay_first_bad_id(narrow, INLAY_ID_I32, 2, SIZE_MAX) == 1, "-1 of SIZE_MAX rows");
    EXPECT(inlay_first_bad_id(narrow + 2, INLAY_ID_I32, 1, SIZE_MAX) == 0, "INT32_MIN of SIZE_MAX rows");
    const int64_t wide[2] = {INT64_MAX, -1};
    EXPECT(inlay_first_bad_id(wide, INLAY_ID_I64, 1, INT32_MAX) == 0, "INT64_MAX of INT32_MAX rows");
    EXPECT(inlay_first_bad_id(wide + 1, INLAY_ID_I64, 1, SIZE_MAX) == 0, "-1 of SIZE_MAX rows, int64");
}
END_TEST

START_TEST(bad_positions)
{
    inlay_table tokens = good_rows(), learned = inlay_table_f32(table, 5, DIM);
    const int32_t ids[TOKENS] = {0};
    inlay_layer *formula = make_layer(&tokens, sinusoid, NULL), *table_layer = make_layer(&tokens, NULL, &learned);
    inlay_layer *plain = make_layer(&tokens, NULL, NULL);
    static const struct {
        int64_t start;
        inlay_status formula, learned;
        size_t token_formula, token_learned;
    } cases[] = {
        {0, INLAY_OK, INLAY_OK, 0, 0},
        {2, INLAY_OK, INLAY_OK, 0, 0},
        {3, INLAY_OK, INLAY_ERROR_POSITION, 0, 2},
        {5, INLAY_OK, INLAY_ERROR_POSITION, 0, 0},
        {6, INLAY_OK, INLAY_ERROR_POSITION, 0, 0},
        {-1, INLAY_ERROR_POSITION, INLAY_ERROR_POSITION, 0, 0},
        {INT64_MIN, INLAY_ERROR_POSITION, INLAY_ERROR_POSITION, 0, 0},
        {INLAY_POSITION_LIMIT - 3, INLAY_OK, INLAY_ERROR_POSITION, 0, 0},
        {INLAY_POSITION_LIMIT - 2, INLAY_ERROR_POSITION, INLAY_ERROR_POSITION, 2, 0},
        {INLAY_POSITION_LIMIT, INLAY_ERROR_POSITION, INLAY_ERROR_POSITION, 0, 0},
        {UINT32_MAX, INLAY_ERROR_POSITION, INLAY_ERROR_POSITION, 0, 0},
        {INT64_MAX, INLAY_ERROR_POSITION, INLAY_ERROR_POSITION, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        inlay_batch batch = inlay_batch_i32(ids, BATCH, SEQ, cases[i].start);
        inlay_fault fault = {99, 99, 99};
        EXPECT_STATUS(inlay_forward(formula, &batch, out.begin, ROW_BYTES, NULL, &fault), cases[i].formula);
        if (cases[i].formula != INLAY_OK)
            EXPECT(fault.sequence == 0 && fault.token == cases[i].token_formula &&
                       fault.value == cases[i].start + (int64_t)fault.token,
                   "case %zu: fault at token %zu, position %ld", i, fault.token, (long)fault.value);
        EXPECT_STATUS(inlay_forward(table_layer, &batch, out.begin, ROW_BYTES, NULL, &fault), cases[i].learned);
        if (cases[i].learned != INLAY_OK)
            EXPECT(fault.token == cases[i].token_learned && fault.value == cases[i].start + (int64_t)fault.token,
                   "case %zu: fault at token %zu, position %ld of the table", i, fault.token, (long)fault.value);
        EXPECT_STATUS(inlay_forward(plain, &batch, out.begin, ROW_BYTES, NULL, &fault), INLAY_OK);
        EXPECT_STATUS(inlay_sinusoid_rows(sinusoid, cases[i].start, SEQ, INLAY_F32, out.begin, ROW_BYTES, NULL),
                      cases[i].formula);
        EXPECT_STATUS(inlay_add_positions(out.begin, ROW_BYTES, BATCH, SEQ, &learned, cases[i].start, NULL, &fault),
                      cases[i].learned);
    }
    inlay_table no_rows = inlay_table_f32(NULL, 0, DIM);
    inlay_layer *empty = make_layer(&tokens, NULL, &no_rows);
    inlay_batch batch = inlay_batch_i32(ids, BATCH, SEQ, 0);
    inlay_fault fault;
    EXPECT_STATUS(inlay_forward(empty, &batch, out.begin, ROW_BYTES, NULL, &fault), INLAY_ERROR_POSITION);
    inlay_layer_destroy(empty);
    inlay_layer_destroy(plain);
    inlay_layer_destroy(formula);
    inlay_layer_destroy(table_layer);
}
END_TEST

START_TEST(forward_arguments)
{
    inlay_table tokens = good_rows();
    inlay_layer *layer = make_layer(&tokens, sinusoid, NULL);
    const int32_t ids[TOKENS] = {0};
    inlay_batch good = inlay_batch_i32(ids, BATCH, SEQ, 0), batch;
    EXPECT_STATUS(inlay_forward(layer, &good, out.begin, ROW_BYTES, NULL, NULL), INLAY_OK);
    EXPECT_STATUS(inlay_forward(NULL, &good, out.begin, ROW_BYTES, NULL, NULL), INLAY_ERROR_NULL);
    EXPECT_STATUS(inlay_forward(layer, NULL, out.begin, ROW_BYTES, NULL, NULL), INLAY_ERROR_NULL);
    EXPECT_STATUS(inlay_forward(layer, &good, NULL, ROW_BYTES, NULL, NULL), INLAY_ERROR_NULL);
    EXPECT_STATUS(inlay_forward(layer, &good, out.begin, ROW_BYTES - 1, NULL, NULL), INLAY_ERROR_STRIDE);
    EXPECT_STATUS(inlay_forward(layer, &good, out.begin, 0, NULL, NULL), INLAY_ERROR_STRIDE);
    EXPECT_STATUS(inlay_forward(layer, &good, out.begin, SIZE_MAX / 2, NULL, NULL), INLAY_ERROR_OVERFLOW);
    EXPECT_STATUS(inlay_forward(layer, &good, (void *)(UINTPTR_MAX - 8), ROW_BYTES, NULL, NULL), INLAY_ERROR_OVERFLOW);
    batch = good;
    batch.ids = NULL;
    EXPECT_STATUS(inlay_forward(layer, &batch, out.begin, ROW_BYTES, NULL, NULL), INLAY_ERROR_NULL);
    batch = good;
    batch.id_type = (inlay_id_type)0;
    EXPECT_STATUS(inlay_forward(layer, &batch, out.begin, ROW_BYTES, NULL, NULL), INLAY_ERROR_OPTION);
    batch.id_type = (inlay_id_type)9;
    EXPECT_STATUS(inlay_forward(layer, &batch, out.begin, ROW_BYTES, NULL, NULL), INLAY_ERROR_OPTION);
    batch = good;
    batch.position_id_type = INLAY_ID_I64; /* of positions that are not there */
    EXPECT_STATUS(inlay_forward(layer, &batch, out.begin, ROW_BYTES, NULL, NULL), INLAY_ERROR_OPTION);
    batch = good;
    batch.size--;
    EXPECT_STATUS(inlay_forward(layer, &batch, out.begin, ROW_BYTES, NULL, NULL), INLAY_ERROR_OPTION);
    batch = inlay_batch_i32(ids, SIZE_MAX / 2, 3, 0);
    EXPECT_STATUS(inlay_forward(layer, &batch, out.begin, ROW_BYTES, NULL, NULL), INLAY_ERROR_OVERFLOW);
    /* batch * seq * dim * 4 is a multiple of 2^64 (or of 2^32). */
    batch = inlay_batch_i32(ids, (SIZE_MAX >> 4) + 1, 1, 0);
    EXPECT_STATUS(inlay_forward(layer, &batch, out.begin, ROW_BYTES, NULL, NULL), INLAY_ERROR_OVERFLOW);
    /* No work, nothing looked at. */
    batch = inlay_batch_i32(NULL, 0, SEQ, -5);
    EXPECT_STATUS(inlay_forward(layer, &batch, NULL, ROW_BYTES, NULL, NULL), INLAY_OK);
    EXPECT(arena_untouched(&out), "a call without work wrote");
    batch = inlay_batch_i32(NULL, BATCH, 0, 0);
    EXPECT_STATUS(inlay_forward(layer, &batch, NULL, ROW_BYTES, NULL, NULL), INLAY_OK);
    inlay_layer_destroy(layer);
}
END_TEST

START_TEST(overlaps)
{
    /* One block of memory: table, positions, ids; the output is put across each border of each of them. */
    enum { BLOCK = 64 * ROW_BYTES };
    static unsigned char block[BLOCK], before[BLOCK];
    memset(block, 0, sizeof block);
    memcpy(before, block, sizeof before);
    unsigned char *tokens_at = block + 10 * ROW_BYTES, *positions_at = block + 25 * ROW_BYTES;
    unsigned char *ids_at = block + 40 * ROW_BYTES;
    inlay_table tokens = inlay_table_f32(tokens_at, 4, DIM), learned = inlay_table_f32(positions_at, 4, DIM);
    inlay_layer *layer = make_layer(&tokens, NULL, &learned);
    inlay_batch batch = inlay_batch_i32(NULL, 1, 2, 0);
    batch.ids = ids_at;
    const struct {
        unsigned char *at;
        size_t bytes;
    } inputs[] = {{tokens_at, 4 * ROW_BYTES}, {positions_at, 4 * ROW_BYTES}, {ids_at, 2 * sizeof(int32_t)}};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        unsigned char *end = inputs[i].at + inputs[i].bytes;
        unsigned char *overlapping[] = {inputs[i].at, inputs[i].at - 2 * ROW_BYTES + 1, end - 1, inputs[i].at + 1};
        for (size_t k = 0; k < sizeof overlapping / sizeof *overlapping; k++) {
            EXPECT_STATUS(inlay_forward(layer, &batch, overlapping[k], ROW_BYTES, NULL, NULL), INLAY_ERROR_OVERLAP);
            if (i != 1)
                EXPECT_STATUS(inlay_gather(&tokens, ids_at, INLAY_ID_I32, 2, 1, overlapping[k], ROW_BYTES, NULL, NULL),
                              INLAY_ERROR_OVERLAP);
            if (i == 1)
                EXPECT_STATUS(inlay_add_positions(overlapping[k], ROW_BYTES, 1, 2, &learned, 0, NULL, NULL),
                              INLAY_ERROR_OVERLAP);
        }
        EXPECT(memcmp(block, before, sizeof block) == 0, "an overlapping call wrote");
        EXPECT_STATUS(inlay_forward(layer, &batch, end, ROW_BYTES, NULL, NULL), INLAY_OK);
        memset(block, 0, sizeof block);
        EXPECT_STATUS(inlay_forward(layer, &batch, inputs[i].at - 2 * ROW_BYTES, ROW_BYTES, NULL, NULL), INLAY_OK);
        memset(block, 0, sizeof block);
    }
    inlay_layer_destroy(layer);

    EXPECT_STATUS(inlay_scale(block, ROW_BYTES, 3, DIM, 2, block, ROW_BYTES, NULL), INLAY_OK);
    EXPECT_STATUS(inlay_scale(block, ROW_BYTES, 3, DIM, 2, block + 3 * ROW_BYTES, ROW_BYTES, NULL), INLAY_OK);
    EXPECT_STATUS(inlay_scale(block, ROW_BYTES, 3, DIM, 2, block + 4, ROW_BYTES, NULL), INLAY_ERROR_OVERLAP);
    EXPECT_STATUS(inlay_scale(block, ROW_BYTES, 3, DIM, 2, block + ROW_BYTES, ROW_BYTES, NULL), INLAY_ERROR_OVERLAP);
    EXPECT_STATUS(inlay_scale(block, ROW_BYTES, 3, DIM, 2, block, ROW_BYTES + 4, NULL), INLAY_ERROR_OVERLAP);
}
END_TEST

START_TEST(plain_operations)
{
    inlay_table tokens = good_rows();
    const int32_t ids[TOKENS] = {0};
    EXPECT_STATUS(inlay_gather(NULL, ids, INLAY_ID_I32, 1, 1, out.begin, ROW_BYTES, NULL, NULL), INLAY_ERROR_NULL);
    EXPECT_STATUS(inlay_gather(&tokens, NULL, INLAY_ID_I32, 1, 1, out.begin, ROW_BYTES, NULL, NULL), INLAY_ERROR_NULL);
    EXPECT_STATUS(inlay_gather(&tokens, ids, INLAY_ID_I32, 1, 1, NULL, ROW_BYTES, NULL, NULL), INLAY_ERROR_NULL);
    EXPECT_STATUS(inlay_gather(&tokens, ids, (inlay_id_type)0, 1, 1, out.begin, ROW_BYTES, NULL, NULL), INLAY_ERROR_OPTION);
    EXPECT_STATUS(inlay_gather(&tokens, ids, INLAY_ID_I32, 1, 1, out.begin, ROW_BYTES - 1, NULL, NULL), INLAY_ERROR_STRIDE);
    EXPECT_STATUS(inlay_gather(&tokens, ids, INLAY_ID_I32, SIZE_MAX, 1, out.begin, ROW_BYTES, NULL, NULL),
                  INLAY_ERROR_OVERFLOW);
    EXPECT_STATUS(
        inlay_gather(&tokens, ids, INLAY_ID_I32, PTRDIFF_MAX / ROW_BYTES + 1, 1, out.begin, ROW_BYTES, NULL, NULL),
        INLAY_ERROR_OVERFLOW);
    EXPECT_STATUS(inlay_gather(&tokens, NULL, INLAY_ID_I32, 0, 1, NULL, ROW_BYTES, NULL, NULL), INLAY_OK);

    float x[TOKENS][DIM] = {{0}};
    EXPECT_STATUS(inlay_scale(NULL, ROW_BYTES, 1, DIM, 2, out.begin, ROW_BYTES, NULL), INLAY_ERROR_NULL);
    EXPECT_STATUS(inlay_scale(x, ROW_BYTES, 1, DIM, 2, NULL, ROW_BYTES, NULL), INLAY_ERROR_NULL);
    EXPECT_STATUS(inlay_scale(x, ROW_BYTES, 1, 0, 2, out.begin, ROW_BYTES, NULL), INLAY_ERROR_SHAPE);
    EXPECT_STATUS(inlay_scale(x, ROW_BYTES - 1, 1, DIM, 2, out.begin, ROW_BYTES, NULL), INLAY_ERROR_STRIDE);
    EXPECT_STATUS(inlay_scale(x, ROW_BYTES, 1, DIM, 2, out.begin, ROW_BYTES - 1, NULL), INLAY_ERROR_STRIDE);
    EXPECT_STATUS(inlay_scale(x, ROW_BYTES, SIZE_MAX / 8, DIM, 2, out.begin, ROW_BYTES, NULL), INLAY_ERROR_OVERFLOW);
    EXPECT_STATUS(inlay_scale(NULL, ROW_BYTES, 0, DIM, 2, NULL, ROW_BYTES, NULL), INLAY_OK);

    EXPECT_STATUS(inlay_add_positions(NULL, ROW_BYTES, 1, 1, &tokens, 0, NULL, NULL), INLAY_ERROR_NULL);
    EXPECT_STATUS(inlay_add_positions(out.begin, ROW_BYTES, 1, 1, NULL, 0, NULL, NULL), INLAY_ERROR_NULL);
    EXPECT_STATUS(inlay_add_positions(out.begin, ROW_BYTES - 1, 1, 1, &tokens, 0, NULL, NULL), INLAY_ERROR_STRIDE);
    EXPECT_STATUS(inlay_add_positions(out.begin, ROW_BYTES, SIZE_MAX, 2, &tokens, 0, NULL, NULL), INLAY_ERROR_OVERFLOW);
    EXPECT_STATUS(inlay_add_positions(NULL, ROW_BYTES, 0, 1, &tokens, 0, NULL, NULL), INLAY_OK);

    EXPECT_STATUS(inlay_sinusoid_rows(NULL, 0, 1, INLAY_F32, out.begin, ROW_BYTES, NULL), INLAY_ERROR_NULL);
    EXPECT_STATUS(inlay_sinusoid_rows(sinusoid, 0, 1, INLAY_F32, NULL, ROW_BYTES, NULL), INLAY_ERROR_NULL);
    EXPECT_STATUS(inlay_sinusoid_rows(sinusoid, 0, 1, (inlay_element_type)0, out.begin, ROW_BYTES, NULL), INLAY_ERROR_OPTION);
    EXPECT_STATUS(inlay_sinusoid_rows(sinusoid, 0, 1, INLAY_F32, out.begin, ROW_BYTES - 1, NULL), INLAY_ERROR_STRIDE);
    EXPECT_STATUS(inlay_sinusoid_rows(sinusoid, 0, SIZE_MAX / 4, INLAY_F32, out.begin, ROW_BYTES, NULL),
                  INLAY_ERROR_OVERFLOW);
    EXPECT_STATUS(inlay_sinusoid_rows(sinusoid, 0, 0, INLAY_F32, NULL, ROW_BYTES, NULL), INLAY_OK);
}
END_TEST

START_TEST(sinusoid_specs)
{
    inlay_sinusoid *made = (inlay_sinusoid *)1;
    inlay_sinusoid_spec good = inlay_sinusoid_spec_default(DIM), spec;
    static const double bad_bases[] = {0, -0.0, 0.99999999999999989, -1, -10000, 1.0000000000000002e30, 1e300, 5e-324};
    for (size_t i = 0; i < sizeof bad_bases / sizeof *bad_bases; i++) {
        spec = good;
        spec.base = bad_bases[i];
        EXPECT_STATUS(inlay_sinusoid_create(&spec, NULL, &made), INLAY_ERROR_BASE);
        EXPECT(made == NULL, "a failed creation left a handle");
    }
    const double not_finite[] = {(double)INFINITY, -(double)INFINITY, (double)NAN, -(double)NAN};
    for (size_t i = 0; i < sizeof not_finite / sizeof *not_finite; i++) {
        spec = good;
        spec.base = not_finite[i];
        EXPECT_STATUS(inlay_sinusoid_create(&spec, NULL, &made), INLAY_ERROR_BASE);
    }
    spec = good;
    spec.dim = 0;
    EXPECT_STATUS(inlay_sinusoid_create(&spec, NULL, &made), INLAY_ERROR_SHAPE);
    spec.dim = (size_t)INT32_MAX + 1;
    EXPECT_STATUS(inlay_sinusoid_create(&spec, NULL, &made), INLAY_ERROR_SHAPE);
    spec = good;
    spec.layout = (inlay_sinusoid_layout)0;
    EXPECT_STATUS(inlay_sinusoid_create(&spec, NULL, &made), INLAY_ERROR_OPTION);
    spec.layout = (inlay_sinusoid_layout)4;
    EXPECT_STATUS(inlay_sinusoid_create(&spec, NULL, &made), INLAY_ERROR_OPTION);
    for (int bad = 0; bad <= 3; bad += 3) {
        spec = good;
        spec.spacing = (inlay_sinusoid_spacing)bad;
        EXPECT_STATUS(inlay_sinusoid_create(&spec, NULL, &made), INLAY_ERROR_OPTION);
    }
    for (int bad = 0; bad <= 5; bad += 5) {
        spec = good;
        spec.odd = (inlay_sinusoid_odd)bad;
        EXPECT_STATUS(inlay_sinusoid_create(&spec, NULL, &made), INLAY_ERROR_OPTION);
    }
    spec = good;
    spec.shift = 2;
    EXPECT_STATUS(inlay_sinusoid_create(&spec, NULL, &made), INLAY_ERROR_OPTION);
    spec = inlay_sinusoid_spec_recipe((inlay_recipe)(INLAY_RECIPE_MAE + 1), DIM);
    EXPECT_STATUS(inlay_sinusoid_create(&spec, NULL, &made), INLAY_ERROR_OPTION);
    spec = good;
    spec.recipe = (inlay_recipe)-1;
    EXPECT_STATUS(inlay_sinusoid_create(&spec, NULL, &made), INLAY_ERROR_OPTION);
    spec = inlay_sinusoid_spec_recipe(INLAY_RECIPE_TORCH_EXP, DIM + 1);
    EXPECT_STATUS(inlay_sinusoid_create(&spec, NULL, &made), INLAY_ERROR_SHAPE);
    static const double bad_amplitudes[] = {
        0, -1, 0x1.fffffffffffffp-21, 0x1.0000000000001p10, (double)INFINITY, (double)NAN};
    for (size_t i = 0; i < sizeof bad_amplitudes / sizeof *bad_amplitudes; i++) {
        spec = good;
        spec.amplitude = bad_amplitudes[i];
        EXPECT_STATUS(inlay_sinusoid_create(&spec, NULL, &made), INLAY_ERROR_OPTION);
    }
    spec = good;
    spec.size = 0;
    EXPECT_STATUS(inlay_sinusoid_create(&spec, NULL, &made), INLAY_ERROR_OPTION);
    EXPECT_STATUS(inlay_sinusoid_create(NULL, NULL, &made), INLAY_ERROR_NULL);
    EXPECT_STATUS(inlay_sinusoid_create(&good, NULL, NULL), INLAY_ERROR_NULL);
    inlay_sinusoid_destroy(NULL);
}
END_TEST

START_TEST(frequencies_of_the_callers)
{
    inlay_sinusoid *made = (inlay_sinusoid *)1;
    double frequencies[DIM / 2] = {1, 0.01};
    inlay_sinusoid_spec good = inlay_sinusoid_spec_default(DIM), spec;
    good.inv_freq = frequencies;
    static const double bad[] = {-1, -5e-324, 0x1.0000000000001p31, (double)INFINITY, (double)NAN, -(double)NAN};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (size_t k = 0; k < DIM / 2; k++) {
            const double kept = frequencies[k];
            frequencies[k] = bad[i];
            EXPECT_STATUS(inlay_sinusoid_create(&good, NULL, &made), INLAY_ERROR_OPTION);
            EXPECT(made == NULL, "a failed creation left a handle");
            frequencies[k] = kept;
        }
    spec = good;
    spec.recipe = INLAY_RECIPE_FAIRSEQ;
    EXPECT_STATUS(inlay_sinusoid_create(&spec, NULL, &made), INLAY_ERROR_OPTION);
    spec = good;
    spec.inv_freq = NULL;
    spec.float_angles = 1;
    EXPECT_STATUS(inlay_sinusoid_create(&spec, NULL, &made), INLAY_ERROR_OPTION);
    spec = good;
    spec.float_angles = 2;
    EXPECT_STATUS(inlay_sinusoid_create(&spec, NULL, &made), INLAY_ERROR_OPTION);
    /* The edges are numbers like others, and the base is not looked at. */
    static const double edges[] = {0, -0.0, 5e-324, 0x1p31};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        frequencies[0] = edges[i];
        spec = good;
        spec.base = (double)NAN;
        EXPECT_STATUS(inlay_sinusoid_create(&spec, NULL, &made), INLAY_OK);
        EXPECT_STATUS(inlay_sinusoid_rows(made, 1, 1, INLAY_F32, out.begin, ROW_BYTES, NULL), INLAY_OK);
        inlay_sinusoid_destroy(made);
    }
}
END_TEST

START_TEST(recipes_have_names)
{
    int count = 0;
    while (inlay_recipe_name((inlay_recipe)count) != NULL) {
        for (int i = 0; i < count; i++)
            EXPECT(strcmp(inlay_recipe_name((inlay_recipe)i), inlay_recipe_name((inlay_recipe)count)) != 0,
                   "recipes %d and %d have one name", i, count);
        count++;
    }
    EXPECT(count == INLAY_RECIPE_MAE + 1, "%d recipes have names", count);
    EXPECT(inlay_recipe_name((inlay_recipe)-1) == NULL, "recipe -1 has a name");
}
END_TEST

START_TEST(lists_of_positions)
{
    static const int64_t integers[SEQ] = {5, 0, INLAY_POSITION_LIMIT - 1};
    static const double reals[SEQ] = {-0.5, 0x1.fffffffffffffp30, -0x1.fffffffffffffp30};
    static const float floats[SEQ] = {-0.5f, 0x1.fffffep30f, 1e-45f};
    inlay_fault fault;
    EXPECT_STATUS(
        inlay_sinusoid_at(sinusoid, integers, INLAY_POSITION_I64, SEQ, INLAY_F32, out.begin, ROW_BYTES, NULL, NULL),
        INLAY_OK);
    EXPECT_STATUS(
        inlay_sinusoid_at(sinusoid, reals, INLAY_POSITION_F64, SEQ, INLAY_F16, out.begin, ROW_BYTES / 2, NULL, NULL),
        INLAY_OK);
    EXPECT_STATUS(
        inlay_sinusoid_at(sinusoid, floats, INLAY_POSITION_F32, SEQ, INLAY_BF16, out.begin, ROW_BYTES / 2, NULL, NULL),
        INLAY_OK);
    EXPECT_STATUS(inlay_sinusoid_at(sinusoid, NULL, INLAY_POSITION_I64, 0, INLAY_F32, NULL, ROW_BYTES, NULL, NULL),
                  INLAY_OK);
    EXPECT_STATUS(
        inlay_sinusoid_at(NULL, integers, INLAY_POSITION_I64, SEQ, INLAY_F32, out.begin, ROW_BYTES, NULL, NULL),
        INLAY_ERROR_NULL);
    EXPECT_STATUS(
        inlay_sinusoid_at(sinusoid, NULL, INLAY_POSITION_I64, SEQ, INLAY_F32, out.begin, ROW_BYTES, NULL, NULL),
        INLAY_ERROR_NULL);
    EXPECT_STATUS(
        inlay_sinusoid_at(sinusoid, integers, INLAY_POSITION_I64, SEQ, INLAY_F32, NULL, ROW_BYTES, NULL, NULL),
        INLAY_ERROR_NULL);
    EXPECT_STATUS(
        inlay_sinusoid_at(sinusoid, integers, (inlay_position_type)0, SEQ, INLAY_F32, out.begin, ROW_BYTES, NULL, NULL),
        INLAY_ERROR_OPTION);
    EXPECT_STATUS(
        inlay_sinusoid_at(sinusoid, integers, (inlay_position_type)4, SEQ, INLAY_F32, out.begin, ROW_BYTES, NULL, NULL),
        INLAY_ERROR_OPTION);
    EXPECT_STATUS(
        inlay_sinusoid_at(sinusoid, integers, INLAY_POSITION_I64, SEQ, (inlay_element_type)4, out.begin, ROW_BYTES, NULL, NULL),
        INLAY_ERROR_OPTION);
    EXPECT_STATUS(inlay_sinusoid_at(sinusoid, integers, INLAY_POSITION_I64, SEQ, INLAY_F16, out.begin,
                                    ROW_BYTES / 2 - 1, NULL, NULL),
                  INLAY_ERROR_STRIDE);
    EXPECT_STATUS(inlay_sinusoid_at(sinusoid, integers, INLAY_POSITION_I64, SIZE_MAX / 16, INLAY_F32, out.begin,
                                    ROW_BYTES, NULL, NULL),
                  INLAY_ERROR_OVERFLOW);
    EXPECT_STATUS(
        inlay_sinusoid_at(sinusoid, out.begin, INLAY_POSITION_I64, 1, INLAY_F32, out.begin + 7, ROW_BYTES, NULL, NULL),
        INLAY_ERROR_OVERLAP);

    static const int64_t bad_integers[] = {-1, INLAY_POSITION_LIMIT, INT64_MIN, INT64_MAX};
    static const double bad_reals[] = {0x1p31, -0x1p31, (double)INFINITY, -(double)INFINITY, (double)NAN, -(double)NAN};
    for (size_t i = 0; i < sizeof bad_integers / sizeof *bad_integers; i++)
        for (size_t token = 0; token < SEQ; token++) {
            int64_t list[SEQ] = {1, 2, 3};
            list[token] = bad_integers[i];
            EXPECT_STATUS(inlay_sinusoid_at(sinusoid, list, INLAY_POSITION_I64, SEQ, INLAY_F32, out.begin, ROW_BYTES,
                                            NULL, &fault),
                          INLAY_ERROR_POSITION);
            EXPECT(fault.sequence == 0 && fault.token == token && fault.value == bad_integers[i],
                   "fault at token %zu, value %ld", fault.token, (long)fault.value);
        }
    for (size_t i = 0; i < sizeof bad_reals / sizeof *bad_reals; i++) {
        double list[SEQ] = {1, 2, bad_reals[i]};
        float narrow[SEQ] = {1, (float)bad_reals[i], 3};
        EXPECT_STATUS(
            inlay_sinusoid_at(sinusoid, list, INLAY_POSITION_F64, SEQ, INLAY_F32, out.begin, ROW_BYTES, NULL, &fault),
            INLAY_ERROR_POSITION);
        EXPECT(fault.token == 2 && fault.value == 0, "fault at token %zu, value %ld", fault.token, (long)fault.value);
        EXPECT_STATUS(
            inlay_sinusoid_at(sinusoid, narrow, INLAY_POSITION_F32, SEQ, INLAY_F32, out.begin, ROW_BYTES, NULL, &fault),
            INLAY_ERROR_POSITION);
        EXPECT(fault.token == 1 && fault.value == 0, "fault at token %zu, value %ld", fault.token, (long)fault.value);
    }
}
END_TEST

static void run_nothing(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    (void)ctx, (void)count, (void)task, (void)arg;
}

START_TEST(executors)
{
    inlay_table tokens = good_rows();
    inlay_layer *layer = make_layer(&tokens, sinusoid, NULL);
    const int32_t ids[TOKENS] = {0};
    const int64_t positions[SEQ] = {0};
    inlay_batch batch = inlay_batch_i32(ids, BATCH, SEQ, 0);
    const inlay_executor bad[] = {{NULL, NULL, 1}, {NULL, run_nothing, 0}};
    static const inlay_status wanted[] = {INLAY_ERROR_NULL, INLAY_ERROR_OPTION};
    unsigned char *sin = out.begin + 3 * ROW_BYTES;
    for (size_t i = 0; i < 2; i++) {
        const inlay_executor *e = &bad[i];
        EXPECT_STATUS(inlay_forward(layer, &batch, out.begin, ROW_BYTES, e, NULL), wanted[i]);
        EXPECT_STATUS(inlay_gather(&tokens, ids, INLAY_ID_I32, TOKENS, 1, out.begin, ROW_BYTES, e, NULL), wanted[i]);
        EXPECT_STATUS(inlay_scale(table, ROW_BYTES, 3, DIM, 2, out.begin, ROW_BYTES, e), wanted[i]);
        EXPECT_STATUS(inlay_add_positions(out.begin, ROW_BYTES, 1, 2, &tokens, 0, e, NULL), wanted[i]);
        EXPECT_STATUS(inlay_sinusoid_rows(sinusoid, 0, 3, INLAY_F32, out.begin, ROW_BYTES, e), wanted[i]);
        EXPECT_STATUS(
            inlay_sinusoid_at(sinusoid, positions, INLAY_POSITION_I64, SEQ, INLAY_F32, out.begin, ROW_BYTES, e, NULL),
            wanted[i]);
        EXPECT_STATUS(inlay_rotary_rows(sinusoid, 0, 3, INLAY_F32, INLAY_ROTARY_HALVES, out.begin, sin, ROW_BYTES, e),
                      wanted[i]);
    }
    inlay_layer_destroy(layer);
}
END_TEST

START_TEST(starts_of_sequences)
{
    inlay_table tokens = good_rows(), learned = inlay_table_f32(table, 5, DIM);
    inlay_layer *formula = make_layer(&tokens, sinusoid, NULL), *positioned = make_layer(&tokens, NULL, &learned);
    const int32_t ids[TOKENS] = {0};
    int64_t starts[BATCH] = {0, 2};
    inlay_batch batch = inlay_batch_i32(ids, BATCH, SEQ, -5); /* not looked at beside starts */
    batch.starts = starts;
    inlay_fault fault = {99, 99, 99};
    EXPECT_STATUS(inlay_forward(formula, &batch, out.begin, ROW_BYTES, NULL, &fault), INLAY_OK);
    EXPECT_STATUS(inlay_forward(positioned, &batch, out.begin, ROW_BYTES, NULL, &fault), INLAY_OK);
    starts[1] = 3;
    EXPECT_STATUS(inlay_forward(positioned, &batch, out.begin, ROW_BYTES, NULL, &fault), INLAY_ERROR_POSITION);
    EXPECT(fault.sequence == 1 && fault.token == 2 && fault.value == 5,
           "fault at sequence %zu, token %zu, position %ld", fault.sequence, fault.token, (long)fault.value);
    starts[1] = -1;
    EXPECT_STATUS(inlay_forward(formula, &batch, out.begin, ROW_BYTES, NULL, &fault), INLAY_ERROR_POSITION);
    EXPECT(fault.sequence == 1 && fault.token == 0 && fault.value == -1,
           "fault at sequence %zu, token %zu, position %ld", fault.sequence, fault.token, (long)fault.value);
    starts[1] = INLAY_POSITION_LIMIT - SEQ;
    EXPECT_STATUS(inlay_forward(formula, &batch, out.begin, ROW_BYTES, NULL, &fault), INLAY_OK);
    batch.starts = (const int64_t *)(void *)(out.begin + 8);
    EXPECT_STATUS(inlay_forward(formula, &batch, out.begin, ROW_BYTES, NULL, &fault), INLAY_ERROR_OVERLAP);
    batch.starts = starts;
    batch.padded_length = SEQ; /* of sequences that have one length */
    EXPECT_STATUS(inlay_forward(formula, &batch, out.begin, ROW_BYTES, NULL, &fault), INLAY_ERROR_OPTION);
    inlay_layer_destroy(formula);
    inlay_layer_destroy(positioned);
}
END_TEST

START_TEST(rotary_tables)
{
    /* Cosines and sines side by side, as caches have them, and one byte nearer. */
    unsigned char *cache = out.begin, *beside = out.begin + ROW_BYTES / 2;
    EXPECT_STATUS(inlay_rotary_rows(sinusoid, 0, 3, INLAY_F32, INLAY_ROTARY_PAIRS, cache, beside, ROW_BYTES, NULL),
                  INLAY_OK);
    EXPECT_STATUS(inlay_rotary_rows(sinusoid, 0, 3, INLAY_F32, INLAY_ROTARY_PAIRS, beside, cache, ROW_BYTES, NULL),
                  INLAY_OK);
    EXPECT_STATUS(inlay_rotary_rows(sinusoid, 0, 3, INLAY_F32, INLAY_ROTARY_PAIRS, cache, beside - 1, ROW_BYTES, NULL),
                  INLAY_ERROR_OVERLAP);
    EXPECT_STATUS(inlay_rotary_rows(sinusoid, 0, 3, INLAY_F32, INLAY_ROTARY_PAIRS, cache, beside + 1, ROW_BYTES, NULL),
                  INLAY_ERROR_OVERLAP);

    unsigned char *cos = out.begin, *sin = out.begin + 3 * ROW_BYTES;
    EXPECT_STATUS(inlay_rotary_rows(sinusoid, 0, 3, INLAY_F32, INLAY_ROTARY_HALVES, cos, sin, ROW_BYTES, NULL),
                  INLAY_OK);
    EXPECT_STATUS(inlay_rotary_rows(sinusoid, 0, 0, INLAY_F32, INLAY_ROTARY_HALVES, NULL, NULL, ROW_BYTES, NULL),
                  INLAY_OK);
    EXPECT_STATUS(inlay_rotary_rows(NULL, 0, 3, INLAY_F32, INLAY_ROTARY_HALVES, cos, sin, ROW_BYTES, NULL), INLAY_ERROR_NULL);
    EXPECT_STATUS(inlay_rotary_rows(sinusoid, 0, 3, INLAY_F32, INLAY_ROTARY_HALVES, NULL, sin, ROW_BYTES, NULL),
                  INLAY_ERROR_NULL);
    EXPECT_STATUS(inlay_rotary_rows(sinusoid, 0, 3, INLAY_F32, INLAY_ROTARY_HALVES, cos, NULL, ROW_BYTES, NULL),
                  INLAY_ERROR_NULL);
    EXPECT_STATUS(inlay_rotary_rows(sinusoid, 0, 3, INLAY_F32, (inlay_rotary_layout)0, cos, sin, ROW_BYTES, NULL),
                  INLAY_ERROR_OPTION);
    EXPECT_STATUS(inlay_rotary_rows(sinusoid, 0, 3, INLAY_F32, (inlay_rotary_layout)4, cos, sin, ROW_BYTES, NULL),
                  INLAY_ERROR_OPTION);
    EXPECT_STATUS(inlay_rotary_rows(sinusoid, 0, 3, (inlay_element_type)0, INLAY_ROTARY_HALVES, cos, sin, ROW_BYTES, NULL),
                  INLAY_ERROR_OPTION);
    EXPECT_STATUS(inlay_rotary_rows(sinusoid, 0, 3, INLAY_F32, INLAY_ROTARY_HALVES, cos, sin, ROW_BYTES - 1, NULL),
                  INLAY_ERROR_STRIDE);
    EXPECT_STATUS(inlay_rotary_rows(sinusoid, 0, 3, INLAY_F32, INLAY_ROTARY_PAIRS, cos, sin, ROW_BYTES / 2 - 1, NULL),
                  INLAY_ERROR_STRIDE);
    EXPECT_STATUS(inlay_rotary_rows(sinusoid, 0, 3, INLAY_F32, INLAY_ROTARY_HALVES, cos, cos + 8, ROW_BYTES, NULL),
                  INLAY_ERROR_OVERLAP);
    EXPECT_STATUS(inlay_rotary_rows(sinusoid, -1, 3, INLAY_F32, INLAY_ROTARY_HALVES, cos, sin, ROW_BYTES, NULL),
                  INLAY_ERROR_POSITION);
    EXPECT_STATUS(inlay_rotary_rows(sinusoid, INLAY_POSITION_LIMIT - 2, 3, INLAY_F32, INLAY_ROTARY_HALVES, cos, sin,
                                    ROW_BYTES, NULL),
                  INLAY_ERROR_POSITION);
    inlay_sinusoid *odd = make_sinusoid(3, 10000, INLAY_SINUSOID_LAYOUT_SPLIT);
    EXPECT_STATUS(inlay_rotary_rows(odd, 0, 3, INLAY_F32, INLAY_ROTARY_HALVES, cos, sin, ROW_BYTES, NULL), INLAY_ERROR_SHAPE);
    inlay_sinusoid_destroy(odd);
}
END_TEST

START_TEST(layer_specs)
{
    inlay_table tokens = good_rows(), other = inlay_table_f32(table, 4, DIM + 1);
    inlay_layer *made = (inlay_layer *)1;
    inlay_layer_spec good = inlay_layer_spec_default(&tokens), spec;
    EXPECT_STATUS(inlay_layer_create(NULL, NULL, &made), INLAY_ERROR_NULL);
    EXPECT(made == NULL, "a failed creation left a handle");
    EXPECT_STATUS(inlay_layer_create(&good, NULL, NULL), INLAY_ERROR_NULL);
    spec = good;
    spec.tokens = NULL;
    EXPECT_STATUS(inlay_layer_create(&spec, NULL, &made), INLAY_ERROR_NULL);
    spec = good;
    spec.size = 8;
    EXPECT_STATUS(inlay_layer_create(&spec, NULL, &made), INLAY_ERROR_OPTION);
    spec = good;
    spec.stores = (inlay_stores)3;
    EXPECT_STATUS(inlay_layer_create(&spec, NULL, &made), INLAY_ERROR_OPTION);
    spec = good;
    spec.sinusoid = sinusoid;
    spec.positions = &tokens;
    EXPECT_STATUS(inlay_layer_create(&spec, NULL, &made), INLAY_ERROR_OPTION);
    spec = good;
    spec.positions = &other;
    EXPECT_STATUS(inlay_layer_create(&spec, NULL, &made), INLAY_ERROR_SHAPE);
    inlay_sinusoid *wider = make_sinusoid(DIM + 1, 10000, INLAY_SINUSOID_LAYOUT_SPLIT);
    spec = good;
    spec.sinusoid = wider;
    EXPECT_STATUS(inlay_layer_create(&spec, NULL, &made), INLAY_ERROR_SHAPE);
    inlay_sinusoid_destroy(wider);
    inlay_layer_destroy(NULL);
}
END_TEST

/* Expects a status of creation from a spec with one field changed. */
#define EXPECT_SPEC(wanted, field, ...)                                                                                \
    do {                                                                                                               \
        inlay_layer_spec changed = good;                                                                               \
        changed.field = __VA_ARGS__;                                                                                   \
        inlay_layer *handle = (inlay_layer *)1;                                                                        \
        EXPECT_STATUS(inlay_layer_create(&changed, NULL, &handle), wanted);                                            \
        EXPECT((handle != NULL) == ((wanted) == INLAY_OK), "a handle of %s = %s", #field, #__VA_ARGS__);               \
        inlay_layer_destroy(handle);                                                                                   \
    } while (0)

START_TEST(fields_of_specs)
{
    static float parameters[DIM];
    inlay_table tokens = good_rows(), learned = good_rows(), empty = inlay_table_f32(NULL, 0, DIM),
               wider = inlay_table_f32(table, 4, DIM + 1), shard = good_rows();
    shard.vocab = ROWS + 1;
    inlay_layer_spec good = inlay_layer_spec_default(&tokens);
    struct {
        inlay_layer_spec spec;
        uint64_t behind;
    } later = {good, 0};
    inlay_layer *made;
    later.spec.size = sizeof later;
    EXPECT_STATUS(inlay_layer_create(&later.spec, NULL, &made), INLAY_OK);
    inlay_layer_destroy(made);
    later.behind = 1;
    EXPECT_STATUS(inlay_layer_create(&later.spec, NULL, &made), INLAY_ERROR_OPTION);
    EXPECT_SPEC(INLAY_ERROR_OPTION, size, 0);
    EXPECT_SPEC(INLAY_ERROR_OPTION, size, sizeof good - 1);
    EXPECT_SPEC(INLAY_ERROR_OPTION, bad_id, (inlay_bad_id)5);
    EXPECT_SPEC(INLAY_ERROR_OPTION, bad_id, (inlay_bad_id)-1);
    EXPECT_SPEC(INLAY_ERROR_OPTION, zero_rows, (inlay_zero_rows)2);
    EXPECT_SPEC(INLAY_ERROR_OPTION, position_mode, (inlay_position_mode)2);
    EXPECT_SPEC(INLAY_ERROR_OPTION, position_mode, INLAY_POSITION_MODE_PADDING_AWARE); /* no positions, no padding */
    EXPECT_SPEC(INLAY_ERROR_OPTION, clamp_positions, 2);
    EXPECT_SPEC(INLAY_ERROR_OPTION, norm, (inlay_norm)3);
    EXPECT_SPEC(INLAY_ERROR_OPTION, pooling, (inlay_pooling)3);
    EXPECT_SPEC(INLAY_ERROR_OPTION, out_type, (inlay_element_type)0);
    EXPECT_SPEC(INLAY_ERROR_OPTION, out_type, INLAY_I8);
    EXPECT_SPEC(INLAY_ERROR_OPTION, out_type, (inlay_element_type)INLAY_ELEMENT_TYPES);
    EXPECT_SPEC(INLAY_OK, epsilon, 0x1.fffffep127f);
    EXPECT_SPEC(INLAY_OK, epsilon, -0.0f);
    EXPECT_SPEC(INLAY_ERROR_OPTION, epsilon, -0x1p-149f);
    EXPECT_SPEC(INLAY_ERROR_OPTION, epsilon, -1);
    EXPECT_SPEC(INLAY_ERROR_OPTION, epsilon, NAN);
    EXPECT_SPEC(INLAY_ERROR_OPTION, epsilon, INFINITY);
    EXPECT_SPEC(INLAY_ERROR_OPTION, gamma, parameters); /* no norm */
    EXPECT_SPEC(INLAY_ERROR_OPTION, beta, parameters);
    EXPECT_SPEC(INLAY_ERROR_OPTION, segments, &empty);
    EXPECT_SPEC(INLAY_ERROR_SHAPE, segments, &wider);
    EXPECT_SPEC(INLAY_ERROR_OPTION, segments, &shard);
    EXPECT_SPEC(INLAY_ERROR_OPTION, positions, &shard);
    EXPECT_SPEC(INLAY_OK, positions, &learned);
    EXPECT_SPEC(INLAY_OK, substitute_id, -1); /* of another policy */
    good.bad_id = INLAY_BAD_ID_SUBSTITUTE;
    EXPECT_SPEC(INLAY_OK, substitute_id, ROWS - 1);
    EXPECT_SPEC(INLAY_ERROR_OPTION, substitute_id, ROWS);
    EXPECT_SPEC(INLAY_ERROR_OPTION, substitute_id, -1);
    EXPECT_SPEC(INLAY_ERROR_OPTION, substitute_id, INT64_MIN);
    EXPECT_SPEC(INLAY_ERROR_OPTION, tokens, &empty);
    good = inlay_layer_spec_default(&tokens);
    good.positions = &learned;
    EXPECT_SPEC(INLAY_ERROR_OPTION, position_mode, INLAY_POSITION_MODE_PADDING_AWARE);
    EXPECT_SPEC(INLAY_ERROR_OPTION, pooling, INLAY_POOLING_SUM);
    good.padding_id = 0;
    EXPECT_SPEC(INLAY_OK, position_mode, INLAY_POSITION_MODE_PADDING_AWARE);
    good = inlay_layer_spec_default(&tokens);
    good.segments = &learned;
    EXPECT_SPEC(INLAY_ERROR_OPTION, pooling, INLAY_POOLING_MEAN);
    EXPECT_SPEC(INLAY_OK, segments_first, 1);
    EXPECT_SPEC(INLAY_ERROR_OPTION, segments_first, 2);
    good = inlay_layer_spec_default(&tokens);
    EXPECT_SPEC(INLAY_ERROR_OPTION, segments_first, 1); /* no segments */
    good.norm = INLAY_NORM_RMS;
    EXPECT_SPEC(INLAY_OK, gamma, parameters);
    EXPECT_SPEC(INLAY_ERROR_OPTION, beta, parameters);
    EXPECT_SPEC(INLAY_ERROR_OPTION, tokens, &shard);
    good = inlay_layer_spec_default(&shard);
    EXPECT_SPEC(INLAY_ERROR_OPTION, pooling, INLAY_POOLING_SUM);
    EXPECT_SPEC(INLAY_ERROR_OPTION, segments, &learned);
    /* Rows of floats on their way through stages are no longer than this. */
    inlay_table wide = inlay_table_f32(NULL, 0, 4097), widest = inlay_table_f32(NULL, 0, 4096);
    inlay_sinusoid *formula = make_sinusoid(4097, 10000, INLAY_SINUSOID_LAYOUT_SPLIT);
    good = inlay_layer_spec_default(&wide);
    EXPECT_SPEC(INLAY_ERROR_SHAPE, pooling, INLAY_POOLING_SUM);
    EXPECT_SPEC(INLAY_OK, norm, INLAY_NORM_RMS);
    good.out_type = INLAY_F16;
    good.cached_positions = 0;
    EXPECT_SPEC(INLAY_OK, scale, 1);
    EXPECT_SPEC(INLAY_ERROR_SHAPE, norm, INLAY_NORM_LAYER);
    EXPECT_SPEC(INLAY_ERROR_SHAPE, sinusoid, formula);
    good = inlay_layer_spec_default(&widest);
    EXPECT_SPEC(INLAY_OK, pooling, INLAY_POOLING_SUM);
    inlay_sinusoid_destroy(formula);
}
END_TEST

static void expect_rows(inlay_table view, inlay_status wanted)
{
    inlay_layer_spec spec = inlay_layer_spec_default(&view);
    inlay_layer *made;
    EXPECT_STATUS(inlay_layer_create(&spec, NULL, &made), wanted);
    inlay_layer_destroy(made);
}

START_TEST(stored_rows)
{
    static unsigned char bytes[4096];
    static const inlay_element_type types[] = {INLAY_F16,        INLAY_BF16,       INLAY_I8,
                                       INLAY_I8_INVERSE, INLAY_U8_ROWWISE, INLAY_U4_ROWWISE,
                                       INLAY_U4_GROUPED, INLAY_Q8_0,       INLAY_Q4_0};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        inlay_table good = inlay_table_f32(bytes, 2, 64), view;
        bool grouped = types[i] == INLAY_U4_GROUPED;
        bool scaled = grouped || types[i] == INLAY_I8 || types[i] == INLAY_I8_INVERSE;
        good.type = types[i];
        good.stride_bytes = inlay_table_row_bytes(types[i], 64);
        good.group = grouped ? 32 : 0;
        good.scales = scaled ? bytes : NULL;
        expect_rows(good, INLAY_OK);
        view = good;
        view.stride_bytes--;
        expect_rows(view, INLAY_ERROR_STRIDE);
        view = good;
        view.scales = scaled ? NULL : bytes;
        expect_rows(view, scaled ? INLAY_ERROR_NULL : INLAY_ERROR_OPTION);
        view = good;
        view.zeros = bytes;
        expect_rows(view, grouped ? INLAY_OK : INLAY_ERROR_OPTION);
        static const uint32_t groups[] = {0, 1, 16, 31, 32, 33, 64, 96, 128, 256, UINT32_MAX};
        for (size_t j = 0; j < sizeof groups / sizeof *groups; j++) {
            bool known = grouped ? groups[j] == 32 || groups[j] == 64 || groups[j] == 128 : groups[j] == 0;
            view = good;
            view.group = groups[j];
            expect_rows(view, !known ? INLAY_ERROR_OPTION : groups[j] == 128 ? INLAY_ERROR_SHAPE : INLAY_OK);
        }
        view = good;
        view.dim = 65;
        view.stride_bytes = 1000;
        bool blocks = grouped || types[i] == INLAY_Q8_0 || types[i] == INLAY_Q4_0;
        expect_rows(view, blocks ? INLAY_ERROR_SHAPE : INLAY_OK);
        view = good;
        view.rows = SIZE_MAX / 2;
        expect_rows(view, INLAY_ERROR_OVERFLOW);
    }
    inlay_table view = inlay_table_f32(bytes, 4, 3);
    view.first_row = 1;
    expect_rows(view, INLAY_ERROR_SHAPE);
    view.vocab = 4;
    expect_rows(view, INLAY_ERROR_SHAPE);
    view.vocab = 5;
    expect_rows(view, INLAY_OK);
    view.first_row = SIZE_MAX - 2;
    expect_rows(view, INLAY_ERROR_OVERFLOW);
    view.first_row = 0;
    view.vocab = SIZE_MAX; /* of which a negative id would be one */
    expect_rows(view, SIZE_MAX > INT64_MAX ? INLAY_ERROR_OVERFLOW : INLAY_OK);
}
END_TEST

/* Positions past a table that clamps them: its last row, as far as numbers go. */
START_TEST(far_positions_are_clamped)
{
    static const int64_t starts[] = {ROWS, INT64_C(1) << 32, (INT64_C(1) << 32) - 1, INT64_MAX - 1, INT64_MAX};
    static const int32_t ids[TOKENS] = {0};
    inlay_table tokens = good_rows(), last = inlay_table_f32(table[ROWS - 1], 1, DIM);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.positions = &tokens;
    spec.clamp_positions = 1;
    inlay_layer *layer, *expected;
    ck_assert_int_eq(inlay_layer_create(&spec, NULL, &layer), INLAY_OK);
    spec.positions = &last;
    ck_assert_int_eq(inlay_layer_create(&spec, NULL, &expected), INLAY_OK);
    float rows[TOKENS][DIM], right[TOKENS][DIM];
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        inlay_batch batch = inlay_batch_i32(ids, BATCH, SEQ, starts[i]);
        EXPECT_STATUS(inlay_forward(layer, &batch, rows, sizeof *rows, NULL, NULL), INLAY_OK);
        batch.start = 0;
        EXPECT_STATUS(inlay_forward(expected, &batch, right, sizeof *right, NULL, NULL), INLAY_OK);
        EXPECT(memcmp(rows, right, sizeof rows) == 0, "not the last row from %lld on", (long long)starts[i]);
    }
    inlay_layer_destroy(layer);
    inlay_layer_destroy(expected);
}
END_TEST

/* The same of a batch. */
#define EXPECT_BATCH(wanted, field, ...)                                                                               \
    do {                                                                                                               \
        inlay_batch changed = good;                                                                                    \
        changed.field = __VA_ARGS__;                                                                                   \
        EXPECT_STATUS(inlay_forward(layer, &changed, out.begin, ROW_BYTES, NULL, NULL), wanted);                       \
    } while (0)

START_TEST(fields_of_batches)
{
    inlay_table tokens = good_rows(), shard = good_rows();
    shard.vocab = ROWS + 1;
    inlay_layer *layer = make_layer(&tokens, sinusoid, NULL);
    static const int32_t ids[TOKENS] = {0};
    static const float weights[TOKENS] = {0};
    static const int64_t offsets[BATCH + 1] = {0, SEQ, TOKENS};
    inlay_batch good = inlay_batch_i32(ids, BATCH, SEQ, 0);
    struct {
        inlay_batch batch;
        uint64_t behind;
    } later = {good, 0};
    later.batch.size = sizeof later;
    EXPECT_STATUS(inlay_forward(layer, &later.batch, out.begin, ROW_BYTES, NULL, NULL), INLAY_OK);
    later.behind = 1;
    EXPECT_STATUS(inlay_forward(layer, &later.batch, out.begin, ROW_BYTES, NULL, NULL), INLAY_ERROR_OPTION);
    EXPECT_BATCH(INLAY_ERROR_OPTION, size, 0);
    EXPECT_BATCH(INLAY_ERROR_OPTION, size, sizeof good - 1);
    EXPECT_BATCH(INLAY_ERROR_OPTION, id_type, (inlay_id_type)7);
    EXPECT_BATCH(INLAY_ERROR_OPTION, position_id_type, INLAY_ID_I32); /* without positions */
    EXPECT_BATCH(INLAY_ERROR_OPTION, segment_id_type, INLAY_ID_I32);
    EXPECT_BATCH(INLAY_ERROR_OPTION, position_ids, ids); /* without a type */
    EXPECT_BATCH(INLAY_ERROR_OPTION, weights, weights);
    EXPECT_BATCH(INLAY_ERROR_OPTION, padded_length, 3);
    EXPECT_BATCH(INLAY_ERROR_OPTION, dropout, 1);
    EXPECT_BATCH(INLAY_ERROR_OPTION, dropout, NAN);
    EXPECT_BATCH(INLAY_ERROR_OPTION, dropout, INFINITY);
    EXPECT_BATCH(INLAY_ERROR_OPTION, dropout, -0x1p-149f);
    EXPECT_BATCH(INLAY_OK, dropout, -0.0f);
    EXPECT_BATCH(INLAY_OK, dropout, 0x1p-149f);
    EXPECT_BATCH(INLAY_OK, dropout, 0x1.fffffep-1f);
    EXPECT_BATCH(INLAY_ERROR_OVERFLOW, sequences, SIZE_MAX);
    inlay_batch listed = good;
    listed.position_ids = ids;
    listed.position_id_type = INLAY_ID_I32;
    EXPECT_STATUS(inlay_forward(layer, &listed, out.begin, ROW_BYTES, NULL, NULL), INLAY_OK);
    listed.position_id_type = (inlay_id_type)7;
    EXPECT_STATUS(inlay_forward(layer, &listed, out.begin, ROW_BYTES, NULL, NULL), INLAY_ERROR_OPTION);
    inlay_batch typed = good;
    typed.segment_ids = ids;
    typed.segment_id_type = INLAY_ID_I32; /* the layer has no segments */
    EXPECT_STATUS(inlay_forward(layer, &typed, out.begin, ROW_BYTES, NULL, NULL), INLAY_ERROR_OPTION);
    good = inlay_batch_ragged(ids, INLAY_ID_I32, offsets, BATCH, 0);
    EXPECT_BATCH(INLAY_OK, start, 0);
    EXPECT_BATCH(INLAY_ERROR_OFFSETS, length, TOKENS - 1);
    EXPECT_BATCH(INLAY_ERROR_OFFSETS, padded_length, SEQ - 1);
    EXPECT_BATCH(INLAY_OK, padded_length, SEQ);
    EXPECT_BATCH(INLAY_ERROR_OVERFLOW, padded_length, SIZE_MAX);
    EXPECT_BATCH(INLAY_ERROR_OVERFLOW, padded_length, SIZE_MAX / 4);
    EXPECT_BATCH(INLAY_ERROR_OVERFLOW, sequences, SIZE_MAX);
    EXPECT_BATCH(INLAY_ERROR_OVERFLOW, length, SIZE_MAX);
    static const struct {
        int64_t offsets[BATCH + 1];
        size_t at;
    } wrong[] = {
        {{1, SEQ, TOKENS}, 0},       {{-1, SEQ, TOKENS}, 0},
        {{0, -1, TOKENS}, 1},        {{0, TOKENS + 1, TOKENS}, 1},
        {{0, INT64_MAX, TOKENS}, 1}, {{0, SEQ, SEQ - 1}, 2},
        {{0, SEQ, TOKENS + 1}, 2},   {{0, SEQ, TOKENS - 1}, 2},
        {{0, INT64_MIN, TOKENS}, 1}, {{INT64_MIN, INT64_MIN, TOKENS}, 0},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        inlay_batch batch = good;
        inlay_fault fault = {99, 99, 99};
        batch.offsets = wrong[i].offsets;
        EXPECT_STATUS(inlay_forward(layer, &batch, out.begin, ROW_BYTES, NULL, &fault), INLAY_ERROR_OFFSETS);
        EXPECT(fault.sequence == wrong[i].at && fault.token == 0 && fault.value == wrong[i].offsets[wrong[i].at],
               "case %zu: fault at %zu, %ld", i, fault.sequence, (long)fault.value);
    }
    inlay_layer_destroy(layer);
    layer = make_layer(&shard, sinusoid, NULL);
    good = inlay_batch_i32(ids, BATCH, SEQ, 0);
    EXPECT_BATCH(INLAY_OK, start, 0);
    EXPECT_BATCH(INLAY_ERROR_OPTION, dropout, 0.5f);
    inlay_layer_destroy(layer);
}
END_TEST

/* The output over each array that a call reads, and against its last byte. */
START_TEST(outputs_over_inputs)
{
    enum { ROOM = 2048 };
    static unsigned char memory[11][ROOM];
    inlay_table tokens = inlay_table_f32(memory[0], 4, 64), learned = inlay_table_f32(memory[3], 3, 64),
               segments = inlay_table_f32(memory[4], 2, 64);
    tokens.type = INLAY_U4_GROUPED;
    tokens.group = 32;
    tokens.stride_bytes = 32;
    tokens.scales = memory[1];
    tokens.zeros = memory[2];
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.positions = &learned;
    spec.segments = &segments;
    spec.norm = INLAY_NORM_LAYER;
    spec.gamma = memory[5];
    spec.beta = memory[6];
    inlay_layer *layer;
    ck_assert_int_eq(inlay_layer_create(&spec, NULL, &layer), INLAY_OK);
    /* Bytes of each array: one token of one sequence. */
    static const size_t bytes[] = {128, 32, 4, 768, 512, 256, 256, 4, 4, 4, 16};
    inlay_batch batch = inlay_batch_i32((const int32_t *)(const void *)memory[7], 1, 1, 0);
    batch.position_ids = memory[8];
    batch.position_id_type = INLAY_ID_I32;
    batch.segment_ids = memory[9];
    batch.segment_id_type = INLAY_ID_I32;
    const int64_t offsets[2] = {0, 1};
    memcpy(memory[10], offsets, sizeof offsets);
    batch.offsets = (const int64_t *)(const void *)memory[10];
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        static unsigned char before[sizeof memory];
        memcpy(before, memory, sizeof memory);
        inlay_status over = inlay_forward(layer, &batch, memory[i] + bytes[i] - 1, 256, NULL, NULL);
        EXPECT(over == INLAY_ERROR_OVERLAP && memcmp(before, memory, sizeof memory) == 0, "array %zu: \"%s\"", i,
               inlay_status_string(over));
        inlay_status beside = inlay_forward(layer, &batch, memory[i] + bytes[i], 256, NULL, NULL);
        EXPECT(beside == INLAY_OK, "beside array %zu: \"%s\"", i, inlay_status_string(beside));
        memcpy(memory, before, sizeof memory);
    }
    inlay_layer_destroy(layer);
}
END_TEST

/* An allocator that counts, and fails on demand. */
struct counted {
    int live, calls;
    bool fails;
};

static void *counted_allocate(void *ctx, size_t bytes)
{
    struct counted *counted = ctx;
    counted->calls++;
    if (counted->fails)
        return NULL;
    counted->live++;
    return malloc(bytes);
}

static void counted_release(void *ctx, void *memory)
{
    struct counted *counted = ctx;
    counted->live--;
    free(memory);
}

START_TEST(handles_and_their_memory)
{
    struct counted counted = {0, 0, false};
    inlay_allocator allocator = {&counted, counted_allocate, counted_release};
    inlay_table tokens = good_rows();
    inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(DIM);
    inlay_sinusoid *made;
    EXPECT_STATUS(inlay_sinusoid_create(&spec, &allocator, &made), INLAY_OK);
    inlay_layer_spec layer_spec = inlay_layer_spec_default(&tokens);
    layer_spec.sinusoid = made;
    inlay_layer *layer;
    EXPECT_STATUS(inlay_layer_create(&layer_spec, &allocator, &layer), INLAY_OK);
    EXPECT(counted.live == 2, "%d blocks live", counted.live);
    inlay_layer_destroy(layer);
    counted.fails = true;
    EXPECT_STATUS(inlay_layer_create(&layer_spec, &allocator, &layer), INLAY_ERROR_NO_MEMORY);
    EXPECT(layer == NULL, "a failed creation left a handle");
    inlay_sinusoid *none;
    EXPECT_STATUS(inlay_sinusoid_create(&spec, &allocator, &none), INLAY_ERROR_NO_MEMORY);
    EXPECT(none == NULL, "a failed creation left a handle");
    counted.fails = false;
    inlay_allocator incomplete[] = {{NULL, NULL, NULL}, {NULL, counted_allocate, NULL}, {NULL, NULL, counted_release}};
    for (size_t i = 0; i < sizeof incomplete / sizeof *incomplete; i++) {
        EXPECT_STATUS(inlay_sinusoid_create(&spec, &incomplete[i], &none), INLAY_ERROR_NULL);
        EXPECT_STATUS(inlay_layer_create(&layer_spec, &incomplete[i], &layer), INLAY_ERROR_NULL);
    }
    if (sizeof(size_t) == 8) {
        inlay_sinusoid *wide = make_sinusoid(1 << 20, 10000, INLAY_SINUSOID_LAYOUT_SPLIT);
        inlay_table wide_tokens = inlay_table_f32(NULL, 0, 1 << 20);
        layer_spec = inlay_layer_spec_default(&wide_tokens);
        layer_spec.sinusoid = wide;
        layer_spec.cached_positions = INLAY_POSITION_LIMIT;
        counted.fails = true;
        EXPECT_STATUS(inlay_layer_create(&layer_spec, &allocator, &layer), INLAY_ERROR_NO_MEMORY);
#ifndef SANITIZED
        /* 8 PiB, which malloc refuses, and sets errno. */
        EXPECT_STATUS(inlay_layer_create(&layer_spec, NULL, &layer), INLAY_ERROR_NO_MEMORY);
#endif
        inlay_sinusoid_destroy(wide);
    }
    inlay_sinusoid_destroy(made);
    EXPECT(counted.live == 0, "%d blocks leaked", counted.live);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("errors");
    TCase *arguments = tcase_create("arguments");
    tcase_set_timeout(arguments, 120);
    tcase_add_checked_fixture(arguments, make_all, free_all);
    tcase_add_test(arguments, every_status_has_its_own_sentence);
    tcase_add_test(arguments, version_is_that_of_the_header);
    tcase_add_test(arguments, bad_views);
    tcase_add_test(arguments, structs_of_later_versions);
    tcase_add_test(arguments, bad_ids);
    tcase_add_test(arguments, ids_at_the_edge_of_int32);
    tcase_add_test(arguments, bad_positions);
    tcase_add_test(arguments, forward_arguments);
    tcase_add_test(arguments, overlaps);
    tcase_add_test(arguments, plain_operations);
    tcase_add_test(arguments, sinusoid_specs);
    tcase_add_test(arguments, frequencies_of_the_callers);
    tcase_add_test(arguments, recipes_have_names);
    tcase_add_test(arguments, lists_of_positions);
    tcase_add_test(arguments, rotary_tables);
    tcase_add_test(arguments, executors);
    tcase_add_test(arguments, starts_of_sequences);
    tcase_add_test(arguments, layer_specs);
    tcase_add_test(arguments, fields_of_specs);
    tcase_add_test(arguments, stored_rows);
    tcase_add_test(arguments, far_positions_are_clamped);
    tcase_add_test(arguments, fields_of_batches);
    tcase_add_test(arguments, outputs_over_inputs);
    tcase_add_test(arguments, handles_and_their_memory);
    suite_add_tcase(suite, arguments);
    return run_suite(argc, argv, suite);
}
