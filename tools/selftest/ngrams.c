/* SPDX-License-Identifier: MIT */
/*
 * Checks of hashed n-grams: row ids, gathered rows and histories, with both mixes.
 */
#include "selftest/check.h"

enum {
    VOCAB = 120,
    LENGTH = 4,
    MAX_COLUMNS = 24,
    SEQUENCES = 3,
    TOKENS = 300,
    APART = 61 /* rows between the starts of two columns */
};

/* The first column has the given modulus; the modulus of each further one is smaller by 2. Tables have the given dim.
   Remainders by 8192 and more are vectorized. */
static const struct ngram_check {
    const char *name;
    uint32_t columns, modulus;
    size_t dim;
    inlay_ngram_mix mix;
    inlay_id_type id_type;                   /* 0: int32 */
    inlay_ngram_combine combine;             /* 0: rows are not combined */
    inlay_element_type table_type, out_type; /* 0: float32 */
    bool zero_is_none, token_map, resets, masks, histories;
    bool decoding, columns_first; /* decoding: sequences have one token; columns_first: outputs are [columns, tokens,
                                     dim] */
} checks[] = {
    {"xor, rows one by one", 5, 61, 96, .mix = INLAY_NGRAM_MIX_XOR, .resets = true, .masks = true, .histories = true},
    {"xor, copied bfloat16", 5, 61, 96, .mix = INLAY_NGRAM_MIX_XOR, .id_type = INLAY_ID_I64, .table_type = INLAY_BF16,
     .out_type = INLAY_BF16, .zero_is_none = true, .token_map = true, .resets = true, .masks = true, .histories = true},
    {"add, sums", 5, 61, 96, .mix = INLAY_NGRAM_MIX_ADD, .id_type = INLAY_ID_U16, .combine = INLAY_NGRAM_SUM,
     .table_type = INLAY_F16, .zero_is_none = true, .resets = true, .masks = true, .histories = true},
    {"add, sums of e4m3_e8m0 to bfloat16", 5, 61, 96, .mix = INLAY_NGRAM_MIX_ADD, .id_type = INLAY_ID_U8,
     .combine = INLAY_NGRAM_SUM, .table_type = INLAY_E4M3_E8M0, .out_type = INLAY_BF16, .token_map = true,
     .resets = true, .masks = true, .histories = true},
    {"decoding, columns first in float16", 5, 61, 96, .mix = INLAY_NGRAM_MIX_XOR, .out_type = INLAY_F16, .resets = true,
     .masks = true, .histories = true, .decoding = true, .columns_first = true},
    {"xor, 24 columns", 24, 8999, 40, .mix = INLAY_NGRAM_MIX_XOR, .token_map = true},
    {"add, 24 columns", 24, 8995, 40, .mix = INLAY_NGRAM_MIX_ADD},
    {"add, no row for 0", 24, 49, 40, .mix = INLAY_NGRAM_MIX_ADD, .zero_is_none = true},
    {"resets and masks", 5, 8501, 40, .mix = INLAY_NGRAM_MIX_XOR, .resets = true, .masks = true},
    {"resets and histories", 5, 8191, 40, .mix = INLAY_NGRAM_MIX_XOR, .resets = true, .histories = true},
    {"decoding", 5, 8200, 40, .mix = INLAY_NGRAM_MIX_XOR, .histories = true, .decoding = true},
    {"columns first", 5, 9000, 40, .mix = INLAY_NGRAM_MIX_XOR, .columns_first = true},
};

static inlay_ngram *make_ngram(struct trial *trial, const struct ngram_check *wanted)
{
    static const int64_t resets[] = {3}, masks[] = {5, 6};
    inlay_ngram_column columns[MAX_COLUMNS];
    int64_t multipliers[2 * LENGTH];
    uint64_t state = 1;
    for (size_t i = 0; i < 2 * LENGTH; i++)
        multipliers[i] = (int64_t)next_random(&state);
    for (uint32_t i = 0; i < wanted->columns; i++)
        columns[i] = (inlay_ngram_column){.length = i % LENGTH + 1,
                                          .vector = i % 2,
                                          .modulus = wanted->modulus - 2 * i,
                                          .table = i % 2,
                                          .offset = (uint64_t)i * APART};
    inlay_ngram_spec spec = inlay_ngram_spec_default(VOCAB, LENGTH, wanted->mix);
    spec.pad = 2;
    spec.zero_is_none = wanted->zero_is_none;
    spec.resets = resets;
    spec.reset_count = wanted->resets ? 1 : 0;
    spec.masks = masks;
    spec.mask_count = wanted->masks ? 2 : 0;
    spec.multipliers = multipliers;
    spec.vectors = 2;
    spec.columns = columns;
    spec.column_count = wanted->columns;
    if (wanted->token_map) { /* its type requires alignment */
        static uint32_t map[VOCAB];
        for (size_t i = 0; i < VOCAB; i++)
            map[i] = (uint32_t)(next_random(&state) % VOCAB);
        spec.token_map = map;
    }
    inlay_ngram *ngram;
    trial_ok(trial, "inlay_ngram_create", inlay_ngram_create(&spec, &in_arena, &ngram));
    return ngram;
}

static void gather_rows(struct trial *trial, const struct ngram_check *wanted, const inlay_ngram *ngram,
                        const inlay_ngram_batch *batch)
{
    const size_t columns = wanted->columns, table_rows = (columns - 1) * APART + wanted->modulus;
    const inlay_table first = trial_table(trial, wanted->table_type, table_rows, wanted->dim, 20);
    const inlay_table second = trial_table(trial, wanted->table_type, table_rows, wanted->dim, 30);
    const inlay_table *tables[] = {&first, &second};
    inlay_ngram_lookup lookup = inlay_ngram_lookup_default(tables, 2);
    lookup.scale = wanted->out_type == INLAY_F32 ? 0.7f : 1;
    lookup.combine = wanted->combine;
    lookup.out_type = wanted->out_type;
    lookup.stores = trial->stores;
    const bool in_rows = wanted->combine == INLAY_NGRAM_CONCAT && !wanted->columns_first;
    const size_t dim = wanted->dim * (in_rows ? columns : 1);
    const size_t rows = TOKENS * (wanted->columns_first ? columns : 1);
    const size_t stride = inlay_table_row_bytes(wanted->out_type, dim) + 2;
    lookup.column_stride_bytes = wanted->columns_first ? TOKENS * stride : 0;
    void *out = trial_array(trial, rows * stride);
    trial_ok(trial, "inlay_ngram_forward",
             inlay_ngram_forward(ngram, batch, &lookup, out, stride, trial->executor, NULL));
    trial_rows(trial, out, rows, dim, stride, wanted->out_type);
}

static void ngram_run(struct trial *trial, size_t item)
{
    static const uint32_t lengths[SEQUENCES] = {3, 0, 2};
    static const int64_t offsets[SEQUENCES + 1] = {0, 130, 131, TOKENS};
    struct ngram_check check = checks[item];
    const struct ngram_check *wanted = &check;
    check.id_type = check.id_type != 0 ? check.id_type : INLAY_ID_I32;
    check.combine = check.combine != 0 ? check.combine : INLAY_NGRAM_CONCAT;
    check.table_type = check.table_type != 0 ? check.table_type : INLAY_F32;
    check.out_type = check.out_type != 0 ? check.out_type : INLAY_F32;
    const size_t sequences = wanted->decoding ? TOKENS : SEQUENCES, kept = sequences * (LENGTH - 1);
    const size_t columns = wanted->columns, row_bytes = columns * sizeof(int64_t);
    const inlay_ngram *ngram = make_ngram(trial, wanted);
    uint64_t state = item;
    const void *ids = trial_ids(trial, wanted->id_type, TOKENS, 0, VOCAB, &state);
    inlay_ngram_batch batch = wanted->decoding ? inlay_ngram_batch_i32(ids, TOKENS, 1)
                                               : inlay_ngram_batch_ragged(ids, wanted->id_type, offsets, SEQUENCES);
    if (wanted->histories) {
        batch.history = trial_ids(trial, wanted->id_type, kept, 0, VOCAB, &state);
        batch.history_lengths = wanted->decoding ? NULL : lengths;
    }
    void *rows = trial_array(trial, TOKENS * row_bytes);
    trial_ok(trial, "inlay_ngram_ids",
             inlay_ngram_ids(ngram, &batch, 0, columns, INLAY_ID_I64, rows, row_bytes, trial->executor, NULL));
    trial_bytes(trial, rows, TOKENS * row_bytes);
    gather_rows(trial, wanted, ngram, &batch);
    uint32_t after[TOKENS] = {0};
    unsigned char *next = trial_array(trial, kept * 8);
    trial_ok(trial, "inlay_ngram_history", inlay_ngram_history(ngram, &batch, NULL, next, after, NULL));
    trial_bytes(trial, next, kept * 8);
    trial_bytes(trial, after, sequences * sizeof *after);
}

const struct family ngram_checks = {"n-grams", ngram_run, ITEMS_OF(checks)};
