/* SPDX-License-Identifier: MIT */
/*
 * Tables in extents: every element type gives the bits of the same rows in one array, for any split. Each array of an
 * extent is adjacent to a guard page. test_calls.c draws the tables of layers in extents.
 */
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 41, DIM = 256, ROW_BYTES = DIM * 4 };

/* The split: extents of `equal` rows, or of the lengths in `rows`. */
static const struct cut {
    size_t equal, rows[5];
} cuts[] = {
    {.equal = 1},     {.equal = 7},         {.equal = 40},           {.equal = ROWS},   {.equal = 1000},
    {.rows = {ROWS}}, {.rows = {1, 39, 1}}, {.rows = {1, 1, 1, 38}}, {.rows = {40, 1}}, {.rows = {16, 8, 4, 2, 11}}};
enum { CUTS = sizeof cuts / sizeof *cuts };

/* A table in one array, and its contents. */
static struct whole {
    inlay_table view;
    float floats[ROWS * DIM];
    unsigned char data[ROWS * (DIM * 4 + 8)], scales[ROWS * DIM / 16 * 4], zeros[ROWS * DIM / 32];
} whole;

static void make_whole(inlay_element_type type)
{
    struct random random = {(uint64_t)type};
    const inlay_table from = inlay_table_f32(whole.floats, ROWS, DIM);
    for (size_t i = 0; i < ROWS * DIM; i++)
        whole.floats[i] = (float)(random_unit(&random) - 0.4);
    inlay_table_storage storage = inlay_table_storage_of(type, whole.data, DIM);
    storage.group = is_grouped(type) ? 32 : 0;
    storage.scales = row_scale_bytes(type, DIM, 32) > 0 ? whole.scales : NULL;
    storage.zeros = has_zeros(type) ? whole.zeros : NULL;
    ck_assert_int_eq(inlay_table_quantize(&from, &storage, &whole.view, NULL), INLAY_OK);
}

/* The same rows in extents. */
struct pieces {
    inlay_table view;
    inlay_table_extent extents[ROWS];
    struct arena arenas[ROWS][3];
};

/* Copies bytes to a separate arena, adjacent to the page before or after it. */
static void *copy(struct arena *arena, const void *from, size_t bytes, bool at_begin)
{
    *arena = arena_make(bytes);
    return memcpy(arena_place(arena, bytes, at_begin ? AT_BEGIN : AT_END, 0), from, bytes);
}

/* Returns the zero points of some rows, in the format of a table of only these rows; `bytes` is set to their size. */
static const unsigned char *zeros_of(size_t first, size_t rows, size_t *bytes)
{
    static unsigned char zeros[sizeof whole.zeros + 1];
    const size_t groups = DIM / 32, row_zeros = whole.view.type == INLAY_U4_GROUPED ? groups + groups % 2 : groups;
    memset(zeros, 0, sizeof zeros);
    *bytes = zero_bytes(whole.view.type, rows, groups);
    if (whole.view.type == INLAY_I8_GROUPED || whole.view.type == INLAY_U8_GROUPED)
        return memcpy(zeros, whole.zeros + first * groups, *bytes);
    for (size_t i = 0; i < rows * row_zeros; i++) {
        const size_t from = first * row_zeros + i;
        zeros[i / 2] |= (unsigned char)((whole.zeros[from / 2] >> from % 2 * 4 & 15) << i % 2 * 4);
    }
    return zeros;
}

static void make_pieces(struct pieces *pieces, const struct cut *cut)
{
    const size_t row_bytes = whole.view.stride_bytes, scale_bytes = row_scale_bytes(whole.view.type, DIM, 32);
    size_t count = 0;
    memset(pieces, 0, sizeof *pieces);
    for (size_t row = 0, rows; row < ROWS; row += rows, count++) {
        rows = cut->equal > 0 ? cut->equal : cut->rows[count];
        rows = rows < ROWS - row ? rows : ROWS - row;
        inlay_table_extent *extent = &pieces->extents[count];
        struct arena *arenas = pieces->arenas[count];
        const bool at_begin = count % 2 == 1;
        extent->first_row = row;
        extent->data = copy(&arenas[0], whole.data + row * row_bytes, rows * row_bytes, at_begin);
        if (whole.view.scales != NULL)
            extent->scales = copy(&arenas[1], whole.scales + row * scale_bytes, rows * scale_bytes, at_begin);
        if (whole.view.zeros != NULL) {
            size_t bytes;
            const unsigned char *zeros = zeros_of(row, rows, &bytes);
            extent->zeros = copy(&arenas[2], zeros, bytes, at_begin);
        }
    }
    pieces->view = inlay_table_from_extents(whole.view, pieces->extents, count, cut->equal);
}

static void free_pieces(struct pieces *pieces)
{
    for (size_t i = 0; i < pieces->view.extent_count; i++)
        for (int array = 0; array < 3; array++)
            if (pieces->arenas[i][array].begin != NULL)
                arena_free(&pieces->arenas[i][array]);
}

START_TEST(plain_operations)
{
    static float out[ROWS * DIM], expected[ROWS * DIM];
    int64_t all[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        all[i] = (int64_t)(ROWS - 1 - i);
    make_whole((inlay_element_type)_i);
    for (size_t c = 0; c < CUTS; c++) {
        struct pieces pieces;
        make_pieces(&pieces, &cuts[c]);
        const inlay_table *const views[] = {&whole.view, &pieces.view};
        for (int i = 0; i < 2; i++) {
            float *to = i == 0 ? expected : out;
            ck_assert_int_eq(inlay_gather(views[i], all, INLAY_ID_I64, ROWS, 3, to, ROW_BYTES, NULL, NULL), INLAY_OK);
        }
        EXPECT(memcmp(out, expected, sizeof out) == 0, "type %d, cut %zu: gather", _i, c);
        for (int i = 0; i < 2; i++) {
            float *to = i == 0 ? expected : out;
            ck_assert_int_eq(inlay_add_positions(to, ROW_BYTES, 3, ROWS / 3, views[i], 9, NULL, NULL), INLAY_OK);
        }
        EXPECT(memcmp(out, expected, sizeof out) == 0, "type %d, cut %zu: add_positions", _i, c);
        free_pieces(&pieces);
    }
}
END_TEST

START_TEST(quantizing)
{
    static unsigned char made[ROWS * DIM], expected[ROWS * DIM];
    static float scales[ROWS], expected_scales[ROWS];
    inlay_table_storage to = inlay_table_storage_of(INLAY_I8, made, DIM), contiguous = to;
    to.scales = scales;
    contiguous.data = expected;
    contiguous.scales = expected_scales;
    make_whole(INLAY_F32);
    ck_assert_int_eq(inlay_table_quantize(&whole.view, &contiguous, NULL, NULL), INLAY_OK);
    for (size_t c = 0; c < CUTS; c++) {
        struct pieces pieces;
        inlay_table view;
        memset(made, 0, sizeof made);
        make_pieces(&pieces, &cuts[c]);
        ck_assert_int_eq(inlay_table_quantize(&pieces.view, &to, &view, NULL), INLAY_OK);
        EXPECT(memcmp(made, expected, sizeof made) == 0 && memcmp(scales, expected_scales, sizeof scales) == 0,
               "cut %zu: quantized", c);
        EXPECT(view.extents == NULL && view.extent_count == 0 && view.rows == ROWS, "cut %zu: its view", c);
        free_pieces(&pieces);
    }
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("extents");
    TCase *types = tcase_create("types");
    tcase_set_timeout(types, 600);
    tcase_add_loop_test(types, plain_operations, INLAY_F32, INLAY_ELEMENT_TYPES);
    tcase_add_test(types, quantizing);
    suite_add_tcase(suite, types);
    return run_suite(argc, argv, suite);
}
