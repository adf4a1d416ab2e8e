/* SPDX-License-Identifier: MIT */
/*
 * The features of the library on one ISA, bit by bit against scalar: a line for each case, of which features.py makes
 * the table of docs/features.md. Each case is a whole forward call over random data, and its parts run in random order.
 */
#include "calls.h"
#include "features_ngram.h"
#include "reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    VOCAB = 200,
    SEQUENCES = 5,
    LENGTH = 23,
    COUNT = SEQUENCES * LENGTH, /* of tokens */
    PADDED_LENGTH = 70,
    POSITION_ROWS = 64,
    SEGMENT_TYPES = 3,
    MAX_DIM = 1024
};

/* What a case changes of a layer that only has float32 tokens with int32 ids. */
struct feature_case {
    const char *feature, *name; /* null: that of model files for the type of the table */
    inlay_id_type id_type;
    inlay_bad_id bad_id; /* other than an error: ids far outside the vocabulary occur */
    bool padding;        /* about every third token is padding */
    inlay_zero_rows zero_rows;
    bool sinusoid, learned;
    size_t cached;
    int64_t start;
    bool starts, position_ids, clamped;
    inlay_position_mode position_mode;
    bool ragged;
    size_t padded_length;
    inlay_element_type table_type, out_type;
    bool segments, segments_first;
    inlay_norm norm;
    inlay_pooling pooling;
    bool weights, shard, extents, mapping, token_weights;
    float dropout;
};

static const struct feature_case cases[] = {
    {"ids", "u8", .id_type = INLAY_ID_U8},
    {"ids", "u16", .id_type = INLAY_ID_U16},
    {"ids", "i16", .id_type = INLAY_ID_I16},
    {"ids", "i32", .id_type = INLAY_ID_I32},
    {"ids", "u32", .id_type = INLAY_ID_U32},
    {"ids", "i64", .id_type = INLAY_ID_I64},
    {"bad ids", "clamped", .bad_id = INLAY_BAD_ID_CLAMP, .sinusoid = true, .cached = 16},
    {"bad ids", "zeros", .bad_id = INLAY_BAD_ID_ZERO, .sinusoid = true, .cached = 16},
    {"bad ids", "substituted", .bad_id = INLAY_BAD_ID_SUBSTITUTE, .sinusoid = true, .cached = 16},
    {"bad ids", "skipped", .bad_id = INLAY_BAD_ID_SKIP, .sinusoid = true, .cached = 16},
    {"token mapping", "of a layer", .mapping = true, .sinusoid = true, .cached = 10},
    {"token mapping", "of a shard", .mapping = true, .shard = true, .learned = true},
    {"token mapping", "pooled", .mapping = true, .pooling = INLAY_POOLING_MEAN, .ragged = true},
    {"padding", "zeros", .padding = true, .learned = true},
    {"padding", "zeros with positions", .padding = true, .learned = true, .zero_rows = INLAY_ZERO_ROWS_POSITIONED},
    {"positions", "cached sinusoids", .sinusoid = true, .cached = INLAY_CACHED_POSITIONS_DEFAULT},
    {"positions", "sinusoids computed at 2,000,000,000", .sinusoid = true, .start = 2000000000},
    {"positions", "learned", .learned = true},
    {"positions", "a start for each sequence", .sinusoid = true, .cached = 30, .starts = true},
    {"positions", "explicit position ids", .sinusoid = true, .cached = 30, .position_ids = true},
    {"positions", "padding-aware", .padding = true, .learned = true, .start = 2,
     .zero_rows = INLAY_ZERO_ROWS_POSITIONED, .position_mode = INLAY_POSITION_MODE_PADDING_AWARE},
    {"positions", "clamped to the last", .learned = true, .clamped = true, .start = POSITION_ROWS - 5},
    {"ragged batches", "packed", .ragged = true, .sinusoid = true, .cached = 30},
    {"ragged batches", "padded", .ragged = true, .padded_length = PADDED_LENGTH, .sinusoid = true, .cached = 30},
    {"table types", "float16", .table_type = INLAY_F16, .learned = true},
    {"table types", "bfloat16", .table_type = INLAY_BF16, .learned = true},
    {"table types", "int8", .table_type = INLAY_I8, .learned = true},
    {"table types", "int8 of CTranslate2", .table_type = INLAY_I8_INVERSE, .learned = true},
    {"table types", "8-bit rowwise", .table_type = INLAY_U8_ROWWISE, .learned = true},
    {"table types", "4-bit rowwise", .table_type = INLAY_U4_ROWWISE, .learned = true},
    {"table types", "4-bit in groups", .table_type = INLAY_U4_GROUPED, .learned = true},
    {"types of ggml", NULL, .table_type = INLAY_Q8_0, .learned = true},
    {"types of ggml", NULL, .table_type = INLAY_Q4_0, .learned = true},
    {"types of ggml", NULL, .table_type = INLAY_Q4_1, .learned = true},
    {"types of ggml", NULL, .table_type = INLAY_Q5_0, .learned = true},
    {"types of ggml", NULL, .table_type = INLAY_Q5_1, .learned = true},
    {"types of ggml", NULL, .table_type = INLAY_IQ4_NL, .learned = true},
    {"types of ggml", NULL, .table_type = INLAY_MXFP4, .learned = true},
    {"types of ggml", NULL, .table_type = INLAY_NVFP4, .learned = true},
    {"types of ggml", NULL, .table_type = INLAY_Q3_K, .learned = true},
    {"types of ggml", NULL, .table_type = INLAY_Q4_K, .learned = true},
    {"types of ggml", NULL, .table_type = INLAY_Q5_K, .learned = true},
    {"types of ggml", NULL, .table_type = INLAY_Q6_K, .learned = true},
    {"types of ggml", NULL, .table_type = INLAY_Q2_K, .learned = true},
    {"types of ggml", NULL, .table_type = INLAY_IQ4_XS, .learned = true},
    {"types of ggml", NULL, .table_type = INLAY_IQ3_S, .learned = true},
    {"FP8", "a scale per row", .table_type = INLAY_E4M3, .learned = true},
    {"FP8", "a power of two per 32 columns", .table_type = INLAY_E4M3_E8M0, .learned = true},
    {"FP8", "bfloat16 outputs", .table_type = INLAY_E4M3_E8M0, .out_type = INLAY_BF16},
    {"tables in extents", "float32", .extents = true, .sinusoid = true, .cached = 10},
    {"tables in extents", "4-bit in groups", .extents = true, .table_type = INLAY_U4_GROUPED},
    {"output types", "float16", .out_type = INLAY_F16, .sinusoid = true, .cached = 10},
    {"output types", "bfloat16", .out_type = INLAY_BF16, .learned = true},
    {"segments and norms", "segments", .segments = true, .learned = true},
    {"segments and norms", "segments before positions", .segments = true, .segments_first = true, .sinusoid = true,
     .cached = 10},
    {"segments and norms", "LayerNorm", .norm = INLAY_NORM_LAYER, .segments = true, .learned = true},
    {"segments and norms", "RMSNorm", .norm = INLAY_NORM_RMS},
    {"segments and norms", "L2 norm", .norm = INLAY_NORM_L2, .learned = true},
    {"pooling", "sum", .pooling = INLAY_POOLING_SUM, .ragged = true},
    {"pooling", "mean", .pooling = INLAY_POOLING_MEAN, .ragged = true},
    {"pooling", "mean of length 1", .pooling = INLAY_POOLING_MEAN, .ragged = true, .norm = INLAY_NORM_L2},
    {"pooling", "weighted", .pooling = INLAY_POOLING_SUM, .ragged = true, .weights = true},
    {"pooling", "token weights", .pooling = INLAY_POOLING_MEAN, .ragged = true, .weights = true, .token_weights = true},
    {"training", "dropout", .dropout = 0.1f, .learned = true},
    {"shards", "a part of the vocabulary", .shard = true, .learned = true},
};

/* Random data, of which each case takes as much as its dim needs. */
static struct {
    float table[VOCAB * MAX_DIM], learned[POSITION_ROWS * MAX_DIM], types[SEGMENT_TYPES * MAX_DIM];
    float gamma[MAX_DIM], beta[MAX_DIM], weights[COUNT], token_weights[VOCAB];
} floats;
static int64_t starts[SEQUENCES], position_ids[COUNT];
static uint8_t segment_ids[COUNT], mapping[VOCAB];

static void draw_data(void)
{
    struct random random = {1};
    for (size_t i = 0; i < sizeof floats / sizeof(float); i++)
        ((float *)&floats)[i] = (float)(int32_t)random_bits(&random) * 0x1p-30f;
    for (size_t b = 0; b < SEQUENCES; b++)
        starts[b] = (int64_t)random_below(&random, 40);
    for (size_t i = 0; i < COUNT; i++) {
        position_ids[i] = (int64_t)random_below(&random, POSITION_ROWS);
        segment_ids[i] = (uint8_t)random_below(&random, SEGMENT_TYPES);
    }
    for (size_t id = 0; id < VOCAB; id++)
        mapping[id] = (uint8_t)random_below(&random, VOCAB);
}

/* The layer and the batch of a case, with the memory that is its own. */
struct fixture {
    inlay_layer_spec spec;
    inlay_batch batch;
    inlay_table tokens, positions, segments;
    inlay_sinusoid *sinusoid;
    inlay_table_extent extents[3];
    unsigned char quantised[VOCAB * (MAX_DIM * 2 + 8)], zeros[VOCAB * MAX_DIM / 64], ids[COUNT * 8];
    float scales[VOCAB * MAX_DIM / 32];
};

static void set_up_tokens(struct fixture *fixture, const struct feature_case *wanted, size_t dim)
{
    const inlay_table from = fixture->tokens = inlay_table_f32(floats.table, VOCAB, dim);
    if (wanted->table_type != 0) {
        bool grouped = is_grouped(wanted->table_type), scaled = row_scale_bytes(wanted->table_type, dim, 32) > 0;
        inlay_table_storage storage = inlay_table_storage_of(wanted->table_type, fixture->quantised, dim);
        storage.group = grouped ? 32 : 0;
        storage.scales = scaled ? fixture->scales : NULL;
        storage.zeros = grouped ? fixture->zeros : NULL;
        if (inlay_table_quantize(&from, &storage, &fixture->tokens, NULL) != INLAY_OK)
            abort();
    }
    if (wanted->extents) { /* of 80, 80 and 40 rows, which begin at whole bytes of zero points */
        const inlay_table whole = fixture->tokens;
        const size_t rows = 80, groups = dim / 32;
        for (size_t i = 0; i < 3; i++) {
            inlay_table_extent *extent = &fixture->extents[i];
            *extent = (inlay_table_extent){(const unsigned char *)whole.data + i * rows * whole.stride_bytes, NULL,
                                           NULL, i * rows};
            if (whole.scales != NULL)
                extent->scales = fixture->scales + i * rows * groups;
            if (whole.zeros != NULL)
                extent->zeros = fixture->zeros + i * rows * ((groups + 1) / 2);
        }
        fixture->tokens = inlay_table_in_extents(whole, fixture->extents, 3, rows);
    }
    if (wanted->shard)
        fixture->tokens = inlay_table_shard(inlay_table_f32(floats.table, VOCAB / 2, dim), VOCAB / 4, VOCAB);
}

static void set_up_spec(struct fixture *fixture, const struct feature_case *wanted, size_t dim)
{
    inlay_layer_spec *spec = &fixture->spec;
    fixture->positions = inlay_table_f32(floats.learned, POSITION_ROWS, dim);
    fixture->segments = inlay_table_f32(floats.types, SEGMENT_TYPES, dim);
    *spec = inlay_layer_spec_default(&fixture->tokens);
    spec->scale = inlay_sqrt_dim(dim);
    spec->bad_id = wanted->bad_id;
    spec->substitute_id = 7;
    spec->padding_id = wanted->padding ? 1 : -1;
    spec->zero_rows = wanted->zero_rows;
    fixture->sinusoid = wanted->sinusoid ? make_sinusoid(dim, 10000, INLAY_SINUSOID_LAYOUT_INTERLEAVED) : NULL;
    spec->sinusoid = fixture->sinusoid;
    spec->cached_positions = wanted->cached;
    spec->positions = wanted->learned ? &fixture->positions : NULL;
    spec->clamp_positions = wanted->clamped;
    spec->position_mode = wanted->position_mode;
    spec->segments = wanted->segments ? &fixture->segments : NULL;
    spec->segments_first = wanted->segments_first;
    spec->norm = wanted->norm;
    if (wanted->norm != INLAY_NORM_NONE) {
        spec->epsilon = 1e-5f;
        spec->gamma = floats.gamma;
        spec->beta = wanted->norm == INLAY_NORM_LAYER ? floats.beta : NULL;
    }
    spec->pooling = wanted->pooling;
    if (wanted->mapping) {
        spec->token_mapping = mapping;
        spec->token_mapping_type = INLAY_ID_U8;
        spec->token_mapping_length = VOCAB;
    }
    if (wanted->token_weights) {
        spec->token_weights = floats.token_weights;
        spec->token_weights_length = VOCAB;
    }
    spec->out_type = wanted->out_type != 0 ? wanted->out_type : INLAY_F32;
}

static void set_up_batch(struct fixture *fixture, const struct feature_case *wanted)
{
    struct random random = {wanted->id_type};
    static const int64_t offsets[SEQUENCES + 1] = {0, 40, 40, 41, 100, COUNT};
    inlay_batch *batch = &fixture->batch;
    *batch = inlay_batch_i32(NULL, SEQUENCES, LENGTH, wanted->start);
    batch->ids = fixture->ids;
    batch->id_type = wanted->id_type != 0 ? wanted->id_type : INLAY_ID_I32;
    for (size_t i = 0; i < COUNT; i++) {
        int64_t id = (int64_t)random_below(&random, wanted->padding ? 3 : VOCAB);
        if (wanted->bad_id != INLAY_BAD_ID_ERROR)
            id = (int64_t)random_below(&random, 3 * VOCAB) - VOCAB;
        reference_put_id(fixture->ids, batch->id_type, i, id);
    }
    batch->starts = wanted->starts ? starts : NULL;
    if (wanted->position_ids) {
        batch->position_ids = position_ids;
        batch->position_id_type = INLAY_ID_I64;
    }
    if (wanted->ragged) {
        batch->offsets = offsets;
        batch->length = INLAY_LENGTH_FROM_OFFSETS;
        batch->padded_length = wanted->padded_length;
    }
    if (wanted->segments) {
        batch->segment_ids = segment_ids;
        batch->segment_id_type = INLAY_ID_U8;
    }
    batch->weights = wanted->weights ? floats.weights : NULL;
    batch->dropout = wanted->dropout;
    batch->dropout_key = 42;
}

/* Writes the output of a case on some kernels; returns whether the call succeeds. */
static bool run(const struct fixture *fixture, const struct inlay_kernels *kernels, const inlay_executor *executor,
                unsigned char *out, size_t bytes, size_t row_bytes)
{
    inlay_layer *layer;
    inlay_dispatch_use(kernels);
    memset(out, 0x5a, bytes);
    inlay_status status = inlay_layer_create(&fixture->spec, NULL, &layer);
    if (status == INLAY_OK)
        status = inlay_forward(layer, &fixture->batch, out, row_bytes, executor, NULL);
    inlay_layer_destroy(layer);
    return status == INLAY_OK;
}

static bool is_exact(const struct feature_case *wanted, size_t dim)
{
    static struct fixture fixture;
    static unsigned char out[SEQUENCES * PADDED_LENGTH * MAX_DIM * 4], oracle[sizeof out];
    struct random order = {dim};
    const inlay_executor executor = {&order, run_shuffled, 3};
    set_up_tokens(&fixture, wanted, dim);
    set_up_spec(&fixture, wanted, dim);
    set_up_batch(&fixture, wanted);
    size_t row_bytes = inlay_table_row_bytes(fixture.spec.out_type, dim);
    size_t bytes = reference_rows(&fixture.spec, &fixture.batch) * row_bytes;
    bool same = run(&fixture, &inlay_kernels_scalar, NULL, oracle, bytes, row_bytes) &&
                run(&fixture, tested, &executor, out, bytes, row_bytes) && memcmp(out, oracle, bytes) == 0;
    inlay_sinusoid_destroy(fixture.sinusoid);
    return same;
}

int main(int argc, char **argv)
{
    static const size_t dims[] = {32, 96, 128, 384, MAX_DIM};
    if (!test_isa(argc > 1 ? argv[1] : NULL))
        return EXIT_SKIP;
    draw_data();
    bool good = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool exact = true;
        for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
            if (dims[d] % whole_columns(cases[i].table_type) == 0)
                exact = is_exact(&cases[i], dims[d]) && exact;
        const char *type = inlay_element_type_name(cases[i].table_type, 1);
        printf("%s\t%s\t%s\n", cases[i].feature, cases[i].name != NULL ? cases[i].name : type,
               exact ? "exact" : "DIFFERS");
        good = good && exact;
    }
    good = ngram_features() && good;
    return good ? 0 : 1;
}
