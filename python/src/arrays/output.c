/* SPDX-License-Identifier: MIT */
/*
 * The Output type owns a block of the pool and exports it by the buffer protocol and DLPack. NumPy arrays have an
 * Output as their base. Tensors hold the block itself, since frameworks release them on any thread.
 */
#include "arrays/output.h"

#include "arrays/exports.h"
#include "arrays/numpy.h"
#include "arrays/pool.h"
#include "module/objects.h"

#include <string.h>

/* Smaller NumPy arrays own their memory, since NumPy caches small blocks itself. */
enum { POOLED_BYTES = 4096 };

struct memory {
    PyObject base;
    struct exported exported; /* of a block of the pool */
};

static PyTypeObject *memory_type; /* set at import */

enum view_way output_default_way(void)
{
    return numpy_exists() ? VIEW_NUMPY : VIEW_BUFFER;
}

/* ---- The type --------------------------------------------------------------------------------------------------- */

/* Returns the bytes of an array, or -1 with ValueError set if they don't fit in the address space. */
static Py_ssize_t bytes_of(enum dtype dtype, int dims, const Py_ssize_t *shape)
{
    Py_ssize_t bytes = dtype_infos[dtype].bytes;
    bool overflow = false, empty = false;
    for (int i = 0; i < dims; i++) {
        empty = empty || shape[i] == 0;
        overflow = __builtin_mul_overflow(bytes, shape[i], &bytes) || overflow;
    }
    if (empty)
        return 0;
    if (overflow)
        PyErr_SetString(PyExc_ValueError, "the output does not fit in the address space: give fewer ids");
    return overflow ? -1 : bytes;
}

static struct memory *memory_of(PyObject *self)
{
    return (struct memory *)(void *)self;
}

static struct memory *memory_new(enum dtype dtype, int dims, const Py_ssize_t *shape, Py_ssize_t bytes)
{
    struct block *block = pool_get((size_t)bytes);
    struct memory *memory = block != NULL ? PyObject_New(struct memory, memory_type) : NULL;
    if (block == NULL)
        PyErr_NoMemory();
    else if (memory == NULL)
        owner_release(&block->owner);
    else
        exported_init(&memory->exported, block->data, dtype, dims, shape, &block->owner);
    return memory;
}

static void memory_dealloc(PyObject *self)
{
    owner_release(memory_of(self)->exported.owner);
    object_free(self);
}

static int memory_getbuffer(PyObject *self, Py_buffer *buffer, int flags)
{
    return exported_buffer(&memory_of(self)->exported, self, buffer, flags);
}

static PyObject *memory_dlpack(PyObject *self, PyObject *args, PyObject *options)
{
    return exported_capsule(&memory_of(self)->exported, "an output", args, options);
}

int output_init(PyObject *module)
{
    static PyMethodDef methods[] = {
        {"__dlpack__", (PyCFunction)(void (*)(void))memory_dlpack, METH_VARARGS | METH_KEYWORDS, NULL},
        {"__dlpack_device__", exported_device, METH_NOARGS, NULL},
        {NULL, NULL, 0, NULL},
    };
    static PyType_Slot slots[] = {
        {Py_tp_dealloc, memory_dealloc},
        {Py_tp_methods, methods},
        {Py_bf_getbuffer, memory_getbuffer},
        {Py_tp_doc, "Memory of the pool, exported by the buffer protocol and DLPack."},
        {0, NULL},
    };
    return type_add(module, &memory_type, "inlay._core.Output", sizeof(struct memory),
                    Py_TPFLAGS_DISALLOW_INSTANTIATION, slots);
}

/* ---- Outputs of calls ------------------------------------------------------------------------------------------- */

/* Returns true for JAX arrays. They are read-only, but their DLPack tensors have no read-only flag. */
static bool is_jax(PyObject *object)
{
    PyObject *module = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__module__");
    const char *name = module != NULL ? PyUnicode_AsUTF8AndSize(module, NULL) : NULL;
    const bool is = name != NULL && strncmp(name, "jax", 3) == 0;
    Py_XDECREF(module);
    PyErr_Clear();
    return is;
}

/* Releases the None returned by a function. Returns -1 if it raised an exception. */
static int returns_none(PyObject *result)
{
    Py_XDECREF(result);
    return result != NULL ? 0 : -1;
}

int output_check_gradient(PyObject *tensor, const char *what)
{
    PyObject *gradient = PyObject_GetAttrString(tensor, "requires_grad");
    if (gradient == NULL && !PyErr_ExceptionMatches(PyExc_AttributeError))
        return -1;
    PyErr_Clear();        /* not a PyTorch tensor */
    Py_XDECREF(gradient); /* a bool */
    return gradient == Py_True ? returns_none(python_call("inlay.arrays", "check_gradient", "(s)", what)) : 0;
}

/* Increments the version of a tensor, so PyTorch notices the change. Returns -1 with an exception set on failure. */
static int count_change(PyObject *tensor)
{
    static PyObject *increment; /* looked up once, since an import takes longer than a call */
    if (increment == NULL) {
        PyObject *graph = PyImport_ImportModule("torch.autograd.graph");
        increment = graph != NULL ? PyObject_GetAttrString(graph, "increment_version") : NULL;
        Py_XDECREF(graph);
    }
    return increment != NULL ? returns_none(PyObject_CallFunctionObjArgs(increment, tensor, NULL)) : -1;
}

static int open_given(struct output *output, PyObject *out, enum dtype dtype, int dims, const Py_ssize_t *shape)
{
    if (view_borrow(&output->given, out, "out", DTYPE_UNKNOWN) < 0)
        return -1;
    int failed = 0;
    /* Of the type: the attribute of an inference tensor takes 9 us to raise an error. */
    output->versioned =
        output->given.way == VIEW_DLPACK && PyObject_HasAttrString((PyObject *)Py_TYPE(out), "_version");
    if (output->given.way == VIEW_DLPACK && is_jax(out))
        failed = raise_error(PyExc_TypeError, "out is a JAX array, which is immutable");
    else if (output->versioned && output_check_gradient(out, "out") < 0)
        failed = -1;
    else if (PyList_Check(out) || PyTuple_Check(out) || PyLong_Check(out) || PyFloat_Check(out))
        failed = raise_error(PyExc_TypeError, "out must be an array");
    if (failed || view_require_out(&output->given, dtype, dims, shape) < 0) {
        view_release(&output->given);
        return -1;
    }
    output->data = output->given.data;
    output->array = Py_NewRef(out);
    output->memory = NULL;
    return 0;
}

int output_open(struct output *output, PyObject *out, enum view_way way, enum dtype dtype, int dims,
                const Py_ssize_t *shape)
{
    if (output_open_strided(output, out, way, dtype, dims, shape) < 0)
        return -1;
    if (out == NULL || out == Py_None || view_row_stride(&output->given, &output->stride_bytes) == 0)
        return 0;
    output_abandon(output);
    return -1;
}

int output_open_strided(struct output *output, PyObject *out, enum view_way way, enum dtype dtype, int dims,
                        const Py_ssize_t *shape)
{
    if (out != NULL && out != Py_None)
        return open_given(output, out, dtype, dims, shape);
    output->given.owner = NULL;
    output->given.buffer = NULL;
    output->given.copy = NULL;
    output->versioned = false;
    output->array = NULL;
    output->memory = NULL;
    output->stride_bytes = (size_t)shape[dims - 1] * dtype_infos[dtype].bytes;
    const Py_ssize_t bytes = bytes_of(dtype, dims, shape);
    if (bytes < 0)
        return -1;
    void *data;
    if (way != VIEW_NUMPY || bytes >= POOLED_BYTES || !numpy_makes_arrays()) {
        struct memory *memory = memory_new(dtype, dims, shape, bytes);
        if (memory == NULL)
            return -1;
        output->memory = (PyObject *)memory;
        data = memory->exported.data;
    }
    if (way == VIEW_NUMPY)
        output->array = numpy_array_new(dtype, dims, shape, &data, output->memory);
    output->data = data;
    if (way == VIEW_NUMPY && output->array == NULL) {
        output_abandon(output);
        return -1;
    }
    return 0;
}

/* Returns a NumPy array, or a memoryview if NumPy isn't installed. */
static PyObject *array_of(struct memory *memory)
{
    struct exported *exported = &memory->exported;
    if (!numpy_exists())
        return PyMemoryView_FromObject(&memory->base);
    return numpy_array_new(exported->dtype, exported->dims, exported->shape, &exported->data, &memory->base);
}

static PyObject *tensor_of(PyObject *memory, PyObject *like)
{
    const struct dlpack_exchange *exchange = view_exchange(like);
    if (exchange != NULL) {
        struct dlpack_versioned *exported = exported_tensor(&memory_of(memory)->exported);
        void *tensor = NULL;
        if (exported != NULL && exchange->import(exported, &tensor) < 0)
            exported->release(exported);
        return tensor;
    }
    PyObject *consumer = python_call("inlay.arrays", "consumer", "(O)", like);
    if (consumer == NULL &&
        PyErr_ExceptionMatches(PyExc_AttributeError)) { /* it exports tensors but can't import them */
        PyErr_Clear();
        return array_of(memory_of(memory));
    }
    PyObject *tensor = consumer != NULL ? PyObject_CallFunctionObjArgs(consumer, memory, NULL) : NULL;
    Py_XDECREF(consumer);
    return tensor;
}

PyObject *output_close(struct output *output, enum view_way way, PyObject *like)
{
    PyObject *result = output->array;
    output->array = NULL;
    if (result == NULL)
        result = way == VIEW_DLPACK ? tensor_of(output->memory, like) : PyMemoryView_FromObject(output->memory);
    else if (output->versioned && count_change(result) < 0)
        Py_CLEAR(result);
    output_abandon(output);
    return result;
}

PyObject *output_abandon(struct output *output)
{
    view_release(&output->given);
    Py_CLEAR(output->array);
    Py_CLEAR(output->memory);
    return NULL;
}

PyObject *output_close_pair(struct output outputs[2], enum view_way way, PyObject *like)
{
    PyObject *first = output_close(&outputs[0], way, like);
    PyObject *second = first != NULL ? output_close(&outputs[1], way, like) : output_abandon(&outputs[1]);
    PyObject *pair = first != NULL && second != NULL ? PyTuple_Pack(2, first, second) : NULL;
    Py_XDECREF(first);
    Py_XDECREF(second);
    return pair;
}

PyObject *output_zeros(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_ssize_t shape[2];
    PyObject *like;
    struct output output;
    if (!PyArg_ParseTuple(args, "(nn)O", &shape[0], &shape[1], &like) ||
        output_open(&output, NULL, VIEW_DLPACK, DTYPE_F32, 2, shape) < 0)
        return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    memset(output.data, 0, (size_t)shape[0] * output.stride_bytes);
    PyEval_RestoreThread(thread);
    return output_close(&output, VIEW_DLPACK, like);
}
