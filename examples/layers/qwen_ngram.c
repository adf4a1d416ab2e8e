/* SPDX-License-Identifier: MIT */
/*
 * The n-gram embedding of Qwen: 8 heads for each of the 2- and 3-grams that end in a token, i.e. 16 rows of one table,
 * concatenated to 16 * dim bfloat16. N-grams do not cross the end of a text, so several texts can be packed into one
 * sequence. Rows are FP8 (E4M3) with one scale for the whole table. A checkpoint stores the table in equal parts, one
 * tensor each, wherever the files are mapped: they become the extents of one table.
 */
#include "check.h"

enum {
    VOCAB = 300,
    EOS = 299,
    N = 3,
    HEADS = 8,
    COLUMNS = 16,
    DIM = 40,
    SEQUENCES = 2,
    LENGTH = 6,
    PARTS = 4, /* 128 in Qwen's checkpoint */
    PART_ROWS = 3300,
    ROWS = PARTS * PART_ROWS
};

static const float weight_scale = 0.5f / 448; /* a bfloat16 stored with the table in the checkpoint */
static const int64_t resets[1] = {EOS};
static const int64_t multipliers[N] = {23703573157769, 20109073645365, 8052911324071}; /* layer_multipliers */
static inlay_ngram_column columns[COLUMNS]; /* ngram_heads_vocab_sizes, ngram_heads_offsets */
static uint8_t parts[PARTS][PART_ROWS][DIM];

static inlay_ngram_spec qwen(void)
{
    uint64_t rows = 0;
    for (uint32_t c = 0; c < COLUMNS; c++) {
        const uint32_t modulus = 809 + 2 * c;
        columns[c] = (inlay_ngram_column){2 + c / HEADS, 0, modulus, 0, rows};
        rows += modulus;
    }
    inlay_ngram_spec spec = inlay_ngram_spec_default(VOCAB, N, INLAY_NGRAM_MIX_XOR);
    spec.pad = EOS; /* precedes the beginning of a text */
    spec.resets = resets;
    spec.reset_count = 1;
    spec.multipliers = multipliers;
    spec.vectors = 1;
    spec.columns = columns;
    spec.column_count = COLUMNS;
    return spec;
}

int main(void)
{
    const int64_t ids[SEQUENCES][LENGTH] = {{5, 17, EOS, 5, 17, 200}, {0, 0, 0, 298, EOS, EOS}};
    static uint16_t out[SEQUENCES][LENGTH][COLUMNS][DIM];
    for (uint32_t row = 0; row < ROWS; row++)
        for (uint32_t i = 0; i < DIM; i++)
            parts[row / PART_ROWS][row % PART_ROWS][i] = (row * DIM + i) * 2654435761u >> 24 & 0xfe; /* no NaN */
    inlay_table_extent extents[PARTS];
    for (uint32_t i = 0; i < PARTS; i++)
        extents[i] = (inlay_table_extent){.data = parts[i], .first_row = (size_t)i * PART_ROWS};

    const inlay_ngram_spec spec = qwen();
    inlay_ngram *ngram = NULL;
    require(inlay_ngram_create(&spec, NULL, &ngram));
    const inlay_table rows = inlay_table_e4m3(NULL, NULL, ROWS, DIM);
    const inlay_table table = inlay_table_from_extents(rows, extents, PARTS, PART_ROWS), *tables[1] = {&table};
    inlay_ngram_lookup lookup = inlay_ngram_lookup_default(tables, 1);
    lookup.scale = weight_scale;
    lookup.out_type = INLAY_BF16;
    inlay_ngram_batch batch = inlay_ngram_batch_i64(ids[0], SEQUENCES, LENGTH);
    require(inlay_ngram_forward(ngram, &batch, &lookup, out, sizeof out[0][0], NULL, NULL));
    inlay_ngram_destroy(ngram);

    static float found[SEQUENCES][LENGTH][COLUMNS][DIM];
    static double expected[SEQUENCES][LENGTH][COLUMNS][DIM];
    for (int b = 0; b < SEQUENCES; b++)
        for (int t = 0; t < LENGTH; t++)
            for (int c = 0; c < COLUMNS; c++) {
                const int64_t row = ngram_row(&spec, (size_t)c, ids[b], (size_t)t);
                for (int i = 0; i < DIM; i++) {
                    found[b][t][c][i] = from_bfloat16(out[b][t][c][i]);
                    const uint8_t q = parts[row / PART_ROWS][row % PART_ROWS][i];
                    const float value = (float)from_e4m3(q) * weight_scale;
                    expected[b][t][c][i] = from_bfloat16(to_bfloat16(value));
                }
            }
    return compare("qwen n-gram embedding", found[0][0][0], expected[0][0][0], SEQUENCES * LENGTH * COLUMNS * DIM, 0);
}
