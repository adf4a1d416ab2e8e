/* SPDX-License-Identifier: MIT */
/*
 * Splitting work into parts: shares have no gaps and differ by at most one, even if a product of their number and the
 * total would overflow size_t.
 */
#include "support/support.h"

#include "base/executor.h"

/* Small totals, the block counts of the largest calls, and the largest values of uint32_t and size_t. */
static const size_t totals[] = {0,        1,        2,          7,          127,          128,          1000003,
                                0x7fffff, 0x800000, 0xfffffffe, UINT32_MAX, SIZE_MAX / 2, SIZE_MAX - 1, SIZE_MAX};

START_TEST(shares_cover_everything_once)
{
    static const size_t max_parts[] = {1, 2, 3, 16, 127, 128, 512, 4099};
    for (size_t t = 0; t < sizeof totals / sizeof *totals; t++)
        for (size_t p = 0; p < sizeof max_parts / sizeof *max_parts; p++) {
            size_t total = totals[t], parts = max_parts[p], end = 0;
            for (size_t i = 0; i < parts; i++) {
                size_t begin = inlay_share_begin(total, parts, i);
                EXPECT(begin == end, "share %zu of %zu of %zu begins at %zu, not at %zu", i, parts, total, begin, end);
                end = inlay_share_begin(total, parts, i + 1);
                EXPECT(end - begin - total / parts <= 1, "share %zu of %zu of %zu has %zu", i, parts, total,
                       end - begin);
            }
            EXPECT(end == total, "%zu shares of %zu end at %zu", parts, total, end);
        }
}
END_TEST

/* 2^30 - 1 float16 rows of dim 1 in blocks of 128 rows: with 32 bits, 2^23 * 512 is 0, and shares by total * index /
   parts would start outside the output. */
START_TEST(largest_call_of_a_32_bit_machine_is_cut_within_its_rows)
{
    enum { ROWS = (1 << 30) - 1, BLOCK = 128, PARTS = 512 };
    const size_t blocks = (ROWS + BLOCK - 1) / BLOCK;
    ck_assert_uint_eq(inlay_share_begin(blocks, PARTS, PARTS), blocks);
    ck_assert_uint_eq(inlay_share_begin(blocks, PARTS, PARTS - 1), blocks - blocks / PARTS);
}
END_TEST

START_TEST(parts_are_worth_a_thread)
{
    const inlay_executor four = {.run = NULL, .threads = 4}, most = {.run = NULL, .threads = SIZE_MAX};
    EXPECT(inlay_parts(NULL, SIZE_MAX) == 1, "no executor, but several parts");
    EXPECT(inlay_parts(&four, 0) == 1, "no bytes, but not one part");
    EXPECT(inlay_parts(&four, 2 * INLAY_PART_BYTES) == 2, "a part has fewer bytes than a thread is worth");
    EXPECT(inlay_parts(&four, 4 * INLAY_PART_BYTES) == 4, "a thread has no part");
    EXPECT(inlay_parts(&four, SIZE_MAX) == 4 * INLAY_PARTS_PER_THREAD, "parts of a large call");
    EXPECT(inlay_parts(&most, SIZE_MAX) == SIZE_MAX / INLAY_PART_BYTES, "the number of threads overflowed");
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "executor", NULL, NULL, shares_cover_everything_once,
                     largest_call_of_a_32_bit_machine_is_cut_within_its_rows, parts_are_worth_a_thread);
}
