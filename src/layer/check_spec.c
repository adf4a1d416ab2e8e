/* SPDX-License-Identifier: MIT */
/*
 * Validation of a layer's spec: tables of checks, each with its field and what is wrong if it applies.
 */
#include "base/compare.h"
#include "layer/group.h"
#include "layer/validate.h"
#include "positions/sinusoid.h"
#include "table/ids.h"
#include "table/view.h"

#include <float.h>
#include <string.h>

static void add_extent(struct inlay_layer_reads *reads, struct inlay_extent extent)
{
    if (extent.begin < extent.end)
        reads->extents[reads->count++] = extent;
}

/* Checks the tables, and adds their arrays. */
static inlay_status check_tables(const inlay_layer_spec *spec, struct inlay_layer_reads *reads, inlay_fault *fault)
{
    static const char *const names[3] = {"tokens", "positions", "segments"};
    const inlay_table *const tables[3] = {spec->tokens, spec->positions, spec->segments};
    inlay_status status = INLAY_OK;
    reads->count = 0;
    for (int i = 0; i < 3 && status == INLAY_OK; i++)
        if (tables[i] != NULL) {
            struct inlay_table_arrays arrays;
            status = inlay_check_table(tables[i], &arrays, names[i], fault);
            add_extent(reads, arrays.data);
            add_extent(reads, arrays.scales);
            add_extent(reads, arrays.zeros);
            add_extent(reads, arrays.extents);
        }
    reads->of_tables = reads->count;
    return status;
}

/* A check that fails if `wrong`. */
struct check {
    bool wrong;
    const char *field, *reason;
};

/* Returns `status` and blames the first check that fails. */
static inlay_status first_failure(const struct check *checks, size_t count, inlay_status status, inlay_fault *fault)
{
    for (size_t i = 0; i < count; i++)
        if (checks[i].wrong)
            return inlay_blame(fault, status, checks[i].field, checks[i].reason);
    return INLAY_OK;
}

/* Checks that this version supports the enum values, flags and numbers. */
static inlay_status check_values(const inlay_layer_spec *spec, inlay_fault *fault)
{
    const bool substitutes = spec->bad_id == INLAY_BAD_ID_SUBSTITUTE;
    const struct check checks[] = {
        {spec->stores > INLAY_STORES_STREAMED, "stores", "is not an inlay_stores"},
        {spec->bad_id > INLAY_BAD_ID_SKIP, "bad_id", "is not an inlay_bad_id"},
        {spec->zero_rows > INLAY_ZERO_ROWS_TABLE, "zero_rows", "is not an inlay_zero_rows"},
        {spec->position_mode > INLAY_POSITION_MODE_PADDING_AWARE, "position_mode", "is not an inlay_position_mode"},
        {spec->clamp_positions > 1, "clamp_positions", "is not 0 or 1"},
        {spec->segments_first > 1, "segments_first", "is not 0 or 1"},
        {spec->norm > INLAY_NORM_L2, "norm", "is not an inlay_norm"},
        {spec->pooling > INLAY_POOLING_MEAN, "pooling", "is not an inlay_pooling"},
        {spec->self_tuning > INLAY_SELF_TUNING_OFF, "self_tuning", "is not an inlay_self_tuning"},
        {inlay_type_bytes(spec->out_type) == 0, "out_type", "is not INLAY_F32, INLAY_F16 or INLAY_BF16"},
        {!inlay_float_within(spec->epsilon, FLT_MAX), "epsilon", "is negative or not finite"},
        {substitutes && (spec->substitute_id < 0 || (uint64_t)spec->substitute_id >= inlay_id_limit(spec)),
         "substitute_id", "is not in the vocabulary"},
    };
    return first_failure(checks, sizeof checks / sizeof *checks, INLAY_ERROR_OPTION, fault);
}

/* Checks the tuning and the state of self-tuning, which may come from a file. */
static inlay_status check_tuning(const inlay_tuning *tuning, const inlay_tuning_state *state, inlay_fault *fault)
{
    static const uint8_t zeros[sizeof state->reserved];
    if (tuning != NULL && !inlay_tuning_known(tuning))
        return inlay_blame(fault, INLAY_ERROR_OPTION, "tuning", "its size, prefetch or reserved field is not valid");
    if (state == NULL)
        return INLAY_OK;
    if (!inlay_struct_known(state, sizeof *state))
        return inlay_blame(fault, INLAY_ERROR_OPTION, "tuning_state", "its size " INLAY_SIZE_UNKNOWN);
    bool prefetch = true, computes = true, stores = true;
    for (int i = 0; i < INLAY_TUNING_CALL_CLASSES; i++) {
        prefetch = prefetch && state->prefetch[i] <= INLAY_PREFETCH_L2_BLOCKS;
        computes = computes && state->computes[i] <= 1;
    }
    for (int i = 0; i < INLAY_TUNING_OUTPUT_CLASSES; i++)
        stores = stores && state->stores[i] <= INLAY_STORES_STREAMED;
    const struct check checks[] = {
        {!prefetch, "tuning_state", "its prefetch has a value that is not an inlay_prefetch"},
        {!computes, "tuning_state", "its computes has a value that is not 0 or 1"},
        {!stores, "tuning_state", "its stores has a value that is not an inlay_stores"},
        {memcmp(state->reserved, zeros, sizeof zeros) != 0, "tuning_state", "its reserved bytes are not 0"},
    };
    return first_failure(checks, sizeof checks / sizeof *checks, INLAY_ERROR_OPTION, fault);
}

/* Checks that no two fields exclude each other and that none lacks another one that it needs. */
static inlay_status check_combinations(const inlay_layer_spec *spec, inlay_fault *fault)
{
    const inlay_table *const positions = spec->positions, *const segments = spec->segments;
    const bool norm = spec->norm != INLAY_NORM_NONE, pooled = spec->pooling != INLAY_POOLING_NONE;
    const bool shard = inlay_is_shard(spec->tokens), positioned = inlay_has_positions(spec);
    const bool padding_aware = spec->position_mode == INLAY_POSITION_MODE_PADDING_AWARE;
    const bool mapped = spec->token_mapping != NULL;
    const struct check checks[] = {
        {spec->sinusoid != NULL && positions != NULL, "positions", "excludes a sinusoid"},
        {positions != NULL && positions->vocab > 0, "positions", "is a shard"},
        {segments != NULL && segments->vocab > 0, "segments", "is a shard"},
        {segments != NULL && segments->rows == 0, "segments", "has no rows"},
        {shard && norm, "norm", "excludes a shard"},
        {shard && pooled, "pooling", "excludes a shard"},
        {shard && segments != NULL, "segments", "excludes a shard"},
        {pooled && positioned, "pooling", "excludes positions"},
        {pooled && segments != NULL, "pooling", "excludes segments"},
        {spec->clamp_positions && positions == NULL, "clamp_positions", "needs a table of positions"},
        {spec->segments_first && segments == NULL, "segments_first", "needs segments"},
        {padding_aware && spec->padding_id < 0, "position_mode", "is padding-aware, which needs padding_id"},
        {padding_aware && !positioned, "position_mode", "is padding-aware, which needs positions"},
        {spec->gamma != NULL && !norm, "gamma", "needs a norm"},
        {spec->beta != NULL && spec->norm != INLAY_NORM_LAYER, "beta", "needs INLAY_NORM_LAYER"},
        {mapped && inlay_id_bytes(spec->token_mapping_type) == 0, "token_mapping_type", "is not an inlay_id_type"},
        {!mapped && spec->token_mapping_type != 0, "token_mapping_type", "needs token_mapping"},
        {!mapped && spec->token_mapping_length > 0, "token_mapping_length", "needs token_mapping"},
        {spec->token_weights != NULL && !pooled, "token_weights", "needs pooling"},
        {spec->token_weights == NULL && spec->token_weights_length > 0, "token_weights_length", "needs token_weights"},
    };
    return first_failure(checks, sizeof checks / sizeof *checks, INLAY_ERROR_OPTION, fault);
}

/* Checks dims and lengths. */
static inlay_status check_shapes(const inlay_layer_spec *spec, inlay_fault *fault)
{
    static const char other_dim[] = "has another dim than tokens";
    const size_t dim = spec->tokens->dim;
    /* These need whole rows in the floats of a group. */
    const bool long_rows = dim > INLAY_SUM_FLOATS, long_halves = long_rows && spec->out_type != INLAY_F32;
    const struct check checks[] = {
        {spec->sinusoid != NULL && spec->sinusoid->dim != dim, "sinusoid", other_dim},
        {spec->positions != NULL && spec->positions->dim != dim, "positions", other_dim},
        {spec->segments != NULL && spec->segments->dim != dim, "segments", other_dim},
        {long_rows && spec->pooling != INLAY_POOLING_NONE, "pooling", "needs a dim of at most 4096"},
        {long_halves && spec->norm != INLAY_NORM_NONE, "norm", "needs a dim of at most 4096 with 16-bit outputs"},
        {long_halves && spec->sinusoid != NULL, "sinusoid", "needs a dim of at most 4096 with 16-bit outputs"},
        {spec->token_mapping != NULL && spec->token_mapping_length == 0, "token_mapping_length", "is 0"},
        {spec->token_weights != NULL && spec->token_weights_length != inlay_id_limit(spec), "token_weights_length",
         "is not the number of ids"},
    };
    return first_failure(checks, sizeof checks / sizeof *checks, INLAY_ERROR_SHAPE, fault);
}

/* Checks and adds an optional array, after the checks `before`. */
static inlay_status check_parameter(inlay_status before, const char *field, const void *parameter, size_t n,
                                    size_t element_bytes, struct inlay_layer_reads *reads, inlay_fault *fault)
{
    struct inlay_extent extent;
    if (before != INLAY_OK || parameter == NULL)
        return before;
    inlay_status status = inlay_check_array(parameter, n, element_bytes, &extent);
    if (status == INLAY_OK)
        add_extent(reads, extent);
    return inlay_blame(fault, status, field, NULL);
}

size_t inlay_first_mapping_gap(const inlay_layer_spec *spec)
{
    if (spec->token_mapping == NULL)
        return 0;
    return inlay_first_bad_id(spec->token_mapping, spec->token_mapping_type, spec->token_mapping_length,
                              inlay_vocab_of(spec->tokens));
}

/* Checks that every entry of the mapping, if there is one, is a row or INLAY_NO_ROW. With INLAY_NO_ROW, rejects CLAMP
   and a substitute_id without a row. */
static inlay_status check_mapping(const inlay_layer_spec *spec, inlay_fault *fault)
{
    const size_t length = spec->token_mapping_length, gap = inlay_first_mapping_gap(spec);
    for (size_t i = gap; i < length; i++) {
        const int64_t row = inlay_id_at(spec->token_mapping, spec->token_mapping_type, i);
        if (row == INLAY_NO_ROW || (row >= 0 && (uint64_t)row < inlay_vocab_of(spec->tokens)))
            continue;
        if (fault != NULL)
            *fault = (inlay_fault){.token = i, .value = row};
        return inlay_blame(fault, INLAY_ERROR_ID, "token_mapping", "has a value that is not a row of the table");
    }
    const bool substitutes = spec->bad_id == INLAY_BAD_ID_SUBSTITUTE;
    const struct check checks[] = {
        {gap < length && spec->bad_id == INLAY_BAD_ID_CLAMP, "bad_id", "is CLAMP, but token_mapping has INLAY_NO_ROW"},
        {gap < length && substitutes && inlay_id_lacks_row(spec, (uint64_t)spec->substitute_id), "substitute_id",
         "has no row in token_mapping"},
    };
    return first_failure(checks, sizeof checks / sizeof *checks, INLAY_ERROR_OPTION, fault);
}

inlay_status inlay_check_spec(const inlay_layer_spec *spec, struct inlay_layer_reads *reads, inlay_fault *fault)
{
    if (spec == NULL)
        return inlay_blame(fault, INLAY_ERROR_NULL, "spec", NULL);
    if (!inlay_struct_known(spec, sizeof *spec))
        return inlay_blame(fault, INLAY_ERROR_OPTION, "size", INLAY_SIZE_UNKNOWN);
    if (spec->tokens == NULL)
        return inlay_blame(fault, INLAY_ERROR_NULL, "tokens", NULL);
    inlay_status status = check_tables(spec, reads, fault);
    if (status == INLAY_OK)
        status = check_values(spec, fault);
    if (status == INLAY_OK)
        status = check_tuning(spec->tuning, spec->tuning_state, fault);
    if (status == INLAY_OK)
        status = check_combinations(spec, fault);
    if (status == INLAY_OK)
        status = check_shapes(spec, fault);
    const size_t dim = spec->tokens->dim, id_bytes = inlay_id_bytes(spec->token_mapping_type);
    status = check_parameter(status, "gamma", spec->gamma, dim, sizeof(float), reads, fault);
    status = check_parameter(status, "beta", spec->beta, dim, sizeof(float), reads, fault);
    status = check_parameter(status, "token_mapping", spec->token_mapping, spec->token_mapping_length, id_bytes, reads,
                             fault);
    status = check_parameter(status, "token_weights", spec->token_weights, spec->token_weights_length, sizeof(float),
                             reads, fault);
    return status == INLAY_OK ? check_mapping(spec, fault) : status;
}
