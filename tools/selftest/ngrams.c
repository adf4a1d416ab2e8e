/* SPDX-License-Identifier: MIT */
/*
 * Checks of hashed n-grams: row ids, gathered rows and histories, of both ways to mix.
 */
#include "selftest/check.h"

enum { VOCAB = 120, LENGTH = 4, COLUMNS = 5, SEQUENCES = 3, TOKENS = 300, DIM = 96, MODULUS = 61 };

static const struct ngram_check {
    const char *name;
    inlay_ngram_mix mix;
    inlay_id_type id_type;
    inlay_ngram_combine combine;
    inlay_element_type table_type, out_type;
    uint32_t zero_is_none;
    bool token_map;
    bool decoding; /* sequences of one token, and outputs [columns, tokens, dim] */
} checks[] = {
    {"xor, rows one by one", INLAY_NGRAM_MIX_XOR, INLAY_ID_I32, INLAY_NGRAM_CONCAT, INLAY_F32, INLAY_F32, 0, false,
     false},
    {"xor, copied bfloat16", INLAY_NGRAM_MIX_XOR, INLAY_ID_I64, INLAY_NGRAM_CONCAT, INLAY_BF16, INLAY_BF16, 1, true,
     false},
    {"add, sums", INLAY_NGRAM_MIX_ADD, INLAY_ID_U16, INLAY_NGRAM_SUM, INLAY_F16, INLAY_F32, 1, false, false},
    {"add, sums of e4m3_e8m0 to bfloat16", INLAY_NGRAM_MIX_ADD, INLAY_ID_U8, INLAY_NGRAM_SUM, INLAY_E4M3_E8M0,
     INLAY_BF16, 0, true, false},
    {"decoding, columns first in float16", INLAY_NGRAM_MIX_XOR, INLAY_ID_I32, INLAY_NGRAM_CONCAT, INLAY_F32, INLAY_F16,
     0, false, true},
};

static inlay_ngram *make_ngram(struct trial *trial, const struct ngram_check *wanted)
{
    static const int64_t resets[] = {3}, masks[] = {5, 6};
    inlay_ngram_column columns[COLUMNS];
    int64_t multipliers[2 * LENGTH];
    uint64_t state = 1;
    for (size_t i = 0; i < 2 * LENGTH; i++)
        multipliers[i] = (int64_t)next_random(&state);
    for (uint32_t i = 0; i < COLUMNS; i++)
        columns[i] = (inlay_ngram_column){.length = i % LENGTH + 1,
                                          .vector = i % 2,
                                          .modulus = MODULUS - 2 * i,
                                          .table = i % 2,
                                          .offset = (uint64_t)i * MODULUS};
    inlay_ngram_spec spec = inlay_ngram_spec_default(VOCAB, LENGTH, wanted->mix);
    spec.pad = 2;
    spec.zero_is_none = wanted->zero_is_none;
    spec.resets = resets;
    spec.reset_count = 1;
    spec.masks = masks;
    spec.mask_count = 2;
    spec.multipliers = multipliers;
    spec.vectors = 2;
    spec.columns = columns;
    spec.column_count = COLUMNS;
    if (wanted->token_map) { /* its type has an alignment */
        static uint32_t map[VOCAB];
        for (size_t i = 0; i < VOCAB; i++)
            map[i] = (uint32_t)(next_random(&state) % VOCAB);
        spec.token_map = map;
    }
    inlay_ngram *ngram = NULL;
    trial_ok(trial, "inlay_ngram_create", inlay_ngram_create(&spec, NULL, &ngram));
    return ngram;
}

static void gather_rows(struct trial *trial, const struct ngram_check *wanted, const inlay_ngram *ngram,
                        const inlay_ngram_batch *batch)
{
    const inlay_table first = trial_table(trial, wanted->table_type, COLUMNS * MODULUS, DIM, 20);
    const inlay_table second = trial_table(trial, wanted->table_type, COLUMNS * MODULUS, DIM, 30);
    const inlay_table *tables[] = {&first, &second};
    inlay_ngram_lookup lookup = inlay_ngram_lookup_default(tables, 2);
    lookup.scale = wanted->out_type == INLAY_F32 ? 0.7f : 1;
    lookup.combine = wanted->combine;
    lookup.out_type = wanted->out_type;
    lookup.stores = trial->stores;
    const bool in_rows = wanted->combine == INLAY_NGRAM_CONCAT && !wanted->decoding;
    const size_t dim = DIM * (in_rows ? COLUMNS : 1), rows = TOKENS * (wanted->decoding ? COLUMNS : 1);
    const size_t stride = inlay_table_row_bytes(wanted->out_type, dim) + 2;
    lookup.column_stride_bytes = wanted->decoding ? TOKENS * stride : 0;
    void *out = trial_array(trial, rows * stride);
    if (trial_ok(trial, "inlay_ngram_forward",
                 inlay_ngram_forward(ngram, batch, &lookup, out, stride, trial->executor, NULL)))
        trial_rows(trial, out, rows, dim, stride, wanted->out_type);
}

static void ngram_run(struct trial *trial, size_t item)
{
    static const uint32_t lengths[SEQUENCES] = {3, 0, 2};
    static const int64_t offsets[SEQUENCES + 1] = {0, 130, 131, TOKENS};
    const struct ngram_check *wanted = &checks[item];
    const size_t sequences = wanted->decoding ? TOKENS : SEQUENCES, kept = sequences * (LENGTH - 1);
    inlay_ngram *ngram = make_ngram(trial, wanted);
    if (ngram == NULL)
        return;
    uint64_t state = item;
    const void *ids = trial_ids(trial, wanted->id_type, TOKENS, 0, VOCAB, &state);
    inlay_ngram_batch batch = wanted->decoding ? inlay_ngram_batch_i32(ids, TOKENS, 1)
                                               : inlay_ngram_batch_ragged(ids, wanted->id_type, offsets, SEQUENCES);
    batch.history = trial_ids(trial, wanted->id_type, kept, 0, VOCAB, &state);
    batch.history_lengths = wanted->decoding ? NULL : lengths;
    void *rows = trial_array(trial, TOKENS * COLUMNS * 8);
    if (trial_ok(trial, "inlay_ngram_ids",
                 inlay_ngram_ids(ngram, &batch, 0, COLUMNS, INLAY_ID_I64, rows, COLUMNS * 8, trial->executor, NULL)))
        trial_bytes(trial, rows, TOKENS * COLUMNS * 8);
    gather_rows(trial, wanted, ngram, &batch);
    uint32_t after[TOKENS];
    unsigned char *next = trial_array(trial, kept * 8);
    if (trial_ok(trial, "inlay_ngram_history", inlay_ngram_history(ngram, &batch, NULL, next, after, NULL))) {
        trial_bytes(trial, next, kept * 8);
        trial_bytes(trial, after, sequences * sizeof *after);
    }
    inlay_ngram_destroy(ngram);
}

const struct family ngram_checks = {"n-grams", ngram_run, ITEMS_OF(checks)};
