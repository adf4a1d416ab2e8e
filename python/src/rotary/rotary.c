/* SPDX-License-Identifier: MIT */
/*
 * The _core.Rotary type: a rotary handle of the library. inlay.Rotary computes its frequencies.
 */
#include "rotary/rotary.h"

#include "module/errors.h"
#include "module/objects.h"
#include "module/options.h"
#include "rotary/rotate.h"

struct rotary {
    PyObject base;
    inlay_vectorcall call;
    struct rotary_facts facts;
    inlay_rotary *handle;
};

static PyTypeObject *rotary_type; /* set at import */

static struct rotary *rotary_of(PyObject *self)
{
    return (struct rotary *)(void *)self;
}

static PyObject *rotary_call(PyObject *self, PyObject *const *args, size_t count_and_flag, PyObject *names)
{
    return rotate_run(&rotary_of(self)->facts, args, inlay_positional(count_and_flag), names);
}

/* Rotary(dim, base, inv_freq, attention_factor, layout, float_angles, cached_positions, threads, axes, pair_axes).
   inv_freq is null, or the bytes of dim / 2 float64 numbers, which replace base. pair_axes is null or dim / 2 bytes.
   inlay.Rotary has checked the numbers. */
static PyObject *rotary_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(options))
{
    Py_ssize_t dim, bytes, axes, pairs;
    const char *inv_freq, *pair_axes;
    PyObject *layout, *cached, *threads;
    int float_angles;
    size_t count = 0;
    inlay_rotary_spec spec = inlay_rotary_spec_default(0);
    if (!PyArg_ParseTuple(args, "ndz#dOpOOnz#", &dim, &spec.base, &inv_freq, &bytes, &spec.attention_factor, &layout,
                          &float_angles, &cached, &threads, &axes, &pair_axes, &pairs))
        return NULL;
    uint64_t positions = spec.cached_positions;
    if (option_enum(layout, &option_rotary_layouts, &spec.layout) < 0 ||
        option_uint64(cached, "cached_positions", &positions) < 0 || option_threads(threads, "threads", &count) < 0)
        return NULL;
    if (inv_freq != NULL && bytes / (Py_ssize_t)sizeof(double) != dim / 2)
        return PyErr_Format(PyExc_ValueError, "inv_freq has %zd numbers, expected dim / 2 = %zd",
                            bytes / (Py_ssize_t)sizeof(double), dim / 2);
    if (pair_axes != NULL && pairs != dim / 2)
        return PyErr_Format(PyExc_ValueError, "pair_axes has %zd numbers, expected dim / 2 = %zd", pairs, dim / 2);
    spec.dim = (size_t)dim;
    spec.axes = (size_t)axes;
    spec.pair_axes = (const uint8_t *)pair_axes;
    spec.inv_freq = (const double *)(const void *)inv_freq;
    spec.float_angles = (uint32_t)float_angles;
    spec.cached_positions = (size_t)positions;
    PyObject *self = PyType_GenericAlloc(type, 0); /* zeroed */
    if (self == NULL)
        return NULL;
    struct rotary *rotary = rotary_of(self);
    const inlay_status status = inlay_rotary_create(&spec, NULL, &rotary->handle);
    rotary->call = rotary_call;
    rotary->facts = (struct rotary_facts){rotary->handle, dim, axes, count};
    if (status == INLAY_OK)
        return self;
    Py_DECREF(self);
    return raise_status(status);
}

static void rotary_dealloc(PyObject *self)
{
    inlay_rotary_destroy(rotary_of(self)->handle);
    object_free(self);
}

int rotary_init(PyObject *module)
{
    static PyMemberDef members[] = {
        {"dim", T_PYSSIZET, offsetof(struct rotary, facts.dim), READONLY, "Rotary columns of a head."},
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct rotary, call), READONLY, NULL},
        {NULL, 0, 0, 0, NULL},
    };
    static PyType_Slot slots[] = {
        {Py_tp_new, rotary_new},
        {Py_tp_dealloc, rotary_dealloc},
        {Py_tp_call, PyVectorcall_Call},
        {Py_tp_members, members},
        {0, NULL},
    };
    if (rotate_init() < 0)
        return -1;
    return type_add(module, &rotary_type, "inlay._core.Rotary", sizeof(struct rotary),
                    Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL, slots);
}
