/* SPDX-License-Identifier: MIT */
/*
 * N-gram handles: how arrays become a spec of the library, and the vectorcall. inlay.NGram makes these arrays of what
 * its caller gave.
 */
#include "ngrams/ngram.h"

#include "arrays/view.h"
#include "module/errors.h"
#include "module/objects.h"
#include "module/options.h"
#include "ngrams/batch.h"
#include "ngrams/call.h"
#include "tables/table.h"

#include <string.h>

struct ngram {
    PyObject base;
    inlay_vectorcall call;
    struct ngram_facts facts;
    inlay_ngram *handle;
    inlay_ngram_column *columns; /* [facts.columns] */
    struct view token_map;
    PyObject *token_map_array; /* null: none */
    PyObject *tables;          /* a list, likewise */
    PyObject *weak_references;
};

static PyTypeObject *ngram_type; /* set at import */

static struct ngram *ngram_of(PyObject *self)
{
    return (struct ngram *)(void *)self;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------ */

static PyObject *ngram_call(PyObject *self, PyObject *const *args, size_t count_and_flag, PyObject *names)
{
    return ngram_call_run(&ngram_of(self)->facts, NGRAM_ROWS_CALL, args, inlay_positional(count_and_flag), names);
}

static PyObject *ngram_ids(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    return ngram_call_run(&ngram_of(self)->facts, NGRAM_IDS_CALL, args, (size_t)count, names);
}

static PyObject *ngram_history(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    return ngram_call_run(&ngram_of(self)->facts, NGRAM_HISTORY_CALL, args, (size_t)count, names);
}

/* ---- Options ---------------------------------------------------------------------------------------------------- */

struct ngram_options {
    PyObject *vocab, *length, *mix, *columns, *multipliers, *pad, *token_map, *resets, *masks, *tables;
    int zero_is_none;
};

/* The numbers of a column, in their order in the array. */
enum { LENGTH, VECTOR, MODULUS, TABLE, OFFSET, COLUMN_NUMBERS };

/* Reads an integer in [low, high], which a missing argument leaves as it is. Returns -1 with an exception. */
static int read_number(PyObject *object, const char *what, int64_t low, int64_t high, int64_t *number)
{
    if (option_int64(object, what, number) < 0)
        return -1;
    if (*number >= low && *number <= high)
        return 0;
    return raise_error(PyExc_ValueError, "%s is %lld, not in [%lld, %lld]", what, (long long)*number, (long long)low,
                       (long long)high);
}

/* Reads an array of int64 with `dims` dimensions. Returns -1 with an exception; the view is to be released. */
static int read_array(struct view *view, PyObject *array, const char *what, int dims)
{
    if (view_of(view, array, what, DTYPE_I64) < 0)
        return -1;
    if (view->dims != dims)
        return raise_error(PyExc_ValueError, "%s has %d dimensions, expected %d", what, view->dims, dims);
    return view_require_dtype(view, what, DTYPE_I64) < 0 ? -1 : view_pack(view, DTYPE_I64);
}

static const int64_t *numbers_of(const struct view *view)
{
    return (const int64_t *)(const void *)view->data;
}

/* Reads ids of tokens, each in [0, vocab). */
static int read_special(struct view *view, PyObject *array, const char *what, size_t vocab, const int64_t **ids,
                        size_t *count)
{
    if (array == Py_None)
        return 0;
    if (read_array(view, array, what, 1) < 0)
        return -1;
    *ids = numbers_of(view);
    *count = view_count(view);
    for (size_t i = 0; i < *count; i++)
        if ((*ids)[i] < 0 || (uint64_t)(*ids)[i] >= vocab)
            return raise_error(PyExc_ValueError, "%s[%zu] is %lld, not in [0, %zu)", what, i, (long long)(*ids)[i],
                               vocab);
    return 0;
}

/* Reads a column. Returns -1 with ValueError. */
static int read_column(const int64_t numbers[COLUMN_NUMBERS], size_t index, const inlay_ngram_spec *spec,
                       inlay_ngram_column *column)
{
    const struct {
        const char *name;
        int64_t low, high;
    } ranges[COLUMN_NUMBERS] = {
        [LENGTH] = {"length", 1, spec->length},
        [VECTOR] = {"vector", 0, (int64_t)spec->vectors - 1},
        [MODULUS] = {"modulus", 1, UINT32_MAX},
        [TABLE] = {"table", 0, UINT32_MAX},
        [OFFSET] = {"offset", 0, INT64_MAX - numbers[MODULUS]},
    };
    for (int i = 0; i < COLUMN_NUMBERS; i++)
        if (numbers[i] < ranges[i].low || numbers[i] > ranges[i].high)
            return raise_error(PyExc_ValueError, "columns[%zu] has %s %lld, not in [%lld, %lld]", index, ranges[i].name,
                               (long long)numbers[i], (long long)ranges[i].low, (long long)ranges[i].high);
    *column = (inlay_ngram_column){
        .length = (uint32_t)numbers[LENGTH],
        .vector = (uint32_t)numbers[VECTOR],
        .modulus = (uint32_t)numbers[MODULUS],
        .table = (uint32_t)numbers[TABLE],
        .offset = (uint64_t)numbers[OFFSET],
    };
    return 0;
}

/* Reads multipliers [vectors, length] and columns [columns, COLUMN_NUMBERS]. */
static int read_columns(struct ngram *ngram, struct view *multipliers, struct view *columns,
                        const struct ngram_options *given, inlay_ngram_spec *spec)
{
    if (read_array(multipliers, given->multipliers, "multipliers", 2) < 0 ||
        read_array(columns, given->columns, "columns", 2) < 0)
        return -1;
    const Py_ssize_t of_columns[2] = {columns->shape[0], COLUMN_NUMBERS};
    const Py_ssize_t of_multipliers[2] = {multipliers->shape[0], (Py_ssize_t)spec->length};
    if (view_require_shape(multipliers, "multipliers", 2, of_multipliers) < 0 ||
        view_require_shape(columns, "columns", 2, of_columns) < 0)
        return -1;
    spec->multipliers = numbers_of(multipliers);
    spec->vectors = (size_t)multipliers->shape[0];
    spec->column_count = (size_t)columns->shape[0];
    if (spec->vectors < 1 || spec->vectors > INLAY_NGRAM_COLUMNS_MOST || spec->column_count < 1 ||
        spec->column_count > INLAY_NGRAM_COLUMNS_MOST)
        return raise_error(PyExc_ValueError,
                           "there are %zu vectors of multipliers and %zu columns, not 1 to %d of each", spec->vectors,
                           spec->column_count, INLAY_NGRAM_COLUMNS_MOST);
    ngram->columns = PyMem_Calloc(spec->column_count, sizeof *ngram->columns);
    if (ngram->columns == NULL)
        return raise_memory();
    for (size_t i = 0; i < spec->column_count; i++)
        if (read_column(numbers_of(columns) + i * COLUMN_NUMBERS, i, spec, &ngram->columns[i]) < 0)
            return -1;
    spec->columns = ngram->columns;
    return 0;
}

/* Reads the token map, which stays where it is if it is of 32-bit integers. */
static int read_token_map(struct ngram *ngram, PyObject *array, inlay_ngram_spec *spec)
{
    const Py_ssize_t vocab = (Py_ssize_t)spec->vocab;
    if (array == Py_None)
        return 0;
    if (view_of(&ngram->token_map, array, "token_map", DTYPE_U32) < 0 ||
        view_require_shape(&ngram->token_map, "token_map", 1, &vocab) < 0 ||
        view_pack_u32(&ngram->token_map, "token_map") < 0)
        return -1;
    ngram->token_map_array = Py_NewRef(array);
    spec->token_map = (const uint32_t *)(const void *)ngram->token_map.data;
    return 0;
}

static int read_spec(struct ngram *ngram, struct view views[4], const struct ngram_options *given,
                     inlay_ngram_spec *spec)
{
    int64_t vocab = 0, length = 0, pad = 0;
    inlay_ngram_mix mix;
    if (option_required_enum(given->mix, &option_mixes, &mix) < 0 ||
        read_number(given->vocab, "vocab", 1, (int64_t)1 << 31, &vocab) < 0 ||
        read_number(given->length, "length", 1, INLAY_NGRAM_LENGTH_MOST, &length) < 0 ||
        read_number(given->pad, "pad", 0, UINT32_MAX, &pad) < 0)
        return -1;
    *spec = inlay_ngram_spec_default((size_t)vocab, (uint32_t)length, mix);
    spec->pad = (uint32_t)pad;
    spec->zero_is_none = (uint32_t)given->zero_is_none;
    if (read_columns(ngram, &views[0], &views[1], given, spec) < 0 ||
        read_special(&views[2], given->resets, "resets", spec->vocab, &spec->resets, &spec->reset_count) < 0 ||
        read_special(&views[3], given->masks, "masks", spec->vocab, &spec->masks, &spec->mask_count) < 0)
        return -1;
    return read_token_map(ngram, given->token_map, spec);
}

/* Returns a tuple of the Tables of a table or of a list, whose items may be None; null with an exception. */
static PyObject *tables_of_ngram(PyObject *given)
{
    const bool several = PyList_Check(given) || PyTuple_Check(given);
    const Py_ssize_t count = several ? PySequence_Size(given) : 1;
    PyObject *tables = PyTuple_New(count);
    for (Py_ssize_t i = 0; tables != NULL && i < count; i++) {
        PyObject *item = several ? PySequence_GetItem(given, i) : Py_NewRef(given);
        PyObject *table = item == NULL || item == Py_None ? Py_XNewRef(item) : table_from(item, "tables");
        Py_XDECREF(item);
        sequence_put(&tables, (size_t)i, table);
    }
    return tables;
}

static int ngram_fill(struct ngram *ngram, const struct ngram_options *given)
{
    struct view views[4];
    inlay_ngram_spec spec;
    memset(views, 0, sizeof views);
    int failed = read_spec(ngram, views, given, &spec);
    if (!failed) {
        const inlay_status status = inlay_ngram_create(&spec, NULL, &ngram->handle);
        failed = status != INLAY_OK;
        if (failed)
            raise_status(status);
    }
    for (int i = 0; i < 4; i++)
        view_release(&views[i]);
    if (failed)
        return -1;
    if (given->tables != Py_None) {
        ngram->tables = tables_of_ngram(given->tables);
        if (ngram->tables == NULL)
            return -1;
    }
    ngram->facts = (struct ngram_facts){
        .handle = ngram->handle,
        .vocab = spec.vocab,
        .columns = spec.column_count,
        .length = spec.length,
        .column = ngram->columns,
        .tables = ngram->tables,
    };
    return 0;
}

/* ---- The type --------------------------------------------------------------------------------------------------- */

static PyObject *ngram_new(PyTypeObject *type, PyObject *args, PyObject *options)
{
    static char *names[] = {"vocab",     "length", "mix",   "columns",      "multipliers", "pad",
                            "token_map", "resets", "masks", "zero_is_none", "tables",      NULL};
    struct ngram_options given = {
        .pad = Py_None, .token_map = Py_None, .resets = Py_None, .masks = Py_None, .tables = Py_None};
    if (!PyArg_ParseTupleAndKeywords(args, options, "OOOOO|OOOOpO", names, &given.vocab, &given.length, &given.mix,
                                     &given.columns, &given.multipliers, &given.pad, &given.token_map, &given.resets,
                                     &given.masks, &given.zero_is_none, &given.tables))
        return NULL;
    PyObject *self = PyType_GenericAlloc(type, 0); /* zeroed */
    if (self == NULL)
        return NULL;
    ngram_of(self)->call = ngram_call;
    if (ngram_fill(ngram_of(self), &given) < 0)
        Py_CLEAR(self);
    return self;
}

static void ngram_dealloc(PyObject *self)
{
    struct ngram *ngram = ngram_of(self);
    PyObject_ClearWeakRefs(self);
    inlay_ngram_destroy(ngram->handle);
    PyMem_Free(ngram->columns);
    view_release(&ngram->token_map);
    Py_XDECREF(ngram->token_map_array);
    Py_XDECREF(ngram->tables);
    object_free(self);
}

int ngram_init(PyObject *module)
{
    static PyMethodDef methods[] = {
        {"ids", (PyCFunction)(void (*)(void))ngram_ids, METH_FASTCALL | METH_KEYWORDS,
         "ids(ids, *, out=None, offsets=None, history=None, history_lengths=None, first_column=0, columns=None, "
         "dtype=\"int64\", threads=None)\n--\n\nReturns the row ids of each token, [..., columns]; -1 is no row."},
        {"history", (PyCFunction)(void (*)(void))ngram_history, METH_FASTCALL | METH_KEYWORDS,
         "history(ids, accepted=None, *, offsets=None, history=None, history_lengths=None, out=None, "
         "out_lengths=None)\n--\n\nReturns the histories for the next call, [sequences, length - 1], and their "
         "lengths: those after `accepted` tokens of each sequence."},
        {NULL, NULL, 0, NULL},
    };
    static PyMemberDef members[] = {
        {"vocab", T_PYSSIZET, offsetof(struct ngram, facts.vocab), READONLY, "Ids of tokens lie in [0, vocab)."},
        {"length", T_UINT, offsetof(struct ngram, facts.length), READONLY,
         "Ids of the longest n-gram; a history has one less."},
        {"column_count", T_PYSSIZET, offsetof(struct ngram, facts.columns), READONLY, "Rows that every token takes."},
        {"token_map", T_OBJECT, offsetof(struct ngram, token_map_array), READONLY,
         "The array that was given, or None."},
        {"tables", T_OBJECT, offsetof(struct ngram, tables), READONLY,
         "The tables of calls that are given none, or None."},
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct ngram, call), READONLY, NULL},
        {"__weaklistoffset__", T_PYSSIZET, offsetof(struct ngram, weak_references), READONLY, NULL},
        {NULL, 0, 0, 0, NULL},
    };
    static PyType_Slot slots[] = {
        {Py_tp_new, ngram_new},   {Py_tp_dealloc, ngram_dealloc}, {Py_tp_call, PyVectorcall_Call},
        {Py_tp_methods, methods}, {Py_tp_members, members},       {0, NULL},
    };
    if (ngram_call_init() < 0)
        return -1;
    return type_add(module, &ngram_type, "inlay._core.NGram", sizeof(struct ngram),
                    Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL, slots);
}
