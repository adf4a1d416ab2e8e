/* SPDX-License-Identifier: MIT */
/*
 * An Engram layer (DeepSeek). Each token has 8 heads for each of the 2-, 3- and 4-grams that end in it. The hash of an
 * n-gram selects a row of one large table; the 24 rows are concatenated to 24 * dim bfloat16. Rows are FP8 (E4M3) with
 * a power-of-two scale per 32 columns. Reads a prompt, then one token at a time with the previous ids as history.
 */
#include "check.h"

enum {
    VOCAB = 500,
    NUMBERS = 400,
    N = 4,
    HEADS = 8,
    COLUMNS = 24,
    DIM = 64,
    SEQUENCES = 2,
    TOKENS = 7,
    PAD = 2,
    ROWS = COLUMNS * 1000
};

static uint32_t token_map[VOCAB];
static uint8_t table[ROWS][DIM], scales[ROWS][DIM / 32];

/* The model's configuration: one modulus per head, distinct primes near 16,000,000 in the real model, and a vector of
   odd multipliers. The real values are in examples/ngram. */
static inlay_ngram *engram(inlay_ngram_spec *spec, inlay_ngram_column columns[COLUMNS])
{
    static const int64_t multipliers[N] = {76632096046245, 4839876093313, 35959672319349, 73987337458391};
    uint64_t rows = 0;
    for (uint32_t c = 0; c < COLUMNS; c++) {
        const uint32_t modulus = 701 + 2 * c;
        columns[c] = (inlay_ngram_column){2 + c / HEADS, 0, modulus, 0, rows};
        rows += modulus;
    }
    /* Ids of texts that differ only in case or accents share a number. */
    for (uint32_t id = 0; id < VOCAB; id++)
        token_map[id] = id * 7 % NUMBERS;
    *spec = inlay_ngram_spec_default(VOCAB, N, INLAY_NGRAM_MIX_XOR);
    spec->token_map = token_map;
    spec->pad = token_map[PAD];
    spec->multipliers = multipliers;
    spec->vectors = 1;
    spec->columns = columns;
    spec->column_count = COLUMNS;
    inlay_ngram *ngram = NULL;
    require(inlay_ngram_create(spec, NULL, &ngram));
    return ngram;
}

/* Converts a made-up table to FP8, as in the checkpoint. */
static inlay_table fp8_table(size_t rows)
{
    static float numbers[ROWS][DIM];
    fill(numbers[0], rows, DIM, 1);
    inlay_table from = inlay_table_f32(numbers, rows, DIM), view;
    inlay_table_storage to = inlay_table_storage_of(INLAY_E4M3_E8M0, table, DIM);
    to.scales = scales;
    require(inlay_table_quantize(&from, &to, &view, NULL));
    return view;
}

/* Computes the expected output for token t of a whole sequence. */
static void define(const inlay_ngram_spec *spec, const int64_t *ids, size_t t, double (*out)[DIM])
{
    for (size_t c = 0; c < COLUMNS; c++) {
        const int64_t row = ngram_row(spec, c, ids, t);
        for (int i = 0; i < DIM; i++) {
            const double value = ldexp(from_e4m3(table[row][i]), scales[row][i / 32] - 127);
            out[c][i] = from_bfloat16(to_bfloat16((float)value));
        }
    }
}

int main(void)
{
    const int64_t ids[TOKENS] = {42, 7, 7, 499, 401, 0, 13}, next[SEQUENCES] = {99, 5};
    const int64_t offsets[SEQUENCES + 1] = {0, 2, TOKENS}, single[SEQUENCES + 1] = {0, 1, 2};
    const int64_t whole[SEQUENCES][TOKENS] = {{42, 7, 99}, {7, 499, 401, 0, 13, 5}};
    static uint16_t out[TOKENS + SEQUENCES][COLUMNS][DIM];

    inlay_ngram_spec spec;
    inlay_ngram_column columns[COLUMNS];
    inlay_ngram *ngram = engram(&spec, columns);
    const inlay_table rows = fp8_table(columns[COLUMNS - 1].offset + columns[COLUMNS - 1].modulus);
    const inlay_table *tables[1] = {&rows};
    inlay_ngram_lookup lookup = inlay_ngram_lookup_default(tables, 1);
    lookup.out_type = INLAY_BF16;

    /* The prompts, and their histories: the last three ids of each, fewer if it is shorter. */
    inlay_ngram_batch batch = inlay_ngram_batch_ragged(ids, INLAY_ID_I64, offsets, SEQUENCES);
    require(inlay_ngram_forward(ngram, &batch, &lookup, out, sizeof out[0], NULL, NULL));
    int64_t history[SEQUENCES][N - 1];
    uint32_t lengths[SEQUENCES];
    require(inlay_ngram_history(ngram, &batch, NULL, history, lengths, NULL));

    /* One more token per sequence. */
    batch = inlay_ngram_batch_ragged(next, INLAY_ID_I64, single, SEQUENCES);
    batch.history = history;
    batch.history_lengths = lengths;
    require(inlay_ngram_forward(ngram, &batch, &lookup, out[TOKENS], sizeof out[0], NULL, NULL));
    require(inlay_ngram_history(ngram, &batch, NULL, history, lengths, NULL));
    inlay_ngram_destroy(ngram);

    static float found[TOKENS + SEQUENCES][COLUMNS][DIM];
    static double expected[TOKENS + SEQUENCES][COLUMNS][DIM];
    for (int b = 0; b < SEQUENCES; b++) {
        const int64_t length = offsets[b + 1] - offsets[b];
        for (int64_t t = 0; t < length; t++)
            define(&spec, whole[b], (size_t)t, expected[offsets[b] + t]);
        define(&spec, whole[b], (size_t)length, expected[TOKENS + b]);
    }
    for (int t = 0; t < TOKENS + SEQUENCES; t++)
        for (int c = 0; c < COLUMNS; c++)
            for (int i = 0; i < DIM; i++)
                found[t][c][i] = from_bfloat16(out[t][c][i]);
    return compare("engram", found[0][0], expected[0][0], (TOKENS + SEQUENCES) * COLUMNS * DIM, 0);
}
