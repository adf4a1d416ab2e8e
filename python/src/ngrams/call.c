/* SPDX-License-Identifier: MIT */
/*
 * Runs the calls of an NGram: makes the outputs of each kind of call, and opens the tables with the rows.
 */
#include "ngrams/call.h"

#include "arrays/output.h"
#include "files/open_file.h"
#include "module/errors.h"
#include "module/objects.h"
#include "module/options.h"
#include "module/threads.h"
#include "tables/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)NGRAM_ARGUMENTS <= (int)MAX_ARGUMENTS, "each argument has a place");

/* Names of arguments of all calls, and of calls with columns. */
#define BATCH_NAMES                                                                                                    \
    [NGRAM_IDS] = "ids", [NGRAM_OUT] = "out", [NGRAM_OFFSETS] = "offsets", [NGRAM_HISTORY] = "history",                \
    [NGRAM_HISTORY_LENGTHS] = "history_lengths"
#define COLUMN_NAMES                                                                                                   \
    [NGRAM_FIRST_COLUMN] = "first_column", [NGRAM_COLUMNS] = "columns", [NGRAM_DTYPE] = "dtype",                       \
    [NGRAM_THREADS] = "threads"

static struct arguments arguments_of[NGRAM_CALLS] = {
    [NGRAM_IDS_CALL] = {.what = "ids()", .positional = 1, .names = {BATCH_NAMES, COLUMN_NAMES}},
    [NGRAM_ROWS_CALL] = {.what = "an NGram",
                         .positional = NGRAM_TABLES + 1,
                         .names = {BATCH_NAMES, COLUMN_NAMES, [NGRAM_TABLES] = "tables", [NGRAM_SCALE] = "scale",
                                   [NGRAM_COMBINE] = "combine", [NGRAM_PLANAR] = "planar", [NGRAM_STORES] = "stores"}},
    [NGRAM_HISTORY_CALL] = {.what = "history()",
                            .positional = NGRAM_ACCEPTED + 1,
                            .names = {BATCH_NAMES, [NGRAM_ACCEPTED] = "accepted", [NGRAM_OUT_LENGTHS] = "out_lengths"}},
};

int ngram_call_init(void)
{
    int failed = 0;
    for (int call = 0; call < NGRAM_CALLS && !failed; call++)
        failed = arguments_init(&arguments_of[call]);
    return failed;
}

/* ---- Outputs ---------------------------------------------------------------------------------------------------- */

/* Sets the shape of an output to [before, *ids.shape, after], without `before` if it is negative. Returns the number of
   dimensions. */
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

/* Ends a call. Returns its result, or null with an exception set if the status isn't INLAY_OK. */
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

/* Sets ValueError for the first column with row ids that overflow int32. */
static void explain_ids(const struct ngram_call *call)
{
    for (size_t i = call->first_column; i < call->first_column + call->columns; i++) {
        const inlay_ngram_column *column = &call->ngram->column[i];
        if (column->offset + column->modulus - 1 > INT32_MAX) {
            PyErr_Format(PyExc_ValueError, "column %zu has row ids up to %llu, which do not fit in int32", i,
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
    PyThreadState *thread =
        threads_release_gil(call->tokens * output.stride_bytes, call->threads, false, &executor, &threads);
    const inlay_status status =
        inlay_ngram_ids(call->ngram->handle, &call->batch, call->first_column, call->columns, dtype_infos[dtype].id,
                        output.data, output.stride_bytes, threads, &fault);
    threads_restore_gil(thread);
    if (status == INLAY_ERROR_OPTION)
        explain_ids(call);
    return finish(call, &output, arguments[NGRAM_IDS], status, &fault);
}

/* ---- Rows ------------------------------------------------------------------------------------------------------- */

/* The tables of a call. */
struct tables {
    PyObject *tuple; /* Tables and None */
    size_t count;
    const inlay_table **views; /* null for None */
    struct open_file **files;  /* file with the rows of each table; null: they are in memory. Allocated together with
                                  views */
    bool in_files;             /* true if any table has a file */
};

static void close_tables(struct tables *tables)
{
    Py_XDECREF(tables->tuple);
    PyMem_Free(tables->views);
}

/* Returns true if reading a table is likely to wait for the disk. */
static bool tables_wait(const struct tables *tables)
{
    for (size_t i = 0; i < tables->count; i++)
        if (tables->files[i] != NULL && open_file_waits(tables->files[i]))
            return true;
    return false;
}

PyObject *ngram_tables(PyObject *given)
{
    const bool several = PyList_Check(given) || PyTuple_Check(given);
    const Py_ssize_t count = several ? PySequence_Size(given) : 1;
    PyObject *tables = PyTuple_New(count);
    for (Py_ssize_t i = 0; tables != NULL && i < count; i++) {
        char what[32] = "tables";
        PyObject *item = several ? PySequence_GetItem(given, i) : Py_NewRef(given);
        if (several)
            snprintf(what, sizeof what, "tables[%zd]", i);
        PyObject *table = item == NULL || item == Py_None ? Py_XNewRef(item) : table_from(item, what);
        Py_XDECREF(item);
        sequence_put(&tables, (size_t)i, table);
    }
    return tables;
}

/* Reads a table or a list of them. Returns -1 with an exception set on failure. Close the tables even on failure. */
static int open_tables(struct tables *tables, PyObject *given)
{
    *tables = (struct tables){.tuple = given != NULL ? ngram_tables(given) : NULL};
    if (given == NULL)
        PyErr_SetString(PyExc_TypeError, "tables is missing, and the NGram has no default tables");
    if (tables->tuple == NULL)
        return -1;
    tables->count = (size_t)PyTuple_Size(tables->tuple);
    tables->views = PyMem_Calloc(2 * tables->count, sizeof *tables->views);
    if (tables->views == NULL)
        return raise_memory();
    tables->files = (struct open_file **)(void *)(tables->views + tables->count);
    for (size_t i = 0; i < tables->count; i++) {
        PyObject *table = PyTuple_GetItem(tables->tuple, (Py_ssize_t)i);
        if (table == Py_None)
            continue;
        tables->views[i] = table_view(table);
        tables->files[i] = table_file(table);
        tables->in_files = tables->in_files || tables->files[i] != NULL;
    }
    return 0;
}

/* Checks that tables have the same dim, the same scale and enough rows for the columns of a call. The library's own
   errors would be less specific. Returns -1 with ValueError set on failure. */
static int check_tables(const struct ngram_call *call, const struct tables *tables, size_t *dim, float *scale)
{
    const size_t first = call->first_column;
    for (size_t i = first; i < first + call->columns; i++) {
        const inlay_ngram_column *column = &call->ngram->column[i];
        const unsigned long table = column->table;
        if (table >= tables->count || tables->views[table] == NULL)
            return raise_error(PyExc_ValueError, "column %zu uses tables[%lu], which was not given", i, table);
        const inlay_table *view = tables->views[table];
        const float of_table = table_scale(PyTuple_GetItem(tables->tuple, (Py_ssize_t)table));
        *dim = i == first ? view->dim : *dim;
        *scale = i == first ? of_table : *scale;
        if (view->dim != *dim)
            return raise_error(PyExc_ValueError, "tables[%lu] has dim %zu, and other tables have %zu", table, view->dim,
                               *dim);
        if (view->vocab > 0)
            return raise_error(PyExc_ValueError, "tables[%lu] is a shard: n-grams take whole tables", table);
        const uint64_t rows = column->offset + column->modulus;
        if (view->rows < rows)
            return raise_error(PyExc_ValueError, "tables[%lu] has %zu rows, and column %zu needs %llu", table,
                               view->rows, i, (unsigned long long)rows);
        if (of_table != *scale)
            return raise_error(
                PyExc_ValueError,
                "tables[%lu] has a different scale from the tables before it: all must have the same one", table);
    }
    return 0;
}

/* Reads the options of a call of rows. Returns the type of the output, or DTYPE_UNKNOWN with an exception set. */
static enum dtype read_lookup(const struct ngram_call *call, const struct tables *tables,
                              PyObject *const arguments[NGRAM_ARGUMENTS], float of_tables, inlay_ngram_lookup *lookup,
                              bool *planar)
{
    double scale = 1;
    PyObject *given = arguments[NGRAM_DTYPE];
    const enum dtype dtype = given != NULL ? dtype_of_argument(given) : DTYPE_F32;
    const int by_column = arguments[NGRAM_PLANAR] != NULL ? PyObject_IsTrue(arguments[NGRAM_PLANAR]) : 0;
    *lookup = inlay_ngram_lookup_default(tables->views, tables->count);
    if (dtype == DTYPE_UNKNOWN || option_enum(arguments[NGRAM_COMBINE], &option_combines, &lookup->combine) < 0 ||
        option_enum(arguments[NGRAM_STORES], &option_stores, &lookup->stores) < 0 || by_column < 0 ||
        option_double(arguments[NGRAM_SCALE], &scale) < 0)
        return DTYPE_UNKNOWN;
    if (by_column && lookup->combine == INLAY_NGRAM_SUM) {
        PyErr_SetString(PyExc_ValueError, "planar=True cannot be combined with combine=\"sum\"");
        return DTYPE_UNKNOWN;
    }
    lookup->first_column = call->first_column;
    lookup->columns = call->columns;
    lookup->scale = (float)scale * of_tables;
    lookup->out_type = dtype_infos[dtype].element;
    *planar = by_column != 0;
    return dtype;
}

/* A run of columns that share a table, and the read of their rows. */
struct run {
    struct open_file *file;
    inlay_file_read read;
};

/* Returns the end of the run of columns that begins at `first`. */
static size_t end_of_run(const struct ngram_call *call, size_t first)
{
    const inlay_ngram_column *column = call->ngram->column;
    size_t end = first + 1;
    while (end < call->first_column + call->columns && column[end].table == column[first].table)
        end++;
    return end;
}

/* Begins reads for all runs of columns, and returns the number of runs. To find the rows, hashes the ids once more and
   writes row ids to `ids`. Skips runs that fail: inlay_ngram_forward() reports the error. */
static size_t begin_reads(const struct ngram_call *call, const inlay_ngram_lookup *lookup,
                          struct open_file *const *files, int64_t *ids, struct run *runs)
{
    size_t count = 0, end;
    for (size_t first = call->first_column; first < call->first_column + call->columns; first = end) {
        const uint32_t table = call->ngram->column[first].table;
        end = end_of_run(call, first);
        const size_t columns = end - first;
        if (files[table] == NULL || inlay_ngram_ids(call->ngram->handle, &call->batch, first, columns, INLAY_ID_I64,
                                                    ids, columns * sizeof *ids, NULL, NULL) != INLAY_OK)
            continue;
        runs[count].file = files[table];
        open_file_begin(files[table], lookup->tables[table], ids, INLAY_ID_I64, call->tokens * columns,
                        &runs[count].read);
        count++;
    }
    return count;
}

/* Runs inlay_ngram_forward(). First reads rows of mapped files into memory: files[i] is the file of lookup->tables[i],
   or null. Needs no GIL. */
static inlay_status forward(const struct ngram_call *call, const inlay_ngram_lookup *lookup,
                            struct open_file *const *files, void *out, size_t stride_bytes,
                            const inlay_executor *threads, inlay_fault *fault)
{
    size_t bytes, count = 0;
    int64_t *ids = NULL;
    struct run *runs = malloc(call->columns * sizeof *runs);
    if (!__builtin_mul_overflow(call->tokens, call->columns * sizeof *ids, &bytes) && bytes > 0)
        ids = malloc(bytes);
    if (runs != NULL && ids != NULL)
        count = begin_reads(call, lookup, files, ids, runs);
    free(ids);
    const inlay_status status =
        inlay_ngram_forward(call->ngram->handle, &call->batch, lookup, out, stride_bytes, threads, fault);
    for (size_t i = 0; i < count; i++)
        open_file_end(runs[i].file, &runs[i].read);
    free(runs);
    return status;
}

static PyObject *gather_rows(struct ngram_call *call, const struct tables *tables,
                             PyObject *const arguments[NGRAM_ARGUMENTS])
{
    Py_ssize_t shape[VIEW_DIMS + 1];
    struct output output;
    inlay_ngram_lookup lookup = inlay_ngram_lookup_default(NULL, 0);
    inlay_fault fault;
    inlay_executor executor;
    const inlay_executor *threads;
    bool planar = false;
    size_t dim = 0;
    float scale = 1;
    if (check_tables(call, tables, &dim, &scale) < 0)
        return NULL;
    const enum dtype dtype = read_lookup(call, tables, arguments, scale, &lookup, &planar);
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
    /* A sum also reads the rows of all columns. */
    const size_t bytes = call->tokens * call->columns * dim * dtype_infos[dtype].bytes;
    PyThreadState *thread = threads_release_gil(bytes, call->threads, tables_wait(tables), &executor, &threads);
    const inlay_status status =
        tables->in_files ? forward(call, &lookup, tables->files, output.data, output.stride_bytes, threads, &fault)
                         : inlay_ngram_forward(call->ngram->handle, &call->batch, &lookup, output.data,
                                               output.stride_bytes, threads, &fault);
    threads_restore_gil(thread);
    return finish(call, &output, arguments[NGRAM_IDS], status, &fault);
}

static PyObject *run_rows(struct ngram_call *call, PyObject *const arguments[NGRAM_ARGUMENTS])
{
    struct tables tables;
    PyObject *given = arguments[NGRAM_TABLES] != NULL ? arguments[NGRAM_TABLES] : call->ngram->tables;
    PyObject *result = open_tables(&tables, given) == 0 ? gather_rows(call, &tables, arguments) : NULL;
    close_tables(&tables);
    return result;
}

/* ---- Histories -------------------------------------------------------------------------------------------------- */

/* Opens a contiguous output. Returns -1 with an exception set on failure. */
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
    struct output pair[2]; /* histories and their lengths */
    inlay_fault fault;
    memcpy(shape, call->lead_shape, (size_t)call->lead * sizeof *shape);
    shape[call->lead] = (Py_ssize_t)call->ngram->length - 1;
    if (read_accepted(call, arguments[NGRAM_ACCEPTED]) < 0 ||
        open_contiguous(&pair[0], arguments[NGRAM_OUT], call->ids.way, call->ids.dtype, call->lead + 1, shape) < 0)
        return NULL;
    /* Frameworks compute with int32. Lengths are below 16, so uint32 has the same bits. */
    if (open_contiguous(&pair[1], arguments[NGRAM_OUT_LENGTHS], call->ids.way, DTYPE_I32, call->lead, shape) < 0)
        return output_abandon(&pair[0]);
    const inlay_status status =
        inlay_ngram_history(call->ngram->handle, &call->batch, (const int64_t *)(const void *)call->accepted.data,
                            pair[0].data, (uint32_t *)(void *)pair[1].data, &fault);
    if (status == INLAY_OK)
        return output_close_pair(pair, call->ids.way, arguments[NGRAM_IDS]);
    output_abandon(&pair[0]);
    output_abandon(&pair[1]);
    return ngram_raise(call, status, &fault);
}

/* ---- All kinds -------------------------------------------------------------------------------------------------- */

PyObject *ngram_call_run(const struct ngram_facts *ngram, enum ngram_call_kind kind, PyObject *const *args,
                         size_t count, PyObject *names)
{
    static PyObject *(*const functions[NGRAM_CALLS])(struct ngram_call * call, PyObject *const *arguments) = {
        [NGRAM_IDS_CALL] = run_ids, [NGRAM_ROWS_CALL] = run_rows, [NGRAM_HISTORY_CALL] = run_history};
    PyObject *arguments[MAX_ARGUMENTS];
    struct ngram_call call;
    if (arguments_sort(&arguments_of[kind], arguments, args, count, names) < 0 ||
        ngram_batch_begin(&call, ngram, arguments) < 0)
        return NULL;
    PyObject *result = functions[kind](&call, arguments);
    ngram_batch_end(&call);
    return result;
}
