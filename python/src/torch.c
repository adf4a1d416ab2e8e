/* SPDX-License-Identifier: MIT */
/*
 * The operators are stateless: each call makes a layer of its tensors, which takes some 100 ns, so that compiled and
 * exported graphs hold no handle. Arguments come and results leave on a stack of 64-bit values, as PyTorch's boxed
 * kernels have it. Every handle of an argument is ours to delete, and so is the box of an optional one.
 */
#include "torch.h"

#include "dtype.h"
#include "threads.h"

#include <inlay/inlay.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- PyTorch's functions ---------------------------------------------------------------------------------------- */

typedef void *tensor_handle;
typedef void boxed_kernel(uint64_t *stack, uint64_t inputs, uint64_t outputs);

/* Functions that return int32_t return 0 on success. */
static struct {
    int32_t (*get_data)(tensor_handle tensor, void **data);
    int32_t (*get_dims)(tensor_handle tensor, int64_t *dims);
    int32_t (*get_sizes)(tensor_handle tensor, int64_t **sizes);
    int32_t (*get_strides)(tensor_handle tensor, int64_t **strides);
    int32_t (*get_type)(tensor_handle tensor, int32_t *type);
    int32_t (*empty)(int64_t dims, const int64_t *sizes, const int64_t *strides, int32_t type, int32_t device_type,
                     int32_t device, tensor_handle *tensor);
    int32_t (*delete_tensor)(tensor_handle tensor);
    int32_t (*begin_library)(const char *space, const char *key, const char *file, uint32_t line, void **library);
    int32_t (*add_kernel)(void *library, const char *name, boxed_kernel *kernel);
    void (*delete_box)(void *box);
    void *(*make_exception)(size_t bytes);
    void (*fill_exception)(void *exception, const char *text);
    void (*throw_exception)(void *exception, void *type, void (*destroy)(void *exception));
    void *exception_type;
    void (*destroy_exception)(void *exception);
} torch;

/* The names of these functions, in their order. The C++ ones are operator delete and what throws a std::runtime_error:
   a boxed kernel has no other way to report an error, and PyTorch has loaded the library of C++, which this module
   does without. */
static const char *const names[] = {
    "aoti_torch_get_data_ptr",
    "aoti_torch_get_dim",
    "aoti_torch_get_sizes",
    "aoti_torch_get_strides",
    "aoti_torch_get_dtype",
    "aoti_torch_empty_strided",
    "aoti_torch_delete_tensor_object",
    "aoti_torch_library_init_impl",
    "aoti_torch_library_impl",
    "_ZdlPv",
    "__cxa_allocate_exception",
    "_ZNSt13runtime_errorC1EPKc",
    "__cxa_throw",
    "_ZTISt13runtime_error",
    "_ZNSt13runtime_errorD1Ev",
};

enum { NAMES = sizeof names / sizeof *names };
_Static_assert(sizeof torch == NAMES * sizeof(void *), "each function has a name");

/* Throws a C++ exception through PyTorch's frames. Nothing in this file is left to release by then. */
static void throw_error(const char *text)
{
    void *exception = torch.make_exception(2 * sizeof(void *)); /* at least that of std::runtime_error */
    torch.fill_exception(exception, text);
    torch.throw_exception(exception, torch.exception_type, torch.destroy_exception);
}

/* ---- Tensors ---------------------------------------------------------------------------------------------------- */

enum { DIMS = 8, CPU = 0, NO_INDEX = -1, FLOAT32 = 6 };

/* What PyTorch's types of elements, c10::ScalarType, are here. */
static const struct {
    inlay_id_type id;
    inlay_element_type element;
    unsigned char bytes;
} types[] = {
    [0] = {.id = INLAY_ID_U8, .bytes = 1},      [2] = {.id = INLAY_ID_I16, .bytes = 2},
    [3] = {.id = INLAY_ID_I32, .bytes = 4},     [4] = {.id = INLAY_ID_I64, .bytes = 8},
    [5] = {.element = INLAY_F16, .bytes = 2},   [FLOAT32] = {.element = INLAY_F32, .bytes = 4},
    [15] = {.element = INLAY_BF16, .bytes = 2},
};

enum { TYPES = sizeof types / sizeof *types };

struct tensor {
    tensor_handle handle; /* null: absent */
    void *data;
    int64_t dims, *sizes, *strides;
    int32_t type;
};

/* What is wrong with a call; empty: nothing. */
struct error {
    char text[200];
};

/* Keeps the first error. */
__attribute__((format(printf, 2, 3))) static void fail(struct error *error, const char *format, ...)
{
    va_list arguments;
    if (error->text[0] != 0)
        return;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
}

static struct tensor open_tensor(uint64_t value, bool optional, const char *what, struct error *error)
{
    struct tensor tensor = {.handle = (tensor_handle)(uintptr_t)value};
    if (optional && value != 0) {
        uint64_t *box = (uint64_t *)(uintptr_t)value;
        tensor.handle = (tensor_handle)(uintptr_t)*box;
        torch.delete_box(box);
    }
    if (tensor.handle == NULL)
        return tensor;
    if (torch.get_data(tensor.handle, &tensor.data) != 0 || torch.get_dims(tensor.handle, &tensor.dims) != 0 ||
        torch.get_sizes(tensor.handle, &tensor.sizes) != 0 || torch.get_strides(tensor.handle, &tensor.strides) != 0 ||
        torch.get_type(tensor.handle, &tensor.type) != 0)
        fail(error, "%s cannot be read", what);
    else if (tensor.type < 0 || tensor.type >= TYPES || types[tensor.type].bytes == 0)
        fail(error, "%s has elements of a type that inlay does not read", what);
    else if (tensor.dims > DIMS - 1)
        fail(error, "%s has %lld dimensions, more than %d", what, (long long)tensor.dims, DIMS - 1);
    return tensor;
}

static int64_t count_elements(const struct tensor *tensor)
{
    int64_t count = 1;
    for (int64_t i = 0; i < tensor->dims; i++)
        count *= tensor->sizes[i];
    return count;
}

/* Requires elements one after the other. */
static void require_contiguous(const struct tensor *tensor, const char *what, struct error *error)
{
    int64_t stride = 1;
    for (int64_t i = tensor->dims - 1; i >= 0; i--) {
        if (tensor->sizes[i] > 1 && tensor->strides[i] != stride && count_elements(tensor) > 0)
            fail(error, "%s is not contiguous", what);
        stride *= tensor->sizes[i];
    }
}

/* Returns `count` contiguous integers, or the first of as many as there are if that is negative; null if absent. */
static const void *read_ids(const struct tensor *tensor, const char *what, int64_t count, inlay_id_type *type,
                            struct error *error)
{
    *type = 0;
    if (tensor->handle == NULL || error->text[0] != 0)
        return NULL;
    *type = types[tensor->type].id;
    require_contiguous(tensor, what, error);
    if (*type == 0)
        fail(error, "%s must be integers", what);
    if (count >= 0 && count_elements(tensor) != count)
        fail(error, "%s has %lld elements, expected %lld", what, (long long)count_elements(tensor), (long long)count);
    /* Arrays without elements are absent, and types without ids an error of the library. */
    if (count_elements(tensor) == 0)
        *type = 0;
    return *type != 0 ? tensor->data : NULL;
}

static const void *read_floats(const struct tensor *tensor, const char *what, int64_t count, struct error *error)
{
    if (tensor->handle == NULL || error->text[0] != 0)
        return NULL;
    require_contiguous(tensor, what, error);
    if (tensor->type != FLOAT32 || count_elements(tensor) != count)
        fail(error, "%s must be float32 of %lld elements", what, (long long)count);
    return tensor->data;
}

static inlay_table read_table(const struct tensor *tensor, const char *what, struct error *error)
{
    if (tensor->handle == NULL || error->text[0] != 0)
        return inlay_table_f32(NULL, 0, 1);
    const inlay_element_type element = types[tensor->type].element;
    if (element == 0 || tensor->dims != 2 || (tensor->strides[1] != 1 && tensor->sizes[1] != 1) ||
        tensor->strides[0] < 0) {
        fail(error, "%s must be a table [rows, dim] of float32, float16 or bfloat16", what);
        return inlay_table_f32(NULL, 0, 1);
    }
    const size_t rows = (size_t)tensor->sizes[0], dim = (size_t)tensor->sizes[1], bytes = types[tensor->type].bytes;
    const size_t stride = rows > 1 ? (size_t)tensor->strides[0] : dim;
    return inlay_table_of(element, tensor->data, rows, dim, stride * bytes);
}

static struct tensor new_tensor(int64_t dims, const int64_t *sizes, int32_t type, struct error *error)
{
    struct tensor tensor = {.dims = dims, .type = type};
    int64_t strides[DIMS], stride = 1;
    for (int64_t i = dims - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= sizes[i];
    }
    if (torch.empty(dims, sizes, strides, type, CPU, NO_INDEX, &tensor.handle) != 0 ||
        torch.get_data(tensor.handle, &tensor.data) != 0)
        fail(error, "there is no memory for the result");
    return tensor;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------ */

/* The arguments of both operators, in the order of their schema; those of backward follow the gradient. */
enum {
    IDS,
    TABLE,
    POSITIONS,
    SEGMENTS,
    GAMMA,
    BETA,
    POSITION_IDS,
    SEGMENT_IDS,
    OFFSETS,
    WEIGHTS,
    SEED,
    TENSORS,
    SCALE = TENSORS,
    PADDING_ID,
    START,
    NORM,
    EPSILON,
    SEGMENTS_FIRST,
    POOLING,
    DROPOUT,
    ARGUMENTS,
};

static const struct {
    const char *name;
    bool optional;
} tensor_arguments[TENSORS] = {
    [IDS] = {"ids", false},
    [TABLE] = {"table", false},
    [POSITIONS] = {"positions", true},
    [SEGMENTS] = {"segments", true},
    [GAMMA] = {"gamma", true},
    [BETA] = {"beta", true},
    [POSITION_IDS] = {"position_ids", true},
    [SEGMENT_IDS] = {"segment_ids", true},
    [OFFSETS] = {"offsets", true},
    [WEIGHTS] = {"weights", true},
    [SEED] = {"seed", true},
};

struct request {
    struct tensor tensors[TENSORS];
    inlay_table tokens, positions, segments;
    inlay_layer_spec spec; /* points to the tables */
    inlay_batch batch;
    int64_t dims, sizes[DIMS]; /* of the output */
    struct error error;
};

static float float_of(uint64_t value)
{
    double number;
    memcpy(&number, &value, sizeof number);
    return (float)number;
}

static void read_spec(struct request *request, const uint64_t *stack)
{
    const struct tensor *tensors = request->tensors;
    struct error *error = &request->error;
    request->tokens = read_table(&tensors[TABLE], "table", error);
    request->positions = read_table(&tensors[POSITIONS], "positions", error);
    request->segments = read_table(&tensors[SEGMENTS], "segments", error);
    inlay_layer_spec *spec = &request->spec;
    *spec = inlay_layer_spec_default(&request->tokens);
    spec->positions = tensors[POSITIONS].handle != NULL ? &request->positions : NULL;
    spec->segments = tensors[SEGMENTS].handle != NULL ? &request->segments : NULL;
    spec->scale = float_of(stack[SCALE]);
    spec->padding_id = (int64_t)stack[PADDING_ID];
    spec->norm = (inlay_norm)stack[NORM];
    spec->epsilon = float_of(stack[EPSILON]);
    spec->segments_first = (stack[SEGMENTS_FIRST] & 0xff) != 0; /* only the byte of a bool is set */
    spec->pooling = (inlay_pooling)stack[POOLING];
    spec->out_type = request->tokens.type;
    spec->gamma = read_floats(&tensors[GAMMA], "gamma", (int64_t)request->tokens.dim, error);
    spec->beta = read_floats(&tensors[BETA], "beta", (int64_t)request->tokens.dim, error);
}

/* Makes the batch, and the shape of the output. */
static void read_batch(struct request *request, const uint64_t *stack)
{
    const struct tensor *tensors = request->tensors, *ids = &tensors[IDS];
    struct error *error = &request->error;
    inlay_batch *batch = &request->batch;
    const bool pooled = request->spec.pooling != INLAY_POOLING_NONE;
    inlay_id_type type;
    *batch = inlay_batch_i32(NULL, 1, 1, (int64_t)stack[START]);
    batch->ids = read_ids(ids, "ids", -1, &type, error);
    batch->id_type = type != 0 ? type : INLAY_ID_I64;
    if (error->text[0] != 0)
        return;
    const int64_t n = count_elements(ids), leading = ids->dims > 0 ? ids->dims - 1 : 0;
    for (int64_t i = 0; i < leading; i++) {
        request->sizes[request->dims++] = ids->sizes[i];
        batch->sequences *= (size_t)ids->sizes[i];
    }
    batch->length = ids->dims > 0 ? (size_t)ids->sizes[leading] : 1;
    if (ids->dims > 0 && !pooled)
        request->sizes[request->dims++] = ids->sizes[leading];
    if (tensors[OFFSETS].handle != NULL) {
        batch->offsets = read_ids(&tensors[OFFSETS], "offsets", -1, &type, error);
        if (ids->dims != 1 || tensors[OFFSETS].dims != 1 || type != INLAY_ID_I64)
            fail(error, "offsets must be a list of int64, and ids a list");
        batch->sequences = (size_t)tensors[OFFSETS].sizes[0] - 1;
        batch->length = (size_t)n;
        request->dims = 0;
        request->sizes[request->dims++] = pooled ? (int64_t)batch->sequences : n;
    }
    request->sizes[request->dims++] = (int64_t)request->tokens.dim;
    batch->position_ids = read_ids(&tensors[POSITION_IDS], "position_ids", n, &batch->position_id_type, error);
    batch->segment_ids = read_ids(&tensors[SEGMENT_IDS], "segment_ids", n, &batch->segment_id_type, error);
    batch->weights = read_floats(&tensors[WEIGHTS], "weights", n, error);
    batch->dropout = float_of(stack[DROPOUT]);
    const int64_t *seed = read_ids(&tensors[SEED], "seed", 2, &type, error);
    if (seed != NULL && type != INLAY_ID_I64)
        fail(error, "seed must be int64");
    else if (seed != NULL) {
        batch->dropout_key = (uint64_t)seed[0];
        batch->dropout_offset = (uint64_t)seed[1];
    }
}

static void open_request(struct request *request, const uint64_t *stack)
{
    memset(request, 0, sizeof *request);
    for (int i = 0; i < TENSORS; i++)
        request->tensors[i] =
            open_tensor(stack[i], tensor_arguments[i].optional, tensor_arguments[i].name, &request->error);
    read_spec(request, stack);
    if (request->error.text[0] == 0)
        read_batch(request, stack);
}

static void close_request(struct request *request)
{
    for (int i = 0; i < TENSORS; i++)
        if (request->tensors[i].handle != NULL)
            torch.delete_tensor(request->tensors[i].handle);
}

/* Returns the executor of a call whose output has `bytes` bytes. Workers may have to be started, which needs the GIL.
 */
static const inlay_executor *find_executor(size_t bytes, inlay_executor *executor)
{
    if (bytes < THREADS_LARGE_BYTES || threads_get() == 1)
        return NULL;
    const PyGILState_STATE state = PyGILState_Ensure();
    const inlay_executor *found = threads_executor(threads_get(), executor);
    PyGILState_Release(state);
    return found;
}

static size_t output_bytes(const struct request *request)
{
    size_t bytes = types[request->tensors[TABLE].type].bytes;
    for (int64_t i = 0; i < request->dims; i++)
        bytes *= (size_t)request->sizes[i];
    return bytes;
}

/* Keeps the error of a call that failed: the value first, as Python's exceptions name it. */
static void fail_status(struct error *error, inlay_status status, const inlay_fault *fault)
{
    static const struct {
        const char *what, *where;
    } kinds[INLAY_ERROR_FILE + 1] = {
        [INLAY_ERROR_ID] = {"id", "the table"},
        [INLAY_ERROR_POSITION] = {"position", "the table of positions"},
        [INLAY_ERROR_SEGMENT] = {"segment", "the table of segments"},
    };
    if (status == INLAY_OK)
        return;
    if (kinds[status].what != NULL)
        fail(error, "%s %lld of sequence %zu, token %zu is not in %s", kinds[status].what, (long long)fault->value,
             fault->sequence, fault->token, kinds[status].where);
    else
        fail(error, "inlay: %s", inlay_status_string(status));
}

static void run_forward(uint64_t *stack, uint64_t inputs, uint64_t outputs)
{
    struct request request;
    struct tensor out = {.handle = NULL};
    inlay_layer *layer = NULL;
    inlay_executor executor;
    inlay_fault fault;
    (void)inputs;
    (void)outputs;
    open_request(&request, stack);
    struct error *error = &request.error;
    if (request.spec.pooling == INLAY_POOLING_NONE)
        request.spec.padding_id = -1; /* PyTorch's padding_idx has a row as others have, but no gradient */
    if (error->text[0] == 0)
        fail_status(error, inlay_layer_create(&request.spec, NULL, &layer), NULL);
    if (error->text[0] == 0)
        out = new_tensor(request.dims, request.sizes, request.tensors[TABLE].type, error);
    if (error->text[0] == 0) {
        const size_t row_bytes = request.tokens.dim * types[request.tensors[TABLE].type].bytes;
        fail_status(error,
                    inlay_forward(layer, &request.batch, out.data, row_bytes,
                                  find_executor(output_bytes(&request), &executor), &fault),
                    &fault);
    }
    inlay_layer_destroy(layer);
    close_request(&request);
    if (error->text[0] == 0) {
        stack[0] = (uint64_t)(uintptr_t)out.handle;
        return;
    }
    if (out.handle != NULL)
        torch.delete_tensor(out.handle);
    throw_error(error->text);
}

/* ---- Backward --------------------------------------------------------------------------------------------------- */

/* The tables that have gradients, which are the last arguments of backward. */
static const struct {
    int table;
    const char *name;
} differentiable[] = {
    {TABLE, "the gradient of table"},
    {POSITIONS, "the gradient of positions"},
    {SEGMENTS, "the gradient of segments"},
};

enum { GRADIENTS = sizeof differentiable / sizeof *differentiable };

/* Returns where the gradient of a table is added; null where it is absent. */
static void *read_gradient(const struct request *request, int i, const struct tensor *gradient, struct error *error)
{
    const struct tensor *table = &request->tensors[differentiable[i].table];
    if (gradient->handle == NULL || error->text[0] != 0)
        return NULL;
    if (gradient->dims != 2 || table->handle == NULL || gradient->sizes[0] != table->sizes[0])
        fail(error, "%s has not the shape of its table", differentiable[i].name);
    read_floats(gradient, differentiable[i].name, gradient->sizes[0] * (int64_t)request->tokens.dim, error);
    return gradient->sizes[0] > 0 ? gradient->data : NULL;
}

static void run_backward(uint64_t *stack, uint64_t inputs, uint64_t outputs)
{
    struct request request;
    struct tensor gradients[GRADIENTS];
    inlay_layer *layer = NULL;
    inlay_executor executor;
    inlay_fault fault;
    (void)inputs;
    (void)outputs;
    open_request(&request, stack + 1);
    struct error *error = &request.error;
    struct tensor from = open_tensor(stack[0], false, "gradient", error);
    for (int i = 0; i < GRADIENTS; i++)
        gradients[i] = open_tensor(stack[1 + ARGUMENTS + i], true, differentiable[i].name, error);
    int64_t elements = 1;
    for (int64_t i = 0; i < request.dims; i++)
        elements *= request.sizes[i];
    const void *data = read_floats(&from, "gradient", elements, error);
    inlay_gradients to = inlay_gradients_none(request.tokens.dim);
    to.tokens = read_gradient(&request, 0, &gradients[0], error);
    to.positions = read_gradient(&request, 1, &gradients[1], error);
    to.segments = read_gradient(&request, 2, &gradients[2], error);
    request.spec.out_type = INLAY_F32;
    request.spec.zero_rows =
        request.spec.pooling == INLAY_POOLING_NONE ? INLAY_ZERO_ROWS_POSITIONED : INLAY_ZERO_ROWS_BARE;
    if (error->text[0] == 0)
        fail_status(error, inlay_layer_create(&request.spec, NULL, &layer), NULL);
    if (error->text[0] == 0)
        fail_status(error,
                    inlay_backward(layer, &request.batch, data, request.tokens.dim * sizeof(float), &to,
                                   find_executor((size_t)elements * sizeof(float), &executor), &fault),
                    &fault);
    inlay_layer_destroy(layer);
    close_request(&request);
    torch.delete_tensor(from.handle);
    for (int i = 0; i < GRADIENTS; i++)
        if (gradients[i].handle != NULL)
            torch.delete_tensor(gradients[i].handle);
    if (error->text[0] != 0)
        throw_error(error->text);
}

/* ---- Registration ----------------------------------------------------------------------------------------------- */

PyObject *torch_names(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *list = PyList_New(NAMES);
    for (Py_ssize_t i = 0; list != NULL && i < NAMES; i++) {
        PyObject *name = PyUnicode_FromString(names[i]);
        if (name == NULL || PyList_SetItem(list, i, name) < 0)
            Py_CLEAR(list);
    }
    return list;
}

PyObject *torch_use(PyObject *module, PyObject *addresses)
{
    void *functions[NAMES], *library;
    (void)module;
    if (PySequence_Size(addresses) != NAMES)
        return PyErr_Format(PyExc_ValueError, "PyTorch's operators need %d addresses", (int)NAMES);
    for (Py_ssize_t i = 0; i < NAMES; i++) {
        PyObject *address = PySequence_GetItem(addresses, i);
        functions[i] = address != NULL ? PyLong_AsVoidPtr(address) : NULL;
        Py_XDECREF(address);
        if (functions[i] == NULL)
            return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "%s is null", names[i]);
    }
    memcpy(&torch, functions, sizeof torch);
    /* The library of kernels lives as long as the process. */
    if (torch.begin_library("inlay", "CPU", __FILE__, __LINE__, &library) != 0 ||
        torch.add_kernel(library, "forward", run_forward) != 0 ||
        torch.add_kernel(library, "backward", run_backward) != 0)
        return PyErr_Format(PyExc_RuntimeError, "PyTorch refused the operators of inlay");
    return Py_NewRef(Py_None);
}
