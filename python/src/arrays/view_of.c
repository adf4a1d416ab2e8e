/* SPDX-License-Identifier: MIT */
/*
 * Makes views of objects, the most common kinds first: NumPy arrays by their fields, PyTorch and other tensors by
 * DLPack, then the buffer protocol and lists.
 */
#include "arrays/view.h"

#include "arrays/dlpack.h"
#include "arrays/numpy.h"
#include "module/objects.h"

static int too_many_dims(const char *what, Py_ssize_t dims)
{
    return raise_error(PyExc_ValueError, "%s has %zd dimensions, more than %d", what, dims, VIEW_DIMS);
}

/* Sets TypeError for elements of an unsupported type. */
static int unknown_dtype(PyObject *array, const char *what)
{
    return raise_object(python_call("inlay.arrays", "unknown_dtype", "(Os)", array, what));
}

/* Fills in a view, except the type and layout of its elements. */
static void fill_in(struct view *view, void *data, enum view_way way, int dims, bool writable, PyObject *owner,
                    Py_buffer *buffer)
{
    view->data = data;
    view->way = way;
    view->dims = dims;
    view->writable = writable;
    view->owner = owner;
    view->buffer = buffer;
    view->copy = NULL;
}

static int view_of_numpy(struct view *view, PyObject *object, const struct numpy_array *array, const char *what)
{
    if (array->dims > VIEW_DIMS)
        return too_many_dims(what, array->dims);
    view->dtype = numpy_dtype(array);
    if (view->dtype == DTYPE_UNKNOWN)
        return unknown_dtype(object, what);
    fill_in(view, array->data, VIEW_NUMPY, array->dims, numpy_writable(array), Py_NewRef(object), NULL);
    for (int i = 0; i < array->dims; i++) {
        view->shape[i] = array->shape[i];
        view->stride_bytes[i] = array->stride_bytes[i];
    }
    return 0;
}

/* Reads elements of a type that the framework can't export, e.g. ml_dtypes' bfloat16, as integers of the same size and
   restores the type. Returns -1 with an exception set on failure, or 1 for other types. */
static int view_of_bits(struct view *view, PyObject *object, const char *what)
{
    PyObject *integers, *bits = python_call("inlay.arrays", "bits_of", "(O)", object);
    const char *name;
    int failed = bits == Py_None ? 1 : -1;
    if (bits != NULL && bits != Py_None && PyArg_ParseTuple(bits, "Os", &integers, &name)) {
        failed = view_of(view, integers, what, DTYPE_UNKNOWN);
        view->dtype = dtype_of_name(name);
    }
    Py_XDECREF(bits);
    return failed;
}

static int view_of_buffer(struct view *view, PyObject *object, const char *what)
{
    Py_buffer *buffer = PyMem_Malloc(sizeof *buffer);
    if (buffer == NULL)
        return raise_memory();
    const bool writable = PyObject_GetBuffer(object, buffer, PyBUF_RECORDS) == 0;
    if (!writable) {
        PyErr_Clear();
        if (PyObject_GetBuffer(object, buffer, PyBUF_RECORDS_RO) < 0) {
            PyMem_Free(buffer);
            PyErr_Clear();
            const int failed = view_of_bits(view, object, what);
            return failed > 0 ? unknown_dtype(object, what) : failed;
        }
    }
    view->dtype = dtype_of_format(buffer->format, buffer->itemsize);
    fill_in(view, buffer->buf, numpy_exists() ? VIEW_NUMPY : VIEW_BUFFER, buffer->ndim, writable, NULL, buffer);
    if (buffer->ndim > VIEW_DIMS || view->dtype == DTYPE_UNKNOWN) {
        const int dims = buffer->ndim;
        view_release(view);
        return dims > VIEW_DIMS ? too_many_dims(what, dims) : unknown_dtype(object, what);
    }
    for (int i = 0; i < buffer->ndim; i++) {
        view->shape[i] = buffer->shape[i];
        view->stride_bytes[i] = buffer->strides[i];
    }
    return 0;
}

/* Calls __dlpack__. Asks for a versioned tensor first, since only those have a read-only flag. */
static PyObject *dlpack_capsule(PyObject *object)
{
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__"), *capsule = NULL;
    PyObject *none = PyTuple_New(0), *options = Py_BuildValue("{s(ii)}", "max_version", DLPACK_MAJOR, DLPACK_MINOR);
    if (method != NULL && none != NULL && options != NULL) {
        capsule = PyObject_Call(method, none, options);
        if (capsule == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Clear();
            capsule = PyObject_Call(method, none, NULL);
        }
    }
    Py_XDECREF(options);
    Py_XDECREF(none);
    Py_XDECREF(method);
    return capsule;
}

/* Returns -1 with ValueError set for a lazily negated PyTorch tensor, such as z.conj().imag: its values are the
   negatives of those in memory. DLPack's structs have no field for this. */
static int refuse_negated(PyObject *tensor, const char *what)
{
    PyObject *negated = PyObject_CallMethod(tensor, "is_neg", NULL);
    PyErr_Clear();       /* not a PyTorch tensor */
    Py_XDECREF(negated); /* a bool */
    if (negated != Py_True)
        return 0;
    return raise_error(PyExc_ValueError, "%s is lazily negated: give %s.resolve_neg()", what, what);
}

/* Makes a view of a tensor and steals a reference to its owner, an object or a capsule. An unconsumed capsule deletes
   its tensor when its last reference is released, so it is enough to hold the capsule. */
static int view_of_tensor(struct view *view, PyObject *object, PyObject *owner, const struct dlpack_tensor *tensor,
                          bool writable, const char *what)
{
    if (tensor->device_type != DLPACK_CPU && tensor->device_type != DLPACK_CUDA_HOST)
        return raise_error(PyExc_TypeError, "%s is on a device of type %d; inlay only reads CPU memory", what,
                           (int)tensor->device_type);
    if (tensor->dims > VIEW_DIMS)
        return too_many_dims(what, tensor->dims);
    view->dtype = tensor->lanes == 1 ? dtype_of_dlpack(tensor->code, tensor->bits) : DTYPE_UNKNOWN;
    if (view->dtype == DTYPE_UNKNOWN)
        return unknown_dtype(object, what);
    if (dtype_infos[view->dtype].id == 0 && refuse_negated(object, what) < 0)
        return -1;
    Py_ssize_t stride_bytes = dtype_infos[view->dtype].bytes;
    for (int i = tensor->dims - 1; i >= 0; i--) {
        view->shape[i] = (Py_ssize_t)tensor->shape[i];
        view->stride_bytes[i] =
            tensor->strides == NULL ? stride_bytes : (Py_ssize_t)tensor->strides[i] * dtype_infos[view->dtype].bytes;
        stride_bytes *= view->shape[i];
    }
    fill_in(view, (char *)tensor->data + tensor->byte_offset, VIEW_DLPACK, tensor->dims, writable, owner, NULL);
    return 0;
}

static int view_of_dlpack(struct view *view, PyObject *object, const char *what)
{
    PyObject *capsule = dlpack_capsule(object);
    if (capsule == NULL)
        return -1;
    int failed = -1;
    if (PyCapsule_IsValid(capsule, DLPACK_CAPSULE_VERSIONED)) {
        const struct dlpack_versioned *managed = PyCapsule_GetPointer(capsule, DLPACK_CAPSULE_VERSIONED);
        if (managed->major != DLPACK_MAJOR)
            PyErr_Format(PyExc_TypeError, "%s uses version %u of DLPack, and inlay supports version 1", what,
                         (unsigned)managed->major);
        else
            failed = view_of_tensor(view, object, capsule, &managed->tensor,
                                    (managed->flags & DLPACK_FLAG_READ_ONLY) == 0, what);
    } else {
        const struct dlpack_managed *managed = PyCapsule_GetPointer(capsule, DLPACK_CAPSULE);
        if (managed != NULL)
            failed = view_of_tensor(view, object, capsule, &managed->tensor, true, what);
    }
    if (failed)
        Py_DECREF(capsule);
    return failed;
}

/* Reads a tensor by DLPack. If the framework can't export its type, reads its bits. */
static int view_of_exported(struct view *view, PyObject *object, const char *what)
{
    if (view_of_dlpack(view, object, what) == 0)
        return 0;
    if (!PyErr_ExceptionMatches(PyExc_RuntimeError) && !PyErr_ExceptionMatches(PyExc_BufferError))
        return -1;
    PyObject *kind, *error, *trace;
    PyErr_Fetch(&kind, &error, &trace);
    const int failed = view_of_bits(view, object, what);
    if (failed > 0) {
        PyErr_Restore(kind, error, trace);
        return -1;
    }
    Py_XDECREF(kind);
    Py_XDECREF(error);
    Py_XDECREF(trace);
    return failed;
}

/* Reads a tensor without its gradient, since PyTorch refuses to export tensors that require one. */
static int view_of_detached(struct view *view, PyObject *object, const char *what)
{
    PyObject *gradient = PyObject_GetAttrString(object, "requires_grad");
    const bool attached = gradient != NULL && gradient == Py_True;
    Py_XDECREF(gradient);
    PyErr_Clear();
    if (!attached)
        return view_of_exported(view, object, what);
    PyObject *detached = PyObject_CallMethod(object, "detach", NULL);
    if (detached == NULL)
        return -1;
    int failed = view_of_exported(view, detached, what);
    Py_DECREF(detached);
    return failed;
}

/* Replaces the current exception with the one from bad_list(), if there is one. Returns true if it replaced it. */
static bool refuse_list(PyObject *object, const char *what)
{
    PyObject *kind, *error, *trace;
    PyErr_Fetch(&kind, &error, &trace);
    PyObject *bad = python_call("inlay.arrays", "bad_list", "(Os)", object, what);
    if (bad == Py_None) {
        Py_DECREF(bad);
        PyErr_Restore(kind, error, trace);
        return false;
    }
    Py_XDECREF(kind);
    Py_XDECREF(error);
    Py_XDECREF(trace);
    raise_object(bad);
    return true;
}

/* Makes a view of a list, a number or an object that NumPy can convert. */
static int view_of_list(struct view *view, PyObject *object, const char *what, enum dtype wanted)
{
    PyObject *numpy = numpy_module(what);
    if (numpy == NULL)
        return -1;
    const char *type = wanted != DTYPE_UNKNOWN ? dtype_infos[wanted].name : NULL; /* null becomes None */
    PyObject *array = PyObject_CallMethod(numpy, "asarray", "Oz", object, type);
    int failed = -1;
    if (array != NULL)
        failed = numpy_is_direct() ? view_of_numpy(view, array, numpy_fields(array), what)
                                   : view_of_buffer(view, array, what);
    Py_XDECREF(array);
    /* NumPy turns integers that don't fit in int64 into float64, uint64 or objects, or fails. */
    if ((failed || view->dtype == DTYPE_F64 || view->dtype == DTYPE_U64) && refuse_list(object, what)) {
        if (!failed)
            view_release(view);
        return -1;
    }
    if (failed == 0)
        view->writable = false; /* the array may be a copy */
    /* NumPy makes an empty list float64. */
    if (failed == 0 && view->dtype == DTYPE_F64 && view_count(view) == 0)
        view->dtype = DTYPE_I64;
    return failed;
}

int view_of(struct view *view, PyObject *object, const char *what, enum dtype wanted)
{
    const struct numpy_array *array = numpy_fields(object);
    if (array != NULL)
        return view_of_numpy(view, object, array, what);
    if (PyList_Check(object) || PyTuple_Check(object) || PyLong_Check(object) || PyFloat_Check(object))
        return view_of_list(view, object, what, wanted);
    PyObject *type = (PyObject *)Py_TYPE(object);
    /* If NumPy's fields can't be read directly, read NumPy arrays by the buffer protocol: read-only arrays don't export
       DLPack. */
    if (PyObject_HasAttrString(type, "__dlpack__") && !PyObject_HasAttrString(type, "__array_interface__"))
        return view_of_detached(view, object, what);
    if (PyObject_CheckBuffer(object))
        return view_of_buffer(view, object, what);
    if (PyObject_HasAttrString(type, "__array__"))
        return view_of_list(view, object, what, wanted);
    PyObject *name = PyType_GetName(Py_TYPE(object));
    if (name != NULL)
        PyErr_Format(PyExc_TypeError, "%s has type %U, which is not an array", what, name);
    Py_XDECREF(name);
    return -1;
}

int view_keep(struct view *view, PyObject *object, const char *what, enum dtype dtype, int dims,
              const Py_ssize_t *shape, const void **data)
{
    if (object == Py_None)
        return 0;
    if (view_of(view, object, what, dtype) < 0)
        return -1;
    const bool powers = dtype == DTYPE_U8 && view->dtype == DTYPE_E8M0;
    if ((!powers && view_require_dtype(view, what, dtype) < 0) || view_require_shape(view, what, dims, shape) < 0)
        return -1;
    *data = view->data;
    return view_require_contiguous(view, what);
}

const struct dlpack_exchange *view_exchange(PyObject *object)
{
    PyObject *capsule = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__dlpack_c_exchange_api__");
    const struct dlpack_exchange *exchange = NULL;
    if (capsule != NULL)
        exchange = PyCapsule_GetPointer(capsule, DLPACK_EXCHANGE); /* static memory of the framework */
    Py_XDECREF(capsule);
    PyErr_Clear();
    while (exchange != NULL && exchange->major > DLPACK_MAJOR)
        exchange = exchange->before;
    return exchange != NULL && exchange->major == DLPACK_MAJOR ? exchange : NULL;
}

int view_borrow(struct view *view, PyObject *object, const char *what, enum dtype wanted)
{
    if (numpy_fields(object) != NULL || PyList_Check(object) || PyLong_Check(object))
        return view_of(view, object, what, wanted);
    const struct dlpack_exchange *exchange = view_exchange(object);
    if (exchange == NULL || exchange->borrow == NULL)
        return view_of(view, object, what, wanted);
    struct dlpack_tensor tensor;
    if (exchange->borrow(object, &tensor) < 0)
        return -1;
    if (view_of_tensor(view, object, object, &tensor, true, what) < 0)
        return -1;
    /* Subclasses of tensors can have a shape but no memory. */
    if (tensor.data == NULL && view_count(view) > 0) {
        view->owner = NULL; /* no reference was taken yet */
        return view_of(view, object, what, wanted);
    }
    Py_INCREF(object);
    return 0;
}

int view_borrow_ids(struct view *view, PyObject *array, const char *what, int dims, const Py_ssize_t *shape,
                    const void **data, inlay_id_type *type)
{
    if (view_borrow(view, array, what, DTYPE_UNKNOWN) < 0 || view_broadcast(view, what, dims, shape) < 0)
        return -1;
    const inlay_id_type found = view_ids(view, what);
    *data = view->data;
    *type = view->data != NULL ? found : (inlay_id_type)0; /* empty tensors have no address */
    return found != 0 ? 0 : -1;
}

int view_borrow_offsets(struct view *view, PyObject *offsets, const struct view *ids)
{
    if (ids != NULL && ids->dims != 1)
        return raise_error(PyExc_ValueError, "ids has %d dimensions, expected 1 with offsets: give ids.reshape(-1)",
                           ids->dims);
    if (view_borrow(view, offsets, "offsets", DTYPE_UNKNOWN) < 0 || view_ids(view, "offsets") == 0 ||
        view_pack(view, DTYPE_I64) < 0)
        return -1;
    if (view->dims != 1 || view->shape[0] == 0)
        return raise_error(PyExc_ValueError,
                           "offsets must have one dimension, and one more number than there are sequences");
    return 0;
}
