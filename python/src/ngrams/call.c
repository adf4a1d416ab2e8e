/* SPDX-License-Identifier: MIT */
/*
 * What each kind of call writes, and the tables that rows are gathered from.
 */
#include "ngrams/call.h"

#include "arrays/output.h"
#include "module/errors.h"
#include "module/options.h"
#include "module/threads.h"
#include "ngrams/read.h"
#include "tables/table.h"

#include <stdio.h>
#include <string.h>

struct arguments ngram_ids_arguments = {
    .what = "ids()",
    .positional = 1,
    .names = {[NGRAM_IDS] = "ids",
              [NGRAM_OUT] = "out",
              [NGRAM_OFFSETS] = "offsets",
              [NGRAM_HISTORY] = "history",
              [NGRAM_HISTORY_LENGTHS] = "history_lengths",
              [NGRAM_FIRST_COLUMN] = "first_column",
              [NGRAM_COLUMNS] = "columns",
              [NGRAM_DTYPE] = "dtype",
              [NGRAM_THREADS] = "threads"},
};

struct arguments ngram_rows_arguments = {
    .what = "an NGram",
    .positional = NGRAM_TABLES + 1,
    .names = {[NGRAM_IDS] = "ids",
              [NGRAM_TABLES] = "tables",
              [NGRAM_OUT] = "out",
              [NGRAM_OFFSETS] = "offsets",
              [NGRAM_HISTORY] = "history",
              [NGRAM_HISTORY_LENGTHS] = "history_lengths",
              [NGRAM_FIRST_COLUMN] = "first_column",
              [NGRAM_COLUMNS] = "columns",
              [NGRAM_DTYPE] = "dtype",
              [NGRAM_SCALE] = "scale",
              [NGRAM_COMBINE] = "combine",
              [NGRAM_PLANAR] = "planar",
              [NGRAM_STORES] = "stores",
              [NGRAM_THREADS] = "threads"},
};

struct arguments ngram_history_arguments = {
    .what = "history()",
    .positional = NGRAM_ACCEPTED + 1,
    .names = {[NGRAM_IDS] = "ids",
              [NGRAM_ACCEPTED] = "accepted",
              [NGRAM_OUT] = "out",
              [NGRAM_OUT_LENGTHS] = "out_lengths",
              [NGRAM_OFFSETS] = "offsets",
              [NGRAM_HISTORY] = "history",
              [NGRAM_HISTORY_LENGTHS] = "history_lengths"},
};

_Static_assert((int)NGRAM_ARGUMENTS <= (int)ARGUMENTS_MOST, "each argument has a place");

/* ---- Outputs ---------------------------------------------------------------------------------------------------- */

/* The shape of an output: `before`, that of ids, `after`. Numbers below 0 are no dimension. Returns the dimensions. */
static int shape_of(const struct ngram_call *call, Py_ssize_t before, Py_ssize_t after, Py_ssize_t shape[VIEW_DIMS + 1])
{
    int dims = 0;
    if (before >= 0)
        shape[dims++] = before;
    memcpy(shape + dims, call->ids.shape, (size_t)call->ids.dims * sizeof *shape);
    dims += call->ids.dims;
    shape[dims++] = after;
    return dims;
}

/* Releases the GIL for a call of that many bytes, if it takes much longer than that or waits for the disk, and fills in
   its executor. */
static PyThreadState *release_gil(const struct ngram_call *call, size_t bytes, bool waits, inlay_executor *executor,
                                  const inlay_executor **threads)
{
    *threads = NULL;
    if (bytes < THREADS_LARGE_BYTES)
        return waits ? PyEval_SaveThread() : NULL;
    *threads = threads_executor(call->threads > 0 ? call->threads : threads_get(), executor);
    return PyEval_SaveThread();
}

/* Ends a call. Returns its result, or null with the exception of a status other than INLAY_OK. */
static PyObject *finish(struct ngram_call *call, struct output *output, PyObject *like, inlay_status status,
                        const inlay_fault *fault)
{
    if (status == INLAY_OK)
        return output_close(output, call->ids.way, like);
    if (!PyErr_Occurred())
        ngram_raise(call, status, fault);
    return output_abandon(output);
}

/* ---- Row ids ---------------------------------------------------------------------------------------------------- */

/* Sets ValueError for a column with row ids that int32 does not hold. */
static void explain_ids(const struct ngram_call *call)
{
    for (size_t i = call->first_column; i < call->first_column + call->columns; i++) {
        const inlay_ngram_column *column = &call->ngram->column[i];
        if (column->offset + column->modulus - 1 > INT32_MAX) {
            PyErr_Format(PyExc_ValueError, "column %zu has row ids up to %llu, which int32 does not hold", i,
                         (unsigned long long)(column->offset + column->modulus - 1));
            return;
        }
    }
}

static PyObject *run_ids(struct ngram_call *call, PyObject *const arguments[NGRAM_ARGUMENTS])
{
    Py_ssize_t shape[VIEW_DIMS + 1];
    struct output output;
    inlay_fault fault;
    inlay_executor executor;
    const inlay_executor *threads;
    const int dims = shape_of(call, -1, (Py_ssize_t)call->columns, shape);
    const enum dtype dtype = arguments[NGRAM_DTYPE] != NULL ? dtype_of_row_ids(arguments[NGRAM_DTYPE]) : DTYPE_I64;
    if (dtype == DTYPE_UNKNOWN || output_open(&output, arguments[NGRAM_OUT], call->ids.way, dtype, dims, shape) < 0)
        return NULL;
    PyThreadState *thread = release_gil(call, call->tokens * output.stride_bytes, false, &executor, &threads);
    const inlay_status status =
        inlay_ngram_ids(call->ngram->handle, &call->batch, call->first_column, call->columns, dtype_infos[dtype].id,
                        output.data, output.stride_bytes, threads, &fault);
    if (thread != NULL)
        PyEval_RestoreThread(thread);
    if (status == INLAY_ERROR_OPTION)
        explain_ids(call);
    return finish(call, &output, arguments[NGRAM_IDS], status, &fault);
}

PyObject *ngram_call_ids(const struct ngram_facts *ngram, PyObject *const arguments[NGRAM_ARGUMENTS])
{
    struct ngram_call call;
    if (ngram_batch_begin(&call, ngram, arguments) < 0)
        return NULL;
    PyObject *result = run_ids(&call, arguments);
    ngram_batch_end(&call);
    return result;
}

/* ---- Rows ------------------------------------------------------------------------------------------------------- */

/* The tables of a call. */
struct tables {
    Py_ssize_t count;
    PyObject **objects;        /* Tables; null where None was given */
    const inlay_table **views; /* null likewise */
    struct open_file **files;  /* that rows come from; null: all are in memory */
    PyObject *one[1];
    const inlay_table *one_view[1];
    struct open_file *one_file[1];
};

static void close_tables(struct tables *tables)
{
    for (Py_ssize_t i = 0; tables->objects != NULL && i < tables->count; i++)
        Py_XDECREF(tables->objects[i]);
    if (tables->objects != tables->one) {
        PyMem_Free(tables->objects);
        PyMem_Free(tables->views);
    }
    if (tables->files != tables->one_file)
        PyMem_Free(tables->files);
}

/* Finds the files that rows come from. Returns -1 with MemoryError. */
static int find_files(struct tables *tables)
{
    for (Py_ssize_t i = 0; i < tables->count; i++) {
        struct open_file *file = tables->objects[i] != NULL ? table_file(tables->objects[i]) : NULL;
        if (file == NULL)
            continue;
        if (tables->files == NULL)
            tables->files =
                tables->count == 1 ? tables->one_file : PyMem_Calloc((size_t)tables->count, sizeof *tables->files);
        if (tables->files == NULL)
            return raise_memory();
        tables->files[i] = file;
    }
    return 0;
}

/* Returns whether a read of one of the tables is likely to wait for the disk. */
static bool tables_wait(const struct tables *tables)
{
    for (Py_ssize_t i = 0; tables->files != NULL && i < tables->count; i++)
        if (tables->files[i] != NULL && open_file_waits(tables->files[i]))
            return true;
    return false;
}

/* Makes room for tables. Returns -1 with MemoryError. */
static int allocate_tables(struct tables *tables, Py_ssize_t count)
{
    const size_t slots = count > 0 ? (size_t)count : 1;
    tables->objects = PyMem_Calloc(slots, sizeof *tables->objects);
    tables->views = PyMem_Calloc(slots, sizeof *tables->views);
    tables->count = count;
    if (tables->objects != NULL && tables->views != NULL)
        return 0;
    return raise_memory();
}

/* Reads one table, or a list of them in which None stands for one that no column needs. Returns -1 with an exception;
   the tables are to be closed in any case. */
static int open_tables(struct tables *tables, PyObject *given)
{
    *tables = (struct tables){.count = 1};
    if (given == NULL)
        return raise_error(PyExc_TypeError, "tables is missing, and the NGram has none of its own");
    if (!PyList_Check(given) && !PyTuple_Check(given)) {
        tables->objects = tables->one;
        tables->views = tables->one_view;
        tables->one[0] = table_from(given, "tables");
        tables->one_view[0] = tables->one[0] != NULL ? table_view(tables->one[0]) : NULL;
        return tables->one[0] != NULL ? find_files(tables) : -1;
    }
    if (allocate_tables(tables, PySequence_Size(given)) < 0)
        return -1;
    for (Py_ssize_t i = 0; i < tables->count; i++) {
        char what[32];
        PyObject *item = PySequence_GetItem(given, i);
        if (item == NULL)
            return -1;
        snprintf(what, sizeof what, "tables[%zd]", i);
        if (item != Py_None)
            tables->objects[i] = table_from(item, what);
        const bool failed = item != Py_None && tables->objects[i] == NULL;
        Py_DECREF(item);
        if (failed)
            return -1;
        tables->views[i] = tables->objects[i] != NULL ? table_view(tables->objects[i]) : NULL;
    }
    return find_files(tables);
}

/* Returns the table that a column names, or null with ValueError. */
static const inlay_table *table_of_column(const struct ngram_call *call, const struct tables *tables, size_t column)
{
    const uint32_t table = call->ngram->column[column].table;
    if (table < (size_t)tables->count && tables->views[table] != NULL)
        return tables->views[table];
    PyErr_Format(PyExc_ValueError, "column %zu is of table %lu, which was not given", column, (unsigned long)table);
    return NULL;
}

/* Checks that the columns of a call have tables of one dim with enough rows: what the library would refuse with less
   to say. Returns the dim, or 0 with ValueError. */
static size_t check_tables(const struct ngram_call *call, const struct tables *tables)
{
    size_t dim = 0;
    for (size_t i = call->first_column; i < call->first_column + call->columns; i++) {
        const inlay_ngram_column *column = &call->ngram->column[i];
        const inlay_table *table = table_of_column(call, tables, i);
        if (table == NULL)
            return 0;
        if (dim == 0)
            dim = table->dim;
        if (table->dim != dim) {
            PyErr_Format(PyExc_ValueError, "tables[%lu] has dim %zu, and other tables have %zu",
                         (unsigned long)column->table, table->dim, dim);
            return 0;
        }
        if (table->vocab > 0) {
            PyErr_Format(PyExc_ValueError, "tables[%lu] is a shard: n-grams take whole tables",
                         (unsigned long)column->table);
            return 0;
        }
        const uint64_t rows = column->offset + column->modulus;
        if (table->rows < rows) {
            PyErr_Format(PyExc_ValueError, "tables[%lu] has %zu rows, and column %zu needs %llu",
                         (unsigned long)column->table, table->rows, i, (unsigned long long)rows);
            return 0;
        }
    }
    return dim;
}

/* Finds the scale that the tables of a call have. Returns -1 with ValueError if they differ. */
static int find_scale(const struct ngram_call *call, const struct tables *tables, float *scale)
{
    *scale = table_scale(tables->objects[call->ngram->column[call->first_column].table]);
    for (size_t i = call->first_column; i < call->first_column + call->columns; i++) {
        const uint32_t table = call->ngram->column[i].table;
        if (table_scale(tables->objects[table]) != *scale)
            return raise_error(PyExc_ValueError,
                               "tables[%lu] has another scale than the tables before it: a call takes one",
                               (unsigned long)table);
    }
    return 0;
}

/* Reads the options of a call of rows. Returns the type of the output, or DTYPE_UNKNOWN with an exception. */
static enum dtype read_lookup(const struct ngram_call *call, const struct tables *tables,
                              PyObject *const arguments[NGRAM_ARGUMENTS], inlay_ngram_lookup *lookup, bool *planar)
{
    double scale = 1;
    float of_tables;
    PyObject *given = arguments[NGRAM_DTYPE];
    const enum dtype dtype = given != NULL ? dtype_of_argument(given) : DTYPE_F32;
    const int by_column = arguments[NGRAM_PLANAR] != NULL ? PyObject_IsTrue(arguments[NGRAM_PLANAR]) : 0;
    *lookup = inlay_ngram_lookup_default(tables->views, (size_t)tables->count);
    if (dtype == DTYPE_UNKNOWN || option_enum(arguments[NGRAM_COMBINE], &option_combines, &lookup->combine) < 0 ||
        option_enum(arguments[NGRAM_STORES], &option_stores, &lookup->stores) < 0 || by_column < 0 ||
        option_double(arguments[NGRAM_SCALE], &scale) < 0 || find_scale(call, tables, &of_tables) < 0)
        return DTYPE_UNKNOWN;
    if (by_column && lookup->combine == INLAY_NGRAM_SUM) {
        PyErr_SetString(PyExc_ValueError, "planar=True excludes combine=\"sum\"");
        return DTYPE_UNKNOWN;
    }
    lookup->first_column = call->first_column;
    lookup->columns = call->columns;
    lookup->scale = (float)scale * of_tables;
    lookup->out_type = dtype_infos[dtype].element;
    *planar = by_column != 0;
    return dtype;
}

static PyObject *run_rows(struct ngram_call *call, const struct tables *tables,
                          PyObject *const arguments[NGRAM_ARGUMENTS])
{
    Py_ssize_t shape[VIEW_DIMS + 1];
    struct output output;
    inlay_ngram_lookup lookup = inlay_ngram_lookup_default(NULL, 0);
    inlay_fault fault;
    inlay_executor executor;
    const inlay_executor *threads;
    bool planar = false;
    const size_t dim = check_tables(call, tables);
    const enum dtype dtype = dim > 0 ? read_lookup(call, tables, arguments, &lookup, &planar) : DTYPE_UNKNOWN;
    if (dtype == DTYPE_UNKNOWN)
        return NULL;
    const bool in_token = lookup.combine == INLAY_NGRAM_CONCAT && !planar;
    const int dims = shape_of(call, planar ? (Py_ssize_t)call->columns : -1,
                              (Py_ssize_t)(in_token ? call->columns * dim : dim), shape);
    if (dims > VIEW_DIMS)
        return PyErr_Format(PyExc_ValueError, "the output has %d dimensions, more than %d", dims, VIEW_DIMS);
    if (output_open(&output, arguments[NGRAM_OUT], call->ids.way, dtype, dims, shape) < 0)
        return NULL;
    if (planar)
        lookup.column_stride_bytes = call->tokens * output.stride_bytes;
    /* A sum reads the rows of all columns, however few are left of them. */
    const size_t bytes = call->tokens * call->columns * dim * dtype_infos[dtype].bytes;
    PyThreadState *thread = release_gil(call, bytes, tables_wait(tables), &executor, &threads);
    const inlay_status status =
        tables->files != NULL
            ? ngram_forward(call, &lookup, tables->files, output.data, output.stride_bytes, threads, &fault)
            : inlay_ngram_forward(call->ngram->handle, &call->batch, &lookup, output.data, output.stride_bytes, threads,
                                  &fault);
    if (thread != NULL)
        PyEval_RestoreThread(thread);
    return finish(call, &output, arguments[NGRAM_IDS], status, &fault);
}

PyObject *ngram_call_rows(const struct ngram_facts *ngram, PyObject *const arguments[NGRAM_ARGUMENTS])
{
    struct ngram_call call;
    struct tables tables;
    PyObject *result = NULL;
    if (ngram_batch_begin(&call, ngram, arguments) < 0)
        return NULL;
    PyObject *given = arguments[NGRAM_TABLES];
    if (open_tables(&tables, given != NULL ? given : ngram->tables) == 0)
        result = run_rows(&call, &tables, arguments);
    close_tables(&tables);
    ngram_batch_end(&call);
    return result;
}

/* ---- Histories -------------------------------------------------------------------------------------------------- */

/* Opens an output whose rows lie one behind the other. Returns -1 with an exception. */
static int open_contiguous(struct output *output, PyObject *out, enum view_way way, enum dtype dtype, int dims,
                           const Py_ssize_t *shape)
{
    if (output_open(output, out, way, dtype, dims, shape) < 0)
        return -1;
    if (out == NULL || view_require_contiguous(&output->given, "out") == 0)
        return 0;
    output_abandon(output);
    return -1;
}

static int read_accepted(struct ngram_call *call, PyObject *array)
{
    if (array == NULL)
        return 0;
    return ngram_by_sequence(call, &call->accepted, array, "accepted", false) < 0 ||
                   view_ids(&call->accepted, "accepted") == 0
               ? -1
               : view_pack(&call->accepted, DTYPE_I64);
}

static PyObject *run_history(struct ngram_call *call, PyObject *const arguments[NGRAM_ARGUMENTS])
{
    Py_ssize_t shape[VIEW_DIMS + 1];
    struct output out, lengths;
    inlay_fault fault;
    PyObject *like = arguments[NGRAM_IDS];
    memcpy(shape, call->lead_shape, (size_t)call->lead * sizeof *shape);
    shape[call->lead] = (Py_ssize_t)call->ngram->length - 1;
    if (read_accepted(call, arguments[NGRAM_ACCEPTED]) < 0 ||
        open_contiguous(&out, arguments[NGRAM_OUT], call->ids.way, call->ids.dtype, call->lead + 1, shape) < 0)
        return NULL;
    /* Lengths are below 16, so int32, which frameworks compute with, has the bits of uint32. */
    if (open_contiguous(&lengths, arguments[NGRAM_OUT_LENGTHS], call->ids.way, DTYPE_I32, call->lead, shape) < 0)
        return output_abandon(&out);
    const inlay_status status =
        inlay_ngram_history(call->ngram->handle, &call->batch, (const int64_t *)(const void *)call->accepted.data,
                            out.data, (uint32_t *)(void *)lengths.data, &fault);
    PyObject *first = finish(call, &out, like, status, &fault);
    PyObject *second = finish(call, &lengths, like, status, &fault);
    PyObject *both = first != NULL && second != NULL ? PyTuple_Pack(2, first, second) : NULL;
    Py_XDECREF(first);
    Py_XDECREF(second);
    return both;
}

PyObject *ngram_call_history(const struct ngram_facts *ngram, PyObject *const arguments[NGRAM_ARGUMENTS])
{
    struct ngram_call call;
    if (ngram_batch_begin(&call, ngram, arguments) < 0)
        return NULL;
    PyObject *result = run_history(&call, arguments);
    ngram_batch_end(&call);
    return result;
}
