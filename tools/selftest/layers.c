/* SPDX-License-Identifier: MIT */
/*
 * Checks of layers: runs each layer of a list forward, and some backward, with a small odd dim and with a large dim
 * that is split into parts. Also checks that calls with one invalid argument write nothing and return the right status.
 * If the argument is an id, position, segment or offset, the fault must have its index.
 */
#include "selftest/check.h"

#include <string.h>

#include "inputs/stored.h"

enum {
    VOCAB = 200,
    SEQUENCES = 5,
    LENGTH = 23,
    TOKENS = SEQUENCES * LENGTH,
    PADDED_LENGTH = 70,
    POSITION_ROWS = 64,
    SEGMENT_TYPES = 3,
    EXTENTS = 3,
    EXTENT_ROWS = 80 /* a whole number of zero-point bytes */
};

/* Changes to a layer with float32 tokens and int32 ids. */
static const struct layer_check {
    const char *name;
    bool backward, gather; /* backward: also check gradients; gather: also check rows of inlay_gather() */
    bool sinusoid, learned, segments;
    bool weights, token_weights; /* with pooling: weights of the tokens of the batch; weights of the vocabulary */
    bool padding, starts, position_ids, ragged, shard, extents, mapping;
    inlay_layer_spec spec; /* nonzero fields replace the defaults */
    inlay_id_type id_type;
    inlay_element_type table_type;
    int64_t start;
    size_t padded_length;
    float dropout;
} checks[] = {
    {"gather", .backward = true},
    {"ids u8", .id_type = INLAY_ID_U8},
    {"ids u16", .id_type = INLAY_ID_U16},
    {"ids i16", .id_type = INLAY_ID_I16},
    {"ids u32", .id_type = INLAY_ID_U32},
    {"ids i64", .id_type = INLAY_ID_I64},
    {"bad ids clamped", .backward = true, .sinusoid = true, .spec.bad_id = INLAY_BAD_ID_CLAMP,
     .spec.cached_positions = 16},
    {"bad ids zeros", .backward = true, .sinusoid = true, .spec.bad_id = INLAY_BAD_ID_ZERO,
     .spec.cached_positions = 16},
    {"bad ids substituted", .sinusoid = true, .spec.bad_id = INLAY_BAD_ID_SUBSTITUTE, .spec.cached_positions = 16},
    {"bad ids skipped", .backward = true, .sinusoid = true, .spec.bad_id = INLAY_BAD_ID_SKIP,
     .spec.cached_positions = 16},
    {"padding", .backward = true, .padding = true, .learned = true},
    {"padding with positions", .padding = true, .learned = true, .spec.zero_rows = INLAY_ZERO_ROWS_POSITIONED},
    {"padding-aware positions", .backward = true, .padding = true, .learned = true, .start = 2,
     .spec.zero_rows = INLAY_ZERO_ROWS_POSITIONED, .spec.position_mode = INLAY_POSITION_MODE_PADDING_AWARE},
    {"cached sinusoids", .sinusoid = true, .spec.cached_positions = 100},
    {"computed sinusoids", .sinusoid = true},
    {"sinusoids at 2000000000", .sinusoid = true, .start = 2000000000},
    {"sinusoids at 2147483625", .sinusoid = true, .start = 2147483648 - LENGTH}, /* up to the last position */
    {"learned positions", .backward = true, .learned = true},
    {"clamped positions", .learned = true, .start = POSITION_ROWS - 5, .spec.clamp_positions = 1},
    {"starts of sequences", .sinusoid = true, .starts = true, .spec.cached_positions = 30},
    {"explicit position ids", .backward = true, .learned = true, .position_ids = true},
    {"explicit position ids, some cached", .sinusoid = true, .position_ids = true, .spec.cached_positions = 30},
    {"packed sequences", .backward = true, .sinusoid = true, .ragged = true},
    {"packed sequences, some cached", .sinusoid = true, .ragged = true, .spec.cached_positions = 30},
    {"padded sequences", .sinusoid = true, .ragged = true, .padded_length = PADDED_LENGTH},
    {"padded sequences, some cached", .sinusoid = true, .ragged = true, .padded_length = PADDED_LENGTH,
     .spec.cached_positions = 30},
    {"q4_k table", .sinusoid = true, .table_type = INLAY_Q4_K},
    {"e4m3_e8m0 table to bfloat16", .table_type = INLAY_E4M3_E8M0, .spec.out_type = INLAY_BF16},
    {"float16 outputs", .sinusoid = true, .spec.out_type = INLAY_F16, .spec.cached_positions = 10},
    {"bfloat16 outputs", .learned = true, .spec.out_type = INLAY_BF16},
    {"segments", .backward = true, .learned = true, .segments = true},
    {"segments before positions", .sinusoid = true, .segments = true, .spec.segments_first = 1,
     .spec.cached_positions = 10},
    {"LayerNorm", .learned = true, .segments = true, .spec.norm = INLAY_NORM_LAYER},
    {"RMSNorm", .spec.norm = INLAY_NORM_RMS},
    {"RMSNorm to float16", .spec.norm = INLAY_NORM_RMS, .spec.out_type = INLAY_F16},
    {"L2 norm", .learned = true, .spec.norm = INLAY_NORM_L2},
    {"dropout", .learned = true, .dropout = 0.1f},
    {"dropout after LayerNorm", .learned = true, .dropout = 0.5f, .spec.norm = INLAY_NORM_LAYER},
    {"sum pooling", .backward = true, .ragged = true, .spec.pooling = INLAY_POOLING_SUM},
    {"mean pooling", .backward = true, .ragged = true, .spec.pooling = INLAY_POOLING_MEAN},
    {"sum pooling with weights", .ragged = true, .weights = true, .spec.pooling = INLAY_POOLING_SUM},
    {"weighted pooling", .backward = true, .ragged = true, .weights = true, .token_weights = true,
     .spec.pooling = INLAY_POOLING_MEAN},
    {"pooling and L2 norm", .ragged = true, .spec.pooling = INLAY_POOLING_MEAN, .spec.norm = INLAY_NORM_L2},
    {"shard", .backward = true, .learned = true, .shard = true},
    {"extents", .sinusoid = true, .extents = true, .spec.cached_positions = 10},
    {"extents in groups", .extents = true, .table_type = INLAY_U4_GROUPED},
    {"token mapping", .backward = true, .sinusoid = true, .mapping = true, .spec.cached_positions = 10},
    {"token mapping of a shard", .learned = true, .shard = true, .mapping = true},
    {"token mapping and pooling", .ragged = true, .mapping = true, .spec.pooling = INLAY_POOLING_MEAN},
};

enum { ERROR_DIM = 65, ERROR_STRIDE = ERROR_DIM * sizeof(float) + 4 };

/* The current call: the spec of a layer, a batch, an output, and the arrays they point to. */
static struct call {
    inlay_table tokens, positions, segments;
    inlay_table_extent extents[EXTENTS];
    inlay_layer_spec spec;
    inlay_batch batch;
    size_t rows; /* of the output */

    int64_t offsets[SEQUENCES + 1];

    /* Arrays of the calls with an invalid argument. */
    int32_t ids[TOKENS];
    uint8_t segment_ids[TOKENS];
    inlay_executor executor;
    unsigned char output[TOKENS * ERROR_STRIDE + 64], *out; /* points into `output` */
    size_t stride;
} call;

static inlay_element_type table_type(const struct layer_check *wanted)
{
    return wanted->table_type != 0 ? wanted->table_type : INLAY_F32;
}

/* Returns the address `bytes` after the start of an array, or null if the array is null. */
static const void *part(const void *array, size_t bytes)
{
    return array != NULL ? (const unsigned char *)array + bytes : NULL;
}

static void make_tables(struct trial *trial, const struct layer_check *wanted, size_t dim)
{
    call.tokens = trial_table(trial, table_type(wanted), VOCAB, dim, 1);
    call.positions = trial_table(trial, INLAY_F32, POSITION_ROWS, dim, 2);
    call.segments = trial_table(trial, INLAY_F32, SEGMENT_TYPES, dim, 3);
    if (wanted->shard) {
        call.tokens.rows = VOCAB / 2;
        call.tokens = inlay_table_shard(call.tokens, VOCAB / 4, VOCAB);
    }
    if (wanted->extents) {
        const inlay_table *whole = &call.tokens;
        const struct array scales = stored_array(ARRAY_SCALES, whole->type, EXTENT_ROWS, dim, whole->group);
        const struct array zeros = stored_array(ARRAY_ZEROS, whole->type, EXTENT_ROWS, dim, whole->group);
        for (size_t i = 0; i < EXTENTS; i++)
            call.extents[i] = (inlay_table_extent){part(whole->data, i * EXTENT_ROWS * whole->stride_bytes),
                                                   part(whole->scales, i * array_bytes(&scales)),
                                                   part(whole->zeros, i * array_bytes(&zeros)), i * EXTENT_ROWS};
        call.tokens = inlay_table_from_extents(call.tokens, call.extents, EXTENTS, EXTENT_ROWS);
    }
}

static void make_spec(struct trial *trial, const struct layer_check *wanted, size_t dim)
{
    const inlay_sinusoid_spec formula = inlay_sinusoid_spec_default(dim);
    const bool norm = wanted->spec.norm != INLAY_NORM_NONE;
    inlay_layer_spec *spec = &call.spec;
    *spec = wanted->spec;
    spec->size = sizeof *spec;
    spec->tokens = &call.tokens;
    spec->sinusoid = wanted->sinusoid ? trial_sinusoid(trial, &formula) : NULL;
    spec->positions = wanted->learned ? &call.positions : NULL;
    spec->segments = wanted->segments ? &call.segments : NULL;
    spec->scale = inlay_sqrt_dim(dim);
    spec->stores = trial->stores;
    spec->padding_id = wanted->padding ? 1 : -1;
    spec->substitute_id = 7;
    spec->epsilon = norm ? 1e-5f : 0;
    spec->gamma = norm ? trial_floats(trial, dim, 4) : NULL;
    spec->beta = spec->norm == INLAY_NORM_LAYER ? trial_floats(trial, dim, 5) : NULL;
    spec->out_type = spec->out_type != 0 ? spec->out_type : INLAY_F32;
    if (wanted->token_weights) {
        spec->token_weights = trial_floats(trial, VOCAB, 6);
        spec->token_weights_length = VOCAB;
    }
    if (wanted->mapping) {
        spec->token_mapping = trial_ids(trial, INLAY_ID_U8, VOCAB, 0, VOCAB, &(uint64_t){7});
        spec->token_mapping_type = INLAY_ID_U8;
        spec->token_mapping_length = VOCAB;
    }
}

static void make_batch(struct trial *trial, const struct layer_check *wanted)
{
    static const int64_t starts[SEQUENCES] = {0, 3, 1000000, 29, 30};
    const inlay_id_type type = wanted->id_type != 0 ? wanted->id_type : INLAY_ID_I32;
    const bool any = wanted->spec.bad_id != INLAY_BAD_ID_ERROR;
    const uint64_t count = any ? 3 * VOCAB : wanted->padding ? 3 : VOCAB;
    const size_t padded = SEQUENCES * wanted->padded_length;
    inlay_batch *batch = &call.batch;
    *batch = inlay_batch_i32(NULL, SEQUENCES, LENGTH, wanted->start);
    batch->ids = trial_ids(trial, type, TOKENS, any ? -VOCAB : 0, count, &(uint64_t){8});
    batch->id_type = type;
    batch->starts = wanted->starts ? starts : NULL;
    if (wanted->position_ids) {
        batch->position_ids = trial_ids(trial, INLAY_ID_I64, TOKENS, 0, POSITION_ROWS, &(uint64_t){9});
        batch->position_id_type = INLAY_ID_I64;
    }
    if (wanted->segments) {
        batch->segment_ids = trial_ids(trial, INLAY_ID_U8, TOKENS, 0, SEGMENT_TYPES, &(uint64_t){10});
        batch->segment_id_type = INLAY_ID_U8;
    }
    memcpy(call.offsets, (const int64_t[]){0, 40, 40, 41, 100, TOKENS}, sizeof call.offsets);
    if (wanted->ragged) {
        batch->offsets = call.offsets;
        batch->length = INLAY_LENGTH_FROM_OFFSETS;
        batch->padded_length = wanted->padded_length;
    }
    batch->weights = wanted->weights ? trial_floats(trial, TOKENS, 11) : NULL;
    batch->dropout = wanted->dropout;
    batch->dropout_key = 42;
    batch->dropout_offset = 43;
    call.rows = wanted->spec.pooling != INLAY_POOLING_NONE ? SEQUENCES : padded > 0 ? padded : TOKENS;
}

/* Sets up the call of a check with this dim. */
static void make_call(struct trial *trial, const struct layer_check *wanted, size_t dim)
{
    make_tables(trial, wanted, dim);
    make_spec(trial, wanted, dim);
    make_batch(trial, wanted);
}

/* Returns an array for the gradient of a table, filled with numbers, or null if there is no table. */
static void *gradient_of(struct trial *trial, const inlay_table *table)
{
    return table != NULL ? trial_floats(trial, table->rows * table->dim, 12) : NULL;
}

static void add_gradient(struct trial *trial, const void *gradient, const inlay_table *table)
{
    if (gradient != NULL)
        trial_rows(trial, gradient, table->rows, table->dim, table->dim * sizeof(float), INLAY_F32);
}

static void backward(struct trial *trial)
{
    const size_t dim = call.tokens.dim;
    const void *from = trial_floats(trial, call.rows * dim, 13);
    inlay_gradients to = inlay_gradients_none(dim);
    to.tokens = gradient_of(trial, call.spec.tokens);
    to.positions = gradient_of(trial, call.spec.positions);
    to.segments = gradient_of(trial, call.spec.segments);
    inlay_layer *layer;
    trial_ok(trial, "inlay_layer_create", inlay_layer_create(&call.spec, &in_arena, &layer));
    trial_ok(trial, "inlay_backward",
             inlay_backward(layer, &call.batch, from, dim * sizeof(float), &to, trial->executor, NULL));
    add_gradient(trial, to.tokens, call.spec.tokens);
    add_gradient(trial, to.positions, call.spec.positions);
    add_gradient(trial, to.segments, call.spec.segments);
}

static void gather(struct trial *trial)
{
    const size_t dim = call.tokens.dim, stride = dim * sizeof(float) + 3;
    void *out = trial_array(trial, TOKENS * stride);
    trial_ok(trial, "inlay_gather",
             inlay_gather(&call.tokens, call.batch.ids, INLAY_ID_I32, TOKENS, call.spec.scale, out, stride,
                          trial->executor, NULL));
    trial_rows(trial, out, TOKENS, dim, stride, INLAY_F32);
}

/* Runs a check with this dim, if the type of its table supports the dim. */
static void run_check(struct trial *trial, const struct layer_check *wanted, size_t dim)
{
    if (!has_dim(table_type(wanted), dim))
        return;
    make_call(trial, wanted, dim);
    trial_forward(trial, &call.spec, &call.batch, call.rows);
    if (wanted->backward)
        backward(trial);
    if (wanted->gather)
        gather(trial);
}

static void layer_run(struct trial *trial, size_t item)
{
    run_check(trial, &checks[item], 41);
    run_check(trial, &checks[item], 1024);
}

static void type_run(struct trial *trial, size_t item)
{
    const struct layer_check wanted = {.learned = true, .gather = true, .table_type = (inlay_element_type)(item + 1)};
    run_check(trial, &wanted, 1);
    run_check(trial, &wanted, 41);
    run_check(trial, &wanted, 512);
}

const struct family layer_checks = {"layer", layer_run, ITEMS_OF(checks)};
const struct family type_checks = {"layer of", type_run, .item = element_item};

/* ---- Errors ----------------------------------------------------------------------------------------------------- */

/* The value that a check puts in a field of the call. */
#define SET(field, value) &call.field, &(const __typeof__(call.field)){value}, sizeof call.field

static const struct error_check {
    const char *name;
    inlay_status status;
    struct place {
        size_t sequence, token;
        int64_t value; /* 0: not changed */
    } place;
    struct change {
        void *field;
        const void *value;
        size_t bytes;
    } changes[3];
} errors[] = {
    {"negative id", INLAY_ERROR_ID, {2, 7, -5}, {{SET(ids[2 * LENGTH + 7], -5)}}},
    {"id past the vocabulary", INLAY_ERROR_ID, {SEQUENCES - 1, LENGTH - 1, VOCAB}, {{SET(ids[TOKENS - 1], VOCAB)}}},
    {"first of two bad ids",
     INLAY_ERROR_ID,
     {1, 0, 2147483647},
     {{SET(ids[LENGTH], 2147483647)}, {SET(ids[TOKENS - 2], -1)}}},
    {"position past the table",
     INLAY_ERROR_POSITION,
     {0, LENGTH - 1, POSITION_ROWS},
     {{SET(batch.start, POSITION_ROWS - LENGTH + 1)}}},
    {"negative position", INLAY_ERROR_POSITION, {0, 0, -1}, {{SET(batch.start, -1)}}},
    {"segment past the types", INLAY_ERROR_SEGMENT, {0, 3, SEGMENT_TYPES}, {{SET(segment_ids[3], SEGMENT_TYPES)}}},
    {"decreasing offsets",
     INLAY_ERROR_OFFSETS,
     {2, 0, 39},
     {{SET(batch.offsets, call.offsets)}, {SET(batch.length, TOKENS)}, {SET(offsets[2], 39)}}},
    {"short stride", INLAY_ERROR_STRIDE, .changes = {{SET(stride, ERROR_DIM * sizeof(float) - 1)}}},
    {"null ids", INLAY_ERROR_NULL, .changes = {{SET(batch.ids, NULL)}}},
    {"null output", INLAY_ERROR_NULL, .changes = {{SET(out, NULL)}}},
    {"type that is none", INLAY_ERROR_OPTION, .changes = {{SET(batch.id_type, (inlay_id_type)77)}}},
    {"dropout of everything", INLAY_ERROR_OPTION, .changes = {{SET(batch.dropout, 1)}}},
    {"batch larger than memory", INLAY_ERROR_OVERFLOW, .changes = {{SET(batch.sequences, SIZE_MAX / 2)}}},
    {"output over ids", INLAY_ERROR_OVERLAP, .changes = {{SET(batch.ids, call.output + 5)}}},
    {"executor without threads", INLAY_ERROR_OPTION, .changes = {{SET(executor.threads, 0)}}},
    {"table without columns", INLAY_ERROR_SHAPE, .changes = {{SET(tokens.dim, 0)}}},
    {"positions of another dim", INLAY_ERROR_SHAPE, .changes = {{SET(positions.dim, ERROR_DIM - 1)}}},
    {"negative epsilon", INLAY_ERROR_OPTION, .changes = {{SET(spec.norm, INLAY_NORM_RMS)}, {SET(spec.epsilon, -1)}}},
    {"spec of unknown size", INLAY_ERROR_OPTION, .changes = {{SET(spec.size, 2000)}}},
};

static void error_run(struct trial *trial, size_t item)
{
    static const struct layer_check layer_of_errors = {.learned = true, .segments = true};
    static const inlay_fault nowhere = {
        .sequence = 99, .token = 99, .value = 99}; /* unchanged if no argument has an index */
    const struct error_check *wanted = &errors[item];
    make_call(trial, &layer_of_errors, ERROR_DIM);
    for (size_t i = 0; i < TOKENS; i++) {
        call.ids[i] = (int32_t)i;
        call.segment_ids[i] = (uint8_t)(i % SEGMENT_TYPES);
    }
    call.batch.ids = call.ids;
    call.batch.segment_ids = call.segment_ids;
    call.executor = out_of_order;
    memset(call.output, 0x5a, sizeof call.output);
    call.out = call.output + trial->shift;
    call.stride = ERROR_STRIDE;
    for (size_t i = 0; i < 3 && wanted->changes[i].bytes > 0; i++)
        memcpy(wanted->changes[i].field, wanted->changes[i].value, wanted->changes[i].bytes);
    inlay_layer *layer;
    inlay_fault place = nowhere;
    inlay_status status = inlay_layer_create(&call.spec, &in_arena, &layer);
    if (status == INLAY_OK)
        status = inlay_forward(layer, &call.batch, call.out, call.stride, &call.executor, &place);
    if (status != wanted->status)
        trial_fault(trial, "the status is %d, not %d", (int)status, (int)wanted->status);
    const struct place *at = &wanted->place, unchanged = {nowhere.sequence, nowhere.token, nowhere.value};
    if (at->value == 0)
        at = &unchanged;
    if (place.sequence != at->sequence || place.token != at->token || place.value != at->value)
        trial_fault(trial, "the place is sequence %zu, token %zu, value %lld", place.sequence, place.token,
                    (long long)place.value);
    for (size_t i = 0; i < sizeof call.output; i++)
        if (call.output[i] != 0x5a)
            trial_fault(trial, "something is written in spite of the error");
}

const struct family error_checks = {"error", error_run, ITEMS_OF(errors)};
