/* SPDX-License-Identifier: MIT */
/*
 * Tensors as arrays. Types that arrays don't support, such as the blocks of Q4_K, become bytes. The last dimension is
 * then the bytes of a row. The buffer protocol has no format for bfloat16 and 8-bit floats; NumPy gets them from
 * ml_dtypes.
 */
#include "files/tensor.h"

#include "arrays/exports.h"
#include "arrays/numpy.h"
#include "module/errors.h"
#include "module/objects.h"

#include <string.h>

struct file_tensor {
    PyObject base;
    struct open_file *file;
    const inlay_file_tensor *tensor; /* null: the memory isn't a tensor of the file */
    struct exported exported;
    PyObject *weak_references;
};

static PyTypeObject *file_tensor_type; /* set at import */

static struct file_tensor *file_tensor(PyObject *self)
{
    return (struct file_tensor *)(void *)self;
}

/* ---- Arrays of tensors ------------------------------------------------------------------------------------------ */

/* Returns the element type of arrays for a type name of a file format, or DTYPE_UNKNOWN. */
static enum dtype dtype_of_tensor(const char *type)
{
    static const struct {
        const char *name, *npy;
        enum dtype dtype;
    } types[] = {
        {"F32", "<f4", DTYPE_F32}, {"F16", "<f2", DTYPE_F16},     {"BF16", NULL, DTYPE_BF16},
        {"F64", "<f8", DTYPE_F64}, {"F8_E4M3", NULL, DTYPE_E4M3}, {"F8_E8M0", NULL, DTYPE_E8M0},
        {"I8", "|i1", DTYPE_I8},   {"I16", "<i2", DTYPE_I16},     {"I32", "<i4", DTYPE_I32},
        {"I64", "<i8", DTYPE_I64}, {"U8", "|u1", DTYPE_U8},       {"U16", "<u2", DTYPE_U16},
        {"U32", "<u4", DTYPE_U32}, {"U64", "<u8", DTYPE_U64},     {"BOOL", "|b1", DTYPE_BOOL},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, type) == 0 || (types[i].npy != NULL && strcmp(types[i].npy, type) == 0))
            return types[i].dtype;
    return DTYPE_UNKNOWN;
}

/* Sets the shape of a tensor as bytes: rows of bytes, or one dimension if rows aren't whole bytes. Returns the number
   of dimensions. */
static int shape_of_bytes(const inlay_file_tensor *tensor, Py_ssize_t shape[VIEW_DIMS])
{
    uint64_t rows = 1;
    for (uint32_t i = 0; i + 1 < tensor->rank; i++)
        rows *= tensor->shape[i]; /* can't overflow: the library checked the product */
    const bool by_rows = tensor->rank > 0 && (rows == 0 || tensor->bytes % rows == 0);
    if (!by_rows) {
        shape[0] = (Py_ssize_t)tensor->bytes;
        return 1;
    }
    for (uint32_t i = 0; i + 1 < tensor->rank; i++)
        shape[i] = (Py_ssize_t)tensor->shape[i];
    const size_t row_bytes = tensor->element != 0 && tensor->shape[tensor->rank - 1] <= PY_SSIZE_T_MAX
                                 ? inlay_table_row_bytes(tensor->element, (size_t)tensor->shape[tensor->rank - 1])
                                 : 0;
    shape[tensor->rank - 1] = (Py_ssize_t)(rows > 0 ? tensor->bytes / rows : row_bytes);
    return (int)tensor->rank;
}

static PyObject *make(struct open_file *file, const inlay_file_tensor *tensor, const void *data, enum dtype dtype,
                      int dims, const Py_ssize_t *shape)
{
    PyObject *self = PyType_GenericAlloc(file_tensor_type, 0); /* zeroed */
    if (self == NULL)
        return NULL;
    struct file_tensor *made = file_tensor(self);
    owner_hold(&file->owner);
    made->file = file;
    made->tensor = tensor;
    exported_init(&made->exported, (void *)(uintptr_t)data, dtype, dims, shape, &file->owner);
    made->exported.read_only = true;
    return self;
}

PyObject *file_tensor_of(struct open_file *file, const inlay_file_tensor *tensor)
{
    Py_ssize_t shape[VIEW_DIMS];
    const enum dtype dtype = dtype_of_tensor(tensor->type);
    _Static_assert(VIEW_DIMS >= INLAY_FILE_RANK, "every tensor is an array");
    if (dtype == DTYPE_UNKNOWN) {
        const int dims = shape_of_bytes(tensor, shape);
        return make(file, tensor, tensor->data, DTYPE_U8, dims, shape);
    }
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (tensor->shape[i] > PY_SSIZE_T_MAX) /* possible if another dimension is 0 */
            return PyErr_Format(PyExc_ValueError, "tensor %s has a dimension larger than an array can have",
                                tensor->name);
        shape[i] = (Py_ssize_t)tensor->shape[i];
    }
    return make(file, tensor, tensor->data, dtype, (int)tensor->rank, shape);
}

PyObject *file_tensor_of_memory(struct open_file *file, const void *data, enum dtype dtype, int dims,
                                const Py_ssize_t *shape)
{
    return make(file, NULL, data, dtype, dims, shape);
}

PyObject *file_tensor_of_rows(struct open_file *file, const void *data, size_t rows, size_t row_bytes,
                              size_t stride_bytes)
{
    PyObject *made =
        make(file, NULL, data, DTYPE_U8, 2, (const Py_ssize_t[2]){(Py_ssize_t)rows, (Py_ssize_t)row_bytes});
    if (made != NULL)
        file_tensor(made)->exported.stride_bytes[0] = (Py_ssize_t)stride_bytes;
    return made;
}

struct open_file *file_tensor_file(PyObject *object)
{
    return Py_TYPE(object) == file_tensor_type ? file_tensor(object)->file : NULL;
}

static void file_tensor_dealloc(PyObject *self)
{
    PyObject_ClearWeakRefs(self);
    owner_release(&file_tensor(self)->file->owner);
    object_free(self);
}

/* ---- Protocols -------------------------------------------------------------------------------------------------- */

/* Returns true if the buffer protocol has a format for a type. */
static bool has_format(enum dtype dtype)
{
    return dtype_infos[dtype].numpy >= 0;
}

static int file_tensor_getbuffer(PyObject *self, Py_buffer *buffer, int flags)
{
    struct exported *exported = &file_tensor(self)->exported;
    if (has_format(exported->dtype) || (flags & PyBUF_ND) == 0)
        return exported_buffer(exported, self, buffer, flags);
    buffer->obj = NULL;
    return raise_error(PyExc_BufferError, "the buffer protocol has no format for %s; raw has the bytes",
                       dtype_infos[exported->dtype].name);
}

static PyObject *file_tensor_dlpack(PyObject *self, PyObject *args, PyObject *options)
{
    return exported_capsule(&file_tensor(self)->exported, "a tensor of a file", args, options);
}

/* Returns a memoryview of the bytes. */
static PyObject *get_raw(PyObject *self, void *Py_UNUSED(closure))
{
    const struct file_tensor *of = file_tensor(self);
    if (exported_has_gaps(&of->exported))
        return PyErr_Format(PyExc_BufferError, "raw needs rows without padding: make a copy with numpy.array()");
    PyObject *array = make(of->file, of->tensor, of->exported.data, DTYPE_U8, 1, &of->exported.bytes);
    PyObject *view = array != NULL ? PyMemoryView_FromObject(array) : NULL;
    Py_XDECREF(array);
    return view;
}

/* __array__(dtype=None, copy=None): NumPy calls it for types without a format. */
static PyObject *file_tensor_array(PyObject *self, PyObject *args, PyObject *options)
{
    static char *names[] = {"dtype", "copy", NULL};
    PyObject *dtype = Py_None, *copy = Py_None, *numpy = numpy_module("a tensor of a file");
    if (numpy == NULL || !PyArg_ParseTupleAndKeywords(args, options, "|OO", names, &dtype, &copy))
        return NULL;
    const int plain = has_format(file_tensor(self)->exported.dtype);
    return python_call("inlay.arrays", "array_of", "(OOiOO)", self, numpy, plain, dtype, copy);
}

/* ---- The type --------------------------------------------------------------------------------------------------- */

static PyObject *get_text(PyObject *self, void *which)
{
    const inlay_file_tensor *tensor = file_tensor(self)->tensor;
    if (tensor == NULL)
        return Py_NewRef(Py_None);
    const char *const texts[] = {tensor->name, tensor->type};
    return PyUnicode_DecodeUTF8(texts[(intptr_t)which], (Py_ssize_t)strlen(texts[(intptr_t)which]), "replace");
}

static PyObject *get_path(PyObject *self, void *Py_UNUSED(closure))
{
    const inlay_file_tensor *tensor = file_tensor(self)->tensor;
    return tensor != NULL ? PyUnicode_DecodeFSDefault(tensor->path) : Py_NewRef(Py_None);
}

/* Returns the shape of the tensor in the file, or of the array if it isn't a tensor. */
static PyObject *get_shape(PyObject *self, void *Py_UNUSED(closure))
{
    const struct file_tensor *of = file_tensor(self);
    const size_t dims = of->tensor != NULL ? of->tensor->rank : (size_t)of->exported.dims;
    PyObject *shape = PyTuple_New((Py_ssize_t)dims);
    for (size_t i = 0; shape != NULL && i < dims; i++) {
        const uint64_t length = of->tensor != NULL ? of->tensor->shape[i] : (uint64_t)of->exported.shape[i];
        sequence_put(&shape, i, PyLong_FromUnsignedLongLong(length));
    }
    return shape;
}

static PyObject *get_dtype(PyObject *self, void *Py_UNUSED(closure))
{
    return PyUnicode_FromString(dtype_infos[file_tensor(self)->exported.dtype].name);
}

static PyObject *file_tensor_repr(PyObject *self)
{
    PyObject *name = get_text(self, (void *)0), *shape = get_shape(self, NULL), *text = NULL;
    const inlay_file_tensor *tensor = file_tensor(self)->tensor;
    const char *type = tensor != NULL ? tensor->type : dtype_infos[file_tensor(self)->exported.dtype].name;
    PyObject *list = shape != NULL ? PySequence_List(shape) : NULL;
    if (name != NULL && list != NULL)
        text = PyUnicode_FromFormat("inlay.FileTensor(%R, %s %S)", name, type, list);
    Py_XDECREF(list);
    Py_XDECREF(shape);
    Py_XDECREF(name);
    return text;
}

int file_tensor_init(PyObject *module)
{
    static PyMethodDef methods[] = {
        {"__array__", (PyCFunction)(void (*)(void))file_tensor_array, METH_VARARGS | METH_KEYWORDS, NULL},
        {"__dlpack__", (PyCFunction)(void (*)(void))file_tensor_dlpack, METH_VARARGS | METH_KEYWORDS, NULL},
        {"__dlpack_device__", exported_device, METH_NOARGS, NULL},
        {NULL, NULL, 0, NULL},
    };
    static PyGetSetDef properties[] = {
        {"name", get_text, NULL, "Name in the file; None for converted scales.", (void *)0},
        {"type", get_text, NULL, "Name of its type in the file format, such as \"BF16\".", (void *)1},
        {"shape", get_shape, NULL, "Its shape in the file, the slowest dimension first.", NULL},
        {"dtype", get_dtype, NULL, "Element type of the array; \"uint8\" if arrays don't have the type.", NULL},
        {"path", get_path, NULL, "Path of its file.", NULL},
        {"raw", get_raw, NULL, "Its bytes, as a read-only memoryview.", NULL},
        {NULL, NULL, NULL, NULL, NULL},
    };
    static PyMemberDef members[] = {
        {"nbytes", T_PYSSIZET, offsetof(struct file_tensor, exported.bytes), READONLY, "Bytes of its data."},
        {"__weaklistoffset__", T_PYSSIZET, offsetof(struct file_tensor, weak_references), READONLY, NULL},
        {NULL, 0, 0, 0, NULL},
    };
    static PyType_Slot slots[] = {
        {Py_tp_dealloc, file_tensor_dealloc},
        {Py_tp_repr, file_tensor_repr},
        {Py_tp_methods, methods},
        {Py_tp_getset, properties},
        {Py_tp_members, members},
        {Py_bf_getbuffer, file_tensor_getbuffer},
        {Py_tp_doc, "A tensor of a model file: a read-only array in the file's memory, which it keeps open."},
        {0, NULL},
    };
    return type_add(module, &file_tensor_type, "inlay.FileTensor", sizeof(struct file_tensor),
                    Py_TPFLAGS_DISALLOW_INSTANTIATION, slots);
}
