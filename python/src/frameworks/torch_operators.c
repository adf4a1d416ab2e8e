/* SPDX-License-Identifier: MIT */
/*
 * The operators are stateless: each call makes a layer of its tensors, which takes some 100 ns, so that compiled and
 * exported graphs hold no handle. Arguments come and results leave on a stack of 64-bit values, as PyTorch's boxed
 * kernels have it. Every handle of an argument is ours to delete, and so is the box of an optional one.
 */
#include "frameworks/torch_operators.h"

#include "frameworks/operation.h"
#include "module/objects.h"

#include <stdarg.h>
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

enum { CPU = 0, NO_INDEX = -1 };

/* Element types by PyTorch's number, c10::ScalarType. */
static const unsigned char dtypes[] = {
    [0] = DTYPE_U8,  [1] = DTYPE_I8,  [2] = DTYPE_I16, [3] = DTYPE_I32,   [4] = DTYPE_I64,
    [5] = DTYPE_F16, [6] = DTYPE_F32, [7] = DTYPE_F64, [11] = DTYPE_BOOL, [15] = DTYPE_BF16,
};

/* Keeps the first error of a call; an empty text is none. */
__attribute__((format(printf, 2, 3))) static void fail(char text[ERROR_TEXT_BYTES], const char *format, ...)
{
    va_list arguments;
    if (text[0] != 0)
        return;
    va_start(arguments, format);
    vsnprintf(text, ERROR_TEXT_BYTES, format, arguments);
    va_end(arguments);
}

/* Checks that a tensor is contiguous, but for the rows of a table, which may lie apart. */
static void read_strides(struct tensor *tensor, const int64_t *strides, bool table, const char *name,
                         char text[ERROR_TEXT_BYTES])
{
    int64_t stride = 1;
    for (int i = 0; i < tensor->dims; i++)
        if (tensor->shape[i] == 0)
            return;
    for (int i = tensor->dims - 1; i >= 0; i--) {
        if (tensor->shape[i] > 1 && strides[i] != stride) {
            if (!table || tensor->dims != 2 || i != 0)
                fail(text, "%s is not contiguous", name);
            tensor->row_stride = (Py_ssize_t)strides[i];
        }
        stride *= tensor->shape[i];
    }
}

/* Reads an argument, which may be absent if it is optional. Returns its handle, which is ours to delete, or null. */
static tensor_handle open_tensor(uint64_t value, bool optional, bool table, const char *name, struct tensor *tensor,
                                 char text[ERROR_TEXT_BYTES])
{
    tensor_handle handle = (tensor_handle)(uintptr_t)value;
    int64_t dims, *shape, *strides;
    int32_t type;
    if (optional && value != 0) {
        uint64_t *box = (uint64_t *)(uintptr_t)value;
        handle = (tensor_handle)(uintptr_t)*box;
        torch.delete_box(box);
    }
    *tensor = (struct tensor){.given = handle != NULL};
    if (handle == NULL)
        return NULL;
    if (torch.get_data(handle, &tensor->data) != 0 || torch.get_dims(handle, &dims) != 0 ||
        torch.get_sizes(handle, &shape) != 0 || torch.get_strides(handle, &strides) != 0 ||
        torch.get_type(handle, &type) != 0) {
        fail(text, "%s cannot be read", name);
        return handle;
    }
    tensor->dtype = dtype_of_number(dtypes, sizeof dtypes, type);
    if (tensor_set_shape(tensor, (size_t)dims, shape))
        read_strides(tensor, strides, table, name, text);
    else
        fail(text, "%s has %lld dimensions, more than %d", name, (long long)dims, VIEW_DIMS);
    return handle;
}

/* Makes a tensor of a shape, with elements of the type of another one. Returns null, after fail(), if it cannot. */
static tensor_handle make_tensor(struct tensor *tensor, tensor_handle like, char text[ERROR_TEXT_BYTES])
{
    int64_t shape[VIEW_DIMS], strides[VIEW_DIMS], stride = 1;
    int32_t type;
    tensor_handle handle = NULL;
    for (int i = tensor->dims - 1; i >= 0; i--) {
        shape[i] = tensor->shape[i];
        strides[i] = stride;
        stride *= shape[i];
    }
    if (torch.get_type(like, &type) != 0 ||
        torch.empty(tensor->dims, shape, strides, type, CPU, NO_INDEX, &handle) != 0 ||
        torch.get_data(handle, &tensor->data) != 0)
        fail(text, "there is no memory for the result");
    return handle;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------ */

/* The tensors of both operators, in the order of their schema, from the third on optional. Those of backward follow the
   gradient. */
static const enum operand arguments[] = {
    OPERAND_IDS,          OPERAND_TABLE,       OPERAND_POSITIONS, OPERAND_SEGMENTS, OPERAND_GAMMA, OPERAND_BETA,
    OPERAND_POSITION_IDS, OPERAND_SEGMENT_IDS, OPERAND_OFFSETS,   OPERAND_WEIGHTS,  OPERAND_SEED,
};
enum { TENSORS = OPERAND_SCALES };
_Static_assert(sizeof arguments == TENSORS * sizeof *arguments, "each operand before the scales is an argument");

/* The numbers that follow them. */
enum {
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

struct request {
    struct operation operation;
    tensor_handle handles[TENSORS]; /* null: absent */
    char text[ERROR_TEXT_BYTES];    /* what is wrong; empty: nothing */
};

static float float_of(uint64_t value)
{
    double number;
    memcpy(&number, &value, sizeof number);
    return (float)number;
}

/* Reads the arguments and checks them. */
static void open_request(struct request *request, const uint64_t *stack)
{
    struct operation *operation = &request->operation;
    inlay_layer_spec *spec = &operation->spec;
    operation_init(operation);
    request->text[0] = 0;
    for (int i = 0; i < TENSORS; i++) {
        const enum operand operand = arguments[i];
        request->handles[operand] = open_tensor(stack[i], i >= 2, operand < OPERAND_TABLES, operand_name(operand),
                                                &operation->operands[operand], request->text);
    }
    spec->scale = float_of(stack[SCALE]);
    spec->padding_id = (int64_t)stack[PADDING_ID];
    spec->norm = (inlay_norm)stack[NORM];
    spec->epsilon = float_of(stack[EPSILON]);
    spec->segments_first = (stack[SEGMENTS_FIRST] & 0xff) != 0; /* only the byte of a bool is set */
    spec->pooling = (inlay_pooling)stack[POOLING];
    operation->batch.start = (int64_t)stack[START];
    operation->batch.dropout = float_of(stack[DROPOUT]);
    if (request->text[0] == 0)
        operation_check(operation, request->text);
}

static void delete_tensors(const tensor_handle *handles, int count)
{
    for (int i = 0; i < count; i++)
        if (handles[i] != NULL)
            torch.delete_tensor(handles[i]);
}

static void run_forward(uint64_t *stack, uint64_t Py_UNUSED(inputs), uint64_t Py_UNUSED(outputs))
{
    struct request request;
    struct operation *operation = &request.operation;
    tensor_handle out = NULL;
    open_request(&request, stack);
    if (request.text[0] == 0)
        out = make_tensor(&operation->out, request.handles[OPERAND_TABLE], request.text);
    if (request.text[0] == 0)
        operation_run(operation, request.text);
    delete_tensors(request.handles, TENSORS);
    if (request.text[0] == 0) {
        stack[0] = (uint64_t)(uintptr_t)out;
        return;
    }
    delete_tensors(&out, 1);
    throw_error(request.text);
}

/* Its arguments are the gradient of the output, those of forward, and the gradients of tables, to which it adds. */
static void run_backward(uint64_t *stack, uint64_t Py_UNUSED(inputs), uint64_t Py_UNUSED(outputs))
{
    struct request request;
    struct tensor gradient, to[OPERAND_TABLES];
    tensor_handle handles[1 + OPERAND_TABLES];
    open_request(&request, stack + 1);
    handles[0] = open_tensor(stack[0], false, false, "gradient", &gradient, request.text);
    for (enum operand i = OPERAND_TABLE; i < OPERAND_TABLES; i++)
        handles[1 + i] =
            open_tensor(stack[1 + ARGUMENTS + i], true, false, "the gradient of a table", &to[i], request.text);
    if (request.text[0] == 0)
        operation_add_gradients(&request.operation, &gradient, to, request.text);
    delete_tensors(request.handles, TENSORS);
    delete_tensors(handles, 1 + OPERAND_TABLES);
    if (request.text[0] != 0)
        throw_error(request.text);
}

/* ---- Registration ----------------------------------------------------------------------------------------------- */

PyObject *torch_names(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    PyObject *list = PyList_New(NAMES);
    for (size_t i = 0; list != NULL && i < NAMES; i++)
        sequence_put(&list, i, PyUnicode_FromString(names[i]));
    return list;
}

PyObject *torch_use(PyObject *Py_UNUSED(module), PyObject *addresses)
{
    void *functions[NAMES], *library;
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
    if (torch.begin_library("inlay", "CPU", "torch_operators.c", __LINE__, &library) != 0 ||
        torch.add_kernel(library, "forward", run_forward) != 0 ||
        torch.add_kernel(library, "backward", run_backward) != 0)
        return PyErr_Format(PyExc_RuntimeError,
                            "PyTorch refused the operators of inlay: inlay.torch needs PyTorch 2.7 or later");
    return Py_NewRef(Py_None);
}
