/* SPDX-License-Identifier: MIT */
/*
 * The Table type, and the arrays that each element type requires. A table is immutable.
 */
#include "tables/table.h"

#include "arrays/view.h"
#include "files/tensor.h"
#include "module/arguments.h"
#include "module/errors.h"
#include "module/objects.h"
#include "module/options.h"
#include "tables/extents.h"

#include <stdio.h>
#include <string.h>

struct table {
    PyObject base;
    inlay_table view;
    struct view data, scales, zeros; /* these keep the arrays alive */
    PyObject *arrays[3];             /* data, scales and zeros as given; null: not given */
    float scale;                     /* multiplies all rows */
    double largest_error;            /* largest quantization error; negative: unknown */
    PyObject *tables;                /* Tables that hold the rows, as a tuple; or null */
    inlay_table_extent *extents;     /* locations of the rows; null: one array holds them all */
    PyObject *weak_references;
};

enum { NOT_KNOWN = -1 };

/* The arguments of Table(). None means not given. */
struct table_arguments {
    PyObject *data, *type, *dim, *group, *scales, *zeros, *first_row, *vocab, *scale;
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

bool table_is(PyObject *object)
{
    return Py_TYPE(object) == table_type;
}

float table_scale(PyObject *table)
{
    return table_of(table)->scale;
}

struct open_file *table_file(PyObject *self)
{
    const struct table *table = table_of(self);
    if (table->tables != NULL)
        return table_file(PyTuple_GetItem(table->tables, 0));
    struct open_file *file = table->arrays[0] != NULL ? file_tensor_file(table->arrays[0]) : NULL;
    return file != NULL && file->mapped ? file : NULL;
}

/* ---- Arrays of a table ------------------------------------------------------------------------------------------ */

int table_scales_shape(inlay_element_type type, size_t rows, size_t dim, uint32_t group, Py_ssize_t shape[2],
                       enum dtype *dtype)
{
    const size_t bytes = inlay_table_scale_bytes(type, dim, group);
    const bool per_row = inlay_table_scale_bytes(type, 256, group) == inlay_table_scale_bytes(type, 512, group);
    *dtype = type == INLAY_E4M3_E8M0 ? DTYPE_U8 : DTYPE_F32;
    shape[0] = (Py_ssize_t)rows;
    shape[1] = (Py_ssize_t)(bytes / dtype_infos[*dtype].bytes);
    return bytes == 0 ? 0 : per_row ? 1 : 2;
}

int table_zeros_shape(inlay_element_type type, size_t rows, size_t dim, uint32_t group, Py_ssize_t shape[2],
                      enum dtype *dtype)
{
    const bool flat = type == INLAY_U4_GROUPED_FLAT;
    const size_t in_row = inlay_table_zero_bytes(type, 1, dim, group);
    shape[0] = (Py_ssize_t)(flat ? inlay_table_zero_bytes(type, rows, dim, group) : rows);
    shape[1] = (Py_ssize_t)in_row;
    *dtype = type == INLAY_I8_GROUPED ? DTYPE_I8 : DTYPE_U8;
    return in_row == 0 ? 0 : flat ? 1 : 2;
}

/* Returns the number of columns in a row of `bytes` bytes. For 4-bit types, the result is even: an odd dim must be
   given explicitly, since half a byte of each row is then unused. */
static size_t dim_of_row(inlay_element_type type, size_t bytes)
{
    const size_t columns = 256; /* a multiple of every block size */
    const size_t once = inlay_table_row_bytes(type, columns), twice = inlay_table_row_bytes(type, 2 * columns);
    const size_t fixed = 2 * once - twice; /* bytes per row that don't depend on its columns */
    size_t dim = bytes > fixed ? (bytes - fixed) * columns / (twice - once) : 0;
    while (dim > 0 && inlay_table_row_bytes(type, dim) == 0)
        dim--;
    return dim;
}

/* Returns the number of columns in a block of a type. */
static size_t block_columns(inlay_element_type type)
{
    size_t block = 1;
    while (block < 256 && inlay_table_row_bytes(type, block) == 0)
        block *= 2;
    return block;
}

int table_check_dim(const char *what, inlay_element_type type, size_t dim)
{
    const size_t block = block_columns(type);
    if (dim > 0 && dim % block == 0)
        return 0;
    return raise_error(PyExc_ValueError,
                       "%s of type %s cannot have dim %zu: dim must be a multiple of the block size, %zu (32 for q8_0 "
                       "and q4_0; i8 and e4m3 have no blocks)",
                       what, option_name((int)type, &option_elements), dim, block);
}

/* Sets the view's rows, dim and stride from the data array. */
static int read_data(struct table *table, const char *what, inlay_element_type type, size_t dim)
{
    const struct view *data = &table->data;
    const size_t element = dtype_infos[data->dtype].bytes;
    if (data->dims != 2)
        return raise_error(PyExc_ValueError, "%s has %d dimensions, expected 2: rows and columns", what, data->dims);
    const size_t rows = (size_t)data->shape[0], bytes = (size_t)data->shape[1] * element;
    if (bytes == 0)
        return raise_error(PyExc_ValueError, "%s has no columns: a row needs at least one", what);
    if (dim == 0 && (dim = dim_of_row(type, bytes)) == 0)
        return raise_error(PyExc_ValueError, "%s has rows of %zu bytes; the shortest row of type %s has %zu", what,
                           bytes, option_name((int)type, &option_elements),
                           inlay_table_row_bytes(type, block_columns(type)));
    if (table_check_dim(what, type, dim) < 0)
        return -1;
    const size_t expected = inlay_table_row_bytes(type, dim);
    if (expected != bytes)
        return raise_error(PyExc_ValueError, "%s has rows of %zu bytes; a row of type %s with dim %zu has %zu", what,
                           bytes, option_name((int)type, &option_elements), dim, expected);
    const bool one_row = rows <= 1;
    if ((rows > 0 && data->shape[1] > 1 && data->stride_bytes[1] != (Py_ssize_t)element) ||
        (!one_row && data->stride_bytes[0] < (Py_ssize_t)bytes))
        return raise_error(PyExc_ValueError,
                           "%s has rows that are not contiguous or run backward: make a copy with "
                           "numpy.ascontiguousarray(%s), or %s.contiguous() in PyTorch",
                           what, what, what);
    table->view = inlay_table_view(type, data->data, rows, dim, one_row ? bytes : (size_t)data->stride_bytes[0]);
    return 0;
}

int table_group(PyObject *group, inlay_element_type type, uint32_t *columns)
{
    const uint32_t least = inlay_table_min_group(type);
    uint64_t given = 32;
    if (option_uint64(group, "group", &given) < 0)
        return -1;
    if (given < least || given > 128 || (given & (given - 1)) != 0)
        return raise_error(PyExc_ValueError, "group %llu must be %s32, 64 or 128", (unsigned long long)given,
                           least == 16 ? "16, " : "");
    *columns = (uint32_t)given;
    return 0;
}

/* Reads the scales and zero points that the type takes. */
static int read_parameters(struct table *table, PyObject *scales, PyObject *zeros, PyObject *group)
{
    inlay_table *view = &table->view;
    const bool grouped = inlay_table_min_group(view->type) > 0, given = scales != Py_None;
    const bool optional = view->type == INLAY_I8 || view->type == INLAY_E4M3; /* if not given, all are 1 */
    const char *name = option_name((int)view->type, &option_elements);
    Py_ssize_t shape[2];
    enum dtype dtype;
    if (!grouped && group != Py_None)
        return raise_error(PyExc_ValueError, "type %s takes no zeros or group", name);
    if (grouped && table_group(group, view->type, &view->group) < 0)
        return -1;
    int dims = table_scales_shape(view->type, view->rows, view->dim, view->group, shape, &dtype);
    if (given ? dims == 0 : dims != 0 && !optional)
        return raise_error(PyExc_ValueError, given ? "type %s takes no scales" : "type %s requires scales", name);
    if (view_keep(&table->scales, scales, "scales", dtype, dims, shape, &view->scales) < 0)
        return -1;
    dims = table_zeros_shape(view->type, view->rows, view->dim, view->group, shape, &dtype);
    if (dims == 0 && zeros != Py_None)
        return raise_error(PyExc_ValueError, grouped ? "type %s takes no zeros" : "type %s takes no zeros or group",
                           name);
    return view_keep(&table->zeros, zeros, "zeros", dtype, dims, shape, &view->zeros);
}

/* Sets the element type: the type named `name`, or the type of the array if `name` is None. */
static int type_of(const struct view *data, const char *what, PyObject *name, inlay_element_type *type)
{
    *type = dtype_infos[data->dtype].element;
    if (option_enum(name, &option_elements, type) < 0)
        return -1;
    const enum dtype plain = dtype_of_element(*type);
    /* Quantized rows are bytes. 16-bit floats may also be given as integers with the same bits. */
    const unsigned bytes = plain != DTYPE_UNKNOWN ? dtype_infos[plain].bytes : 1;
    const bool bits =
        bytes < 4 && (data->dtype == DTYPE_U8 + 2 * (bytes - 1) || data->dtype == DTYPE_I8 + 2 * (bytes - 1));
    const bool floats = *type == INLAY_E4M3_E8M0 && data->dtype == DTYPE_E4M3;
    if (*type != 0 && (data->dtype == plain || bits || floats))
        return 0;
    if (plain != DTYPE_UNKNOWN || *type == 0)
        return view_wrong_dtype(data, what, "float32, float16 or bfloat16, or the bytes of a type that is named",
                                DTYPE_F32);
    return raise_error(PyExc_TypeError, "%s has elements of type %s; rows of type %s must be uint8 or int8", what,
                       dtype_infos[data->dtype].name, option_name((int)*type, &option_elements));
}

/* ---- The type --------------------------------------------------------------------------------------------------- */

static void table_dealloc(PyObject *self)
{
    struct table *table = table_of(self);
    PyObject_ClearWeakRefs(self);
    view_release(&table->data);
    view_release(&table->scales);
    view_release(&table->zeros);
    for (int i = 0; i < 3; i++)
        Py_XDECREF(table->arrays[i]);
    Py_XDECREF(table->tables);
    PyMem_Free(table->extents);
    object_free(self);
}

static int table_fill(struct table *table, const struct table_arguments *given, const char *what)
{
    inlay_element_type type;
    uint64_t dim = 0, first_row = 0, vocab = 0;
    double scale = 1;
    if (view_of(&table->data, given->data, what, DTYPE_F32) < 0 || option_uint64(given->dim, "dim", &dim) < 0 ||
        option_uint64(given->first_row, "first_row", &first_row) < 0 ||
        option_uint64(given->vocab, "vocab", &vocab) < 0 || option_double(given->scale, &scale) < 0 ||
        type_of(&table->data, what, given->type, &type) < 0 || read_data(table, what, type, dim) < 0 ||
        read_parameters(table, given->scales, given->zeros, given->group) < 0)
        return -1;
    if (given->vocab != Py_None && (first_row > vocab || table->view.rows > vocab - first_row || vocab == 0))
        return raise_error(PyExc_ValueError, "rows [%llu, %llu) don't fit in a vocabulary of %llu rows",
                           (unsigned long long)first_row, (unsigned long long)first_row + table->view.rows,
                           (unsigned long long)vocab);
    if (given->vocab == Py_None && first_row > 0)
        return raise_error(PyExc_ValueError, "first_row requires vocab, the size of the whole vocabulary");
    table->view = inlay_table_shard(table->view, first_row, vocab);
    table->scale = (float)scale;
    PyObject *const arrays[3] = {given->data, given->scales, given->zeros};
    for (int i = 0; i < 3; i++)
        table->arrays[i] = arrays[i] != Py_None ? Py_NewRef(arrays[i]) : NULL;
    return 0;
}

/* Allocates a Table without rows. Returns null with an exception set on failure. */
static PyObject *table_allocate(double largest_error)
{
    PyObject *self = PyType_GenericAlloc(table_type, 0); /* zeroed */
    if (self != NULL)
        table_of(self)->largest_error = largest_error;
    return self;
}

/* Makes a Table from the arguments given to Table(). */
static PyObject *make_of(PyObject *args, PyObject *options, const char *what, double largest_error)
{
    static char *names[] = {"data", "type", "dim", "group", "scales", "zeros", "first_row", "vocab", "scale", NULL};
    struct table_arguments given = {NULL, Py_None, Py_None, Py_None, Py_None, Py_None, Py_None, Py_None, Py_None};
    if (arguments_parse(args, options, "O|O$OOOOOOO:Table", names, &given.data, &given.type, &given.dim, &given.group,
                        &given.scales, &given.zeros, &given.first_row, &given.vocab, &given.scale) < 0)
        return NULL;
    PyObject *self = table_allocate(largest_error);
    if (self != NULL && table_fill(table_of(self), &given, what) < 0)
        Py_CLEAR(self);
    return self;
}

PyObject *table_make(PyObject *options, const char *what, double largest_error)
{
    PyObject *args = options != NULL ? PyTuple_New(0) : NULL;
    PyObject *made = args != NULL ? make_of(args, options, what, largest_error) : NULL;
    Py_XDECREF(args);
    Py_XDECREF(options);
    return made;
}

static PyObject *table_new(PyTypeObject *Py_UNUSED(type), PyObject *args, PyObject *options)
{
    return make_of(args, options, "table", NOT_KNOWN);
}

/* Converts a sequence of arrays and Tables to a tuple of Tables, leaving out empty ones. Returns it, or null with an
   exception set. */
static PyObject *tables_of(PyObject *sequence)
{
    const Py_ssize_t count = PySequence_Size(sequence);
    PyObject *list = count >= 0 ? PyList_New(0) : NULL, *tables = NULL;
    int failed = list == NULL;
    for (Py_ssize_t i = 0; i < count && !failed; i++) {
        char what[32];
        snprintf(what, sizeof what, "tables[%zd]", i);
        PyObject *object = PySequence_GetItem(sequence, i);
        PyObject *table = object != NULL ? table_from(object, what) : NULL;
        failed = table == NULL || (table_view(table)->rows > 0 && PyList_Append(list, table) < 0);
        Py_XDECREF(table);
        Py_XDECREF(object);
    }
    if (!failed && PyList_Size(list) == 0)
        PyErr_SetString(PyExc_ValueError, "tables have no rows: give at least one table with rows");
    else if (!failed)
        tables = PyList_AsTuple(list);
    Py_XDECREF(list);
    return tables;
}

/* Makes the view of a table over the rows of its tables. Returns -1 with an exception set on failure. */
static int join_tables(struct table *table)
{
    const Py_ssize_t count = PyTuple_Size(table->tables);
    struct extents_part *parts = PyMem_Calloc((size_t)count, sizeof *parts);
    if (parts == NULL)
        return raise_memory();
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *part = PyTuple_GetItem(table->tables, i);
        parts[i] = (struct extents_part){table_view(part), table_scale(part)};
    }
    const int failed = extents_view(parts, (size_t)count, &table->view, &table->extents);
    table->scale = parts[0].scale;
    PyMem_Free(parts);
    return failed;
}

PyObject *table_of_parts(PyObject *sequence)
{
    PyObject *self = table_allocate(NOT_KNOWN);
    if (self == NULL)
        return NULL;
    struct table *table = table_of(self);
    table->tables = tables_of(sequence);
    if (table->tables == NULL || join_tables(table) < 0)
        Py_CLEAR(self);
    return self;
}

/* Table.from_extents(tables): returns a Table that concatenates the rows of several tables. */
static PyObject *table_from_extents(PyObject *Py_UNUSED(type), PyObject *sequence)
{
    return table_of_parts(sequence);
}

PyObject *table_from(PyObject *object, const char *what)
{
    if (table_is(object))
        return Py_NewRef(object);
    PyObject *args = PyTuple_Pack(1, object);
    PyObject *made = args != NULL ? make_of(args, NULL, what, NOT_KNOWN) : NULL;
    Py_XDECREF(args);
    return made;
}

static PyObject *get_type(PyObject *self, void *Py_UNUSED(closure))
{
    return PyUnicode_FromString(option_name((int)table_of(self)->view.type, &option_elements));
}

static PyObject *get_group(PyObject *self, void *Py_UNUSED(closure))
{
    return option_number(table_of(self)->view.group);
}

static PyObject *get_vocab(PyObject *self, void *Py_UNUSED(closure))
{
    return option_number(table_of(self)->view.vocab);
}

static size_t bytes_of(PyObject *self)
{
    const struct table *table = table_of(self);
    size_t bytes = 0;
    for (Py_ssize_t i = 0; table->tables != NULL && i < PyTuple_Size(table->tables); i++)
        bytes += bytes_of(PyTuple_GetItem(table->tables, i));
    const struct view *const views[3] = {&table->data, &table->scales, &table->zeros};
    for (int i = 0; i < 3; i++)
        if (table->arrays[i] != NULL)
            bytes += view_count(views[i]) * dtype_infos[views[i]->dtype].bytes;
    return bytes;
}

static PyObject *get_nbytes(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromSize_t(bytes_of(self));
}

static PyObject *get_largest_error(PyObject *self, void *Py_UNUSED(closure))
{
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
    static PyMethodDef methods[] = {
        {"from_extents", table_from_extents, METH_O | METH_CLASS,
         "from_extents(tables)\n--\n\nReturns a table with the concatenated rows of several arrays or Tables of the "
         "same "
         "type, without a copy."},
        {NULL, NULL, 0, NULL},
    };
    static PyGetSetDef properties[] = {
        {"type", get_type, NULL, "Name of the element type.", NULL},
        {"group", get_group, NULL, "Columns per scale of the grouped types, else None.", NULL},
        {"vocab", get_vocab, NULL, "Rows of the whole vocabulary of a shard, else None.", NULL},
        {"nbytes", get_nbytes, NULL, "Bytes of all arrays together.", NULL},
        {"largest_error", get_largest_error, NULL, "The largest error of quantize(), else None.", NULL},
        {NULL, NULL, NULL, NULL, NULL},
    };
    static PyMemberDef members[] = {
        {"rows", T_PYSSIZET, offsetof(struct table, view.rows), READONLY, "Number of rows."},
        {"dim", T_PYSSIZET, offsetof(struct table, view.dim), READONLY, "Number of columns."},
        {"first_row", T_ULONG, offsetof(struct table, view.first_row), READONLY,
         "Id of the first row; 0 except in shards."},
        {"data", T_OBJECT, offsetof(struct table, arrays[0]), READONLY,
         "The array of rows; None for a table in extents."},
        {"scales", T_OBJECT, offsetof(struct table, arrays[1]), READONLY, "The array of scales, or None."},
        {"zeros", T_OBJECT, offsetof(struct table, arrays[2]), READONLY, "The array of zero points, or None."},
        {"tables", T_OBJECT, offsetof(struct table, tables), READONLY, "The Tables of a table in extents, else None."},
        {"scale", T_FLOAT, offsetof(struct table, scale), READONLY,
         "Factor of all rows, applied by layers and n-grams; 1 by default."},
        {"__weaklistoffset__", T_PYSSIZET, offsetof(struct table, weak_references), READONLY, NULL},
        {NULL, 0, 0, 0, NULL},
    };
    static PyType_Slot slots[] = {
        {Py_tp_new, table_new},
        {Py_tp_dealloc, table_dealloc},
        {Py_tp_repr, table_repr},
        {Py_tp_methods, methods},
        {Py_tp_getset, properties},
        {Py_tp_members, members},
        {Py_tp_doc, "Table(data, type=None, *, dim=None, group=None, scales=None, zeros=None, first_row=None, "
                    "vocab=None, scale=1)\n--\n\nA view of an embedding table of any element type. It keeps its arrays "
                    "alive. With "
                    "vocab, it is a shard of a vocabulary."},
        {0, NULL},
    };
    return type_add(module, &table_type, "inlay.Table", sizeof(struct table), 0, slots);
}
