/* SPDX-License-Identifier: MIT */
/*
 * Checks of layers: forward and backward calls by a table of what each layer has, at a narrow odd dim, at one that is
 * cut into parts, and at a wide one.
 */
#include "selftest/check.h"

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
    EXTENT_ROWS = 80 /* which end at whole bytes of zero points */
};

/* What a check changes of a layer that only has float32 tokens with int32 ids. */
static const struct layer_check {
    const char *name;
    bool backward; /* whether its gradients are checked too */
    bool sinusoid, learned, segments;
    bool weights, token_weights; /* with pooling: of the batch's tokens, of the vocabulary */
    bool padding, starts, position_ids, ragged, shard, extents, mapping;
    inlay_layer_spec spec; /* enum values and numbers, where they are not 0 */
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
    {"cached sinusoids", .sinusoid = true, .spec.cached_positions = INLAY_CACHED_POSITIONS_DEFAULT},
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

enum { CHECKS = sizeof checks / sizeof *checks };

static const char *backward_item(size_t item)
{
    return item >= CHECKS ? NULL : checks[item].backward ? checks[item].name : "";
}

/* At a wide dim a large cache would take as long as half of all checks. */
static const char *wide_item(size_t item)
{
    if (item >= CHECKS)
        return NULL;
    return checks[item].spec.cached_positions != INLAY_CACHED_POSITIONS_DEFAULT ? checks[item].name : "";
}

/* The spec of a layer, a batch, and what they point to. */
struct call {
    inlay_table tokens, positions, segments;
    inlay_table_extent extents[EXTENTS];
    inlay_layer_spec spec;
    inlay_batch batch;
    size_t rows; /* of the output */
};

static inlay_element_type table_type(const struct layer_check *wanted)
{
    return wanted->table_type != 0 ? wanted->table_type : INLAY_F32;
}

/* Returns the address `bytes` behind the begin of an array; null without one. */
static const void *part(const void *array, size_t bytes)
{
    return array != NULL ? (const unsigned char *)array + bytes : NULL;
}

static void make_tables(struct trial *trial, const struct layer_check *wanted, size_t dim, struct call *call)
{
    call->tokens = trial_table(trial, table_type(wanted), VOCAB, dim, 1);
    call->positions = trial_table(trial, INLAY_F32, POSITION_ROWS, dim, 2);
    call->segments = trial_table(trial, INLAY_F32, SEGMENT_TYPES, dim, 3);
    if (wanted->shard) {
        call->tokens.rows = VOCAB / 2;
        call->tokens = inlay_table_shard(call->tokens, VOCAB / 4, VOCAB);
    }
    if (wanted->extents) {
        const inlay_table *whole = &call->tokens;
        const struct array scales = stored_array(ARRAY_SCALES, whole->type, EXTENT_ROWS, dim, whole->group);
        const struct array zeros = stored_array(ARRAY_ZEROS, whole->type, EXTENT_ROWS, dim, whole->group);
        for (size_t i = 0; i < EXTENTS; i++)
            call->extents[i] = (inlay_table_extent){part(whole->data, i * EXTENT_ROWS * whole->stride_bytes),
                                                    part(whole->scales, i * array_bytes(&scales)),
                                                    part(whole->zeros, i * array_bytes(&zeros)), i * EXTENT_ROWS};
        call->tokens = inlay_table_in_extents(call->tokens, call->extents, EXTENTS, EXTENT_ROWS);
    }
}

static void make_spec(struct trial *trial, const struct layer_check *wanted, size_t dim, struct call *call)
{
    const inlay_sinusoid_spec formula = inlay_sinusoid_spec_default(dim);
    const bool norm = wanted->spec.norm != INLAY_NORM_NONE;
    inlay_layer_spec *spec = &call->spec;
    *spec = wanted->spec;
    spec->size = sizeof *spec;
    spec->tokens = &call->tokens;
    spec->sinusoid = wanted->sinusoid ? trial_sinusoid(trial, &formula) : NULL;
    spec->positions = wanted->learned ? &call->positions : NULL;
    spec->segments = wanted->segments ? &call->segments : NULL;
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

static void make_batch(struct trial *trial, const struct layer_check *wanted, struct call *call)
{
    static const int64_t offsets[SEQUENCES + 1] = {0, 40, 40, 41, 100, TOKENS};
    static const int64_t starts[SEQUENCES] = {0, 3, 1000000, 29, 30};
    const inlay_id_type type = wanted->id_type != 0 ? wanted->id_type : INLAY_ID_I32;
    const bool any = wanted->spec.bad_id != INLAY_BAD_ID_ERROR;
    inlay_batch *batch = &call->batch;
    *batch = inlay_batch_i32(NULL, SEQUENCES, LENGTH, wanted->start);
    batch->ids = trial_ids(trial, type, TOKENS, any ? -VOCAB : 0,
                           any               ? 3 * VOCAB
                           : wanted->padding ? 3
                                             : VOCAB,
                           &(uint64_t){8});
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
    if (wanted->ragged) {
        batch->offsets = offsets;
        batch->length = INLAY_LENGTH_FROM_OFFSETS;
        batch->padded_length = wanted->padded_length;
    }
    batch->weights = wanted->weights ? trial_floats(trial, TOKENS, 11) : NULL;
    batch->dropout = wanted->dropout;
    batch->dropout_key = 42;
    batch->dropout_offset = 43;
    call->rows = wanted->spec.pooling != INLAY_POOLING_NONE ? SEQUENCES
                 : wanted->padded_length > 0                ? SEQUENCES * wanted->padded_length
                                                            : TOKENS;
}

static void forward(struct trial *trial, const struct call *call)
{
    trial_forward(trial, &call->spec, &call->batch, call->rows);
}

/* Returns a gradient of `rows` rows that already holds something. */
static void *gradient_of(struct trial *trial, bool wanted, size_t rows, size_t dim)
{
    return wanted ? trial_floats(trial, rows * dim, 12) : NULL;
}

static void backward(struct trial *trial, const struct call *call)
{
    const size_t dim = call->tokens.dim, stride = dim * sizeof(float);
    const void *from = trial_floats(trial, call->rows * dim, 13);
    inlay_gradients to = inlay_gradients_none(dim);
    to.tokens = gradient_of(trial, true, call->tokens.rows, dim);
    to.positions = gradient_of(trial, call->spec.positions != NULL, POSITION_ROWS, dim);
    to.segments = gradient_of(trial, call->spec.segments != NULL, SEGMENT_TYPES, dim);
    inlay_layer *layer;
    trial_ok(trial, "inlay_layer_create", inlay_layer_create(&call->spec, &in_arena, &layer));
    trial_ok(trial, "inlay_backward", inlay_backward(layer, &call->batch, from, stride, &to, trial->executor, NULL));
    trial_rows(trial, to.tokens, call->tokens.rows, dim, stride, INLAY_F32);
    if (to.positions != NULL)
        trial_rows(trial, to.positions, POSITION_ROWS, dim, stride, INLAY_F32);
    if (to.segments != NULL)
        trial_rows(trial, to.segments, SEGMENT_TYPES, dim, stride, INLAY_F32);
}

/* Runs a check at dims [count], of which its type of tables may not have all. */
static void run_check(struct trial *trial, const struct layer_check *wanted, const size_t *dims, size_t count,
                      void (*run)(struct trial *, const struct call *))
{
    for (size_t d = 0; d < count; d++) {
        struct call call;
        if (!has_dim(table_type(wanted), dims[d]))
            continue;
        make_tables(trial, wanted, dims[d], &call);
        make_spec(trial, wanted, dims[d], &call);
        make_batch(trial, wanted, &call);
        run(trial, &call);
    }
}

static const size_t dims[] = {41, 512}, wide_dim = 1024;

static void layer_run(struct trial *trial, size_t item)
{
    run_check(trial, &checks[item], dims, 2, forward);
}

static void wide_run(struct trial *trial, size_t item)
{
    run_check(trial, &checks[item], &wide_dim, 1, forward);
}

static void type_run(struct trial *trial, size_t item)
{
    const struct layer_check wanted = {.learned = true, .table_type = (inlay_element_type)(item + 1)};
    run_check(trial, &wanted, dims, 2, forward);
}

static void backward_run(struct trial *trial, size_t item)
{
    run_check(trial, &checks[item], dims, 2, backward);
}

const struct family layer_checks = {"layer", layer_run, ITEMS_OF(checks)};
const struct family wide_checks = {"wide layer", wide_run, .item = wide_item, .once = true};
const struct family type_checks = {"layer of", type_run, .item = element_item};
const struct family backward_checks = {"backward", backward_run, .item = backward_item};
