/* SPDX-License-Identifier: MIT */
/*
 * inlay_forward() against the reference, with random calls: every id type, policy, padding, position mode, shard,
 * ragged shape, pooling and post-op together. Statuses and faults are compared too, and every byte outside the rows.
 */
#include "support/calls.h"

#include <string.h>

#define DIMS(...) .dims = (const size_t[]){__VA_ARGS__}, .n_dims = sizeof(const size_t[]){__VA_ARGS__} / sizeof(size_t)

/* Compares n calls, modified by `change` (unless null) for a test. */
static void compare_calls(uint64_t first_seed, uint64_t n, const struct call_sizes *sizes,
                          bool (*change)(struct call *call, struct source *source))
{
    unsigned long compared = 0, statuses[INLAY_ERROR_HISTORY + 1] = {0};
    calls_prepare(sizes);
    for (uint64_t seed = first_seed; seed < first_seed + n; seed++) {
        struct source source = {.random = {seed * UINT64_C(0x9e3779b97f4a7c15)}};
        struct call call;
        call_draw(&call, &source, sizes);
        if (change == NULL || change(&call, &source)) {
            struct outcome expected = call_expect(&call);
            const char *wrong = call_check(&call, &expected);
            EXPECT(wrong == NULL, "seed %lu: %s", (unsigned long)seed, wrong);
            statuses[expected.status]++;
            compared++;
        }
        call_end(&call);
    }
    /* Calls that all fail, or never fail in some way, would test little. */
    EXPECT(statuses[INLAY_OK] > compared / 2 && statuses[INLAY_ERROR_ID] > 0 && statuses[INLAY_ERROR_POSITION] > 0,
           "%lu of %lu calls succeed", statuses[INLAY_OK], compared);
}

START_TEST(small_calls)
{
    const struct call_sizes sizes = {DIMS(1, 2, 3, 8, 16, 17, 31, 32, 64, 64, 100, 128), .max_dim = 128, .tokens = 40,
                                     .out_bytes = 24000};
    compare_calls((uint64_t)_i * 2000, 2000, &sizes, NULL);
}
END_TEST

START_TEST(long_rows)
{
    const struct call_sizes sizes = {DIMS(256, 511, 512, 513, 1024, 4096, 4352, 5000), .max_dim = 5000, .tokens = 24,
                                     .out_bytes = 200000};
    compare_calls(1000000, 300, &sizes, NULL);
}
END_TEST

/* Outputs large enough to be split by executors. */
START_TEST(calls_in_parts)
{
    const struct call_sizes sizes = {DIMS(64, 100, 256, 512), .max_dim = 512, .tokens = 1500, .out_bytes = 700000};
    compare_calls(2000000, strcmp(tested->name, "scalar") == 0 ? 60 : 300, &sizes, NULL);
}
END_TEST

static bool put_segments_first(struct call *call, struct source *source)
{
    if (call->sinusoid == NULL || call->tokens.vocab > 0)
        return false;
    call->segments = draw_table(source, SEGMENTS, 3, call->tokens.dim, one_in(source, 2), false);
    call->spec.segments = &call->segments;
    call->spec.segments_first = 1;
    return true;
}

/* Rows longer than the buffer of the post-ops are added in pieces. These must start at a block of a quantized row,
   however many tokens share the buffer. */
START_TEST(segments_before_positions_in_long_rows)
{
    const struct call_sizes sizes = {DIMS(4352), .max_dim = 4352, .tokens = 9, .out_bytes = 9 * 4352 * 4 + 700};
    compare_calls(4000000, 800, &sizes, put_segments_first);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("calls");
    TCase *calls = tcase_create("calls");
    tcase_set_timeout(calls, 600);
    tcase_add_loop_test(calls, small_calls, 0, 8);
    tcase_add_test(calls, long_rows);
    tcase_add_test(calls, calls_in_parts);
    tcase_add_test(calls, segments_before_positions_in_long_rows);
    suite_add_tcase(suite, calls);
    return run_suite(argc, argv, suite);
}
