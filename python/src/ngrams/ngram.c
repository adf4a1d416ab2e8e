/* SPDX-License-Identifier: MIT */
/*
 * The _core.NGram type: converts arrays to a spec of the library. inlay.NGram makes the arrays and checks their
 * numbers.
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
    PyObject *tables;          /* a tuple, or null */
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

/* ---- The spec --------------------------------------------------------------------------------------------------- */

/* The arrays of a spec, all int64. */
enum { MULTIPLIERS, COLUMNS, RESETS, MASKS, ARRAYS };

/* The numbers of a column, in order. */
enum { LENGTH, VECTOR, MODULUS, TABLE, OFFSET, COLUMN_NUMBERS };

/* Reads arrays of int64: multipliers [vectors, length], columns [columns, COLUMN_NUMBERS], resets and masks. Returns -1
   with an exception set on failure. Release the views even on failure. */
static int read_arrays(struct ngram *ngram, struct view views[ARRAYS], PyObject *const arrays[ARRAYS],
                       inlay_ngram_spec *spec)
{
    static const char *const what[ARRAYS] = {"multipliers", "columns", "resets", "masks"};
    const Py_ssize_t widths[ARRAYS] = {(Py_ssize_t)spec->length, COLUMN_NUMBERS, 0, 0};
    const int64_t *numbers[ARRAYS];
    for (int i = 0; i < ARRAYS; i++) {
        struct view *view = &views[i];
        if (view_of(view, arrays[i], what[i], DTYPE_I64) < 0)
            return -1;
        const Py_ssize_t shape[2] = {view->dims > 0 ? view->shape[0] : 0, widths[i]};
        if (view_require_shape(view, what[i], widths[i] > 0 ? 2 : 1, shape) < 0 ||
            view_require_dtype(view, what[i], DTYPE_I64) < 0 || view_pack(view, DTYPE_I64) < 0)
            return -1;
        numbers[i] = (const int64_t *)(const void *)view->data;
    }
    spec->multipliers = numbers[MULTIPLIERS];
    spec->vectors = (size_t)views[MULTIPLIERS].shape[0];
    spec->column_count = (size_t)views[COLUMNS].shape[0];
    spec->resets = numbers[RESETS];
    spec->reset_count = (size_t)views[RESETS].shape[0];
    spec->masks = numbers[MASKS];
    spec->mask_count = (size_t)views[MASKS].shape[0];
    if (spec->vectors < 1 || spec->vectors > INLAY_NGRAM_MAX_COLUMNS || spec->column_count < 1 ||
        spec->column_count > INLAY_NGRAM_MAX_COLUMNS)
        return raise_error(PyExc_ValueError,
                           "there are %zu vectors of multipliers and %zu columns, not 1 to %d of each", spec->vectors,
                           spec->column_count, INLAY_NGRAM_MAX_COLUMNS);
    ngram->columns = PyMem_Calloc(spec->column_count, sizeof *ngram->columns);
    if (ngram->columns == NULL)
        return raise_memory();
    for (size_t i = 0; i < spec->column_count; i++) {
        const int64_t *column = numbers[COLUMNS] + i * COLUMN_NUMBERS;
        ngram->columns[i] =
            (inlay_ngram_column){(uint32_t)column[LENGTH], (uint32_t)column[VECTOR], (uint32_t)column[MODULUS],
                                 (uint32_t)column[TABLE], (uint64_t)column[OFFSET]};
    }
    spec->columns = ngram->columns;
    return 0;
}

/* Reads the token map. Copies it unless it has 32-bit integers. */
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

/* Makes the handle and the facts for calls. Returns -1 with an exception set on failure. */
static int ngram_fill(struct ngram *ngram, inlay_ngram_spec *spec, PyObject *const arrays[ARRAYS], PyObject *token_map,
                      PyObject *tables)
{
    struct view views[ARRAYS];
    memset(views, 0, sizeof views);
    int failed = read_arrays(ngram, views, arrays, spec) < 0 || read_token_map(ngram, token_map, spec) < 0;
    if (!failed) {
        const inlay_status status = inlay_ngram_create(spec, NULL, &ngram->handle);
        failed = status != INLAY_OK;
        if (failed)
            raise_status(status);
    }
    for (int i = 0; i < ARRAYS; i++)
        view_release(&views[i]);
    if (failed)
        return -1;
    ngram->tables = tables != Py_None ? ngram_tables(tables) : NULL;
    ngram->facts = (struct ngram_facts){
        .handle = ngram->handle,
        .vocab = spec->vocab,
        .columns = spec->column_count,
        .length = spec->length,
        .column = ngram->columns,
        .tables = ngram->tables,
    };
    return tables != Py_None && ngram->tables == NULL ? -1 : 0;
}

/* ---- The type --------------------------------------------------------------------------------------------------- */

/* NGram(vocab, length, mix, columns, multipliers, pad, token_map, resets, masks, zero_is_none, tables). inlay.NGram has
   checked the numbers. */
static PyObject *ngram_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(options))
{
    Py_ssize_t vocab;
    unsigned length, pad;
    PyObject *name, *arrays[ARRAYS], *token_map, *tables = Py_None;
    int zero_is_none;
    inlay_ngram_mix mix;
    if (!PyArg_ParseTuple(args, "nIOOOIOOOp|O", &vocab, &length, &name, &arrays[COLUMNS], &arrays[MULTIPLIERS], &pad,
                          &token_map, &arrays[RESETS], &arrays[MASKS], &zero_is_none, &tables) ||
        option_required_enum(name, &option_mixes, &mix) < 0)
        return NULL;
    inlay_ngram_spec spec = inlay_ngram_spec_default((size_t)vocab, length, mix);
    spec.pad = pad;
    spec.zero_is_none = (uint32_t)zero_is_none;
    PyObject *self = PyType_GenericAlloc(type, 0); /* zeroed */
    if (self == NULL)
        return NULL;
    ngram_of(self)->call = ngram_call;
    if (ngram_fill(ngram_of(self), &spec, arrays, token_map, tables) < 0)
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
         "out_lengths=None)\n--\n\nReturns the histories after `accepted` tokens of each sequence, [sequences, "
         "length - 1], and their lengths, for the next call."},
        {NULL, NULL, 0, NULL},
    };
    static PyMemberDef members[] = {
        {"vocab", T_PYSSIZET, offsetof(struct ngram, facts.vocab), READONLY, "Token ids are in [0, vocab)."},
        {"length", T_UINT, offsetof(struct ngram, facts.length), READONLY,
         "Length of the longest n-gram; a history has one id less."},
        {"column_count", T_PYSSIZET, offsetof(struct ngram, facts.columns), READONLY, "Rows per token."},
        {"token_map", T_OBJECT, offsetof(struct ngram, token_map_array), READONLY,
         "The array that was given, or None."},
        {"tables", T_OBJECT, offsetof(struct ngram, tables), READONLY, "Default tables of calls, or None."},
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct ngram, call), READONLY, NULL},
        {"__weaklistoffset__", T_PYSSIZET, offsetof(struct ngram, weak_references), READONLY, NULL},
        {NULL, 0, 0, 0, NULL},
    };
    static PyType_Slot slots[] = {
        {Py_tp_new, ngram_new},   {Py_tp_dealloc, ngram_dealloc}, {Py_tp_call, PyVectorcall_Call},
        {Py_tp_methods, methods}, {Py_tp_members, members},       {0, NULL},
    };
    if (ngram_call_init() < 0 || PyModule_AddIntConstant(module, "MAX_NGRAM_LENGTH", INLAY_NGRAM_MAX_LENGTH) < 0)
        return -1;
    return type_add(module, &ngram_type, "inlay._core.NGram", sizeof(struct ngram),
                    Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL, slots);
}
