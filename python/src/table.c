/* SPDX-License-Identifier: MIT */
/*
 * Tables: what arrays of each element type must look like, quantising, random tables. A table is immutable once it is
 * made.
 */
#include "table.h"

#include "errors.h"
#include "options.h"
#include "output.h"
#include "view.h"

#include <string.h>

struct table {
    PyObject base;
    inlay_table view;
    struct view data, scales, zeros; /* keep the arrays alive */
    PyObject *arrays[3];             /* data, scales, zeros, as they were given; null: none */
    double largest_error;            /* of quantising; NaN: not known */
    PyObject *weak_references;
};

static PyTypeObject *table_type; /* set at import */

static struct table *table_of(PyObject *self)
{
    return (struct table *)(void *)self;
}

const inlay_table *table_view(PyObject *table)
{
    return &table_of(table)->view;
}

/* ---- Arrays of a table ------------------------------------------------------------------------------------------ */

static bool is_grouped(inlay_element_type type)
{
    return type == INLAY_U4_GROUPED || type == INLAY_U4_GROUPED_FLAT;
}

/* How a type's array of scales is shaped. */
enum scales { NO_SCALES, ROW_SCALES, OPTIONAL_ROW_SCALES, GROUP_SCALES, BLOCK_SCALES };

static enum scales scales_of(inlay_element_type type)
{
    switch (type) {
    case INLAY_I8_INVERSE:
        return ROW_SCALES;
    case INLAY_I8:
    case INLAY_E4M3:
        return OPTIONAL_ROW_SCALES;
    case INLAY_E4M3_E8M0:
        return BLOCK_SCALES;
    default:
        return is_grouped(type) ? GROUP_SCALES : NO_SCALES;
    }
}

/* Fills in the shape of an array of scales and returns its number of dimensions; 32 columns share one of BLOCK_SCALES.
 */
static int scales_shape(enum scales scales, const inlay_table *table, size_t group, Py_ssize_t shape[2])
{
    shape[0] = (Py_ssize_t)table->rows;
    shape[1] = (Py_ssize_t)(table->dim / (scales == GROUP_SCALES ? group : 32));
    return scales == GROUP_SCALES || scales == BLOCK_SCALES ? 2 : 1;
}

/* Returns how many columns rows of that many bytes have, if the type alone tells it: with 4-bit types an odd dim, which
   leaves half a byte unused, must be stated. */
static size_t dim_of_row(inlay_element_type type, size_t bytes)
{
    static const struct {
        unsigned extra_bytes, block_bytes, block_columns;
    } rows[INLAY_ELEMENT_TYPES] = {
        [INLAY_F32] = {0, 4, 1},        [INLAY_F16] = {0, 2, 1},        [INLAY_BF16] = {0, 2, 1},
        [INLAY_I8] = {0, 1, 1},         [INLAY_I8_INVERSE] = {0, 1, 1}, [INLAY_U8_ROWWISE] = {8, 1, 1},
        [INLAY_U4_ROWWISE] = {4, 1, 2}, [INLAY_U4_GROUPED] = {0, 1, 2}, [INLAY_U4_GROUPED_FLAT] = {0, 1, 2},
        [INLAY_Q8_0] = {0, 34, 32},     [INLAY_Q4_0] = {0, 18, 32},     [INLAY_E4M3] = {0, 1, 1},
        [INLAY_E4M3_E8M0] = {0, 1, 1},  [INLAY_Q4_1] = {0, 20, 32},     [INLAY_Q5_0] = {0, 22, 32},
        [INLAY_Q5_1] = {0, 24, 32},     [INLAY_IQ4_NL] = {0, 18, 32},   [INLAY_MXFP4] = {0, 17, 32},
        [INLAY_NVFP4] = {0, 36, 64},    [INLAY_Q3_K] = {0, 110, 256},   [INLAY_Q4_K] = {0, 144, 256},
        [INLAY_Q5_K] = {0, 176, 256},   [INLAY_Q6_K] = {0, 210, 256},
    };
    if (bytes < rows[type].extra_bytes)
        return 0;
    return (bytes - rows[type].extra_bytes) / rows[type].block_bytes * rows[type].block_columns;
}

/* Fills in rows, dim and stride of the view from the array of data. */
static int read_data(struct table *table, const char *what, inlay_element_type type, size_t dim)
{
    const struct view *data = &table->data;
    const size_t element = dtype_infos[data->dtype].bytes;
    if (data->dims != 2) {
        PyErr_Format(PyExc_ValueError, "%s has %d dimensions, expected 2: rows and columns", what, data->dims);
        return -1;
    }
    const size_t rows = (size_t)data->shape[0], bytes = (size_t)data->shape[1] * element;
    if (dim == 0)
        dim = dim_of_row(type, bytes);
    const size_t expected = inlay_table_row_bytes(type, dim);
    if (expected == 0 || expected != bytes) {
        PyErr_Format(PyExc_ValueError, "%s has rows of %zu bytes; a row of type %s with dim %zu has %zu", what, bytes,
                     option_name((int)type, &option_elements), dim, expected);
        return -1;
    }
    const bool one_row = rows <= 1;
    if ((data->shape[1] > 1 && data->stride_bytes[1] != (Py_ssize_t)element) ||
        (!one_row && data->stride_bytes[0] < (Py_ssize_t)bytes)) {
        PyErr_Format(PyExc_ValueError, "%s has rows that are not contiguous, or run backwards", what);
        return -1;
    }
    table->view = inlay_table_of(type, data->data, rows, dim, one_row ? bytes : (size_t)data->stride_bytes[0]);
    return 0;
}

/* Reads an array beside the data, which must have a type and as many elements as `dims` and `shape` say. */
static int read_beside(struct view *view, PyObject *object, const char *what, enum dtype dtype, int dims,
                       const Py_ssize_t *shape, const void **data)
{
    if (view_of(view, object, what, dtype) < 0)
        return -1;
    if (view_require_dtype(view, what, dtype) < 0 || view_require_shape(view, what, dims, shape) < 0)
        return -1;
    *data = view->data;
    return view_require_contiguous(view, what);
}

/* Reads scales and zero points, where the type has them. */
static int read_parameters(struct table *table, PyObject *scales, PyObject *zeros, PyObject *group)
{
    inlay_table *view = &table->view;
    const enum scales kind = scales_of(view->type);
    const bool grouped = kind == GROUP_SCALES, given = scales != Py_None;
    const char *name = option_name((int)view->type, &option_elements);
    uint64_t columns = 32;
    if (given != (kind != NO_SCALES) && !(kind == OPTIONAL_ROW_SCALES && !given)) {
        PyErr_Format(PyExc_ValueError, given ? "type %s has no array of scales" : "type %s needs scales", name);
        return -1;
    }
    if (!grouped && (zeros != Py_None || group != Py_None)) {
        PyErr_Format(PyExc_ValueError, "type %s has neither zeros nor group", name);
        return -1;
    }
    if (!given)
        return 0;
    if (option_uint64(group, "group", &columns) < 0)
        return -1;
    if (grouped && ((columns != 32 && columns != 64 && columns != 128) || view->dim % columns != 0)) {
        PyErr_Format(PyExc_ValueError, "group is %llu, not 32, 64 or 128, or dim %zu is no multiple of it",
                     (unsigned long long)columns, view->dim);
        return -1;
    }
    const Py_ssize_t rows = (Py_ssize_t)view->rows, groups = (Py_ssize_t)(view->dim / columns);
    const Py_ssize_t packed[2] = {rows, (groups + 1) / 2}, flat = (rows * groups + 1) / 2;
    Py_ssize_t shape[2];
    const int dims = scales_shape(kind, view, (size_t)columns, shape);
    view->group = grouped ? (uint32_t)columns : 0;
    if (read_beside(&table->scales, scales, "scales", kind == BLOCK_SCALES ? DTYPE_U8 : DTYPE_F32, dims, shape,
                    &view->scales) < 0)
        return -1;
    if (zeros == Py_None)
        return 0;
    if (view->type == INLAY_U4_GROUPED_FLAT)
        return read_beside(&table->zeros, zeros, "zeros", DTYPE_U8, 1, &flat, &view->zeros);
    return read_beside(&table->zeros, zeros, "zeros", DTYPE_U8, 2, packed, &view->zeros);
}

/* Finds the element type of an array: by name, or by the array's own type. */
static int type_of(const struct view *data, const char *what, PyObject *name, inlay_element_type *type)
{
    int value = option_value(name, &option_elements, (int)dtype_infos[data->dtype].element);
    if (value < 0)
        return -1;
    *type = (inlay_element_type)value;
    const enum dtype plain = dtype_of_element(*type);
    /* Quantised rows are bytes; 16-bit floats may also come as the integers that have their bits. */
    const unsigned bytes = plain != DTYPE_UNKNOWN ? dtype_infos[plain].bytes : 1;
    const bool bits =
        bytes < 4 && (data->dtype == DTYPE_U8 + 2 * (bytes - 1) || data->dtype == DTYPE_I8 + 2 * (bytes - 1));
    if (*type != 0 && (data->dtype == plain || bits))
        return 0;
    if (plain != DTYPE_UNKNOWN || *type == 0)
        PyErr_Format(PyExc_TypeError,
                     "%s has elements of type %s, expected float32, float16 or bfloat16; other types "
                     "of a Table are given by name",
                     what, dtype_infos[data->dtype].name);
    else
        PyErr_Format(PyExc_TypeError, "%s has elements of type %s; rows of type %s are given as uint8 or int8", what,
                     dtype_infos[data->dtype].name, option_name(value, &option_elements));
    return -1;
}

/* ---- The type --------------------------------------------------------------------------------------------------- */

static void table_dealloc(PyObject *self)
{
    struct table *table = table_of(self);
    if (table->weak_references != NULL)
        PyObject_ClearWeakRefs(self);
    view_release(&table->data);
    view_release(&table->scales);
    view_release(&table->zeros);
    for (int i = 0; i < 3; i++)
        Py_XDECREF(table->arrays[i]);
    inlay_free_object(self);
}

struct table_arguments {
    PyObject *data, *type, *dim, *group, *scales, *zeros, *first_row, *vocab;
};

static int table_fill(struct table *table, const struct table_arguments *given, const char *what)
{
    inlay_element_type type;
    uint64_t dim = 0, first_row = 0, vocab = 0;
    if (view_of(&table->data, given->data, what, DTYPE_F32) < 0 || option_uint64(given->dim, "dim", &dim) < 0 ||
        option_uint64(given->first_row, "first_row", &first_row) < 0 ||
        option_uint64(given->vocab, "vocab", &vocab) < 0 || type_of(&table->data, what, given->type, &type) < 0 ||
        read_data(table, what, type, dim) < 0 || read_parameters(table, given->scales, given->zeros, given->group) < 0)
        return -1;
    if (given->vocab != Py_None && (first_row > vocab || table->view.rows > vocab - first_row || vocab == 0)) {
        PyErr_Format(PyExc_ValueError, "rows [%llu, %llu) are not in a vocabulary of %llu",
                     (unsigned long long)first_row, (unsigned long long)(first_row + table->view.rows),
                     (unsigned long long)vocab);
        return -1;
    }
    if (given->vocab == Py_None && first_row > 0) {
        PyErr_SetString(PyExc_ValueError, "first_row needs vocab, the rows of the whole vocabulary");
        return -1;
    }
    table->view = inlay_table_shard(table->view, first_row, vocab);
    PyObject *const arrays[3] = {given->data, given->scales, given->zeros};
    for (int i = 0; i < 3; i++)
        table->arrays[i] = arrays[i] != Py_None ? Py_NewRef(arrays[i]) : NULL;
    return 0;
}

static PyObject *table_make(const struct table_arguments *given, const char *what)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot(table_type, Py_tp_alloc);
    PyObject *self = allocate(table_type, 0); /* zeroed */
    if (self == NULL)
        return NULL;
    table_of(self)->largest_error = -1;
    if (table_fill(table_of(self), given, what) == 0)
        return self;
    Py_DECREF(self);
    return NULL;
}

static PyObject *table_new(PyTypeObject *type, PyObject *args, PyObject *options)
{
    static char *names[] = {"data", "type", "dim", "group", "scales", "zeros", "first_row", "vocab", NULL};
    struct table_arguments given = {NULL, Py_None, Py_None, Py_None, Py_None, Py_None, Py_None, Py_None};
    (void)type; /* it has no subclasses */
    if (!PyArg_ParseTupleAndKeywords(args, options, "O|O$OOOOOO", names, &given.data, &given.type, &given.dim,
                                     &given.group, &given.scales, &given.zeros, &given.first_row, &given.vocab))
        return NULL;
    return table_make(&given, "table");
}

PyObject *table_from(PyObject *object, const char *what)
{
    if (Py_TYPE(object) == table_type)
        return Py_NewRef(object);
    const struct table_arguments given = {object, Py_None, Py_None, Py_None, Py_None, Py_None, Py_None, Py_None};
    return table_make(&given, what);
}

static PyObject *get_rows(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(table_of(self)->view.rows);
}

static PyObject *get_dim(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(table_of(self)->view.dim);
}

static PyObject *get_type(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(option_name((int)table_of(self)->view.type, &option_elements));
}

static PyObject *get_group(PyObject *self, void *unused)
{
    (void)unused;
    const inlay_table *view = &table_of(self)->view;
    return view->group > 0 ? PyLong_FromUnsignedLong(view->group) : Py_NewRef(Py_None);
}

static PyObject *get_first_row(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(table_of(self)->view.first_row);
}

static PyObject *get_vocab(PyObject *self, void *unused)
{
    (void)unused;
    const inlay_table *view = &table_of(self)->view;
    return view->vocab > 0 ? PyLong_FromUnsignedLongLong(view->vocab) : Py_NewRef(Py_None);
}

static PyObject *get_nbytes(PyObject *self, void *unused)
{
    (void)unused;
    const struct table *table = table_of(self);
    size_t bytes = 0;
    const struct view *const views[3] = {&table->data, &table->scales, &table->zeros};
    for (int i = 0; i < 3; i++)
        if (table->arrays[i] != NULL)
            bytes += view_count(views[i]) * dtype_infos[views[i]->dtype].bytes;
    return PyLong_FromSize_t(bytes);
}

static PyObject *get_array(PyObject *self, void *index)
{
    PyObject *array = table_of(self)->arrays[(intptr_t)index];
    return Py_NewRef(array != NULL ? array : Py_None);
}

static PyObject *get_largest_error(PyObject *self, void *unused)
{
    (void)unused;
    const double error = table_of(self)->largest_error;
    return error >= 0 ? PyFloat_FromDouble(error) : Py_NewRef(Py_None);
}

static PyObject *table_repr(PyObject *self)
{
    const inlay_table *view = &table_of(self)->view;
    return PyUnicode_FromFormat("inlay.Table(%s [%zu, %zu])", option_name((int)view->type, &option_elements),
                                view->rows, view->dim);
}

int table_init(PyObject *module)
{
    static PyGetSetDef properties[] = {
        {"rows", get_rows, NULL, "Number of rows.", NULL},
        {"dim", get_dim, NULL, "Number of columns.", NULL},
        {"type", get_type, NULL, "Name of the element type.", NULL},
        {"group", get_group, NULL, "Columns per scale of the grouped types, else None.", NULL},
        {"first_row", get_first_row, NULL, "The id of the first row, which is 0 but in shards.", NULL},
        {"vocab", get_vocab, NULL, "Rows of the whole vocabulary of a shard, else None.", NULL},
        {"nbytes", get_nbytes, NULL, "Bytes of all arrays together.", NULL},
        {"data", get_array, NULL, "The array of rows.", (void *)0},
        {"scales", get_array, NULL, "The array of scales, or None.", (void *)1},
        {"zeros", get_array, NULL, "The array of zero points, or None.", (void *)2},
        {"largest_error", get_largest_error, NULL, "The largest error of quantize(), else None.", NULL},
        {NULL, NULL, NULL, NULL, NULL},
    };
    static PyMemberDef members[] = {
        {"__weaklistoffset__", T_PYSSIZET, offsetof(struct table, weak_references), READONLY, NULL},
        {NULL, 0, 0, 0, NULL},
    };
    static PyType_Slot slots[] = {
        {Py_tp_new, table_new},
        {Py_tp_dealloc, table_dealloc},
        {Py_tp_repr, table_repr},
        {Py_tp_getset, properties},
        {Py_tp_members, members},
        {Py_tp_doc, "Table(data, type=None, *, dim=None, group=None, scales=None, zeros=None, first_row=None, "
                    "vocab=None)\n--\n\nA view of an embedding table of any element type, which keeps its arrays "
                    "alive. With vocab it is a shard of a vocabulary."},
        {0, NULL},
    };
    static PyType_Spec spec = {
        .name = "inlay.Table",
        .basicsize = sizeof(struct table),
        .flags = Py_TPFLAGS_DEFAULT,
        .slots = slots,
    };
    table_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return table_type != NULL ? PyModule_AddObjectRef(module, "Table", (PyObject *)table_type) : -1;
}

/* ---- Quantising ------------------------------------------------------------------------------------------------- */

/* The arrays of a new table. */
struct quantised {
    struct output data, scales, zeros;
    bool open[3];
};

static int open_arrays(struct quantised *to, const inlay_table *from, inlay_element_type type, uint32_t group,
                       bool with_zeros)
{
    const enum view_way way = output_default_way();
    const enum dtype plain = dtype_of_element(type);
    const size_t row_bytes = inlay_table_row_bytes(type, from->dim);
    const Py_ssize_t rows = (Py_ssize_t)from->rows, groups = group > 0 ? (Py_ssize_t)(from->dim / group) : 0;
    const Py_ssize_t data[2] = {rows, plain != DTYPE_UNKNOWN ? (Py_ssize_t)from->dim : (Py_ssize_t)row_bytes};
    const Py_ssize_t zeros[2] = {rows, (groups + 1) / 2}, flat = (rows * groups + 1) / 2;
    const enum scales kind = scales_of(type);
    if (row_bytes == 0) {
        PyErr_Format(PyExc_ValueError, "a table of type %s cannot have dim %zu",
                     option_name((int)type, &option_elements), from->dim);
        return -1;
    }
    /* The library has no int8 arrays but the rows of these types, and frameworks know them as such. */
    const enum dtype bytes = type == INLAY_I8 || type == INLAY_I8_INVERSE ? DTYPE_I8 : DTYPE_U8;
    if (output_open(&to->data, NULL, way, plain != DTYPE_UNKNOWN ? plain : bytes, 2, data) < 0)
        return -1;
    to->open[0] = true;
    if (kind == NO_SCALES)
        return 0;
    Py_ssize_t scales[2];
    const int dims = scales_shape(kind, from, group, scales);
    if (output_open(&to->scales, NULL, way, kind == BLOCK_SCALES ? DTYPE_U8 : DTYPE_F32, dims, scales) < 0)
        return -1;
    to->open[1] = true;
    if (!with_zeros)
        return 0;
    const bool in_one_run = type == INLAY_U4_GROUPED_FLAT;
    if (output_open(&to->zeros, NULL, way, DTYPE_U8, in_one_run ? 1 : 2, in_one_run ? &flat : zeros) < 0)
        return -1;
    to->open[2] = true;
    return 0;
}

/* Quantises into open arrays, and returns the largest error; -1 with an exception. */
static double fill_arrays(struct quantised *to, const inlay_table *from, inlay_element_type type, uint32_t group)
{
    inlay_table_storage storage = inlay_table_storage_of(type, to->data.data, from->dim);
    storage.group = group;
    storage.scales = to->open[1] ? to->scales.data : NULL;
    storage.zeros = to->open[2] ? to->zeros.data : NULL;
    double error = 0;
    PyThreadState *thread = PyEval_SaveThread();
    inlay_status status = inlay_table_quantize(from, &storage, NULL, &error);
    PyEval_RestoreThread(thread);
    if (status == INLAY_OK)
        return error;
    raise_status(status);
    return -1;
}

static PyObject *close_array(struct output *output, bool *open)
{
    if (!*open)
        return Py_NewRef(Py_None);
    *open = false;
    return output_close(output, output_default_way(), NULL);
}

/* Makes the Table of arrays that are written. */
static PyObject *table_of_arrays(struct quantised *to, const inlay_table *from, PyObject *type, uint32_t group,
                                 double error)
{
    struct table_arguments given = {NULL, type, Py_None, Py_None, NULL, NULL, Py_None, Py_None};
    PyObject *made = NULL, *dim = PyLong_FromSize_t(from->dim);
    PyObject *columns = group > 0 ? PyLong_FromUnsignedLong(group) : Py_NewRef(Py_None);
    given.data = close_array(&to->data, &to->open[0]);
    given.scales = close_array(&to->scales, &to->open[1]);
    given.zeros = close_array(&to->zeros, &to->open[2]);
    given.dim = dim;
    given.group = columns;
    if (given.data != NULL && given.scales != NULL && given.zeros != NULL && dim != NULL && columns != NULL)
        made = table_make(&given, "table");
    if (made != NULL)
        table_of(made)->largest_error = error;
    Py_XDECREF(given.data);
    Py_XDECREF(given.scales);
    Py_XDECREF(given.zeros);
    Py_XDECREF(dim);
    Py_XDECREF(columns);
    return made;
}

PyObject *table_quantize(PyObject *module, PyObject *args, PyObject *options)
{
    static char *names[] = {"table", "type", "group", "zeros", NULL};
    PyObject *object, *name, *group_object = Py_None;
    int with_zeros = 0;
    uint64_t group = 32;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, options, "OO|$Op", names, &object, &name, &group_object, &with_zeros))
        return NULL;
    const int type = option_value(name, &option_elements, -1);
    if (type < 0 || option_uint64(group_object, "group", &group) < 0) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "type is None, not a string");
        return NULL;
    }
    const bool grouped = is_grouped((inlay_element_type)type);
    if (!grouped && (group_object != Py_None || with_zeros)) {
        PyErr_Format(PyExc_ValueError, "type %s has neither zeros nor group", option_name(type, &option_elements));
        return NULL;
    }
    PyObject *table = table_from(object, "table");
    if (table == NULL)
        return NULL;
    const inlay_table *from = table_view(table);
    if (grouped && ((group != 32 && group != 64 && group != 128) || from->dim % group != 0)) {
        PyErr_Format(PyExc_ValueError, "group is %llu, not 32, 64 or 128, or dim %zu is no multiple of it",
                     (unsigned long long)group, from->dim);
        Py_DECREF(table);
        return NULL;
    }
    struct quantised to = {.open = {false}};
    PyObject *made = NULL;
    const uint32_t columns = grouped ? (uint32_t)group : 0;
    if (open_arrays(&to, from, (inlay_element_type)type, columns, with_zeros != 0) == 0) {
        const double error = fill_arrays(&to, from, (inlay_element_type)type, columns);
        if (error >= 0)
            made = table_of_arrays(&to, from, name, columns, error);
    }
    struct output *const outputs[3] = {&to.data, &to.scales, &to.zeros};
    for (int i = 0; i < 3; i++)
        if (to.open[i])
            output_abandon(outputs[i]);
    Py_DECREF(table);
    return made;
}

/* ---- Random tables ---------------------------------------------------------------------------------------------- */

PyObject *table_random(PyObject *module, PyObject *args, PyObject *options)
{
    static char *names[] = {"rows", "dim",    "kind",      "mean",     "deviation", "low", "high",
                            "key",  "offset", "first_row", "zero_row", "out",       NULL};
    Py_ssize_t shape[2];
    PyObject *kind = Py_None, *mean = Py_None, *deviation = Py_None, *low = Py_None, *high = Py_None, *key = Py_None;
    PyObject *offset = Py_None, *first_row = Py_None, *zero_row = Py_None, *out = Py_None;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, options, "nn|$OOOOOOOOOO", names, &shape[0], &shape[1], &kind, &mean,
                                     &deviation, &low, &high, &key, &offset, &first_row, &zero_row, &out))
        return NULL;
    const int distribution = option_value(kind, &option_distributions, INLAY_RANDOM_NORMAL);
    if (distribution < 0)
        return NULL;
    if (shape[0] < 0 || shape[1] < 1) {
        PyErr_Format(PyExc_ValueError, "a table cannot have the shape [%zd, %zd]", shape[0], shape[1]);
        return NULL;
    }
    inlay_random_spec spec = inlay_random_spec_default((inlay_random_kind)distribution, 0);
    uint64_t first = 0;
    if (option_double(mean, &spec.mean) < 0 || option_double(deviation, &spec.deviation) < 0 ||
        option_double(low, &spec.low) < 0 || option_double(high, &spec.high) < 0 ||
        option_uint64(key, "key", &spec.key) < 0 || option_uint64(offset, "offset", &spec.offset) < 0 ||
        option_uint64(first_row, "first_row", &first) < 0 || option_int64(zero_row, "zero_row", &spec.zero_row) < 0)
        return NULL;
    spec.first_row = first;
    struct output output;
    const enum view_way way = output_default_way();
    if (output_open(&output, out, way, DTYPE_F32, 2, shape) < 0)
        return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    inlay_status status =
        inlay_table_random(&spec, output.data, (size_t)shape[0], (size_t)shape[1], output.stride_bytes);
    PyEval_RestoreThread(thread);
    if (status == INLAY_OK)
        return output_close(&output, way, NULL);
    raise_status(status);
    return output_abandon(&output);
}
