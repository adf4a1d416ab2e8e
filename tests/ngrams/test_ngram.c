/* SPDX-License-Identifier: MIT */
/*
 * N-grams on the ISA under test: random specs, batches, tables and splits against the definition as plain loops. Also
 * covers two calls connected by a history, for any accepted tokens, which must equal one call. INLAY_NGRAM_CALLS sets
 * the number of calls (use CK_FORK=no for more than ten minutes), INLAY_NGRAM_SEED the first seed.
 */
#include "ngrams/ngrams.h"
#include "support/reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t number_of(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 10) : fallback;
}

static uint64_t first_seed(void)
{
    return number_of("INLAY_NGRAM_SEED", 1);
}

static uint64_t calls(uint64_t fallback)
{
    return number_of("INLAY_NGRAM_CALLS", fallback);
}

START_TEST(random_calls)
{
    unsigned long statuses[INLAY_ERROR_HISTORY + 1] = {0};
    ngrams_prepare();
    for (uint64_t seed = first_seed(); seed < first_seed() + calls(4000); seed++) {
        struct source source = {.random = {seed * UINT64_C(0x9e3779b97f4a7c15)}};
        struct ngram_call call;
        ngram_draw(&call, &source);
        const char *wrong = ngram_check(&call, &source);
        EXPECT(wrong == NULL, "seed %llu: %s", (unsigned long long)seed, wrong);
        statuses[call.status]++;
        ngram_end(&call);
    }
    EXPECT(statuses[INLAY_OK] > statuses[INLAY_ERROR_ID] && statuses[INLAY_ERROR_ID] > 0 &&
               statuses[INLAY_ERROR_HISTORY] > 0 && statuses[INLAY_ERROR_OFFSETS] > 0,
           "%lu calls succeed, %lu have bad ids, %lu bad histories, %lu bad offsets", statuses[INLAY_OK],
           statuses[INLAY_ERROR_ID], statuses[INLAY_ERROR_HISTORY], statuses[INLAY_ERROR_OFFSETS]);
}
END_TEST

/* ---- Rollback ---------------------------------------------------------------------------------------------------- */

enum { PLACES = 7, SEQUENCES = 9, LENGTH = 30, COLUMNS = 11, IDS = 40 };

/* Runs the accepted tokens of each sequence, then the rest with the resulting history, and compares both with a single
   call. */
static void check_rollback(struct random *random, const inlay_ngram *ngram, const inlay_ngram_batch *whole,
                           const int64_t *ids, const int64_t *expected)
{
    static int64_t history[SEQUENCES * PLACES], rest[SEQUENCES * LENGTH], rows[SEQUENCES * LENGTH * COLUMNS];
    int64_t accepted[SEQUENCES], offsets[SEQUENCES + 1] = {0};
    uint32_t lengths[SEQUENCES];
    size_t n = 0;
    for (size_t b = 0; b < SEQUENCES; b++) {
        accepted[b] = (int64_t)random_below(random, LENGTH + 1);
        for (size_t i = (size_t)accepted[b]; i < LENGTH; i++)
            rest[n++] = ids[b * LENGTH + i];
        offsets[b + 1] = (int64_t)n;
    }
    ck_assert_int_eq(inlay_ngram_history(ngram, whole, accepted, history, lengths, NULL), INLAY_OK);
    inlay_ngram_batch batch = inlay_ngram_batch_ragged(rest, INLAY_ID_I64, offsets, SEQUENCES);
    batch.history = history;
    batch.history_lengths = lengths;
    ck_assert_int_eq(inlay_ngram_ids(ngram, &batch, 0, INLAY_NGRAM_ALL_COLUMNS, INLAY_ID_I64, rows,
                                     COLUMNS * sizeof *rows, NULL, NULL),
                     INLAY_OK);
    for (size_t b = 0; b < SEQUENCES; b++) {
        const size_t bytes = (size_t)(LENGTH - accepted[b]) * COLUMNS * sizeof *rows;
        EXPECT(memcmp(rows + (size_t)offsets[b] * COLUMNS, expected + (b * LENGTH + (size_t)accepted[b]) * COLUMNS,
                      bytes) == 0,
               "sequence %zu goes on in another way after %d of its tokens", b, (int)accepted[b]);
    }
}

START_TEST(a_call_in_two_is_the_call_in_one)
{
    static int64_t ids[SEQUENCES * LENGTH], expected[SEQUENCES * LENGTH * COLUMNS];
    struct random random = {first_seed()};
    for (uint64_t i = 0; i < calls(4000) / 40; i++) {
        int64_t multipliers[2 * (PLACES + 1)], resets[2], masks[2], before[SEQUENCES * PLACES];
        inlay_ngram_column columns[COLUMNS];
        inlay_ngram *ngram;
        const uint32_t length = 1 + (uint32_t)random_below(&random, PLACES + 1);
        inlay_ngram_spec spec = inlay_ngram_spec_default(IDS, length, INLAY_NGRAM_MIX_ADD);
        for (size_t k = 0; k < 2 * (PLACES + 1); k++)
            multipliers[k] = (int64_t)random_bits(&random);
        for (size_t k = 0; k < 2; k++) {
            resets[k] = (int64_t)random_below(&random, IDS);
            masks[k] = (int64_t)random_below(&random, IDS);
        }
        for (size_t c = 0; c < COLUMNS; c++)
            columns[c] = (inlay_ngram_column){1 + (uint32_t)random_below(&random, length), c % 2, 1000003, 0, 0};
        spec.resets = resets;
        spec.masks = masks;
        spec.reset_count = spec.mask_count = random_below(&random, 3);
        spec.multipliers = multipliers;
        spec.vectors = 2;
        spec.columns = columns;
        spec.column_count = COLUMNS;
        for (size_t k = 0; k < SEQUENCES * LENGTH; k++)
            ids[k] = (int64_t)random_below(&random, IDS);
        for (size_t k = 0; k < SEQUENCES * PLACES; k++)
            before[k] = (int64_t)random_below(&random, IDS);
        inlay_ngram_batch whole = inlay_ngram_batch_i64(ids, SEQUENCES, LENGTH);
        whole.history = i % 2 == 0 ? before : NULL;
        ck_assert_int_eq(inlay_ngram_create(&spec, NULL, &ngram), INLAY_OK);
        ck_assert_int_eq(
            inlay_ngram_ids(ngram, &whole, 0, COLUMNS, INLAY_ID_I64, expected, COLUMNS * sizeof *expected, NULL, NULL),
            INLAY_OK);
        check_rollback(&random, ngram, &whole, ids, expected);
        inlay_ngram_destroy(ngram);
    }
}
END_TEST

/* ---- Moduli ------------------------------------------------------------------------------------------------------ */

/* Sums near multiples of moduli, and extremes: the remainder of each, vectorized and scalar. */
START_TEST(remainders_at_their_edges)
{
    enum { MODULI = 64, SUMS = 400 };
    static const uint64_t near[] = {0, UINT64_C(1) << 63, UINT64_MAX, UINT64_C(1) << 62, UINT64_C(1) << 53};
    struct random random = {7};
    for (int round = 0; round < 40; round++) {
        inlay_ngram_column columns[MODULI];
        int64_t multiplier = 1, rows[MODULI];
        const int32_t id = 1;
        for (size_t c = 0; c < MODULI; c++) {
            const uint32_t bits = 1 + (uint32_t)random_below(&random, 32);
            uint64_t modulus = (random_bits(&random) >> (64 - bits)) | UINT64_C(1) << (bits - 1);
            modulus -= modulus > 1 && random_below(&random, 2);
            columns[c] = (inlay_ngram_column){1, 0, (uint32_t)modulus, 0, 0};
        }
        for (int i = 0; i < SUMS; i++) {
            const uint64_t modulus = columns[random_below(&random, MODULI)].modulus;
            uint64_t sum = near[random_below(&random, sizeof near / sizeof *near)];
            if (i % 2 == 0)
                sum = random_bits(&random) >> random_below(&random, 40);
            sum = sum / modulus * modulus + random_below(&random, 5) - 2;
            sum = i % 3 == 0 ? 0 - sum : sum;
            memcpy(&multiplier, &sum, sizeof sum);
            inlay_ngram_spec spec = inlay_ngram_spec_default(2, 1, INLAY_NGRAM_MIX_XOR);
            spec.multipliers = &multiplier;
            spec.vectors = 1;
            spec.columns = columns;
            spec.column_count = MODULI;
            inlay_ngram *ngram;
            ck_assert_int_eq(inlay_ngram_create(&spec, NULL, &ngram), INLAY_OK);
            const inlay_ngram_batch batch = inlay_ngram_batch_i32(&id, 1, 1);
            ck_assert_int_eq(inlay_ngram_ids(ngram, &batch, 0, MODULI, INLAY_ID_I64, rows, sizeof rows, NULL, NULL),
                             INLAY_OK);
            for (size_t c = 0; c < MODULI; c++) {
                const int64_t m = columns[c].modulus, wanted = (multiplier % m + m) % m;
                EXPECT(rows[c] == wanted, "%lld modulo %lld is %lld", (long long)multiplier, (long long)m,
                       (long long)rows[c]);
            }
            inlay_ngram_destroy(ngram);
        }
    }
}
END_TEST

int main(int argc, char **argv)
{
    printf("n-grams: seeds from %llu on\n", (unsigned long long)first_seed());
    return RUN_TESTS(argc, argv, "n-grams", NULL, NULL, random_calls, a_call_in_two_is_the_call_in_one,
                     remainders_at_their_edges);
}
