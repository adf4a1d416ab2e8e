/* SPDX-License-Identifier: MIT */
/*
 * Exports contiguous memory by the buffer protocol and by DLPack. DLPack tensors hold the owner of the memory, not a
 * Python object, since frameworks release tensors on any thread.
 */
#pragma once

#include "abi.h"
#include "arrays/dlpack.h"
#include "arrays/dtype.h"
#include "arrays/owner.h"
#include "arrays/view.h"

struct exported {
    void *data;
    enum dtype dtype;
    int dims;
    bool read_only;
    Py_ssize_t bytes; /* of all elements */
    Py_ssize_t shape[VIEW_DIMS], stride_bytes[VIEW_DIMS];
    char format[2]; /* of the buffer protocol */
    struct owner *owner;
};

/* Fills in the struct, without taking a reference to the owner. */
void exported_init(struct exported *exported, void *data, enum dtype dtype, int dims, const Py_ssize_t *shape,
                   struct owner *owner);

/* True if there are bytes between elements, as after padded rows. */
bool exported_has_gaps(const struct exported *exported);

/* Fills in a buffer of `self`. Returns -1 with BufferError set on failure. */
int exported_buffer(struct exported *exported, PyObject *self, Py_buffer *buffer, int flags);

/* Returns a tensor that holds the owner, or null with MemoryError set. */
struct dlpack_versioned *exported_tensor(const struct exported *exported);

/* __dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None): returns a capsule, or null with BufferError
   set. `what` names the memory in errors. */
PyObject *exported_capsule(const struct exported *exported, const char *what, PyObject *args, PyObject *options);

/* __dlpack_device__(): returns the CPU device. */
PyObject *exported_device(PyObject *self, PyObject *args);
