/* SPDX-License-Identifier: MIT */
/*
 * Sinusoids and rotary tables. Consecutive positions are written as runs, which is several times faster than as a list.
 * The bits are the same.
 */
#include "tables/sinusoid.h"

#include "arrays/output.h"
#include "arrays/view.h"
#include "module/errors.h"
#include "module/objects.h"
#include "module/options.h"
#include "module/threads.h"

#include <stdlib.h>
#include <string.h>

struct formula {
    PyObject base;
    inlay_sinusoid *handle;
    size_t dim;
};

static PyTypeObject *formula_type; /* set at import */

const inlay_sinusoid *sinusoid_handle(PyObject *object)
{
    if (Py_TYPE(object) == formula_type)
        return ((struct formula *)(void *)object)->handle;
    PyErr_Format(PyExc_TypeError, "%R is not a sinusoid formula", object);
    return NULL;
}

/* Returns the dim of a formula. */
static size_t dim_of(PyObject *formula)
{
    return ((struct formula *)(void *)formula)->dim;
}

/* ---- Frequencies ------------------------------------------------------------------------------------------------ */

/* Checks that there are `expected` float64 numbers. Returns -1 with ValueError set on failure. */
static int require_count(const char *what, Py_ssize_t bytes, size_t expected)
{
    const size_t count = (size_t)bytes / sizeof(double);
    if (count == expected)
        return 0;
    return raise_error(PyExc_ValueError, "%s has %zu numbers, expected %zu", what, count, expected);
}

static PyObject *formula_of(const inlay_sinusoid_spec *spec)
{
    struct formula *formula = PyObject_New(struct formula, formula_type);
    if (formula == NULL)
        return NULL;
    formula->handle = NULL;
    formula->dim = spec->dim;
    inlay_status status = inlay_sinusoid_create(spec, NULL, &formula->handle);
    if (status == INLAY_OK)
        return (PyObject *)formula;
    Py_DECREF(formula);
    return raise_status(status);
}

/* Formula(dim, base, recipe, layout, spacing, shift, odd, amplitude, inv_freq, float_angles). Options that are None are
   chosen by the recipe. inv_freq is the bytes of float64 numbers. */
static PyObject *formula_new(PyTypeObject *Py_UNUSED(type), PyObject *args, PyObject *Py_UNUSED(options))
{
    Py_ssize_t dim, bytes;
    PyObject *name, *base, *layout, *spacing, *shift, *odd, *amplitude;
    const char *inv_freq;
    int float_angles;
    if (!PyArg_ParseTuple(args, "nOOOOOOOz#p", &dim, &base, &name, &layout, &spacing, &shift, &odd, &amplitude,
                          &inv_freq, &bytes, &float_angles))
        return NULL;
    inlay_recipe recipe = INLAY_RECIPE_EXACT;
    if (option_enum(name, &option_recipes, &recipe) < 0)
        return NULL;
    if (dim < 1 || dim >= INLAY_POSITION_LIMIT)
        return PyErr_Format(PyExc_ValueError, "dim is %zd, not in [1, 2^31)", dim);
    inlay_sinusoid_spec spec = inlay_sinusoid_spec_recipe(recipe, (size_t)dim);
    uint64_t shift_value = spec.shift;
    if (option_enum(layout, &option_layouts, &spec.layout) < 0 ||
        option_enum(spacing, &option_spacings, &spec.spacing) < 0 || option_enum(odd, &option_odds, &spec.odd) < 0 ||
        option_double(base, &spec.base) < 0 || option_double(amplitude, &spec.amplitude) < 0 ||
        option_uint64(shift, "shift", &shift_value) < 0)
        return NULL;
    spec.shift = shift_value <= 1 ? (uint32_t)shift_value : 2; /* the library rejects 2 */
    spec.float_angles = (uint32_t)float_angles;
    spec.inv_freq = (const double *)(const void *)inv_freq;
    const size_t pairs = spec.odd == INLAY_SINUSOID_ODD_FORMULA ? spec.dim / 2 + spec.dim % 2 : spec.dim / 2;
    return inv_freq != NULL && require_count("inv_freq", bytes, pairs) < 0 ? NULL : formula_of(&spec);
}

static void formula_dealloc(PyObject *self)
{
    inlay_sinusoid_destroy(((struct formula *)(void *)self)->handle);
    object_free(self);
}

int sinusoid_init(PyObject *module)
{
    static PyType_Slot slots[] = {
        {Py_tp_new, formula_new},
        {Py_tp_dealloc, formula_dealloc},
        {0, NULL},
    };
    return type_add(module, &formula_type, "inlay._core.Formula", sizeof(struct formula), 0, slots);
}

/* ---- Positions -------------------------------------------------------------------------------------------------- */

/* Reads positions as contiguous int64, float32 or float64. */
static int positions_of(struct view *view, PyObject *object, inlay_position_type *type)
{
    if (view_of(view, object, "positions", DTYPE_UNKNOWN) < 0)
        return -1;
    const bool real = view->dtype == DTYPE_F32 || view->dtype == DTYPE_F64;
    *type = view->dtype == DTYPE_F32 ? INLAY_POSITION_F32 : real ? INLAY_POSITION_F64 : INLAY_POSITION_I64;
    int failed;
    if (view->dims >= VIEW_DIMS)
        failed = raise_error(PyExc_ValueError, "positions has %d dimensions, more than %d", view->dims, VIEW_DIMS - 1);
    else if (real)
        failed = view_pack(view, view->dtype);
    else if (dtype_infos[view->dtype].id == 0 && dtype_is_output(view->dtype))
        failed = view_wrong_dtype(view, "positions", "integers, float32 or float64", DTYPE_F32);
    else
        failed = view_ids(view, "positions") == 0 ? -1 : view_pack(view, DTYPE_I64);
    if (failed)
        view_release(view);
    return failed;
}

/* Returns the number of consecutive positions from index i on. Returns 0 if position i is negative or too large, or if
   positions aren't integers. */
static size_t run_at(const struct view *positions, inlay_position_type type, size_t i, size_t count)
{
    const int64_t first = type == INLAY_POSITION_I64 ? view_int64_at(positions, i) : -1;
    size_t length = first >= 0 && first < INLAY_POSITION_LIMIT;
    while (length > 0 && i + length < count && first + (int64_t)length < INLAY_POSITION_LIMIT &&
           view_int64_at(positions, i + length) == first + (int64_t)length)
        length++;
    return length;
}

static PyObject *bad_position(const struct view *positions, inlay_position_type type, size_t index)
{
    static const char where[] = "(-2147483648, 2147483648)";
    if (type == INLAY_POSITION_I64)
        return raise_index("position", view_int64_at(positions, index), index, positions->dims, positions->shape,
                           where);
    const bool wide = type == INLAY_POSITION_F64;
    const size_t bytes = wide ? sizeof(double) : sizeof(float);
    double value = 0;
    float narrow = 0;
    memcpy(wide ? (void *)&value : &narrow, positions->data + index * bytes, bytes);
    PyObject *number = PyFloat_FromDouble(wide ? value : (double)narrow);
    if (number != NULL)
        PyErr_Format(PyExc_IndexError, "position %S at index %zu is not a number between -2^31 and 2^31", number,
                     index);
    Py_XDECREF(number);
    return NULL;
}

/* Sets the shape of rows with `dim` columns. Returns the number of dimensions. */
static int rows_shape(Py_ssize_t shape[VIEW_DIMS], const struct view *positions, size_t dim)
{
    memcpy(shape, positions->shape, sizeof positions->shape);
    shape[positions->dims] = (Py_ssize_t)dim;
    return positions->dims + 1;
}

/* Writes rows without the GIL. */
static inlay_status write_rows(const inlay_sinusoid *sinusoid, const struct view *positions, inlay_position_type type,
                               inlay_element_type element, struct output *output, inlay_fault *fault)
{
    const size_t count = view_count(positions);
    inlay_executor executor;
    const inlay_executor *threads = threads_executor(threads_get(), &executor);
    inlay_status status;
    PyThreadState *thread = PyEval_SaveThread();
    if (count > 0 && run_at(positions, type, 0, count) == count)
        status = inlay_sinusoid_rows(sinusoid, view_int64_at(positions, 0), count, element, output->data,
                                     output->stride_bytes, threads);
    else
        status = inlay_sinusoid_at(sinusoid, positions->data, type, count, element, output->data, output->stride_bytes,
                                   threads, fault);
    PyEval_RestoreThread(thread);
    return status;
}

/* Writes rows to `out`, or to a new array in the framework of `like`. Returns it, or null with an exception set. */
static PyObject *rows_of(const inlay_sinusoid *sinusoid, const struct view *positions, inlay_position_type type,
                         PyObject *like, enum dtype dtype, size_t dim, PyObject *out)
{
    Py_ssize_t shape[VIEW_DIMS];
    const int dims = rows_shape(shape, positions, dim);
    struct output output;
    if (output_open(&output, out, positions->way, dtype, dims, shape) < 0)
        return NULL;
    inlay_fault fault = {0};
    inlay_status status = write_rows(sinusoid, positions, type, dtype_infos[dtype].element, &output, &fault);
    if (status == INLAY_OK)
        return output_close(&output, positions->way, like);
    output_abandon(&output);
    return status == INLAY_ERROR_POSITION ? bad_position(positions, type, fault.token) : raise_status(status);
}

PyObject *sinusoid_rows(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *formula, *object, *name, *out;
    if (!PyArg_ParseTuple(args, "OOOO", &formula, &object, &name, &out))
        return NULL;
    const inlay_sinusoid *sinusoid = sinusoid_handle(formula);
    const enum dtype dtype = sinusoid != NULL ? dtype_of_argument(name) : DTYPE_UNKNOWN;
    struct view positions;
    inlay_position_type type;
    if (dtype == DTYPE_UNKNOWN || positions_of(&positions, object, &type) < 0)
        return NULL;
    PyObject *rows = rows_of(sinusoid, &positions, type, object, dtype, dim_of(formula), out);
    view_release(&positions);
    return rows;
}

/* ---- Rotary tables ---------------------------------------------------------------------------------------------- */

enum { ROTARY_AXES = 3, LISTED_ROWS = 256 };

/* The formula of rotary tables. Positions have one axis, or three (temporal, height, width) if they are [3, ...]. */
struct rotary {
    size_t axes;                                  /* 1 or 3 */
    const unsigned char *axis;                    /* axis of each frequency, [half] */
    size_t half;                                  /* number of frequencies */
    const inlay_sinusoid *sinusoids[ROTARY_AXES]; /* frequencies of each axis, layout split; null: none */
    size_t counts[ROTARY_AXES];                   /* number of frequencies of each axis */
    inlay_element_type type;
    inlay_rotary_layout layout;
    char *buffer; /* LISTED_ROWS rows of `half` sines and cosines */
};

/* Copies the entries of one axis to their columns of a row. Inline, so the element size is a constant. */
static inline void spread_row(const struct rotary *rotary, size_t axis, const char *from, char *row, size_t element)
{
    for (size_t i = 0; i < rotary->half; i++) {
        if (rotary->axis[i] != axis)
            continue;
        const size_t first = rotary->layout == INLAY_ROTARY_INTERLEAVED ? 2 * i : i;
        memcpy(row + first * element, from, element);
        if (rotary->layout != INLAY_ROTARY_PAIRS)
            memcpy(row + (rotary->layout == INLAY_ROTARY_HALVES ? rotary->half + i : first + 1) * element, from,
                   element);
        from += element;
    }
}

/* Writes rows [done, end) of one axis through the buffer. `pair` holds the tables of cosines and sines. */
static inlay_status write_list(const struct rotary *rotary, size_t axis, const struct view *positions,
                               inlay_position_type type, size_t done, size_t end, const struct output pair[2],
                               inlay_fault *fault)
{
    const size_t element = rotary->type == INLAY_F32 ? 4 : 2, bytes = rotary->counts[axis] * element;
    const size_t before = axis * (view_count(positions) / rotary->axes);
    for (size_t n; done < end; done += n) {
        n = end - done < LISTED_ROWS ? end - done : LISTED_ROWS;
        const char *from = positions->data + (before + done) * (type == INLAY_POSITION_F32 ? 4 : 8);
        inlay_status status = inlay_sinusoid_at(rotary->sinusoids[axis], from, type, n, rotary->type, rotary->buffer,
                                                2 * bytes, NULL, fault);
        fault->token += before + done;
        if (status != INLAY_OK)
            return status;
        for (size_t i = 0; i < 2 * n; i++) {
            const struct output *to = &pair[i % 2 == 0]; /* sines, then cosines */
            char *row = to->data + (done + i / 2) * to->stride_bytes;
            if (element == 4)
                spread_row(rotary, axis, rotary->buffer + i * bytes, row, 4);
            else
                spread_row(rotary, axis, rotary->buffer + i * bytes, row, 2);
        }
    }
    return INLAY_OK;
}

/* Writes both tables: consecutive positions as runs, other positions as a list. */
static inlay_status write_tables(const struct rotary *rotary, const struct view *positions, inlay_position_type type,
                                 const struct output pair[2], inlay_fault *fault)
{
    const size_t count = view_count(positions) / rotary->axes;
    inlay_executor executor;
    const inlay_executor *threads = threads_executor(threads_get(), &executor);
    inlay_status status = INLAY_OK;
    for (size_t axis = 0; axis < rotary->axes; axis++)
        for (size_t i = 0, length; rotary->counts[axis] > 0 && i < count && status == INLAY_OK; i += length) {
            length = rotary->axes == 1 ? run_at(positions, type, i, count) : 0;
            if (length > 0) {
                status = inlay_rotary_rows(rotary->sinusoids[0], view_int64_at(positions, i), length, rotary->type,
                                           rotary->layout, pair[0].data + i * pair[0].stride_bytes,
                                           pair[1].data + i * pair[1].stride_bytes, pair[0].stride_bytes, threads);
            } else {
                length = 1;
                while (i + length < count && (rotary->axes > 1 || run_at(positions, type, i + length, count) == 0))
                    length++;
                status = write_list(rotary, axis, positions, type, i, i + length, pair, fault);
            }
        }
    return status;
}

/* Returns the tables of positions as arrays in the framework of `like`. */
static PyObject *rotary_of(const struct rotary *rotary, const struct view *positions, inlay_position_type type,
                           PyObject *like, enum dtype dtype)
{
    Py_ssize_t shape[VIEW_DIMS];
    int dims = rows_shape(shape, positions, rotary->half * (rotary->layout == INLAY_ROTARY_PAIRS ? 1 : 2));
    if (rotary->axes > 1)
        memmove(shape, shape + 1, (size_t)--dims * sizeof *shape);
    struct output pair[2]; /* cosines and sines */
    if (output_open(&pair[0], NULL, positions->way, dtype, dims, shape) < 0)
        return NULL;
    if (output_open(&pair[1], NULL, positions->way, dtype, dims, shape) < 0)
        return output_abandon(&pair[0]);
    inlay_fault fault = {0};
    PyThreadState *thread = PyEval_SaveThread();
    inlay_status status = write_tables(rotary, positions, type, pair, &fault);
    PyEval_RestoreThread(thread);
    if (status == INLAY_OK)
        return output_close_pair(pair, positions->way, like);
    output_abandon(&pair[0]);
    output_abandon(&pair[1]);
    return status == INLAY_ERROR_POSITION ? bad_position(positions, type, fault.token) : raise_status(status);
}

/* Reads a tuple: the axis of each frequency as bytes, then a formula or None for each axis. */
static int rotary_open(struct rotary *rotary, PyObject *formulas)
{
    PyObject *own[ROTARY_AXES] = {Py_None, Py_None, Py_None};
    const char *axis;
    Py_ssize_t half;
    *rotary = (struct rotary){.axes = PyTuple_Size(formulas) == 2 ? 1 : ROTARY_AXES};
    if (!PyArg_ParseTuple(formulas, "y#O|OO", &axis, &half, &own[0], &own[1], &own[2]))
        return -1;
    for (size_t i = 0; i < rotary->axes; i++) {
        if (own[i] == Py_None)
            continue;
        rotary->sinusoids[i] = sinusoid_handle(own[i]);
        if (rotary->sinusoids[i] == NULL)
            return -1;
        rotary->counts[i] = dim_of(own[i]) / 2;
    }
    rotary->axis = (const unsigned char *)axis;
    rotary->half = (size_t)half;
    rotary->buffer = PyMem_Malloc(2 * LISTED_ROWS * rotary->half * sizeof(float));
    return rotary->buffer != NULL ? 0 : raise_memory();
}

/* Returns true if positions have the shape that the formula requires: any shape, or with sections [3, ...]. Otherwise
   returns false with an exception set. */
static bool suits_rotary(const struct rotary *rotary, const struct view *positions)
{
    if (rotary->axes == 1 || (positions->dims >= 1 && positions->shape[0] == ROTARY_AXES))
        return true;
    PyObject *shape = shape_text(positions->dims, positions->shape);
    if (shape != NULL)
        PyErr_Format(PyExc_ValueError,
                     "positions has shape %U; with mrope_section it is [3, ...]: temporal, height and width, all equal "
                     "for text",
                     shape);
    Py_XDECREF(shape);
    return false;
}

PyObject *sinusoid_rotary_rows(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *formulas, *object, *name, *layout_name, *pair = NULL;
    struct rotary rotary;
    struct view positions;
    inlay_position_type type;
    if (!PyArg_ParseTuple(args, "O!OOO", &PyTuple_Type, &formulas, &object, &name, &layout_name))
        return NULL;
    inlay_rotary_layout layout = INLAY_ROTARY_HALVES;
    if (option_enum(layout_name, &option_rotary_layouts, &layout) < 0)
        return NULL;
    const enum dtype dtype = dtype_of_argument(name);
    if (dtype == DTYPE_UNKNOWN || rotary_open(&rotary, formulas) < 0)
        return NULL;
    rotary.type = dtype_infos[dtype].element;
    rotary.layout = layout;
    if (positions_of(&positions, object, &type) == 0) {
        if (suits_rotary(&rotary, &positions))
            pair = rotary_of(&rotary, &positions, type, object, dtype);
        view_release(&positions);
    }
    PyMem_Free(rotary.buffer);
    return pair;
}

/* rotary_frequencies(dim, base, scaling, **numbers): returns inv_freq, as the bytes of float64 numbers, and
   attention_factor. The numbers come from a model's configuration; their defaults are those of inlay_rotary_spec. */
PyObject *sinusoid_rotary_frequencies(PyObject *Py_UNUSED(module), PyObject *args, PyObject *options)
{
    static char *names[] = {
        "dim",         "base",     "scaling",         "factor",           "original_max_position_embeddings",
        "length",      "mscale",   "mscale_all_dim",  "attention_factor", "beta_fast",
        "beta_slow",   "truncate", "low_freq_factor", "high_freq_factor", "short_factor",
        "long_factor", NULL};
    Py_ssize_t dim, short_bytes, long_bytes;
    PyObject *scaling;
    const char *short_factors = NULL, *long_factors = NULL;
    double attention;
    inlay_rotary_spec spec = inlay_rotary_spec_default(2);
    int truncate = 1;
    if (!PyArg_ParseTupleAndKeywords(args, options, "ndO|$ddddddddpddz#z#", names, &dim, &spec.base, &scaling,
                                     &spec.factor, &spec.original_length, &spec.length, &spec.mscale,
                                     &spec.mscale_all_dim, &spec.attention_factor, &spec.beta_fast, &spec.beta_slow,
                                     &truncate, &spec.low_freq_factor, &spec.high_freq_factor, &short_factors,
                                     &short_bytes, &long_factors, &long_bytes) ||
        option_enum(scaling, &option_scalings, &spec.scaling) < 0)
        return NULL;
    if (dim < 2 || dim % 2 != 0 || dim >= INLAY_POSITION_LIMIT)
        return PyErr_Format(PyExc_ValueError, "dim is %zd, not an even number in [2, 2^31)", dim);
    spec.dim = (size_t)dim;
    spec.truncate = (uint32_t)truncate;
    spec.short_factors = (const double *)(const void *)short_factors;
    spec.long_factors = (const double *)(const void *)long_factors;
    if ((short_factors != NULL && require_count("short_factor", short_bytes, spec.dim / 2) < 0) ||
        (long_factors != NULL && require_count("long_factor", long_bytes, spec.dim / 2) < 0))
        return NULL;
    PyObject *frequencies = PyBytes_FromStringAndSize(NULL, dim / 2 * (Py_ssize_t)sizeof(double));
    if (frequencies == NULL)
        return NULL;
    const inlay_status status =
        inlay_rotary_frequencies(&spec, (double *)(void *)PyBytes_AsString(frequencies), &attention);
    if (status == INLAY_OK)
        return Py_BuildValue("(Nd)", frequencies, attention);
    Py_DECREF(frequencies);
    return raise_status(status);
}
