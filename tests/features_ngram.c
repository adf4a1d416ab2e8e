/* SPDX-License-Identifier: MIT */
/* The cases of features_ngram.h: each is the row ids and the gathered rows of random ids, cut in random order. */
#include "features_ngram.h"

#include "calls.h"

#include <stdio.h>
#include <string.h>

enum {
    VOCAB = 300,
    N = 4,
    SEQUENCES = 40,
    LENGTH = 20,
    COUNT = SEQUENCES * LENGTH,
    COLUMNS = 24,
    ROWS = 9000,
    DIM = 40
};

static const struct ngram_case {
    const char *name;
    inlay_ngram_mix mix;
    bool map, resets, masks, zero_is_none, history, decode, columns_first, sums, quantised;
    uint32_t modulus;
    inlay_element_type out_type;
} cases[] = {
    {"XOR", INLAY_NGRAM_MIX_XOR, .map = true, .modulus = 8999},
    {"sums", INLAY_NGRAM_MIX_ADD, .modulus = 8995},
    {"small moduli", INLAY_NGRAM_MIX_ADD, .modulus = 4001},
    {"resets and masks", INLAY_NGRAM_MIX_XOR, .resets = true, .masks = true, .modulus = 8501},
    {"no row for 0", INLAY_NGRAM_MIX_ADD, .zero_is_none = true, .modulus = 3},
    {"histories", INLAY_NGRAM_MIX_XOR, .history = true, .resets = true, .modulus = 8191},
    {"decoding", INLAY_NGRAM_MIX_XOR, .history = true, .decode = true, .modulus = 8192},
    {"[columns, tokens, dim]", INLAY_NGRAM_MIX_XOR, .columns_first = true, .modulus = 9000},
    {"summed rows", INLAY_NGRAM_MIX_XOR, .sums = true, .zero_is_none = true, .modulus = 7},
    {"bfloat16 from bfloat16", INLAY_NGRAM_MIX_XOR, .quantised = true, .out_type = INLAY_BF16, .modulus = 8999},
    {"float16 from float32", INLAY_NGRAM_MIX_XOR, .out_type = INLAY_F16, .modulus = 8999},
};

static float floats[ROWS][DIM];
static uint16_t halves[ROWS][DIM];
static uint32_t map[VOCAB];
static int32_t ids[COUNT], history[COUNT * (N - 1)];
static int64_t multipliers[N];

static void draw(void)
{
    struct random random = {3};
    for (size_t row = 0; row < ROWS; row++)
        for (size_t column = 0; column < DIM; column++) {
            floats[row][column] = (float)(int32_t)random_bits(&random) * 0x1p-30f;
            halves[row][column] = (uint16_t)(random_bits(&random) & 0xbfff);
        }
    for (size_t i = 0; i < VOCAB; i++)
        map[i] = (uint32_t)random_bits(&random);
    for (size_t i = 0; i < COUNT; i++)
        ids[i] = (int32_t)random_below(&random, VOCAB);
    for (size_t i = 0; i < COUNT * (N - 1); i++)
        history[i] = (int32_t)random_below(&random, VOCAB);
    for (size_t s = 0; s < N; s++)
        multipliers[s] = (int64_t)random_bits(&random);
}

static inlay_ngram_spec spec_of(const struct ngram_case *wanted, inlay_ngram_column columns[COLUMNS])
{
    static const int64_t some[] = {5, 250};
    inlay_ngram_spec spec = inlay_ngram_spec_default(VOCAB, N, wanted->mix);
    for (uint32_t c = 0; c < COLUMNS; c++)
        columns[c] = (inlay_ngram_column){1 + c / 6, 0, wanted->modulus, 0, ROWS - wanted->modulus};
    spec.pad = 7;
    spec.zero_is_none = wanted->zero_is_none;
    spec.token_map = wanted->map ? map : NULL;
    spec.resets = some;
    spec.masks = some;
    spec.reset_count = wanted->resets ? 2 : 0;
    spec.mask_count = wanted->masks ? 1 : 0;
    spec.multipliers = multipliers;
    spec.vectors = 1;
    spec.columns = columns;
    spec.column_count = COLUMNS;
    return spec;
}

/* What a case writes. */
static struct output {
    int64_t rows[COUNT][COLUMNS];
    unsigned char gathered[COUNT * COLUMNS * DIM * sizeof(float)];
} found, wanted_output;

static bool run(const struct ngram_case *wanted, const struct inlay_kernels *kernels, const inlay_executor *executor,
                struct output *to)
{
    inlay_ngram_column columns[COLUMNS];
    const inlay_ngram_spec spec = spec_of(wanted, columns);
    const inlay_table table =
        wanted->quantised ? inlay_table_bf16(halves, ROWS, DIM) : inlay_table_f32(floats, ROWS, DIM);
    const inlay_table *tables[] = {&table};
    inlay_ngram_lookup lookup = inlay_ngram_lookup_default(tables, 1);
    lookup.combine = wanted->sums ? INLAY_NGRAM_SUM : INLAY_NGRAM_CONCAT;
    lookup.out_type = wanted->out_type != 0 ? wanted->out_type : INLAY_F32;
    const size_t row_bytes = inlay_table_row_bytes(lookup.out_type, DIM);
    lookup.column_stride_bytes = wanted->columns_first ? COUNT * row_bytes : 0;
    inlay_ngram_batch batch = inlay_ngram_batch_i32(ids, SEQUENCES, LENGTH);
    if (wanted->decode)
        batch = inlay_ngram_batch_i32(ids, COUNT, 1);
    batch.history = wanted->history ? history : NULL;
    inlay_ngram *ngram;
    memset(to, 0x5a, sizeof *to);
    inlay_dispatch_use(kernels);
    inlay_status status = inlay_ngram_create(&spec, NULL, &ngram);
    status |= inlay_ngram_ids(ngram, &batch, 0, COLUMNS, INLAY_ID_I64, to->rows, sizeof *to->rows, executor, NULL);
    status |=
        inlay_ngram_forward(ngram, &batch, &lookup, to->gathered,
                            wanted->columns_first || wanted->sums ? row_bytes : COLUMNS * row_bytes, executor, NULL);
    inlay_ngram_destroy(ngram);
    return status == INLAY_OK;
}

bool ngram_features(void)
{
    struct random order = {1};
    const inlay_executor executor = {&order, run_shuffled, 3};
    bool good = true;
    draw();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool exact = run(&cases[i], &inlay_kernels_scalar, NULL, &wanted_output) &&
                           run(&cases[i], tested, &executor, &found) &&
                           memcmp(&found, &wanted_output, sizeof found) == 0;
        printf("hashed n-grams\t%s\t%s\n", cases[i].name, exact ? "exact" : "DIFFERS");
        good = good && exact;
    }
    return good;
}
