/* SPDX-License-Identifier: MIT */
/*
 * Sinusoid tables: one SHA-256 per specification, which every ISA must reproduce, and the same rows' digest in `inlay
 * selftest`; and the places of entries, for every dim, layout and guard page.
 */
#include "sinusoid_tables.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_list(const inlay_sinusoid *sinusoid, const void *positions, inlay_position_type position_type,
                       size_t n, inlay_element_type type, void *out, size_t stride_bytes)
{
    inlay_status status = inlay_sinusoid_at(sinusoid, positions, position_type, n, type, out, stride_bytes, NULL, NULL);
    ck_assert_int_eq(status, INLAY_OK);
}

/* Makes the handle and the rows in the caller's environment. */
static void make_table(const struct sinusoid_table *table, const double *positions, unsigned char *rows,
                       size_t row_bytes)
{
    const inlay_sinusoid_spec spec = sinusoid_table_spec(table);
    inlay_sinusoid *sinusoid = make_sinusoid_of(&spec);
    inlay_element_type type = sinusoid_table_type(table);
    if (table->step == 0)
        write_rows(sinusoid, table->first, table->n, type, rows, row_bytes);
    else
        write_list(sinusoid, positions, INLAY_POSITION_F64, table->n, type, rows, row_bytes);
    inlay_sinusoid_destroy(sinusoid);
}

/* In every rounding mode, with and without flush-to-zero: the first is that of a fresh process. */
START_TEST(tables_have_their_hash)
{
    const struct sinusoid_table *table = &sinusoid_tables[_i];
    size_t row_bytes = inlay_table_row_bytes(sinusoid_table_type(table), table->dim);
    unsigned char *rows = malloc(table->n * row_bytes);
    double *positions = malloc(table->n * sizeof *positions);
    for (size_t i = 0; i < table->n; i++)
        positions[i] = (double)table->first + (double)i * table->step;
    for (int environment = 0; environment < ENVIRONMENTS; environment++) {
        set_environment(environment);
        make_table(table, positions, rows, row_bytes);
        set_environment(0);
        struct digest digest = sha256(rows, table->n * row_bytes);
        count_checks(table->n * table->dim - 1);
        EXPECT(strcmp(digest.text, table->sha256) == 0, "table %d, environment %d: %s", _i, environment, digest.text);
    }
    EXPECT(in_selftest(rows, table->n * row_bytes), "table %d: selftest keeps another digest", _i);
    free(positions);
    free(rows);
}
END_TEST

/* The contents of a column: an entry of the formula, or the extra last column of an odd dim. */
enum entry { SINE, COSINE, ZERO };

static enum entry entry_at(size_t dim, inlay_sinusoid_layout layout, inlay_sinusoid_odd odd, size_t column,
                           size_t *pair)
{
    bool formula = odd == INLAY_SINUSOID_ODD_FORMULA;
    size_t pairs = dim / 2 + (formula ? dim % 2 : 0);
    *pair = 0;
    if (column == dim - 1 && dim % 2 == 1 && !formula)
        return odd == INLAY_SINUSOID_ODD_WRAP && pairs > 0 ? COSINE : ZERO;
    if (layout == INLAY_SINUSOID_LAYOUT_INTERLEAVED) {
        *pair = column / 2;
        return column % 2 == 0 ? SINE : COSINE;
    }
    *pair = column < pairs ? column : column - pairs;
    return (column < pairs) == (layout == INLAY_SINUSOID_LAYOUT_SPLIT) ? SINE : COSINE;
}

/* Wider than a generator's pieces. */
enum { MAX_DIM = 1100 };

/*
 * Expects that every entry is in the column given by layout and odd dims, and nowhere else. Compares with scalar's
 * interleaved rows of the same frequencies, at most two columns wider so each sine has its cosine.
 */
static void check_columns(size_t dim, inlay_sinusoid_layout layout, inlay_sinusoid_odd odd, inlay_element_type type)
{
    enum { N = 3, FIRST = 4998 };
    static double frequencies[MAX_DIM / 2 + 1];
    static unsigned char reference[N][(MAX_DIM + 2) * sizeof(float)];
    size_t element = inlay_table_row_bytes(type, 1), pairs = dim / 2 + dim % 2;
    for (size_t i = 0; i < pairs; i++)
        frequencies[i] = 1 / (1 + (double)i);
    inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(2 * pairs);
    spec.inv_freq = frequencies;
    inlay_sinusoid *whole = make_sinusoid_of(&spec);
    inlay_dispatch_use(&inlay_kernels_scalar);
    write_rows(whole, FIRST, N, type, reference, sizeof *reference);
    inlay_dispatch_use(tested);
    spec.dim = dim;
    spec.layout = layout;
    spec.odd = odd;
    inlay_sinusoid *sinusoid = make_sinusoid_of(&spec);
    struct arena out = arena_make(N * (dim * sizeof(float) + 67) + 64);
    for (int at = AT_BEGIN; at <= INSIDE; at++)
        for (size_t padding = 0; padding < 68; padding += 67) {
            size_t stride = dim * element + padding;
            unsigned char *rows = arena_place(&out, (N - 1) * stride + dim * element, (enum placement)at, 3);
            write_rows(sinusoid, FIRST, N, type, rows, stride);
            for (size_t i = 0; i < N; i++)
                for (size_t column = 0; column < dim; column++) {
                    static const unsigned char zero[4];
                    size_t pair;
                    enum entry entry = entry_at(dim, layout, odd, column, &pair);
                    const unsigned char *wanted =
                        entry == ZERO ? zero : reference[i] + (2 * pair + (entry == COSINE)) * element;
                    EXPECT(memcmp(rows + i * stride + column * element, wanted, element) == 0,
                           "dim %zu, layout %d, odd %d, type %d: row %zu, column %zu is wrong", dim, (int)layout,
                           (int)odd, (int)type, i, column);
                }
            EXPECT(arena_untouched_outside(&out, rows, N, stride, dim * element),
                   "dim %zu, layout %d, odd %d, type %d: wrote outside its rows", dim, (int)layout, (int)odd,
                   (int)type);
        }
    arena_free(&out);
    inlay_sinusoid_destroy(whole);
    inlay_sinusoid_destroy(sinusoid);
}

START_TEST(every_dim_and_layout_lands_in_its_columns)
{
    static const size_t wide[] = {1023, 1025, MAX_DIM};
    for (size_t i = 0; i < 133; i++)
        for (inlay_sinusoid_layout layout = INLAY_SINUSOID_LAYOUT_INTERLEAVED;
             layout <= INLAY_SINUSOID_LAYOUT_SPLIT_COS_FIRST; layout++)
            for (inlay_sinusoid_odd odd = INLAY_SINUSOID_ODD_FORMULA; odd <= INLAY_SINUSOID_ODD_WRAP; odd++)
                for (inlay_element_type type = INLAY_F32; type <= INLAY_BF16; type++)
                    check_columns(i < 130 ? i + 1 : wide[i - 130], layout, odd, type);
}
END_TEST

/* A list gives the rows of its positions, in order, for every position type. */
START_TEST(lists_give_the_rows_of_their_positions)
{
    enum { DIM = 77, N = 9 };
    static const int64_t positions[N] = {5, 0, 5, 2147483647, 16777217, 1, 0, 4999, 2};
    for (inlay_recipe recipe = INLAY_RECIPE_EXACT; recipe <= INLAY_RECIPE_KERAS_HUB; recipe++)
        for (inlay_element_type type = INLAY_F32; type <= INLAY_BF16; type++) {
            inlay_sinusoid_spec spec = inlay_sinusoid_spec_recipe(recipe, DIM);
            spec.odd = INLAY_SINUSOID_ODD_FORMULA;
            inlay_sinusoid *sinusoid = make_sinusoid_of(&spec);
            /* At odd addresses. */
            unsigned char integers[1 + N * 8], doubles[1 + N * 8], floats[1 + N * 4], row[DIM * 4], got[3][N][DIM * 4];
            memset(got, 0, sizeof got);
            memset(row, 0, sizeof row);
            for (size_t i = 0; i < N; i++) {
                double real = (double)positions[i];
                float single =
                    (float)(positions[i] - (positions[i] == 16777217)) - (positions[i] == 2147483647 ? 128.0f : 0.0f);
                memcpy(integers + 1 + i * 8, &positions[i], 8);
                memcpy(doubles + 1 + i * 8, &real, 8);
                memcpy(floats + 1 + i * 4, &single, 4);
            }
            write_list(sinusoid, integers + 1, INLAY_POSITION_I64, N, type, got[0], sizeof *got[0]);
            write_list(sinusoid, doubles + 1, INLAY_POSITION_F64, N, type, got[1], sizeof *got[1]);
            write_list(sinusoid, floats + 1, INLAY_POSITION_F32, N, type, got[2], sizeof *got[2]);
            for (size_t i = 0; i < N; i++) {
                write_rows(sinusoid, positions[i], 1, type, row, sizeof row);
                for (int list = 0; list < 2; list++)
                    EXPECT(memcmp(got[list][i], row, sizeof row) == 0, "recipe %d, type %d, list %d: row %zu", recipe,
                           type, list, i);
                int64_t single = positions[i] == 2147483647 ? 2147483520 : positions[i] - (positions[i] == 16777217);
                write_rows(sinusoid, single, 1, type, row, sizeof row);
                EXPECT(memcmp(got[2][i], row, sizeof row) == 0, "recipe %d, type %d: float row %zu", recipe, type, i);
            }
            inlay_sinusoid_destroy(sinusoid);
        }
}
END_TEST

/* Rotary tables have the entries of a split table, each once or twice. */
START_TEST(rotary_tables_hold_the_entries_of_rows)
{
    enum { N = 40 };
    static const size_t dims[] = {2, 6, 64, 128, 600};
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
        for (inlay_element_type type = INLAY_F32; type <= INLAY_BF16; type++)
            for (inlay_recipe recipe = INLAY_RECIPE_EXACT; recipe <= INLAY_RECIPE_INV_POW;
                 recipe += INLAY_RECIPE_INV_POW) {
                size_t dim = dims[d], pairs = dim / 2, element = inlay_table_row_bytes(type, 1),
                       stride = dim * element + 5;
                inlay_sinusoid_spec spec = inlay_sinusoid_spec_recipe(recipe, dim);
                spec.amplitude = recipe == INLAY_RECIPE_EXACT ? 1.3465735902799727 : 1;
                inlay_sinusoid *rotary = make_sinusoid_of(&spec);
                spec.layout = INLAY_SINUSOID_LAYOUT_SPLIT;
                inlay_sinusoid *split = make_sinusoid_of(&spec);
                unsigned char *rows = malloc(N * dim * element);
                write_rows(split, 1000, N, type, rows, dim * element);
                struct arena table[2] = {arena_make(N * stride), arena_make(N * stride)};
                for (inlay_rotary_layout layout = INLAY_ROTARY_PAIRS; layout <= INLAY_ROTARY_INTERLEAVED; layout++) {
                    size_t columns = layout == INLAY_ROTARY_PAIRS ? pairs : dim;
                    size_t bytes = (N - 1) * stride + columns * element;
                    unsigned char *at[2] = {arena_place(&table[0], bytes, AT_END, 0),
                                            arena_place(&table[1], bytes, AT_END, 0)};
                    ck_assert_int_eq(inlay_rotary_rows(rotary, 1000, N, type, layout, at[0], at[1], stride, NULL),
                                     INLAY_OK);
                    for (size_t i = 0; i < N; i++)
                        for (size_t column = 0; column < columns; column++)
                            for (int cosine = 0; cosine < 2; cosine++) {
                                size_t pair = layout == INLAY_ROTARY_INTERLEAVED ? column / 2 : column % pairs;
                                EXPECT(memcmp(at[1 - cosine] + i * stride + column * element,
                                              rows + (i * dim + (size_t)cosine * pairs + pair) * element, element) == 0,
                                       "dim %zu, type %d, layout %d: row %zu, column %zu", dim, type, layout, i,
                                       column);
                            }
                    for (int t = 0; t < 2; t++)
                        EXPECT(arena_untouched_outside(&table[t], at[t], N, stride, columns * element),
                               "dim %zu, layout %d: wrote outside its rows", dim, layout);
                }
                arena_free(&table[0]);
                arena_free(&table[1]);
                free(rows);
                inlay_sinusoid_destroy(rotary);
                inlay_sinusoid_destroy(split);
            }
}
END_TEST

/*
 * The exact fallback takes some hundred times as long as the kernels, so the fallback rate dominates the cost of a
 * table.
 */
static unsigned long undecided;

static bool count_undecided(const struct inlay_sinusoid_tile *tile)
{
    bool any = tested->sinusoid_rows(tile);
    size_t groups = inlay_padded(tile->pairs) / INLAY_PAIR_GROUP;
    for (size_t i = 0; i < tile->rows * groups; i++) {
        size_t group = i % groups * INLAY_PAIR_GROUP, left = tile->pairs - group;
        uint32_t valid = left < INLAY_PAIR_GROUP ? (1u << left) - 1 : 0xffff;
        undecided += (unsigned)__builtin_popcount(tile->undecided[i] & (valid | valid << 16));
    }
    return any;
}

START_TEST(few_entries_are_undecided)
{
    static const double bases[] = {1e4, 1e6, 1e30};
    static const size_t dims[] = {64, 512, 4096};
    static const inlay_element_type types[] = {INLAY_F32, INLAY_F16, INLAY_BF16};
    if (tested == &inlay_kernels_scalar)
        return; /* scalar decides none */
    struct inlay_kernels counting = *tested;
    counting.sinusoid_rows = count_undecided;
    inlay_dispatch_use(&counting);
    for (size_t b = 0; b < sizeof bases / sizeof *bases; b++)
        for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
            for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
                size_t dim = dims[d], n = (1 << 20) / dim;
                inlay_sinusoid *sinusoid = make_sinusoid(dim, bases[b], INLAY_SINUSOID_LAYOUT_SPLIT);
                unsigned char *rows = malloc(n * dim * sizeof(float));
                unsigned long entries = 0;
                undecided = 0;
                static const int64_t firsts[] = {0, 1 << 20, INLAY_POSITION_LIMIT - (1 << 20)};
                for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
                    write_rows(sinusoid, firsts[i], n, types[t], rows, dim * sizeof(float));
                    entries += n * dim;
                }
                double share = (double)undecided / (double)entries;
                if (types[t] == INLAY_F32)
                    printf("base %g, dim %zu: %.1e of the entries undecided\n", bases[b], dim, share);
                EXPECT(share < 1e-4, "base %g, dim %zu, type %d: %g of the entries are undecided", bases[b], dim,
                       (int)types[t], share);
                free(rows);
                inlay_sinusoid_destroy(sinusoid);
            }
    inlay_dispatch_use(tested);
}
END_TEST

/* Tables large enough to be streamed, aligned and not, against the same rows from calls too small for that. */
START_TEST(streamed_tables_are_the_same)
{
    static const struct {
        size_t dim;
        inlay_sinusoid_layout layout;
        size_t offset, padding; /* bytes */
        inlay_element_type type;
    } cases[] = {
        {1024, INLAY_SINUSOID_LAYOUT_INTERLEAVED, 0, 0, INLAY_F32},
        {1024, INLAY_SINUSOID_LAYOUT_SPLIT, 0, 0, INLAY_F32},
        {1024, INLAY_SINUSOID_LAYOUT_INTERLEAVED, 4, 0, INLAY_F32},
        {1023, INLAY_SINUSOID_LAYOUT_INTERLEAVED, 0, 0, INLAY_F32},
        {1022, INLAY_SINUSOID_LAYOUT_SPLIT, 0, 8, INLAY_F32},
        {1040, INLAY_SINUSOID_LAYOUT_SPLIT, 0, 0, INLAY_F32},
        {2080, INLAY_SINUSOID_LAYOUT_INTERLEAVED, 0, 64, INLAY_F32},
        {1025, INLAY_SINUSOID_LAYOUT_SPLIT, 1, 3, INLAY_F32},
        {1024, INLAY_SINUSOID_LAYOUT_SPLIT, 0, 0, INLAY_BF16},
        {1024, INLAY_SINUSOID_LAYOUT_INTERLEAVED, 2, 0, INLAY_F16},
    };
    if (tested == &inlay_kernels_scalar)
        return; /* it does not stream */
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        enum { FIRST = 123456, CHUNK = 300 };
        const inlay_element_type type = cases[c].type;
        size_t dim = cases[c].dim, row = inlay_table_row_bytes(type, dim), stride = row + cases[c].padding;
        size_t n = inlay_tuning_default().stream_bytes / row + 10;
        inlay_sinusoid *sinusoid = make_sinusoid(dim, 10000, cases[c].layout);
        struct arena out = arena_make(n * stride + 64), small = arena_make(CHUNK * row);
        unsigned char *rows = arena_place(&out, n * stride, INSIDE, cases[c].offset);
        write_rows(sinusoid, FIRST, n, type, rows, stride);
        for (size_t i = 0; i < n; i += CHUNK) {
            size_t some = n - i < CHUNK ? n - i : CHUNK;
            write_rows(sinusoid, FIRST + (int64_t)i, some, type, small.begin, row);
            for (size_t k = 0; k < some; k++)
                EXPECT(memcmp(rows + (i + k) * stride, small.begin + k * row, row) == 0, "case %zu: row %zu", c, i + k);
        }
        EXPECT(arena_untouched_outside(&out, rows, n, stride, row), "case %zu: wrote outside its rows", c);
        arena_free(&small);
        arena_free(&out);
        inlay_sinusoid_destroy(sinusoid);
    }
}
END_TEST

START_TEST(position_zero_is_zero_and_one)
{
    float row[7];
    inlay_sinusoid *sinusoid = make_sinusoid(7, 10000, INLAY_SINUSOID_LAYOUT_INTERLEAVED);
    write_rows(sinusoid, 0, 1, INLAY_F32, row, sizeof row);
    const float wanted[7] = {0, 1, 0, 1, 0, 1, 0};
    EXPECT(memcmp(row, wanted, sizeof row) == 0, "the row of position 0 is not 0, 1, 0, 1, ...");
    inlay_sinusoid_destroy(sinusoid);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("sinusoid");
    TCase *rows = tcase_create("rows");
    tcase_set_timeout(rows, 600);
    tcase_add_loop_test(rows, tables_have_their_hash, 0, (int)(sizeof sinusoid_tables / sizeof *sinusoid_tables));
    tcase_add_test(rows, every_dim_and_layout_lands_in_its_columns);
    tcase_add_test(rows, lists_give_the_rows_of_their_positions);
    tcase_add_test(rows, rotary_tables_hold_the_entries_of_rows);
    tcase_add_test(rows, few_entries_are_undecided);
    tcase_add_test(rows, streamed_tables_are_the_same);
    tcase_add_test(rows, position_zero_is_zero_and_one);
    suite_add_tcase(suite, rows);
    return run_suite(argc, argv, suite);
}
