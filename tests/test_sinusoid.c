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
    tcase_add_test(rows, position_zero_is_zero_and_one);
    suite_add_tcase(suite, rows);
    return run_suite(argc, argv, suite);
}
