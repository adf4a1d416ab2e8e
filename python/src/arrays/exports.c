/* SPDX-License-Identifier: MIT */
/*
 * The structs of both protocols. DLPack has a read-only flag only since version 1, so read-only memory is not exported
 * to older versions.
 */
#include "arrays/exports.h"

#include "module/errors.h"

#include <stdlib.h>

void exported_init(struct exported *exported, void *data, enum dtype dtype, int dims, const Py_ssize_t *shape,
                   struct owner *owner)
{
    *exported = (struct exported){.data = data, .dtype = dtype, .dims = dims, .owner = owner};
    exported->format[0] = dtype_infos[dtype].format;
    exported->bytes = dtype_infos[dtype].bytes;
    for (int i = dims - 1; i >= 0; i--) {
        exported->shape[i] = shape[i];
        exported->stride_bytes[i] = exported->bytes;
        exported->bytes *= shape[i];
    }
}

bool exported_has_gaps(const struct exported *exported)
{
    Py_ssize_t bytes = dtype_infos[exported->dtype].bytes;
    for (int i = exported->dims - 1; i >= 0; bytes *= exported->shape[i--])
        if (exported->shape[i] > 1 && exported->stride_bytes[i] != bytes)
            return true;
    return false;
}

/* ---- The buffer protocol ---------------------------------------------------------------------------------------- */

int exported_buffer(struct exported *exported, PyObject *self, Py_buffer *buffer, int flags)
{
    buffer->obj = NULL;
    const bool shaped = (flags & PyBUF_ND) != 0;
    int long_dims = 0;
    for (int i = 0; i < exported->dims; i++)
        long_dims += exported->shape[i] > 1;
    if (exported->read_only && (flags & PyBUF_WRITABLE) != 0)
        return raise_error(PyExc_BufferError, "the memory of the array is read-only: request it without writing");
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && long_dims > 1 && exported->bytes > 0)
        return raise_error(PyExc_BufferError, "the array is in C order, not in Fortran order: request C order");
    const bool takes_gaps = (flags & PyBUF_C_CONTIGUOUS) == PyBUF_STRIDES &&
                            (flags & PyBUF_F_CONTIGUOUS) == PyBUF_STRIDES &&
                            (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_STRIDES;
    if (!takes_gaps && exported_has_gaps(exported))
        return raise_error(PyExc_BufferError, "the rows of the array are padded: request strides");
    if (!shaped && (flags & PyBUF_FORMAT) != 0)
        return raise_error(PyExc_BufferError, "a format requires a shape: request both, or plain bytes");
    buffer->buf = exported->data;
    buffer->obj = Py_NewRef(self);
    buffer->len = exported->bytes;
    buffer->readonly = exported->read_only;
    buffer->itemsize = dtype_infos[exported->dtype].bytes;
    buffer->format = flags & PyBUF_FORMAT ? exported->format : NULL;
    buffer->ndim = shaped ? exported->dims : 1;
    buffer->shape = shaped ? exported->shape : NULL;
    buffer->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? exported->stride_bytes : NULL;
    buffer->suboffsets = NULL;
    buffer->internal = NULL;
    return 0;
}

/* ---- DLPack ----------------------------------------------------------------------------------------------------- */

/* A tensor held by a framework, with its shape and a reference to the owner. */
struct tensor {
    union {
        struct dlpack_managed managed;
        struct dlpack_versioned versioned;
    } as;
    struct owner *owner;
    int64_t shape[VIEW_DIMS], strides[VIEW_DIMS];
};

static void release_tensor(struct tensor *tensor)
{
    owner_release(tensor->owner);
    free(tensor);
}

static void release_managed(struct dlpack_managed *managed)
{
    release_tensor(managed->context);
}

static void release_versioned(struct dlpack_versioned *versioned)
{
    release_tensor(versioned->context);
}

/* Deletes the tensor of a capsule that wasn't consumed. */
static void capsule_destroyed(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, DLPACK_CAPSULE))
        release_managed(PyCapsule_GetPointer(capsule, DLPACK_CAPSULE));
    else if (PyCapsule_IsValid(capsule, DLPACK_CAPSULE_VERSIONED))
        release_versioned(PyCapsule_GetPointer(capsule, DLPACK_CAPSULE_VERSIONED));
}

static struct tensor *new_tensor(const struct exported *exported, bool versioned)
{
    struct tensor *tensor = calloc(1, sizeof *tensor);
    if (tensor == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    const struct dtype_info *info = &dtype_infos[exported->dtype];
    const struct dlpack_tensor of_dlpack = {
        .data = exported->data,
        .device_type = DLPACK_CPU,
        .dims = exported->dims,
        .code = info->dlpack_code,
        .bits = (uint8_t)(info->bytes * 8),
        .lanes = 1,
        .shape = tensor->shape,
        .strides = tensor->strides,
    };
    for (int i = 0; i < exported->dims; i++) {
        tensor->shape[i] = exported->shape[i];
        tensor->strides[i] = exported->stride_bytes[i] / info->bytes;
    }
    tensor->owner = exported->owner;
    owner_hold(tensor->owner);
    if (versioned)
        tensor->as.versioned = (struct dlpack_versioned){
            .major = DLPACK_MAJOR,
            .minor = DLPACK_MINOR,
            .context = tensor,
            .release = release_versioned,
            .flags = exported->read_only ? DLPACK_FLAG_READ_ONLY : 0,
            .tensor = of_dlpack,
        };
    else
        tensor->as.managed =
            (struct dlpack_managed){.tensor = of_dlpack, .context = tensor, .release = release_managed};
    return tensor;
}

struct dlpack_versioned *exported_tensor(const struct exported *exported)
{
    struct tensor *tensor = new_tensor(exported, true);
    return tensor != NULL ? &tensor->as.versioned : NULL;
}

/* Reads the first number of a pair. Returns -1 with an exception set on failure. */
static int first_number(PyObject *pair, long *number)
{
    PyObject *first = PySequence_GetItem(pair, 0);
    *number = first != NULL ? PyLong_AsLong(first) : -1;
    Py_XDECREF(first);
    return PyErr_Occurred() != NULL ? -1 : 0;
}

/* CPU memory has no streams. Consumers make their own copies. */
PyObject *exported_capsule(const struct exported *exported, const char *what, PyObject *args, PyObject *options)
{
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, options, "|$OOOO", names, &stream, &version, &device, &copy))
        return NULL;
    if (copy == Py_True)
        return PyErr_Format(PyExc_BufferError, "%s cannot be copied: omit copy=True", what);
    long major = 0, type = DLPACK_CPU;
    if (version != Py_None && first_number(version, &major) < 0)
        return NULL;
    if (device != Py_None && first_number(device, &type) < 0)
        return NULL;
    if (type != DLPACK_CPU)
        return PyErr_Format(PyExc_BufferError, "%s is in CPU memory, not on a device of type %ld", what, type);
    const bool versioned = major >= DLPACK_MAJOR;
    if (exported->read_only && !versioned)
        return PyErr_Format(PyExc_BufferError, "%s is read-only, which DLPack before version 1 cannot express", what);
    struct tensor *tensor = new_tensor(exported, versioned);
    if (tensor == NULL)
        return NULL;
    PyObject *capsule =
        PyCapsule_New(&tensor->as, versioned ? DLPACK_CAPSULE_VERSIONED : DLPACK_CAPSULE, capsule_destroyed);
    if (capsule == NULL)
        release_tensor(tensor);
    return capsule;
}

PyObject *exported_device(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(args))
{
    return Py_BuildValue("(ii)", DLPACK_CPU, 0);
}
