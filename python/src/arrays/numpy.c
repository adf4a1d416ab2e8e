/* SPDX-License-Identifier: MIT */
/*
 * Probes NumPy's structs, and makes new arrays with or without its C API.
 */
#include "arrays/numpy.h"

#include "module/objects.h"

#include <stdatomic.h>
#include <string.h>

/* The first fields of a dtype, identical in NumPy 1 and 2. */
struct descriptor {
    PyObject base;
    PyTypeObject *scalar;
    char kind, code, byte_order, reserved;
    int number;
};

/* Indices in the table of the C API. The table only grows. */
enum { ABI_VERSION = 0, ARRAY_NEW = 93, SET_BASE_OBJECT = 282 };
enum { FLAG_ALIGNED = 0x100, FLAG_WRITEABLE = 0x400, FLAGS_CONTIGUOUS = 0x1 };
enum { FIRST_USER_TYPE = 256 };

typedef PyObject *array_new(PyTypeObject *type, int dims, const Py_ssize_t *shape, int number,
                            const Py_ssize_t *stride_bytes, void *data, int item_bytes, int flags, PyObject *object);
typedef int set_base_object(PyObject *array, PyObject *owner);

/* Set at import, constant afterwards. */
static struct {
    PyObject *module;   /* null: NumPy isn't installed */
    PyTypeObject *type; /* numpy.ndarray; null: don't read fields directly */
    array_new *create;  /* null: make arrays through the buffer protocol */
    set_base_object *set_base;
} numpy;

/* The type number of ml_dtypes' bfloat16. 0: not looked up yet; -1: not available. */
static atomic_int bfloat16_number;

bool numpy_exists(void)
{
    return numpy.module != NULL;
}

bool numpy_is_direct(void)
{
    return numpy.type != NULL;
}

bool numpy_makes_arrays(void)
{
    return numpy.create != NULL;
}

PyObject *numpy_module(const char *what)
{
    if (numpy.module == NULL)
        PyErr_Format(PyExc_TypeError, "%s needs NumPy, which is not installed", what);
    return numpy.module;
}

const struct numpy_array *numpy_fields(PyObject *object)
{
    if (numpy.type == NULL || !PyObject_TypeCheck(object, numpy.type))
        return NULL;
    return (const struct numpy_array *)(void *)object;
}

enum dtype numpy_dtype(const struct numpy_array *array)
{
    const struct descriptor *descriptor = (const struct descriptor *)(void *)array->descriptor;
    if (descriptor->byte_order == '>')
        return DTYPE_UNKNOWN;
    if (descriptor->number < FIRST_USER_TYPE)
        return dtype_of_numpy(descriptor->number);
    /* Types registered by packages, e.g. ml_dtypes' bfloat16, can only be identified by name. */
    PyObject *name = PyType_GetName(descriptor->scalar);
    const char *text = name != NULL ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    const enum dtype dtype = text != NULL ? dtype_of_name(text) : DTYPE_UNKNOWN;
    Py_XDECREF(name);
    PyErr_Clear();
    return dtype_infos[dtype].numpy < 0 ? dtype : DTYPE_UNKNOWN;
}

bool numpy_writable(const struct numpy_array *array)
{
    return (array->flags & FLAG_WRITEABLE) != 0;
}

/* ---- The probe -------------------------------------------------------------------------------------------------- */

/* Returns true if the fields of `object` describe an int16 array [2, 2] at `address`, with strides of 12 and 4 bytes.
 */
static bool fields_are_known(PyObject *object, PyTypeObject *type, unsigned long long address)
{
    const struct numpy_array *array = (const struct numpy_array *)(void *)object;
    return Py_TYPE(object) == type && (unsigned long long)(uintptr_t)array->data == address && array->dims == 2 &&
           array->shape[0] == 2 && array->shape[1] == 2 && array->stride_bytes[0] == 12 &&
           array->stride_bytes[1] == 4 && numpy_dtype(array) == DTYPE_I16 && numpy_writable(array);
}

/* Returns the table of NumPy's C API, or null if its version is unknown. */
static void **api_of(PyObject *capsule)
{
    void **api = PyCapsule_CheckExact(capsule) ? PyCapsule_GetPointer(capsule, NULL) : NULL;
    if (api == NULL)
        return NULL;
    unsigned (*abi_version)(void);
    memcpy(&abi_version, &api[ABI_VERSION], sizeof abi_version);
    const unsigned major = abi_version() >> 24;
    return major == 1 || major == 2 ? api : NULL;
}

int numpy_use(PyObject *module, bool direct)
{
    unsigned long long address;
    memset(&numpy, 0, sizeof numpy);
    if (module == Py_None)
        return 0;
    numpy.module = Py_NewRef(module); /* never released */
    if (!direct)
        return 0;
    PyObject *array, *capsule, *type = PyObject_GetAttrString(module, "ndarray");
    PyObject *probe = type != NULL ? python_call("inlay.arrays", "probe", "(O)", module) : NULL;
    if (probe == NULL || !PyArg_ParseTuple(probe, "OKO", &array, &address, &capsule) || !PyType_Check(type)) {
        Py_XDECREF(type);
        Py_XDECREF(probe);
        return -1;
    }
    if (fields_are_known(array, (PyTypeObject *)type, address))
        numpy.type = (PyTypeObject *)type; /* keeps the reference */
    void **api = numpy.type != NULL ? api_of(capsule) : NULL;
    if (api != NULL) {
        memcpy(&numpy.create, &api[ARRAY_NEW], sizeof numpy.create);
        memcpy(&numpy.set_base, &api[SET_BASE_OBJECT], sizeof numpy.set_base);
    }
    Py_DECREF(probe);
    PyErr_Clear();
    return 0;
}

/* ---- Arrays ----------------------------------------------------------------------------------------------------- */

/* Returns ml_dtypes' bfloat16 dtype, or null with TypeError set if that isn't installed. */
static PyObject *bfloat16_dtype(void)
{
    return python_call("inlay.arrays", "ml_dtype", "(s)", dtype_infos[DTYPE_BF16].name);
}

/* Returns the type number of bfloat16, or -1 with TypeError set. */
static int find_bfloat16(void)
{
    int number = atomic_load(&bfloat16_number);
    if (number > 0)
        return number;
    PyObject *dtype = bfloat16_dtype();
    PyObject *value = dtype != NULL ? PyObject_GetAttrString(dtype, "num") : NULL;
    number = value != NULL ? (int)PyLong_AsLong(value) : -1;
    Py_XDECREF(value);
    Py_XDECREF(dtype);
    atomic_store(&bfloat16_number, number);
    return number;
}

/* Makes an array from an object's buffer, without NumPy's C API. */
static PyObject *array_of_buffer(enum dtype dtype, PyObject *owner)
{
    PyObject *array = PyObject_CallMethod(numpy.module, "asarray", "O", owner);
    if (array == NULL || dtype != DTYPE_BF16)
        return array;
    PyObject *bfloat16 = bfloat16_dtype();
    PyObject *view = bfloat16 != NULL ? PyObject_CallMethod(array, "view", "O", bfloat16) : NULL;
    Py_XDECREF(bfloat16);
    Py_DECREF(array);
    return view;
}

PyObject *numpy_array_new(enum dtype dtype, int dims, const Py_ssize_t *shape, void **data, PyObject *owner)
{
    if (numpy.create == NULL)
        return array_of_buffer(dtype, owner);
    const int number = dtype == DTYPE_BF16 ? find_bfloat16() : dtype_infos[dtype].numpy;
    if (number < 0)
        return NULL;
    const int flags = owner != NULL ? FLAGS_CONTIGUOUS | FLAG_ALIGNED | FLAG_WRITEABLE : 0;
    PyObject *array = numpy.create(numpy.type, dims, shape, number, NULL, owner != NULL ? *data : NULL, 0, flags, NULL);
    if (array == NULL)
        return NULL;
    if (owner == NULL) {
        *data = numpy_fields(array)->data;
    } else if (numpy.set_base(array, Py_NewRef(owner)) < 0) {
        Py_DECREF(array);
        return NULL;
    }
    return array;
}
