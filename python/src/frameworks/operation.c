/* SPDX-License-Identifier: MIT */
/*
 * Checks tensors, creates a layer from them (0.1 us) and runs it.
 */
#include "frameworks/operation.h"

#include "module/threads.h"

#include <stdio.h>
#include <string.h>

/* Sets of element types. */
enum {
    BYTES = 1 << DTYPE_U8,
    FLOAT32 = 1 << DTYPE_F32,
    FLOATS = FLOAT32 | 1 << DTYPE_F16 | 1 << DTYPE_BF16,
    INTEGERS = BYTES | 1 << DTYPE_I16 | 1 << DTYPE_U16 | 1 << DTYPE_I32 | 1 << DTYPE_U32 | 1 << DTYPE_I64,
};

static const struct {
    const char *name;
    int types;
} infos[OPERANDS] = {
    [OPERAND_TABLE] = {"table", FLOATS},
    [OPERAND_POSITIONS] = {"positions", FLOATS},
    [OPERAND_SEGMENTS] = {"segments", FLOATS},
    [OPERAND_IDS] = {"ids", INTEGERS},
    [OPERAND_POSITION_IDS] = {"position_ids", INTEGERS},
    [OPERAND_SEGMENT_IDS] = {"segment_ids", INTEGERS},
    [OPERAND_GAMMA] = {"gamma", FLOAT32},
    [OPERAND_BETA] = {"beta", FLOAT32},
    [OPERAND_SCALES] = {"scales", FLOAT32},
    [OPERAND_ZEROS] = {"zeros", BYTES},
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

void operation_init(struct operation *operation)
{
    memset(operation, 0, sizeof *operation);
    operation->spec = inlay_layer_spec_default(&operation->tables[OPERAND_TABLE]);
    operation->spec.self_tuning = INLAY_SELF_TUNING_OFF; /* the layer runs only once */
    operation->batch = inlay_batch_i32(NULL, 1, 1, 0);
}

/* ---- Checks ----------------------------------------------------------------------------------------------------- */

/* Checks the element types of all tensors. */
static inlay_status check_types(const struct operation *operation, char text[ERROR_TEXT_BYTES])
{
    for (enum operand i = 0; i < OPERANDS; i++) {
        const struct tensor *tensor = &operation->operands[i];
        const bool grouped = i == OPERAND_TABLE && operation->operands[OPERAND_SCALES].given;
        if (tensor->given && ((grouped ? BYTES : infos[i].types) & 1 << tensor->dtype) == 0) {
            snprintf(text, ERROR_TEXT_BYTES, "%s has elements of type %s", infos[i].name,
                     dtype_infos[tensor->dtype].name);
            return INLAY_ERROR_OPTION;
        }
    }
    return INLAY_OK;
}

static bool same_shape(const struct tensor *a, const struct tensor *b)
{
    if (a->dims != b->dims)
        return false;
    for (int i = 0; i < a->dims; i++)
        if (a->shape[i] != b->shape[i])
            return false;
    return true;
}

size_t tensor_count(const struct tensor *tensor)
{
    size_t count = 1;
    for (int i = 0; i < tensor->dims; i++)
        count *= (size_t)tensor->shape[i];
    return count;
}

/* Reports a tensor of the wrong shape. */
static inlay_status bad_shape(const char *name, const char *expected, char text[ERROR_TEXT_BYTES])
{
    snprintf(text, ERROR_TEXT_BYTES, "%s does not match %s", name, expected);
    return INLAY_ERROR_SHAPE;
}

/* Makes a view of a table. All dimensions but the last two must be 1. A single row may be a vector. */
static bool read_table(const struct tensor *tensor, inlay_table *table)
{
    size_t rows = 1;
    for (int i = 0; i < tensor->dims - 1; i++) {
        if (rows != 1)
            return false;
        rows = (size_t)tensor->shape[i];
    }
    if (tensor->dims == 0)
        return false;
    const struct dtype_info *info = &dtype_infos[tensor->dtype];
    const size_t dim = (size_t)tensor->shape[tensor->dims - 1];
    *table = inlay_table_view(info->element, tensor->data, rows, dim, dim * info->bytes);
    return true;
}

/* Makes a view of a table in groups with its scales and zero points. */
static bool read_grouped(struct operation *operation)
{
    const struct tensor *data = &operation->operands[OPERAND_TABLE], *scales = &operation->operands[OPERAND_SCALES];
    const struct tensor *zeros = &operation->operands[OPERAND_ZEROS];
    const inlay_element_type type = operation->grouped;
    const size_t rows = (size_t)data->shape[0], row_bytes = (size_t)data->shape[1], group = operation->group;
    const size_t dim = (type == INLAY_U8_GROUPED ? 1 : 2) * row_bytes;
    if (group == 0 || scales->dims != 2 || (size_t)scales->shape[0] != rows ||
        (size_t)scales->shape[1] != dim / group + (dim % group != 0))
        return false;
    const size_t groups = (size_t)scales->shape[1], all = rows * groups;
    const size_t packed = type == INLAY_U8_GROUPED        ? all
                          : type == INLAY_U4_GROUPED_FLAT ? all / 2 + all % 2
                                                          : rows * (groups / 2 + groups % 2);
    if (zeros->given && tensor_count(zeros) != packed)
        return false;
    inlay_table *table = &operation->tables[OPERAND_TABLE];
    *table = inlay_table_view(type, data->data, rows, dim, row_bytes);
    table->scales = scales->data;
    table->zeros = zeros->data;
    table->group = operation->group;
    return true;
}

/* Makes views of the tables and fills in the spec. */
static inlay_status read_spec(struct operation *operation, char text[ERROR_TEXT_BYTES])
{
    const struct tensor *operands = operation->operands;
    inlay_table *tables = operation->tables;
    if (operands[OPERAND_TABLE].dims != 2)
        return bad_shape("table", "[vocab, dim]", text);
    const bool grouped = operands[OPERAND_SCALES].given;
    if (grouped && !read_grouped(operation))
        return bad_shape("scales or zeros", "the groups of the table", text);
    for (enum operand i = OPERAND_TABLE + grouped; i < OPERAND_TABLES; i++)
        if (operands[i].given && (!read_table(&operands[i], &tables[i]) || tables[i].dim != tables[OPERAND_TABLE].dim))
            return bad_shape(infos[i].name, "[rows, dim]", text);
    for (enum operand i = OPERAND_GAMMA; i <= OPERAND_BETA; i++)
        if (operands[i].given && (operands[i].dims != 1 || (size_t)operands[i].shape[0] != tables[OPERAND_TABLE].dim))
            return bad_shape(infos[i].name, "[dim]", text);
    inlay_layer_spec *spec = &operation->spec;
    spec->positions = operands[OPERAND_POSITIONS].given ? &tables[OPERAND_POSITIONS] : NULL;
    spec->segments = operands[OPERAND_SEGMENTS].given ? &tables[OPERAND_SEGMENTS] : NULL;
    spec->gamma = operands[OPERAND_GAMMA].data;
    spec->beta = operands[OPERAND_BETA].data;
    return INLAY_OK;
}

/* Returns the ids and sets their type. Without ids, returns null and sets the type to 0, because the library rejects a
   type without ids. */
static const void *read_ids(const struct tensor *tensor, inlay_id_type *type)
{
    const bool absent = !tensor->given || tensor_count(tensor) == 0;
    *type = absent ? 0 : dtype_infos[tensor->dtype].id;
    return absent ? NULL : tensor->data;
}

/* Fills in the batch. The last dimension of ids runs along a sequence. */
static inlay_status read_batch(struct operation *operation, char text[ERROR_TEXT_BYTES])
{
    const struct tensor *operands = operation->operands, *ids = &operands[OPERAND_IDS];
    inlay_batch *batch = &operation->batch;
    if (ids->dims >= VIEW_DIMS) {
        snprintf(text, ERROR_TEXT_BYTES, "ids has %d dimensions, more than %d", ids->dims, VIEW_DIMS - 1);
        return INLAY_ERROR_SHAPE;
    }
    for (enum operand i = OPERAND_POSITION_IDS; i <= OPERAND_SEGMENT_IDS; i++)
        if (operands[i].given && !same_shape(&operands[i], ids))
            return bad_shape(infos[i].name, "ids", text);
    batch->length = ids->dims > 0 ? (size_t)ids->shape[ids->dims - 1] : 1;
    batch->sequences = 1;
    for (int i = 0; i < ids->dims - 1; i++)
        batch->sequences *= (size_t)ids->shape[i];
    batch->ids = ids->data;
    batch->id_type = dtype_infos[ids->dtype].id;
    batch->position_ids = read_ids(&operands[OPERAND_POSITION_IDS], &batch->position_id_type);
    batch->segment_ids = read_ids(&operands[OPERAND_SEGMENT_IDS], &batch->segment_id_type);
    return INLAY_OK;
}

/* Checks the output, or sets its type and shape if it isn't given. */
static inlay_status check_out(struct operation *operation, char text[ERROR_TEXT_BYTES])
{
    const struct tensor *ids = &operation->operands[OPERAND_IDS];
    struct tensor *out = &operation->out, expected = {.dims = ids->dims};
    memcpy(expected.shape, ids->shape, (size_t)ids->dims * sizeof *ids->shape);
    expected.shape[expected.dims++] = (Py_ssize_t)operation->tables[OPERAND_TABLE].dim;
    if (!out->given) {
        expected.dtype = out->dtype != DTYPE_UNKNOWN ? out->dtype : operation->operands[OPERAND_TABLE].dtype;
        *out = expected;
    } else if (!same_shape(out, &expected))
        return bad_shape("the output", "ids and dim", text);
    operation->spec.out_type = dtype_infos[out->dtype].element;
    return INLAY_OK;
}

/* Broadcasts positions like an operand of Add: a single row is added to every token. */
static inlay_status broadcast_positions(struct operation *operation, char text[ERROR_TEXT_BYTES])
{
    const inlay_table *positions = operation->spec.positions;
    if (!operation->broadcast_positions || positions == NULL || operation->operands[OPERAND_POSITION_IDS].given ||
        positions->rows == operation->batch.length)
        return INLAY_OK;
    operation->spec.clamp_positions = positions->rows == 1;
    if (positions->rows == 1)
        return INLAY_OK;
    snprintf(text, ERROR_TEXT_BYTES, "positions has %zu rows, and a sequence has %zu tokens", positions->rows,
             operation->batch.length);
    return INLAY_ERROR_SHAPE;
}

inlay_status operation_check(struct operation *operation, char text[ERROR_TEXT_BYTES])
{
    inlay_status status = check_types(operation, text);
    if (status == INLAY_OK)
        status = read_spec(operation, text);
    if (status == INLAY_OK)
        status = read_batch(operation, text);
    if (status == INLAY_OK)
        status = check_out(operation, text);
    return status == INLAY_OK ? broadcast_positions(operation, text) : status;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------ */

/* Writes the reason if a call failed. Returns its status. */
static inlay_status report(const struct operation *operation, inlay_status status, const inlay_fault *fault,
                           char text[ERROR_TEXT_BYTES])
{
    const struct tensor *ids = &operation->operands[OPERAND_IDS];
    if (status_names_index(status))
        fault_text(text, status, &operation->batch, fault, ids->dims, ids->shape, operation->spec.positions != NULL);
    else if (status != INLAY_OK)
        snprintf(text, ERROR_TEXT_BYTES, "%s: %s", fault->field, fault->reason);
    return status;
}

inlay_status operation_run(const struct operation *operation, char text[ERROR_TEXT_BYTES])
{
    const struct tensor *out = &operation->out;
    const size_t bytes = dtype_infos[out->dtype].bytes, row_bytes = operation->spec.tokens->dim * bytes;
    inlay_layer *layer = NULL;
    inlay_executor executor;
    inlay_fault fault;
    inlay_status status = inlay_layer_create(&operation->spec, NULL, &layer);
    if (status == INLAY_OK)
        status = inlay_forward(layer, &operation->batch, out->data, row_bytes,
                               threads_for(tensor_count(out) * bytes, 0, &executor), &fault);
    else if (inlay_layer_spec_check(&operation->spec, &fault) == INLAY_OK)
        fault = (inlay_fault){.field = "layer", .reason = inlay_status_string(status)}; /* out of memory */
    inlay_layer_destroy(layer);
    return report(operation, status, &fault, text);
}
