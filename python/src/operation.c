/* SPDX-License-Identifier: MIT */
/*
 * Checks tensors, makes a layer of them, which takes 0.1 us without a sinusoid, and runs it.
 */
#include "operation.h"

#include "threads.h"

#include <stdio.h>

static const char *const names[OPERANDS] = {
    [OPERAND_TABLE] = "table",
    [OPERAND_POSITIONS] = "positions",
    [OPERAND_SEGMENTS] = "segments",
    [OPERAND_IDS] = "ids",
    [OPERAND_POSITION_IDS] = "position_ids",
    [OPERAND_SEGMENT_IDS] = "segment_ids",
    [OPERAND_GAMMA] = "gamma",
    [OPERAND_BETA] = "beta",
};

/* A layer while it is made. */
struct parts {
    inlay_table tables[OPERAND_SEGMENTS + 1]; /* by operand */
    inlay_layer_spec spec;
    inlay_batch batch;
};

bool tensor_set_shape(struct tensor *tensor, size_t dims, const int64_t *shape)
{
    if (dims > VIEW_DIMS)
        return false;
    tensor->dims = (int)dims;
    for (size_t i = 0; i < dims; i++)
        tensor->shape[i] = (Py_ssize_t)shape[i];
    return true;
}

/* Returns whether an operand may have elements of this type. */
static bool is_type_of(enum operand operand, enum dtype dtype)
{
    if (operand <= OPERAND_SEGMENTS)
        return dtype_infos[dtype].element != 0;
    if (operand <= OPERAND_SEGMENT_IDS)
        return dtype_infos[dtype].id != 0;
    return dtype == DTYPE_F32;
}

/* Checks the element types of all tensors. */
static inlay_status check_types(const struct operation *operation, char text[ERROR_TEXT_BYTES])
{
    for (enum operand i = 0; i < OPERANDS; i++) {
        const struct tensor *tensor = &operation->operands[i];
        if (tensor->given && !is_type_of(i, tensor->dtype)) {
            snprintf(text, ERROR_TEXT_BYTES, "%s has elements of type %s", names[i], dtype_infos[tensor->dtype].name);
            return INLAY_ERROR_OPTION;
        }
    }
    return INLAY_OK;
}

static bool same_shape(const struct tensor *a, const struct tensor *b, int dims)
{
    for (int i = 0; i < dims; i++)
        if (a->shape[i] != b->shape[i])
            return false;
    return true;
}

/* Writes that a tensor has the wrong shape. */
static inlay_status bad_shape(const char *name, const char *expected, char text[ERROR_TEXT_BYTES])
{
    snprintf(text, ERROR_TEXT_BYTES, "%s is not shaped as %s", name, expected);
    return INLAY_ERROR_SHAPE;
}

/* Makes a view of a table, whose dimensions before the last two must be 1; a single row may be a vector. */
static inlay_status read_table(const struct tensor *tensor, const char *name, inlay_table *table,
                               char text[ERROR_TEXT_BYTES])
{
    size_t rows = 1;
    for (int i = 0; i < tensor->dims - 1; i++) {
        if (rows != 1)
            return bad_shape(name, "[rows, dim]", text);
        rows = (size_t)tensor->shape[i];
    }
    if (tensor->dims == 0)
        return bad_shape(name, "[rows, dim]", text);
    const size_t dim = (size_t)tensor->shape[tensor->dims - 1];
    const struct dtype_info *info = &dtype_infos[tensor->dtype];
    *table = inlay_table_of(info->element, tensor->data, rows, dim, dim * info->bytes);
    return INLAY_OK;
}

/* Makes views of the tables, and a spec. */
static inlay_status read_spec(const struct operation *operation, struct parts *parts, char text[ERROR_TEXT_BYTES])
{
    const struct tensor *operands = operation->operands;
    inlay_table *tables = parts->tables;
    for (enum operand i = OPERAND_TABLE; i <= OPERAND_SEGMENTS; i++) {
        inlay_status status = operands[i].given ? read_table(&operands[i], names[i], &tables[i], text) : INLAY_OK;
        if (status != INLAY_OK)
            return status;
        if (operands[i].given && tables[i].dim != tables[OPERAND_TABLE].dim)
            return bad_shape(names[i], "[rows, dim]", text);
    }
    for (enum operand i = OPERAND_GAMMA; i <= OPERAND_BETA; i++)
        if (operands[i].given && (operands[i].dims != 1 || (size_t)operands[i].shape[0] != tables[OPERAND_TABLE].dim))
            return bad_shape(names[i], "[dim]", text);
    parts->spec = inlay_layer_spec_default(&tables[OPERAND_TABLE]);
    parts->spec.positions = operands[OPERAND_POSITIONS].given ? &tables[OPERAND_POSITIONS] : NULL;
    parts->spec.segments = operands[OPERAND_SEGMENTS].given ? &tables[OPERAND_SEGMENTS] : NULL;
    parts->spec.scale = operation->scale;
    parts->spec.norm = operation->norm;
    parts->spec.epsilon = operation->epsilon;
    parts->spec.segments_first = operation->segments_first;
    parts->spec.out_type = dtype_infos[operation->out.dtype].element;
    parts->spec.gamma = operands[OPERAND_GAMMA].data;
    parts->spec.beta = operands[OPERAND_BETA].data;
    return INLAY_OK;
}

/* Makes the batch: the last dimension of ids is that of a sequence. */
static inlay_status read_batch(const struct operation *operation, struct parts *parts, char text[ERROR_TEXT_BYTES])
{
    const struct tensor *operands = operation->operands, *ids = &operands[OPERAND_IDS], *out = &operation->out;
    if (out->dims != ids->dims + 1 || !same_shape(out, ids, ids->dims) ||
        (size_t)out->shape[ids->dims] != parts->spec.tokens->dim)
        return bad_shape("the output", "ids and dim", text);
    for (enum operand i = OPERAND_POSITION_IDS; i <= OPERAND_SEGMENT_IDS; i++)
        if (operands[i].given && (operands[i].dims != ids->dims || !same_shape(&operands[i], ids, ids->dims)))
            return bad_shape(names[i], "ids", text);
    size_t sequences = 1;
    for (int i = 0; i < ids->dims - 1; i++)
        sequences *= (size_t)ids->shape[i];
    inlay_batch *batch = &parts->batch;
    *batch = inlay_batch_i32(NULL, sequences, ids->dims > 0 ? (size_t)ids->shape[ids->dims - 1] : 1, operation->start);
    batch->ids = ids->data;
    batch->id_type = dtype_infos[ids->dtype].id;
    batch->position_ids = operands[OPERAND_POSITION_IDS].data;
    batch->position_id_type = dtype_infos[operands[OPERAND_POSITION_IDS].dtype].id;
    batch->segment_ids = operands[OPERAND_SEGMENT_IDS].data;
    batch->segment_id_type = dtype_infos[operands[OPERAND_SEGMENT_IDS].dtype].id;
    return INLAY_OK;
}

/* Treats positions as an operand of an addition. A single row belongs to every token: a segment of all. */
static inlay_status broadcast_positions(struct parts *parts, char text[ERROR_TEXT_BYTES])
{
    const inlay_table *positions = parts->spec.positions;
    if (positions == NULL || positions->rows == parts->batch.length)
        return INLAY_OK;
    if (positions->rows == 1) {
        parts->spec.segments = positions;
        parts->spec.positions = NULL;
        return INLAY_OK;
    }
    snprintf(text, ERROR_TEXT_BYTES, "positions has %zu rows, and a sequence has %zu tokens", positions->rows,
             parts->batch.length);
    return INLAY_ERROR_SHAPE;
}

static inlay_status run(const struct operation *operation, const struct parts *parts, char text[ERROR_TEXT_BYTES])
{
    const struct tensor *ids = &operation->operands[OPERAND_IDS];
    const size_t row_bytes = parts->spec.tokens->dim * dtype_infos[operation->out.dtype].bytes;
    const bool large = parts->batch.sequences * parts->batch.length * row_bytes >= THREADS_LARGE_BYTES;
    inlay_layer *layer = NULL;
    inlay_executor executor;
    inlay_fault fault;
    inlay_status status = inlay_layer_create(&parts->spec, NULL, &layer);
    if (status == INLAY_OK)
        status = inlay_forward(layer, &parts->batch, operation->out.data, row_bytes,
                               large ? threads_executor(threads_get(), &executor) : NULL, &fault);
    inlay_layer_destroy(layer);
    if (status_names_index(status))
        fault_text(text, status, fault.value, fault.sequence * parts->batch.length + fault.token, ids->dims, ids->shape,
                   parts->spec.positions != NULL);
    else
        snprintf(text, ERROR_TEXT_BYTES, "%s", inlay_status_string(status));
    return status;
}

inlay_status operation_run(const struct operation *operation, char text[ERROR_TEXT_BYTES])
{
    struct parts parts;
    inlay_status status = check_types(operation, text);
    if (status == INLAY_OK)
        status = read_spec(operation, &parts, text);
    if (status == INLAY_OK)
        status = read_batch(operation, &parts, text);
    if (status == INLAY_OK && operation->broadcast_positions)
        status = broadcast_positions(&parts, text);
    return status == INLAY_OK ? run(operation, &parts, text) : status;
}
