/* SPDX-License-Identifier: MIT */
/*
 * Bad arguments of n-grams: each is an error with its place, the handle is null, and nothing is written.
 */
#include "errors/errors.h"

#include <stdlib.h>
#include <string.h>

/* Trigrams of 8 ids, three columns in two tables, two sequences of three tokens with histories. */
enum { N = 3, VOCAB = 8, COLUMNS = 3, PAST = N - 1, OUT_ROW = COLUMNS * ROW_BYTES };

static const int64_t multipliers[N] = {3, 5, 7}, resets[] = {1, 7}, masks[] = {2};
static const inlay_ngram_column columns[COLUMNS] = {{1, 0, ROWS, 0, 0}, {2, 0, 5, 1, 3}, {3, 0, ROWS - 1, 0, 1}};
static const uint32_t map[VOCAB] = {7, 6, 5, 4, 3, 2, 1, 0};
static uint32_t rewritable_map[VOCAB];
static float other_table[ROWS][DIM];
static inlay_ngram_spec spec;
static inlay_ngram *ngram;
static int32_t ids[TOKENS], history[BATCH * PAST];
static uint32_t lengths[BATCH];
static int64_t offsets[BATCH + 1], accepted[BATCH];
static inlay_ngram_batch batch, ragged;
static inlay_table first_table, second_table;
static const inlay_table *tables[2];
static inlay_ngram_lookup lookup;
static inlay_executor executor;
static inlay_fault fault;

static void set_up(void)
{
    out = arena_make(TOKENS * OUT_ROW);
    spec = inlay_ngram_spec_default(VOCAB, N, INLAY_NGRAM_MIX_XOR);
    spec.token_map = map;
    spec.resets = resets;
    spec.masks = masks;
    spec.reset_count = 2;
    spec.mask_count = 1;
    spec.multipliers = multipliers;
    spec.vectors = 1;
    spec.columns = columns;
    spec.column_count = COLUMNS;
    ck_assert_int_eq(inlay_ngram_create(&spec, NULL, &ngram), INLAY_OK);
    executor.ctx = NULL;
    memset(history, 0, sizeof history);
    memset(lengths, 0, sizeof lengths);
    memset(accepted, 0, sizeof accepted);
    memset(&fault, 0, sizeof fault);
    for (size_t i = 0; i < TOKENS; i++)
        ids[i] = (int32_t)i;
    for (size_t b = 0; b <= BATCH; b++)
        offsets[b] = (int64_t)b * SEQ;
    batch = inlay_ngram_batch_i32(ids, BATCH, SEQ);
    batch.history = history;
    batch.history_lengths = lengths;
    ragged = inlay_ngram_batch_ragged(ids, INLAY_ID_I32, offsets, BATCH);
    first_table = good_table();
    second_table = inlay_table_f32(other_table, ROWS, DIM);
    tables[0] = &first_table;
    tables[1] = &second_table;
    lookup = inlay_ngram_lookup_default(tables, 2);
}

static void tear_down(void)
{
    inlay_ngram_destroy(ngram);
    arena_free(&out);
}

static inlay_status create(const inlay_ngram_spec *of)
{
    inlay_ngram *made = (inlay_ngram *)1;
    inlay_status status = inlay_ngram_create(of, NULL, &made);
    EXPECT((made != NULL) == (status == INLAY_OK), "\"%s\" left the handle %p", inlay_status_string(status),
           (void *)made);
    inlay_ngram_destroy(made);
    return status;
}

static inlay_status find_ids(const inlay_ngram_batch *of)
{
    return inlay_ngram_ids(ngram, of, 0, COLUMNS, INLAY_ID_I64, out.begin, COLUMNS * 8, NULL, &fault);
}

static inlay_status gather(const inlay_ngram_batch *of)
{
    return inlay_ngram_forward(ngram, of, &lookup, out.begin, OUT_ROW, NULL, &fault);
}

static inlay_status keep(const inlay_ngram_batch *of)
{
    static uint32_t new_lengths[BATCH];
    return inlay_ngram_history(ngram, of, accepted, out.begin, new_lengths, &fault);
}

/* ---- Specs ------------------------------------------------------------------------------------------------------ */

#define EXPECT_SPEC(wanted, field, value) EXPECT_WITH(wanted, spec, field, value, create(&spec))

START_TEST(specs)
{
    static const int64_t outside[] = {0, VOCAB}, negative[] = {-1};
    EXPECT_STATUS(create(&spec), INLAY_OK);
    EXPECT_STATUS(create(NULL), INLAY_ERROR_NULL);
    EXPECT(inlay_ngram_create(&spec, NULL, NULL) == INLAY_ERROR_NULL, "there is nowhere to write the handle");
    EXPECT_SPEC(INLAY_ERROR_OPTION, size, sizeof spec - 1);
    EXPECT_SPEC(INLAY_ERROR_OPTION, size, 5000);
    EXPECT_SPEC(INLAY_ERROR_OPTION, vocab, 0);
    EXPECT_SPEC(INLAY_ERROR_OPTION, vocab, ((size_t)1 << 31) + 1);
    EXPECT_SPEC(INLAY_ERROR_OPTION, length, 0);
    EXPECT_SPEC(INLAY_ERROR_OPTION, length, 2); /* a column is longer */
    EXPECT_SPEC(INLAY_ERROR_OPTION, length, 17);
    EXPECT_SPEC(INLAY_ERROR_OPTION, mix, (inlay_ngram_mix)0);
    EXPECT_SPEC(INLAY_ERROR_OPTION, mix, (inlay_ngram_mix)3);
    EXPECT_SPEC(INLAY_ERROR_OPTION, zero_is_none, 2);
    EXPECT_SPEC(INLAY_ERROR_NULL, resets, NULL);
    EXPECT_SPEC(INLAY_ERROR_NULL, masks, NULL);
    EXPECT_SPEC(INLAY_ERROR_OPTION, resets, outside);
    EXPECT_SPEC(INLAY_ERROR_OPTION, masks, negative);
    EXPECT_SPEC(INLAY_ERROR_OVERFLOW, reset_count, SIZE_MAX);
    EXPECT_SPEC(INLAY_ERROR_NULL, multipliers, NULL);
    EXPECT_SPEC(INLAY_ERROR_OPTION, vectors, 0);
    EXPECT_SPEC(INLAY_ERROR_OPTION, vectors, INLAY_NGRAM_MAX_COLUMNS + 1);
    EXPECT_SPEC(INLAY_ERROR_NULL, columns, NULL);
    EXPECT_SPEC(INLAY_ERROR_OPTION, column_count, 0);
    EXPECT_SPEC(INLAY_ERROR_OPTION, column_count, INLAY_NGRAM_MAX_COLUMNS + 1);
    EXPECT_SPEC(INLAY_OK, token_map, NULL);
    EXPECT_SPEC(INLAY_OK, pad, UINT32_MAX);
}
END_TEST

START_TEST(columns_of_specs)
{
    const struct {
        inlay_ngram_column column;
        inlay_status wanted;
    } cases[] = {
        {{N, 0, UINT32_MAX, UINT32_MAX, (UINT64_C(1) << 63) - UINT32_MAX}, INLAY_OK},
        {{0, 0, 1, 0, 0}, INLAY_ERROR_OPTION},
        {{N + 1, 0, 1, 0, 0}, INLAY_ERROR_OPTION},
        {{1, 1, 1, 0, 0}, INLAY_ERROR_OPTION},
        {{1, 0, 0, 0, 0}, INLAY_ERROR_OPTION},
        {{1, 0, 1, 0, UINT64_C(1) << 63}, INLAY_ERROR_OPTION},
        {{1, 0, 5, 0, UINT64_MAX - 1}, INLAY_ERROR_OPTION},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        inlay_ngram_column changed[COLUMNS] = {columns[0], columns[1], cases[i].column};
        spec.columns = changed;
        EXPECT_STATUS(create(&spec), cases[i].wanted);
        spec.columns = columns;
    }
}
END_TEST

static void *no_memory(void *ctx, size_t bytes)
{
    (void)ctx;
    (void)bytes;
    return NULL;
}

static void release_nothing(void *ctx, void *memory)
{
    (void)ctx;
    (void)memory;
}

START_TEST(allocators)
{
    const inlay_allocator empty = {NULL, no_memory, release_nothing}, none = {NULL, NULL, release_nothing};
    inlay_ngram *made = (inlay_ngram *)1;
    EXPECT(inlay_ngram_create(&spec, &empty, &made) == INLAY_ERROR_NO_MEMORY && made == NULL, "a handle of no memory");
    made = (inlay_ngram *)1;
    EXPECT(inlay_ngram_create(&spec, &none, &made) == INLAY_ERROR_NULL && made == NULL, "an allocator of nothing");
    inlay_ngram_destroy(NULL);
}
END_TEST

/* Arrays copied by create(), which the allocator changes like another thread could, after the spec was validated. */
static struct {
    int64_t resets[2], masks[1];
    inlay_ngram_column columns[COLUMNS];
} rewritable;
static int rewritten;

static void *allocate_and_rewrite(void *ctx, size_t bytes)
{
    (void)ctx;
    if (rewritten == 0)
        rewritable.resets[1] = (int64_t)1 << 50;
    else if (rewritten == 1)
        rewritable.masks[0] = -1;
    else
        rewritable.columns[1].length = 1000;
    return malloc(bytes);
}

static void release(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

START_TEST(arrays_that_change_before_they_are_copied)
{
    const inlay_allocator rewriting = {NULL, allocate_and_rewrite, release};
    spec.resets = rewritable.resets;
    spec.masks = rewritable.masks;
    spec.columns = rewritable.columns;
    for (rewritten = 0; rewritten < 3; rewritten++) {
        inlay_ngram *made = (inlay_ngram *)1;
        memcpy(rewritable.resets, resets, sizeof resets);
        memcpy(rewritable.masks, masks, sizeof masks);
        memcpy(rewritable.columns, columns, sizeof columns);
        EXPECT(inlay_ngram_create(&spec, &rewriting, &made) == INLAY_ERROR_OPTION && made == NULL, "array %d",
               rewritten);
        inlay_ngram_destroy(made);
    }
}
END_TEST

/* ---- Batches ---------------------------------------------------------------------------------------------------- */

/* Expects a status from every function that takes a batch. */
#define EXPECT_BATCH(wanted, object, field, value)                                                                     \
    do {                                                                                                               \
        EXPECT_WITH(wanted, object, field, value, find_ids(&(object)));                                                \
        EXPECT_WITH(wanted, object, field, value, gather(&(object)));                                                  \
        EXPECT_WITH(wanted, object, field, value, keep(&(object)));                                                    \
    } while (0)

START_TEST(fields_of_batches)
{
    EXPECT_STATUS(find_ids(&batch), INLAY_OK);
    EXPECT_STATUS(gather(&batch), INLAY_OK);
    EXPECT_STATUS(keep(&batch), INLAY_OK);
    EXPECT_STATUS(find_ids(NULL), INLAY_ERROR_NULL);
    EXPECT_STATUS(gather(NULL), INLAY_ERROR_NULL);
    EXPECT_STATUS(keep(NULL), INLAY_ERROR_NULL);
    EXPECT_BATCH(INLAY_ERROR_OPTION, batch, size, sizeof batch - 1);
    EXPECT_BATCH(INLAY_ERROR_NULL, batch, ids, NULL);
    EXPECT_BATCH(INLAY_ERROR_OPTION, batch, id_type, (inlay_id_type)0);
    EXPECT_BATCH(INLAY_ERROR_OPTION, batch, id_type, (inlay_id_type)7);
    EXPECT_BATCH(INLAY_ERROR_OPTION, batch, reserved, 1);
    EXPECT_BATCH(INLAY_ERROR_OPTION, batch, history, NULL); /* but lengths */
    EXPECT_BATCH(INLAY_ERROR_OVERFLOW, batch, sequences, SIZE_MAX);
    EXPECT_BATCH(INLAY_ERROR_OVERFLOW, batch, length, SIZE_MAX / 2);
    EXPECT_BATCH(INLAY_ERROR_NULL, batch, length, INLAY_LENGTH_FROM_OFFSETS);
    EXPECT_BATCH(INLAY_ERROR_OVERFLOW, ragged, sequences, SIZE_MAX);
    EXPECT_BATCH(INLAY_OK, ragged, length, TOKENS);
    EXPECT_BATCH(INLAY_ERROR_OFFSETS, ragged, length, TOKENS - 1);
    EXPECT_WITH(INLAY_OK, batch, length, 0, find_ids(&batch));
    EXPECT_WITH(INLAY_OK, batch, sequences, 0, keep(&batch));
}
END_TEST

static void expect_place(inlay_status status, inlay_status wanted, size_t sequence, size_t token, int64_t value)
{
    EXPECT(status == wanted && fault.sequence == sequence && fault.token == token && fault.value == value,
           "\"%s\" at [%zu, %zu], %lld", inlay_status_string(status), fault.sequence, fault.token,
           (long long)fault.value);
    EXPECT(arena_untouched(&out), "a call with a bad value wrote");
    memset(&fault, 0, sizeof fault);
}

/* Expects a status from each function, and its place. */
static void expect_places(const inlay_ngram_batch *of, inlay_status wanted, size_t sequence, size_t token,
                          int64_t value)
{
    arena_place(&out, 0, AT_BEGIN, 0);
    expect_place(find_ids(of), wanted, sequence, token, value);
    expect_place(gather(of), wanted, sequence, token, value);
    expect_place(keep(of), wanted, sequence, token, value);
    EXPECT(inlay_ngram_ids(ngram, of, 0, COLUMNS, INLAY_ID_I64, out.begin, COLUMNS * 8, NULL, NULL) == wanted,
           "without a fault it is no error");
}

START_TEST(places_of_bad_values)
{
    ids[SEQ + 2] = VOCAB;
    expect_places(&batch, INLAY_ERROR_ID, 1, 2, VOCAB);
    expect_places(&ragged, INLAY_ERROR_ID, 1, 2, VOCAB);
    ids[0] = -1;
    expect_places(&batch, INLAY_ERROR_ID, 0, 0, -1);
    history[2 * PAST - 1] = VOCAB; /* in a history without ids: not read */
    expect_places(&batch, INLAY_ERROR_ID, 0, 0, -1);
    lengths[1] = 1;
    expect_places(&batch, INLAY_ERROR_HISTORY, 1, PAST - 1, VOCAB);
    history[2 * PAST - 2] = -5; /* before the history */
    expect_places(&batch, INLAY_ERROR_HISTORY, 1, PAST - 1, VOCAB);
    lengths[1] = 2;
    expect_places(&batch, INLAY_ERROR_HISTORY, 1, PAST - 2, -5);
    lengths[0] = N;
    expect_places(&batch, INLAY_ERROR_HISTORY, 0, 0, N);
    batch.history_lengths = NULL;
    expect_places(&batch, INLAY_ERROR_HISTORY, 1, PAST - 2, -5);
    ragged.history = history;
    offsets[1] = TOKENS + 1;
    expect_places(&ragged, INLAY_ERROR_OFFSETS, 1, 0, TOKENS + 1);
    offsets[0] = 1;
    expect_places(&ragged, INLAY_ERROR_OFFSETS, 0, 0, 1);
    offsets[2] = -3;
    expect_places(&ragged, INLAY_ERROR_OFFSETS, 2, 0, -3);
}
END_TEST

/* ---- Row ids ---------------------------------------------------------------------------------------------------- */

static inlay_status find(size_t first, size_t n, inlay_id_type type, void *to, size_t stride)
{
    return inlay_ngram_ids(ngram, &batch, first, n, type, to, stride, executor.ctx != NULL ? &executor : NULL, NULL);
}

START_TEST(arguments_of_row_ids)
{
    EXPECT(inlay_ngram_ids(NULL, &batch, 0, 1, INLAY_ID_I64, out.begin, 8, NULL, NULL) == INLAY_ERROR_NULL,
           "no handle");
    EXPECT_STATUS(find(0, INLAY_NGRAM_ALL_COLUMNS, INLAY_ID_I32, out.begin, COLUMNS * 4), INLAY_OK);
    EXPECT_STATUS(find(COLUMNS - 1, 1, INLAY_ID_I64, out.begin, 8), INLAY_OK);
    EXPECT_STATUS(find(COLUMNS, 1, INLAY_ID_I64, out.begin, 8), INLAY_ERROR_OPTION);
    EXPECT_STATUS(find(COLUMNS, INLAY_NGRAM_ALL_COLUMNS, INLAY_ID_I64, out.begin, 8), INLAY_ERROR_OPTION);
    EXPECT_STATUS(find(1, COLUMNS, INLAY_ID_I64, out.begin, COLUMNS * 8), INLAY_ERROR_OPTION);
    EXPECT_STATUS(find(SIZE_MAX, 2, INLAY_ID_I64, out.begin, 16), INLAY_ERROR_OPTION);
    EXPECT_STATUS(find(0, 0, INLAY_ID_I64, out.begin, 8), INLAY_ERROR_OPTION);
    EXPECT_STATUS(find(0, 1, INLAY_ID_U32, out.begin, 8), INLAY_ERROR_OPTION);
    EXPECT_STATUS(find(0, 1, (inlay_id_type)0, out.begin, 8), INLAY_ERROR_OPTION);
    EXPECT_STATUS(find(0, 2, INLAY_ID_I64, out.begin, 15), INLAY_ERROR_STRIDE);
    EXPECT_STATUS(find(0, 1, INLAY_ID_I64, NULL, 8), INLAY_ERROR_NULL);
    EXPECT_STATUS(find(0, 1, INLAY_ID_I64, out.begin, SIZE_MAX), INLAY_ERROR_OVERFLOW);
    EXPECT_STATUS(find(0, 1, INLAY_ID_I64, ids, 8), INLAY_ERROR_OVERLAP);
    EXPECT_STATUS(find(0, 1, INLAY_ID_I64, history, 8), INLAY_ERROR_OVERLAP);
    EXPECT_STATUS(find(0, 1, INLAY_ID_I64, lengths, 8), INLAY_ERROR_OVERLAP);
    EXPECT_STATUS(find(0, 1, INLAY_ID_I64, (unsigned char *)ngram + 200, 8), INLAY_ERROR_OVERLAP);
    executor = (inlay_executor){&executor, NULL, 2};
    EXPECT_STATUS(find(0, 1, INLAY_ID_I64, out.begin, 8), INLAY_ERROR_NULL);
}
END_TEST

START_TEST(overlap_with_offsets_and_the_map)
{
    inlay_ngram *mapped;
    spec.token_map = rewritable_map;
    ck_assert_int_eq(inlay_ngram_create(&spec, NULL, &mapped), INLAY_OK);
    EXPECT(inlay_ngram_ids(mapped, &batch, 0, 1, INLAY_ID_I32, rewritable_map, 4, NULL, NULL) == INLAY_ERROR_OVERLAP,
           "the map is written");
    EXPECT(inlay_ngram_ids(mapped, &ragged, 0, 1, INLAY_ID_I32, offsets, 4, NULL, NULL) == INLAY_ERROR_OVERLAP,
           "offsets are written");
    EXPECT(inlay_ngram_history(mapped, &ragged, NULL, rewritable_map, lengths, NULL) == INLAY_ERROR_OVERLAP,
           "histories are written to the map");
    inlay_ngram_destroy(mapped);
}
END_TEST

START_TEST(row_ids_that_do_not_fit)
{
    inlay_ngram_column wide[] = {{1, 0, 100, 0, (uint64_t)INT32_MAX - 99}, {1, 0, 100, 0, (uint64_t)INT32_MAX - 98}};
    inlay_ngram *made;
    spec.columns = wide;
    spec.column_count = 2;
    ck_assert_int_eq(inlay_ngram_create(&spec, NULL, &made), INLAY_OK);
    EXPECT_STATUS(inlay_ngram_ids(made, &batch, 0, 1, INLAY_ID_I32, out.begin, 4, NULL, NULL), INLAY_OK);
    EXPECT_STATUS(inlay_ngram_ids(made, &batch, 0, 2, INLAY_ID_I32, out.begin, 8, NULL, NULL), INLAY_ERROR_OPTION);
    EXPECT_STATUS(inlay_ngram_ids(made, &batch, 0, 2, INLAY_ID_I64, out.begin, 16, NULL, NULL), INLAY_OK);
    inlay_ngram_destroy(made);
}
END_TEST

/* ---- Forward ---------------------------------------------------------------------------------------------------- */

static inlay_status forward_to(void *to, size_t stride)
{
    return inlay_ngram_forward(ngram, &batch, &lookup, to, stride, executor.ctx != NULL ? &executor : NULL, NULL);
}

#define EXPECT_LOOKUP(wanted, field, value) EXPECT_WITH(wanted, lookup, field, value, forward_to(out.begin, OUT_ROW))

START_TEST(fields_of_lookups)
{
    inlay_tuning tuning = inlay_tuning_default();
    EXPECT_STATUS(forward_to(out.begin, OUT_ROW), INLAY_OK);
    EXPECT_STATUS(inlay_ngram_forward(ngram, &batch, NULL, out.begin, OUT_ROW, NULL, NULL), INLAY_ERROR_NULL);
    EXPECT_STATUS(inlay_ngram_forward(NULL, &batch, &lookup, out.begin, OUT_ROW, NULL, NULL), INLAY_ERROR_NULL);
    EXPECT_LOOKUP(INLAY_ERROR_OPTION, size, sizeof lookup - 1);
    EXPECT_LOOKUP(INLAY_ERROR_NULL, tables, NULL);
    EXPECT_LOOKUP(INLAY_ERROR_OPTION, table_count, 0);
    EXPECT_LOOKUP(INLAY_ERROR_OPTION, table_count, 1);
    EXPECT_LOOKUP(INLAY_ERROR_OPTION, first_column, COLUMNS);
    EXPECT_LOOKUP(INLAY_ERROR_OPTION, columns, 0);
    EXPECT_LOOKUP(INLAY_ERROR_OPTION, columns, COLUMNS + 1);
    EXPECT_LOOKUP(INLAY_OK, tuning, &tuning);
    tuning.size = 1;
    EXPECT_LOOKUP(INLAY_ERROR_OPTION, tuning, &tuning);
    EXPECT_LOOKUP(INLAY_ERROR_OPTION, combine, (inlay_ngram_combine)0);
    EXPECT_LOOKUP(INLAY_ERROR_OPTION, combine, (inlay_ngram_combine)3);
    EXPECT_LOOKUP(INLAY_OK, combine, INLAY_NGRAM_SUM);
    EXPECT_LOOKUP(INLAY_ERROR_OPTION, out_type, (inlay_element_type)0);
    EXPECT_LOOKUP(INLAY_ERROR_OPTION, out_type, INLAY_I8);
    EXPECT_LOOKUP(INLAY_ERROR_OPTION, stores, (inlay_stores)3);
    EXPECT_LOOKUP(INLAY_ERROR_STRIDE, column_stride_bytes, ROW_BYTES - 1);
    lookup.combine = INLAY_NGRAM_SUM;
    EXPECT_LOOKUP(INLAY_ERROR_OPTION, column_stride_bytes, ROW_BYTES);
}
END_TEST

START_TEST(tables_of_lookups)
{
    EXPECT_WITH(INLAY_ERROR_OPTION, first_table, type, (inlay_element_type)0, forward_to(out.begin, OUT_ROW));
    EXPECT_WITH(INLAY_ERROR_OPTION, second_table, size, 1, forward_to(out.begin, OUT_ROW));
    EXPECT_WITH(INLAY_ERROR_OPTION, second_table, vocab, ROWS, forward_to(out.begin, OUT_ROW));
    EXPECT_WITH(INLAY_ERROR_SHAPE, second_table, dim, DIM - 1, forward_to(out.begin, OUT_ROW));
    EXPECT_WITH(INLAY_ERROR_SHAPE, first_table, rows, ROWS - 1, forward_to(out.begin, OUT_ROW));
    EXPECT_WITH(INLAY_ERROR_SHAPE, second_table, rows, ROWS - 1, forward_to(out.begin, OUT_ROW));
    EXPECT_WITH(INLAY_ERROR_NULL, second_table, data, NULL, forward_to(out.begin, OUT_ROW));
    EXPECT_WITH(INLAY_ERROR_STRIDE, first_table, stride_bytes, ROW_BYTES - 1, forward_to(out.begin, OUT_ROW));
    lookup.first_column = 2; /* also the table of column 0 */
    EXPECT_WITH(INLAY_ERROR_STRIDE, first_table, stride_bytes, ROW_BYTES - 1, forward_to(out.begin, OUT_ROW));
    EXPECT_WITH(INLAY_OK, second_table, stride_bytes, ROW_BYTES - 1, forward_to(out.begin, OUT_ROW));
    EXPECT_STATUS(forward_to(table, OUT_ROW), INLAY_ERROR_OVERLAP);
    lookup.first_column = 0;
    tables[1] = NULL;
    EXPECT_STATUS(forward_to(out.begin, OUT_ROW), INLAY_ERROR_NULL);
    lookup.columns = 1; /* column 0 is not used */
    EXPECT_STATUS(forward_to(out.begin, OUT_ROW), INLAY_OK);
    lookup.table_count = 1;
    EXPECT_STATUS(forward_to(out.begin, OUT_ROW), INLAY_OK);
}
END_TEST

START_TEST(outputs_of_forward)
{
    /* Nothing else follows the list, which could cause the error. */
    static union {
        const inlay_table *tables[2];
        unsigned char output[TOKENS * OUT_ROW];
    } list;
    memcpy(list.tables, tables, sizeof tables);
    EXPECT_STATUS(forward_to(NULL, OUT_ROW), INLAY_ERROR_NULL);
    EXPECT_STATUS(forward_to(out.begin, OUT_ROW - 1), INLAY_ERROR_STRIDE);
    EXPECT_STATUS(forward_to(out.begin, ROW_BYTES), INLAY_ERROR_STRIDE);
    EXPECT_STATUS(forward_to(out.begin, SIZE_MAX), INLAY_ERROR_OVERFLOW);
    EXPECT_STATUS(forward_to(table, OUT_ROW), INLAY_ERROR_OVERLAP);
    EXPECT_STATUS(forward_to(other_table, OUT_ROW), INLAY_ERROR_OVERLAP);
    EXPECT_STATUS(forward_to(ids, OUT_ROW), INLAY_ERROR_OVERLAP);
    EXPECT_STATUS(forward_to(&second_table, OUT_ROW), INLAY_ERROR_OVERLAP);
    EXPECT_WITH(INLAY_ERROR_OVERLAP, lookup, tables, list.tables, forward_to(list.output, OUT_ROW));
    EXPECT_WITH(INLAY_OK, lookup, column_stride_bytes, TOKENS * ROW_BYTES, forward_to(out.begin, ROW_BYTES));
    EXPECT_WITH(INLAY_ERROR_STRIDE, lookup, column_stride_bytes, TOKENS * ROW_BYTES - 1,
                forward_to(out.begin, ROW_BYTES));
    EXPECT_WITH(INLAY_ERROR_STRIDE, lookup, column_stride_bytes, TOKENS * ROW_BYTES,
                forward_to(out.begin, ROW_BYTES - 1));
    EXPECT_WITH(INLAY_ERROR_STRIDE, lookup, column_stride_bytes, SIZE_MAX / 2, forward_to(out.begin, ROW_BYTES - 1));
    lookup.combine = INLAY_NGRAM_SUM;
    EXPECT_STATUS(forward_to(out.begin, ROW_BYTES), INLAY_OK);
    EXPECT_STATUS(forward_to(out.begin, ROW_BYTES - 1), INLAY_ERROR_STRIDE);
    executor = (inlay_executor){&executor, NULL, 2};
    EXPECT_STATUS(forward_to(out.begin, ROW_BYTES), INLAY_ERROR_NULL);
}
END_TEST

/* ---- History ---------------------------------------------------------------------------------------------------- */

static inlay_status keep_to(void *to, uint32_t *to_lengths)
{
    return inlay_ngram_history(ngram, &batch, accepted, to, to_lengths, NULL);
}

START_TEST(arguments_of_history)
{
    static uint32_t new_lengths[BATCH];
    EXPECT(inlay_ngram_history(NULL, &batch, NULL, out.begin, new_lengths, NULL) == INLAY_ERROR_NULL, "no handle");
    EXPECT_STATUS(keep_to(NULL, new_lengths), INLAY_ERROR_NULL);
    EXPECT_STATUS(keep_to(out.begin, NULL), INLAY_ERROR_NULL); /* histories may be shorter */
    EXPECT_WITH(INLAY_OK, batch, history_lengths, NULL, keep_to(out.begin, NULL));
    EXPECT_STATUS(keep_to(history, lengths), INLAY_OK);
    EXPECT_STATUS(keep_to(history + 1, new_lengths), INLAY_ERROR_OVERLAP);
    EXPECT_STATUS(keep_to(out.begin, lengths + 1), INLAY_ERROR_OVERLAP);
    EXPECT_STATUS(keep_to(ids, new_lengths), INLAY_ERROR_OVERLAP);
    EXPECT_STATUS(keep_to(accepted, new_lengths), INLAY_ERROR_OVERLAP);
    EXPECT_STATUS(keep_to(out.begin, (uint32_t *)(void *)accepted), INLAY_ERROR_OVERLAP);
    EXPECT_STATUS(keep_to(new_lengths, new_lengths), INLAY_ERROR_OVERLAP);
    EXPECT_WITH(INLAY_ERROR_OVERLAP, batch, ids, history, keep_to(history, new_lengths));
    accepted[1] = SEQ;
    EXPECT_STATUS(keep(&batch), INLAY_OK);
    accepted[1] = SEQ + 1;
    arena_place(&out, 0, AT_BEGIN, 0);
    expect_place(keep(&batch), INLAY_ERROR_HISTORY, 1, 0, SEQ + 1);
    accepted[1] = -1;
    expect_place(keep(&batch), INLAY_ERROR_HISTORY, 1, 0, -1);
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "errors of n-grams", set_up, tear_down, specs, columns_of_specs, allocators,
                     arrays_that_change_before_they_are_copied, fields_of_batches, places_of_bad_values,
                     arguments_of_row_ids, overlap_with_offsets_and_the_map, row_ids_that_do_not_fit, fields_of_lookups,
                     tables_of_lookups, outputs_of_forward, arguments_of_history);
}
