/* SPDX-License-Identifier: MIT */
/*
 * Sinusoid tables: one SHA-256 per specification, committed here, which every ISA must give; and their placement, for
 * every dim, layout and guard page.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

/*
 * 2^20 entries in all, at most: the scalar kernel takes a microsecond per pair, and many times that under emulation.
 * The sets hold no entry so near to a rounding boundary that the vector kernels miss it.
 */
static const struct {
    size_t dim;
    double base;
    inlay_layout layout;
    int64_t first;
    size_t n;
    const char *sha256;
} tables[] = {
#include "sinusoid_sha256.inc"
};

START_TEST(tables_have_their_hash)
{
    size_t dim = tables[_i].dim, n = tables[_i].n;
    inlay_sinusoid *sinusoid = make_sinusoid(dim, tables[_i].base, tables[_i].layout);
    float *rows = malloc(n * dim * sizeof *rows);
    ck_assert_int_eq(inlay_sinusoid_rows(sinusoid, tables[_i].first, n, INLAY_F32, rows, dim * sizeof *rows), INLAY_OK);
    struct digest digest = sha256(rows, n * dim * sizeof *rows);
    count_checks(n * dim - 1);
    EXPECT(strcmp(digest.text, tables[_i].sha256) == 0, "dim %zu, base %g, layout %d, positions %ld + %zu: %s", dim,
           tables[_i].base, (int)tables[_i].layout, (long)tables[_i].first, n, digest.text);
    free(rows);
    inlay_sinusoid_destroy(sinusoid);
}
END_TEST

/* Every dim lands where the layout says, and nowhere else: against the columns of one wide interleaved row by scalar.
 */
START_TEST(every_dim_and_layout_lands_in_its_columns)
{
    enum { MAX_DIM = 130, N = 3 };
    size_t row = MAX_DIM * sizeof(float) + 67;
    struct arena out = arena_make(N * row + 64);
    for (size_t dim = 1; dim <= MAX_DIM; dim++) {
        inlay_sinusoid *interleaved = make_sinusoid(dim, 10000, INLAY_LAYOUT_INTERLEAVED);
        float reference[N][MAX_DIM];
        inlay_dispatch_use(&inlay_kernels_scalar);
        ck_assert_int_eq(inlay_sinusoid_rows(interleaved, 77, N, INLAY_F32, reference, sizeof *reference), INLAY_OK);
        inlay_dispatch_use(tested);
        for (int layout = INLAY_LAYOUT_INTERLEAVED; layout <= INLAY_LAYOUT_SPLIT; layout++)
            for (int at = AT_BEGIN; at <= INSIDE; at++)
                for (size_t padding = 0; padding < 68; padding += 67) {
                    inlay_sinusoid *sinusoid = make_sinusoid(dim, 10000, (inlay_layout)layout);
                    size_t stride = dim * sizeof(float) + padding;
                    unsigned char *rows =
                        arena_place(&out, (N - 1) * stride + dim * sizeof(float), (enum placement)at, 3);
                    ck_assert_int_eq(inlay_sinusoid_rows(sinusoid, 77, N, INLAY_F32, rows, stride), INLAY_OK);
                    for (size_t i = 0; i < N; i++)
                        for (size_t column = 0; column < dim; column++) {
                            size_t to = layout == INLAY_LAYOUT_INTERLEAVED ? column
                                        : column % 2 == 0                  ? column / 2
                                                                           : (dim + 1) / 2 + column / 2;
                            float got = float_at(rows + i * stride, to);
                            EXPECT(got == reference[i][column], "dim %zu, layout %d: row %zu, column %zu is %a, not %a",
                                   dim, layout, i, to, (double)got, (double)reference[i][column]);
                        }
                    EXPECT(arena_untouched_outside(&out, rows, N, stride, dim * sizeof(float)),
                           "dim %zu, layout %d: wrote outside its rows", dim, layout);
                    inlay_sinusoid_destroy(sinusoid);
                }
        inlay_sinusoid_destroy(interleaved);
    }
    arena_free(&out);
}
END_TEST

/* Tables large enough to be streamed, on cache lines and off them, against the same rows in calls too small for that.
 */
START_TEST(streamed_tables_are_the_same)
{
    static const struct {
        size_t dim;
        inlay_layout layout;
        size_t offset, padding; /* bytes */
    } cases[] = {
        {1024, INLAY_LAYOUT_INTERLEAVED, 0, 0},  {1024, INLAY_LAYOUT_SPLIT, 0, 0},
        {1024, INLAY_LAYOUT_INTERLEAVED, 4, 0},  {1023, INLAY_LAYOUT_INTERLEAVED, 0, 0},
        {1022, INLAY_LAYOUT_SPLIT, 0, 8},        {1040, INLAY_LAYOUT_SPLIT, 0, 0},
        {2080, INLAY_LAYOUT_INTERLEAVED, 0, 64}, {1025, INLAY_LAYOUT_SPLIT, 1, 3},
    };
    if (tested == &inlay_kernels_scalar)
        return; /* it does not stream */
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        enum { FIRST = 123456, CHUNK = 300 };
        size_t dim = cases[c].dim, row = dim * sizeof(float), stride = row + cases[c].padding;
        size_t n = (8 << 20) / row + 10;
        inlay_sinusoid *sinusoid = make_sinusoid(dim, 10000, cases[c].layout);
        struct arena out = arena_make(n * stride + 64), small = arena_make(CHUNK * row);
        unsigned char *rows = arena_place(&out, n * stride, INSIDE, cases[c].offset);
        ck_assert_int_eq(inlay_sinusoid_rows(sinusoid, FIRST, n, INLAY_F32, rows, stride), INLAY_OK);
        for (size_t i = 0; i < n; i += CHUNK) {
            size_t some = n - i < CHUNK ? n - i : CHUNK;
            ck_assert_int_eq(inlay_sinusoid_rows(sinusoid, FIRST + (int64_t)i, some, INLAY_F32, small.begin, row),
                             INLAY_OK);
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
    inlay_sinusoid *sinusoid = make_sinusoid(7, 10000, INLAY_LAYOUT_INTERLEAVED);
    ck_assert_int_eq(inlay_sinusoid_rows(sinusoid, 0, 1, INLAY_F32, row, sizeof row), INLAY_OK);
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
    tcase_add_loop_test(rows, tables_have_their_hash, 0, (int)(sizeof tables / sizeof *tables));
    tcase_add_test(rows, every_dim_and_layout_lands_in_its_columns);
    tcase_add_test(rows, streamed_tables_are_the_same);
    tcase_add_test(rows, position_zero_is_zero_and_one);
    suite_add_tcase(suite, rows);
    return run_suite(argc, argv, suite);
}
