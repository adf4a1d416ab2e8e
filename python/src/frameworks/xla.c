/* SPDX-License-Identifier: MIT */
/*
 * XLA's foreign function interface, version 0.1. XLA guarantees the layout of its structs and only appends fields; this
 * file declares the fields that the handler reads. A call frame holds arguments, attributes sorted by name, and
 * results.
 */
#include "frameworks/xla.h"

#include "frameworks/operation.h"

#include <stdio.h>
#include <string.h>

/* ---- XLA's declarations ----------------------------------------------------------------------------------------- */

enum { XLA_API_MAJOR = 0, XLA_API_MINOR = 1 };
enum { XLA_EXTENSION_METADATA = 1 };
enum { XLA_STAGE_EXECUTE = 3 };
enum { XLA_ATTRIBUTE_ARRAY = 1, XLA_ATTRIBUTE_SCALAR = 3 };
enum { XLA_INVALID_ARGUMENT = 3, XLA_RESOURCE_EXHAUSTED = 8, XLA_OUT_OF_RANGE = 11, XLA_INTERNAL = 13 };

/* The first field of every struct. */
struct xla_head {
    size_t size;
    struct xla_extension *extension;
};

struct xla_version {
    struct xla_head head;
    int major, minor;
};

/* A call frame with this extension asks for the handler's metadata. The handler must not compute then. */
struct xla_extension {
    size_t size;
    int type;
    struct xla_extension *next;
    struct xla_metadata {
        size_t size;
        struct xla_version version;
        uint32_t traits;
    } * metadata;
};

struct xla_buffer {
    struct xla_head head;
    int dtype;
    void *data;
    int64_t dims;
    int64_t *shape;
};

struct xla_scalar {
    int dtype;
    void *value;
};

struct xla_array {
    int dtype;
    size_t size;
    void *data;
};

struct xla_name {
    const char *text;
    size_t length;
};

struct xla_buffers {
    struct xla_head head;
    int64_t count;
    int *types;
    struct xla_buffer **buffers;
};

struct xla_attributes {
    struct xla_head head;
    int64_t count;
    int *types;
    struct xla_name **names;
    void **values;
};

struct xla_error_arguments {
    struct xla_head head;
    const char *message;
    int code;
};

struct xla_api {
    struct xla_head head;
    struct xla_version version;
    void *internal;
    void *(*create_error)(struct xla_error_arguments *arguments);
};

struct xla_frame {
    struct xla_head head;
    const struct xla_api *api;
    void *context;
    int stage;
    struct xla_buffers arguments, results;
    struct xla_attributes attributes;
};

/* Element types by XLA's number. */
static const unsigned char dtypes[] = {
    [1] = DTYPE_BOOL, [2] = DTYPE_I8,   [3] = DTYPE_I16,   [4] = DTYPE_I32, [5] = DTYPE_I64,
    [6] = DTYPE_U8,   [7] = DTYPE_U16,  [8] = DTYPE_U32,   [9] = DTYPE_U64, [10] = DTYPE_F16,
    [11] = DTYPE_F32, [12] = DTYPE_F64, [16] = DTYPE_BF16,
};

static enum dtype dtype_of_xla(int number)
{
    return dtype_of_number(dtypes, sizeof dtypes, number);
}

/* ---- The handler ------------------------------------------------------------------------------------------------ */

static void *fail(const struct xla_frame *frame, int code, const char *message)
{
    struct xla_error_arguments arguments = {{sizeof arguments, NULL}, message, code};
    return frame->api->create_error(&arguments);
}

static int code_of(inlay_status status)
{
    if (status_names_index(status))
        return XLA_OUT_OF_RANGE;
    return status == INLAY_ERROR_NO_MEMORY ? XLA_RESOURCE_EXHAUSTED : XLA_INVALID_ARGUMENT;
}

/* Returns the attribute with this name and kind, or null. */
static const void *attribute(const struct xla_frame *frame, const char *name, int type)
{
    const struct xla_attributes *attributes = &frame->attributes;
    for (int64_t i = 0; i < attributes->count; i++)
        if (attributes->types[i] == type && attributes->names[i]->length == strlen(name) &&
            memcmp(attributes->names[i]->text, name, strlen(name)) == 0)
            return attributes->values[i];
    return NULL;
}

/* Reads a scalar attribute of type `dtype`. Returns false if there is none. */
static bool read_number(const struct xla_frame *frame, const char *name, enum dtype dtype, void *number)
{
    const struct xla_scalar *scalar = attribute(frame, name, XLA_ATTRIBUTE_SCALAR);
    if (scalar == NULL || dtype_of_xla(scalar->dtype) != dtype)
        return false;
    memcpy(number, scalar->value, dtype_infos[dtype].bytes);
    return true;
}

static bool read_tensor(const struct xla_buffer *buffer, struct tensor *tensor)
{
    tensor->data = buffer->data;
    tensor->dtype = dtype_of_xla(buffer->dtype);
    tensor->given = true;
    return tensor_set_shape(tensor, (size_t)buffer->dims, buffer->shape);
}

/* The operand after beta. It holds the position of each sequence's first token. */
enum { START = OPERAND_BETA + 1 };

static bool read_start(const struct xla_buffer *buffer, int64_t *start)
{
    struct tensor tensor;
    if (!read_tensor(buffer, &tensor) || tensor.dims != 0 || (tensor.dtype != DTYPE_I32 && tensor.dtype != DTYPE_I64))
        return false;
    *start = tensor_integer(&tensor, 0);
    return true;
}

/* Reads the tensors. Item i of the attribute `operands` is the operand that argument i holds. Arguments past the end of
   `operands` are buffers that XLA donates for the result. */
static bool read_tensors(const struct xla_frame *frame, struct operation *operation)
{
    const struct xla_array *operands = attribute(frame, "operands", XLA_ATTRIBUTE_ARRAY);
    if (operands == NULL || dtype_of_xla(operands->dtype) != DTYPE_I32 ||
        operands->size > (size_t)frame->arguments.count || frame->results.count != 1)
        return false;
    for (size_t i = 0; i < operands->size; i++) {
        int32_t operand;
        memcpy(&operand, (const char *)operands->data + i * sizeof operand, sizeof operand);
        const struct xla_buffer *buffer = frame->arguments.buffers[i];
        const bool known = operand >= 0 && operand <= START;
        if (!known || !(operand == START ? read_start(buffer, &operation->batch.start)
                                         : read_tensor(buffer, &operation->operands[operand])))
            return false;
    }
    return read_tensor(frame->results.buffers[0], &operation->out);
}

static bool read_numbers(const struct xla_frame *frame, struct operation *operation)
{
    int32_t norm, segments_first;
    if (!read_number(frame, "scale", DTYPE_F32, &operation->spec.scale) ||
        !read_number(frame, "epsilon", DTYPE_F32, &operation->spec.epsilon) ||
        !read_number(frame, "norm", DTYPE_I32, &norm) ||
        !read_number(frame, "segments_first", DTYPE_I32, &segments_first))
        return false;
    operation->spec.norm = (inlay_norm)norm;
    operation->spec.segments_first = segments_first != 0;
    return true;
}

static void *handle(struct xla_frame *frame)
{
    const struct xla_extension *extension = frame->head.extension;
    if (extension != NULL && extension->type == XLA_EXTENSION_METADATA) {
        extension->metadata->version.major = XLA_API_MAJOR;
        extension->metadata->version.minor = XLA_API_MINOR;
        extension->metadata->traits = 0;
        return NULL;
    }
    if (frame->stage != XLA_STAGE_EXECUTE)
        return NULL;
    struct operation operation;
    operation_init(&operation);
    if (!read_tensors(frame, &operation) || !read_numbers(frame, &operation))
        return fail(frame, XLA_INTERNAL, "this is not a call of inlay.jax");
    char text[ERROR_TEXT_BYTES];
    inlay_status status = operation_check(&operation, text);
    if (status == INLAY_OK)
        status = operation_run(&operation, text);
    return status == INLAY_OK ? NULL : fail(frame, code_of(status), text);
}

PyObject *xla_handler(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    void *(*const handler)(struct xla_frame *) = handle;
    void *address;
    memcpy(&address, &handler, sizeof address); /* ISO C can't convert a function pointer to void * */
    return PyCapsule_New(address, NULL, NULL);
}
