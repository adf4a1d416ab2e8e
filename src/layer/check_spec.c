/* SPDX-License-Identifier: MIT */
/*
 * Validation of a layer's spec: one function per kind of field, called in order by inlay_check_spec().
 */
#include "base/compare.h"
#include "layer/group.h"
#include "layer/handle.h"
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
static inlay_status check_tables(const inlay_layer_spec *spec, struct inlay_layer_reads *reads)
{
    const inlay_table *const tables[3] = {spec->tokens, spec->positions, spec->segments};
    inlay_status status = INLAY_OK;
    reads->count = 0;
    for (int i = 0; i < 3 && status == INLAY_OK; i++)
        if (tables[i] != NULL) {
            struct inlay_table_arrays arrays;
            status = inlay_check_table(tables[i], &arrays);
            add_extent(reads, arrays.data);
            add_extent(reads, arrays.scales);
            add_extent(reads, arrays.zeros);
            add_extent(reads, arrays.extents);
        }
    reads->of_tables = reads->count;
    return status;
}

/* Returns true if a state of self-tuning, which may come from a file, is valid for this version. */
static bool state_known(const inlay_tuning_state *state)
{
    static const uint8_t reserved[sizeof state->reserved];
    bool known = inlay_struct_known(state, sizeof *state);
    for (int i = 0; known && i < INLAY_TUNING_CALL_CLASSES; i++)
        known = state->prefetch[i] <= INLAY_PREFETCH_L2_BLOCKS && state->computes[i] <= 1;
    for (int i = 0; known && i < INLAY_TUNING_OUTPUT_CLASSES; i++)
        known = state->stores[i] <= INLAY_STORES_STREAMED;
    return known && memcmp(state->reserved, reserved, sizeof reserved) == 0;
}

/* Returns true if this version supports the enum values, flags and numbers. */
static bool values_known(const inlay_layer_spec *spec)
{
    if (spec->stores > INLAY_STORES_STREAMED || spec->bad_id > INLAY_BAD_ID_SKIP ||
        spec->zero_rows > INLAY_ZERO_ROWS_TABLE || spec->position_mode > INLAY_POSITION_MODE_PADDING_AWARE ||
        spec->clamp_positions > 1 || spec->segments_first > 1 || spec->norm > INLAY_NORM_L2 ||
        spec->pooling > INLAY_POOLING_MEAN || spec->self_tuning > INLAY_SELF_TUNING_OFF)
        return false;
    if ((spec->tuning != NULL && !inlay_tuning_known(spec->tuning)) ||
        (spec->tuning_state != NULL && !state_known(spec->tuning_state)))
        return false;
    if (inlay_type_bytes(spec->out_type) == 0 || !inlay_float_within(spec->epsilon, FLT_MAX))
        return false;
    return spec->bad_id != INLAY_BAD_ID_SUBSTITUTE ||
           (spec->substitute_id >= 0 && (uint64_t)spec->substitute_id < inlay_id_limit(spec));
}

/* Returns true if no two fields exclude each other and none requires another one that is missing. */
static bool fields_agree(const inlay_layer_spec *spec)
{
    const bool norm = spec->norm != INLAY_NORM_NONE, pooled = spec->pooling != INLAY_POOLING_NONE;
    const bool positioned = inlay_has_positions(spec), segmented = spec->segments != NULL;
    const bool padding_aware = spec->position_mode == INLAY_POSITION_MODE_PADDING_AWARE;
    const bool conflict = (spec->sinusoid != NULL && spec->positions != NULL) ||
                          (inlay_is_shard(spec->tokens) && (norm || pooled || segmented)) ||
                          (pooled && (positioned || segmented)) ||
                          (spec->positions != NULL && spec->positions->vocab > 0) ||
                          (segmented && (spec->segments->vocab > 0 || spec->segments->rows == 0));
    const bool missing = (spec->clamp_positions && spec->positions == NULL) || (spec->segments_first && !segmented) ||
                         (padding_aware && (spec->padding_id < 0 || !positioned)) || (spec->gamma != NULL && !norm) ||
                         (spec->beta != NULL && spec->norm != INLAY_NORM_LAYER) ||
                         (spec->token_weights != NULL && !pooled);
    return !conflict && !missing;
}

/* Returns true if the token mapping and weights have a type and a length exactly if they are present. */
static bool mapping_and_weights_known(const inlay_layer_spec *spec)
{
    return (spec->token_mapping != NULL ? inlay_id_bytes(spec->token_mapping_type) > 0
                                        : spec->token_mapping_type == 0 && spec->token_mapping_length == 0) &&
           (spec->token_weights != NULL || spec->token_weights_length == 0);
}

static bool lengths_agree(const inlay_layer_spec *spec)
{
    return (spec->token_mapping == NULL || spec->token_mapping_length > 0) &&
           (spec->token_weights == NULL || spec->token_weights_length == inlay_id_limit(spec));
}

static bool dims_agree(const inlay_layer_spec *spec)
{
    const size_t dim = spec->tokens->dim;
    /* These need whole rows in the floats of a group. */
    const bool whole_rows = spec->pooling != INLAY_POOLING_NONE ||
                            (spec->out_type != INLAY_F32 && (spec->norm != INLAY_NORM_NONE || spec->sinusoid != NULL));
    return (spec->sinusoid == NULL || spec->sinusoid->dim == dim) &&
           (spec->positions == NULL || spec->positions->dim == dim) &&
           (spec->segments == NULL || spec->segments->dim == dim) && (!whole_rows || dim <= INLAY_SUM_FLOATS);
}

/* Checks and adds an optional array, after the checks `before`. */
static inlay_status check_parameter(inlay_status before, const void *parameter, size_t n, size_t element_bytes,
                                    struct inlay_layer_reads *reads)
{
    struct inlay_extent extent;
    if (before != INLAY_OK || parameter == NULL)
        return before;
    inlay_status status = inlay_check_array(parameter, n, element_bytes, &extent);
    if (status == INLAY_OK)
        add_extent(reads, extent);
    return status;
}

/* Returns true if every value of the mapping, if there is one, is a valid row. */
static bool mapping_has_rows(const inlay_layer_spec *spec)
{
    const size_t length = spec->token_mapping_length, rows = inlay_vocab_of(spec->tokens);
    return spec->token_mapping == NULL ||
           inlay_first_bad_id(spec->token_mapping, spec->token_mapping_type, length, rows) == length;
}

inlay_status inlay_check_spec(const inlay_layer_spec *spec, struct inlay_layer_reads *reads)
{
    if (spec == NULL)
        return INLAY_ERROR_NULL;
    if (!inlay_struct_known(spec, sizeof *spec))
        return INLAY_ERROR_OPTION;
    if (spec->tokens == NULL)
        return INLAY_ERROR_NULL;
    inlay_status status = check_tables(spec, reads);
    if (status != INLAY_OK)
        return status;
    if (!values_known(spec) || !fields_agree(spec) || !mapping_and_weights_known(spec))
        return INLAY_ERROR_OPTION;
    if (!dims_agree(spec) || !lengths_agree(spec))
        return INLAY_ERROR_SHAPE;
    const size_t dim = spec->tokens->dim, id_bytes = inlay_id_bytes(spec->token_mapping_type);
    status = check_parameter(status, spec->gamma, dim, sizeof(float), reads);
    status = check_parameter(status, spec->beta, dim, sizeof(float), reads);
    status = check_parameter(status, spec->token_mapping, spec->token_mapping_length, id_bytes, reads);
    status = check_parameter(status, spec->token_weights, spec->token_weights_length, sizeof(float), reads);
    return status == INLAY_OK && !mapping_has_rows(spec) ? INLAY_ERROR_ID : status;
}
