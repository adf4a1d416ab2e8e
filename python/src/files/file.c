/* SPDX-License-Identifier: MIT */
/*
 * The File type. close() drops the File's own reference to the memory; arrays, Tables and Layers keep theirs.
 */
#include "files/file.h"

#include "arrays/view.h"
#include "files/file_errors.h"
#include "files/file_tables.h"
#include "files/open_file.h"
#include "files/tensor.h"
#include "layers/layer.h"
#include "module/objects.h"
#include "module/options.h"
#include "tables/table.h"

#include <string.h>

struct file {
    PyObject base;
    atomic_flag lock;
    struct open_file *opened; /* under the lock; null: closed */
    PyObject *path;
    PyObject *weak_references;
};

static PyTypeObject *file_type; /* set at import */

static struct file *file_of(PyObject *self)
{
    return (struct file *)(void *)self;
}

/* Returns the open file. If `keep`, adds a user, else closes the File. Holds the lock for a few instructions only. */
static struct open_file *exchange(struct file *file, bool keep)
{
    while (atomic_flag_test_and_set_explicit(&file->lock, memory_order_acquire))
        continue;
    struct open_file *opened = file->opened;
    if (!keep)
        file->opened = NULL;
    else if (opened != NULL)
        owner_hold(&opened->owner);
    atomic_flag_clear_explicit(&file->lock, memory_order_release);
    return opened;
}

/* Adds a user to the file, until owner_release(). Returns null with ValueError set if it is closed. */
static struct open_file *use(PyObject *self)
{
    struct open_file *opened = exchange(file_of(self), true);
    if (opened == NULL)
        PyErr_SetString(PyExc_ValueError, "the file is closed: open it again with inlay.open()");
    return opened;
}

/* ---- Opening and closing ---------------------------------------------------------------------------------------- */

/* Reads the options of inlay.open(). Returns -1 with an exception set on failure. */
static int read_options(PyObject *memory, PyObject *resident_bytes, inlay_file_options *options)
{
    *options = inlay_file_options_default();
    if (option_enum(memory, &option_memories, &options->memory) < 0 ||
        option_uint64(resident_bytes, "resident_bytes", &options->resident_bytes) < 0)
        return -1;
    if (options->resident_bytes == 0 || options->memory == INLAY_FILE_MEMORY_MAPPED)
        return 0;
    return raise_error(PyExc_ValueError, "resident_bytes requires memory=\"mapped\"");
}

static struct open_file *open_model(const char *path, const inlay_file_options *options)
{
    inlay_file *opened = NULL;
    inlay_file_error error;
    PyThreadState *thread = PyEval_SaveThread();
    const inlay_file_status status = inlay_file_open(path, options, &opened, &error);
    PyEval_RestoreThread(thread);
    if (status != INLAY_FILE_OK) {
        raise_file_error(&error);
        return NULL;
    }
    struct open_file *file = open_file_new(opened, options->memory == INLAY_FILE_MEMORY_MAPPED);
    if (file == NULL) {
        inlay_file_close(opened);
        PyErr_NoMemory();
    }
    return file;
}

static PyObject *file_new(PyTypeObject *type, PyObject *args, PyObject *given)
{
    static char *names[] = {"path", "memory", "resident_bytes", NULL};
    PyObject *path, *memory = Py_None, *resident_bytes = Py_None, *bytes, *self = NULL;
    inlay_file_options options;
    if (!PyArg_ParseTupleAndKeywords(args, given, "O|$OO", names, &path, &memory, &resident_bytes) ||
        read_options(memory, resident_bytes, &options) < 0 || !PyUnicode_FSConverter(path, &bytes))
        return NULL;
    struct open_file *opened = open_model(PyBytes_AsString(bytes), &options);
    if (opened != NULL)
        self = PyType_GenericAlloc(type, 0); /* zeroed */
    if (self != NULL) {
        atomic_flag_clear(&file_of(self)->lock);
        file_of(self)->opened = opened;
        file_of(self)->path = PyUnicode_DecodeFSDefault(PyBytes_AsString(bytes));
        if (file_of(self)->path == NULL)
            Py_CLEAR(self);
    } else if (opened != NULL) {
        owner_release(&opened->owner);
    }
    Py_DECREF(bytes);
    return self;
}

static PyObject *file_close(PyObject *self, PyObject *Py_UNUSED(args))
{
    struct open_file *opened = exchange(file_of(self), false);
    if (opened != NULL)
        owner_release(&opened->owner);
    return Py_NewRef(Py_None);
}

static void file_dealloc(PyObject *self)
{
    struct file *file = file_of(self);
    PyObject_ClearWeakRefs(self);
    if (file->opened != NULL)
        owner_release(&file->opened->owner);
    Py_XDECREF(file->path);
    object_free(self);
}

/* ---- Tensors and values ----------------------------------------------------------------------------------------- */

/* Returns a name in UTF-8, or null with an exception set: KeyError if no file can have it. */
static const char *text_of_name(PyObject *name)
{
    Py_ssize_t bytes = 0;
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &bytes) : NULL;
    if (text != NULL && strlen(text) == (size_t)bytes)
        return text;
    if (!PyErr_Occurred())
        PyErr_SetObject(PyExc_KeyError, name);
    return NULL;
}

/* Makes an object from an open file and a name. Returns null without an exception if the name doesn't exist. */
typedef PyObject *by_name(struct open_file *file, const char *name);

static PyObject *named(PyObject *self, PyObject *name, by_name *function)
{
    const char *text = text_of_name(name);
    struct open_file *file = text != NULL ? use(self) : NULL;
    if (file == NULL)
        return NULL;
    PyObject *made = function(file, text);
    owner_release(&file->owner);
    if (made == NULL && !PyErr_Occurred())
        PyErr_SetObject(PyExc_KeyError, name);
    return made;
}

/* Returns an element of a list. */
static PyObject *element_at(const inlay_file_value *value, size_t i)
{
    int64_t integer;
    double number;
    if (inlay_file_value_integers(value, i, 1, &integer) == INLAY_FILE_OK)
        return PyLong_FromLongLong(integer);
    if (inlay_file_value_numbers(value, i, 1, &number) == INLAY_FILE_OK)
        return PyFloat_FromDouble(number);
    return PyUnicode_DecodeUTF8(value->strings[i], (Py_ssize_t)strlen(value->strings[i]), "replace");
}

/* Returns a str, int, float or bool, or a tuple of str, int or float. In GGUF strings, bytes that aren't UTF-8 become
   U+FFFD. Returns null with an exception set on failure. */
static PyObject *file_value(const inlay_file_value *value)
{
    switch (value->kind) {
    case INLAY_FILE_VALUE_STRING:
        return PyUnicode_DecodeUTF8(value->text, (Py_ssize_t)value->count, "replace");
    case INLAY_FILE_VALUE_INTEGER:
        return PyLong_FromLongLong(value->integer);
    case INLAY_FILE_VALUE_NUMBER:
        return PyFloat_FromDouble(value->number);
    case INLAY_FILE_VALUE_BOOLEAN:
        return PyBool_FromLong(value->integer != 0);
    default:
        break;
    }
    PyObject *tuple = PyTuple_New((Py_ssize_t)value->count);
    for (size_t i = 0; tuple != NULL && i < value->count; i++)
        sequence_put(&tuple, i, element_at(value, i));
    return tuple;
}

static PyObject *find_tensor(struct open_file *file, const char *name)
{
    const inlay_file_tensor *tensor = inlay_file_find_tensor(file->file, name);
    return tensor != NULL ? file_tensor_of(file, tensor) : NULL;
}

static PyObject *find_value(struct open_file *file, const char *name)
{
    const inlay_file_value *value = inlay_file_find_value(file->file, name);
    return value != NULL ? file_value(value) : NULL;
}

static PyObject *get_tensor(PyObject *self, PyObject *name)
{
    return named(self, name, find_tensor);
}

static PyObject *get_value(PyObject *self, PyObject *name)
{
    return named(self, name, find_value);
}

static PyObject *get_table(PyObject *self, PyObject *name)
{
    return named(self, name, table_of_file);
}

/* _names(tensors): returns a list of names: of tensors if `tensors` is True, else of values. */
static PyObject *list_names(PyObject *self, PyObject *of_tensors)
{
    const bool tensors = of_tensors == Py_True;
    struct open_file *opened = use(self);
    if (opened == NULL)
        return NULL;
    const inlay_file *file = opened->file;
    const size_t count = tensors ? inlay_file_tensor_count(file) : inlay_file_value_count(file);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        const char *name = tensors ? inlay_file_tensor_at(file, i)->name : inlay_file_value_at(file, i)->key;
        sequence_put(&list, i, PyUnicode_FromString(name));
    }
    owner_release(&opened->owner);
    return list;
}

/* ---- Layers and n-grams ----------------------------------------------------------------------------------------- */

/* _layer(model, part, prefix, dtype, threads): returns the model's input layer. */
static PyObject *get_layer(PyObject *self, PyObject *args)
{
    inlay_file_layer_options options = inlay_file_layer_options_default();
    PyObject *dtype, *threads;
    if (!PyArg_ParseTuple(args, "zzzOO", &options.model, &options.part, &options.prefix, &dtype, &threads))
        return NULL;
    struct open_file *file = use(self);
    if (file == NULL)
        return NULL;
    PyObject *layer = layer_of_file(file, &options, dtype, threads);
    owner_release(&file->owner);
    return layer;
}

/* Returns an array as bytes, or None for null. Returns null with an exception set on failure. */
static PyObject *bytes_of(const void *array, size_t count, size_t element_bytes)
{
    return array != NULL ? PyBytes_FromStringAndSize(array, (Py_ssize_t)(count * element_bytes)) : Py_NewRef(Py_None);
}

/* Returns the fields of a spec as a dict. Arrays are bytes or None. Returns null with an exception set on failure. */
static PyObject *file_ngram_spec(const inlay_ngram_spec *spec)
{
    /* "N" steals references and fails on null. */
    return Py_BuildValue("{s:n,s:I,s:s,s:N,s:N,s:I,s:N,s:N,s:N,s:O}", "vocab", (Py_ssize_t)spec->vocab, "length",
                         (unsigned)spec->length, "mix", spec->mix == INLAY_NGRAM_MIX_XOR ? "xor" : "add", "columns",
                         bytes_of(spec->columns, spec->column_count, sizeof *spec->columns), "multipliers",
                         bytes_of(spec->multipliers, spec->vectors * spec->length, sizeof *spec->multipliers), "pad",
                         (unsigned)spec->pad, "token_map",
                         bytes_of(spec->token_map, spec->vocab, sizeof *spec->token_map), "resets",
                         bytes_of(spec->resets, spec->reset_count, sizeof *spec->resets), "masks",
                         bytes_of(spec->masks, spec->mask_count, sizeof *spec->masks), "zero_is_none",
                         spec->zero_is_none ? Py_True : Py_False);
}

/* Returns a list of the tables of n-grams, or null with an exception set. */
static PyObject *tables_of_ngram(struct open_file *file, const inlay_file_ngram *ngram)
{
    size_t count;
    const inlay_table *views = inlay_file_ngram_tables(ngram, &count);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        const inlay_file_table table = {.view = views[i], .scale = inlay_file_ngram_scale(ngram)};
        sequence_put(&list, i, table_of_view(file, &table));
    }
    return list;
}

/* _ngram(layer): returns a tuple of its spec, its tables and a report. */
static PyObject *get_ngram(PyObject *self, PyObject *number)
{
    inlay_file_error error;
    inlay_file_ngram *ngram = NULL;
    int64_t layer = -1;
    if (option_int64(number, "layer", &layer) < 0)
        return NULL;
    struct open_file *file = use(self);
    if (file == NULL)
        return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    const inlay_file_status status = inlay_file_ngram_create(file->file, layer, &ngram, &error);
    PyEval_RestoreThread(thread);
    PyObject *made = NULL;
    if (status != INLAY_FILE_OK) {
        raise_file_error(&error);
    } else {
        PyObject *spec = file_ngram_spec(inlay_file_ngram_spec(ngram)), *tables = tables_of_ngram(file, ngram);
        if (spec != NULL && tables != NULL)
            made = Py_BuildValue("OOs", spec, tables, inlay_file_ngram_report(ngram));
        Py_XDECREF(tables);
        Py_XDECREF(spec);
    }
    inlay_file_ngram_destroy(ngram);
    owner_release(&file->owner);
    return made;
}

/* prefetch(table, ids): requests rows from the disk. */
static PyObject *file_prefetch(PyObject *self, PyObject *args)
{
    PyObject *table, *ids;
    struct view view;
    if (!PyArg_ParseTuple(args, "OO", &table, &ids))
        return NULL;
    struct open_file *file = use(self);
    if (file == NULL)
        return NULL;
    PyObject *result = NULL;
    if (!table_is(table)) {
        PyErr_SetString(PyExc_TypeError, "table is not an inlay.Table: get one with table() of this file");
    } else if (file->mapped && table_file(table) != file) {
        PyErr_SetString(PyExc_ValueError, "table is not from this file: get one with its table()");
    } else if (view_borrow(&view, ids, "ids", DTYPE_UNKNOWN) == 0) {
        const inlay_id_type type = view_ids(&view, "ids");
        if (type != 0) {
            PyThreadState *thread = PyEval_SaveThread();
            inlay_file_prefetch(file->file, table_view(table), view.data, type, view_count(&view));
            PyEval_RestoreThread(thread);
            result = Py_NewRef(Py_None);
        }
        view_release(&view);
    }
    owner_release(&file->owner);
    return result;
}

/* ---- The type --------------------------------------------------------------------------------------------------- */

static PyObject *get_closed(PyObject *self, void *Py_UNUSED(closure))
{
    struct open_file *opened = exchange(file_of(self), true);
    if (opened != NULL)
        owner_release(&opened->owner);
    return PyBool_FromLong(opened == NULL);
}

int file_init(PyObject *module)
{
    static PyMethodDef methods[] = {
        {"close", file_close, METH_NOARGS,
         "close()\n--\n\nCloses the file. Its memory stays mapped until the last array, Table or Layer of it is gone."},
        {"table", get_table, METH_O,
         "table(name)\n--\n\nReturns the Table of a tensor [rows, dim] with its scales. In a pattern, one * matches "
         "the numbers from 0 on, and the Table joins the tensors."},
        {"prefetch", file_prefetch, METH_VARARGS,
         "prefetch(table, ids)\n--\n\nStarts reading rows of a Table of this file from the disk. Does not wait."},
        {"_tensor", get_tensor, METH_O, NULL},
        {"_names", list_names, METH_O, NULL},
        {"_value", get_value, METH_O, NULL},
        {"_layer", get_layer, METH_VARARGS, NULL},
        {"_ngram", get_ngram, METH_O, NULL},
        {NULL, NULL, 0, NULL},
    };
    static PyGetSetDef properties[] = {
        {"closed", get_closed, NULL, "True after close().", NULL},
        {NULL, NULL, NULL, NULL, NULL},
    };
    static PyMemberDef members[] = {
        {"path", T_OBJECT, offsetof(struct file, path), READONLY, "The path that was given."},
        {"__weaklistoffset__", T_PYSSIZET, offsetof(struct file, weak_references), READONLY, NULL},
        {NULL, 0, 0, 0, NULL},
    };
    static PyType_Slot slots[] = {
        {Py_tp_new, file_new},      {Py_tp_dealloc, file_dealloc}, {Py_tp_methods, methods},
        {Py_tp_getset, properties}, {Py_tp_members, members},      {0, NULL},
    };
    return type_add(module, &file_type, "inlay._core.File", sizeof(struct file), Py_TPFLAGS_BASETYPE, slots);
}
