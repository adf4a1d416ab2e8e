/* SPDX-License-Identifier: MIT */
/*
 * Converts the arguments of a call to tensors and a batch, and faults to exceptions. Types, shapes and strides are
 * checked here; the library checks positions, offsets and overlaps.
 */
#include "rotary/rotate.h"

#include "arrays/output.h"
#include "arrays/view.h"
#include "module/arguments.h"
#include "module/errors.h"
#include "module/objects.h"
#include "module/options.h"
#include "module/threads.h"

#include <stdio.h>
#include <string.h>

enum argument {
    ARGUMENT_ARRAYS, /* the last array: those before it are sorted out first */
    ARGUMENT_OUT,
    ARGUMENT_START,
    ARGUMENT_STARTS,
    ARGUMENT_POSITION_IDS,
    ARGUMENT_OFFSETS,
    ARGUMENT_INVERSE,
    ARGUMENT_HEADS_FIRST,
};

static struct arguments rotate_arguments = {
    .what = "a Rotary",
    .positional = 1,
    .names = {"arrays", "out", "start", "starts", "position_ids", "offsets", "inverse", "heads_first"},
};

int rotate_init(void)
{
    return arguments_init(&rotate_arguments);
}

struct rotation {
    const struct rotary_facts *rotary;
    inlay_batch batch;
    int dims;               /* of the tokens */
    Py_ssize_t shape[2];    /* [batch, length] or [length] */
    int id_dims;            /* of positions */
    Py_ssize_t id_shape[3]; /* the shape of the tokens; of position_ids with several axes, these before it */
    int inverse, heads_first;
    struct view starts, offsets, position_ids; /* zeroed if absent */
    size_t count, viewed, opened;              /* arrays; those with a view, and those with an output */
    struct view arrays[INLAY_ROTARY_MAX_TENSORS];
    struct output outputs[INLAY_ROTARY_MAX_TENSORS];
    inlay_rotary_tensor tensors[INLAY_ROTARY_MAX_TENSORS];
};

/* ---- Arrays ----------------------------------------------------------------------------------------------------- */

/* The dimensions of an array: [batch, length, heads, columns], or without a batch. */
struct axes {
    int batch, length, heads, columns; /* batch is negative if there is none */
};

static struct axes axes_of(const struct rotation *call, const struct view *view)
{
    const int first = view->dims - 3;
    return (struct axes){first - 1, first + call->heads_first, first + !call->heads_first, first + 2};
}

/* Reads the strides of an array. Strides of single elements don't matter. */
static int read_strides(const struct rotation *call, const struct view *view, const char *what,
                        inlay_rotary_strides *strides)
{
    const struct axes axes = axes_of(call, view);
    bool good = view->stride_bytes[axes.columns] == dtype_infos[view->dtype].bytes;
    for (int i = 0; i < axes.columns; i++)
        good = good && (view->shape[i] <= 1 || view->stride_bytes[i] > 0);
    if (!good && view_count(view) > 0)
        return raise_error(PyExc_ValueError,
                           "%s must have contiguous columns and other strides above 0: make a copy with "
                           "numpy.ascontiguousarray(), or .contiguous() in PyTorch",
                           what);
    /* To the library, a stride of 0 between sequences means that they are packed. */
    strides->sequence = axes.batch >= 0 && view->shape[axes.batch] > 1 ? (size_t)view->stride_bytes[axes.batch] : 0;
    strides->token = (size_t)view->stride_bytes[axes.length];
    strides->head = (size_t)view->stride_bytes[axes.heads];
    return 0;
}

/* Sets the tokens of the call to those of the first array. Requires the same of the others. */
static int read_tokens(struct rotation *call, const struct view *view, const char *what)
{
    const struct axes axes = axes_of(call, view);
    const size_t sequences = axes.batch >= 0 ? (size_t)view->shape[axes.batch] : 1;
    const size_t length = (size_t)view->shape[axes.length];
    if (call->viewed > 1) {
        if (sequences == call->batch.sequences && length == call->batch.length)
            return 0;
        return raise_error(PyExc_ValueError, "%s has %zu sequences of %zu tokens, and arrays[0] has %zu of %zu", what,
                           sequences, length, call->batch.sequences, call->batch.length);
    }
    call->batch.sequences = sequences;
    call->batch.length = length;
    call->dims = view->dims - 2;
    call->shape[0] = (Py_ssize_t)sequences;
    call->shape[call->dims - 1] = (Py_ssize_t)length;
    return 0;
}

static int read_array(struct rotation *call, PyObject *array)
{
    char what[32];
    const size_t index = call->viewed;
    struct view *view = &call->arrays[index];
    inlay_rotary_tensor *tensor = &call->tensors[index];
    snprintf(what, sizeof what, "arrays[%zu]", index);
    if (view_borrow(view, array, what, DTYPE_F32) < 0)
        return -1;
    call->viewed++;
    if (!dtype_is_output(view->dtype))
        return view_wrong_dtype(view, what, "float32, float16 or bfloat16", DTYPE_F32);
    if (view->dims != 3 && view->dims != 4)
        return raise_error(PyExc_ValueError,
                           "%s has %d dimensions, expected 3 or 4: [length, heads, columns], with a batch before them",
                           what, view->dims);
    const struct axes axes = axes_of(call, view);
    if (view->shape[axes.columns] < call->rotary->dim)
        return raise_error(PyExc_ValueError,
                           "%s has %zd columns, and %zd of them rotate: make the Rotary with that dim", what,
                           view->shape[axes.columns], call->rotary->dim);
    if (view->way == VIEW_DLPACK && output_check_gradient(array, what) < 0)
        return -1;
    *tensor = inlay_rotary_in_place(dtype_infos[view->dtype].element, view->data, (size_t)view->shape[axes.heads],
                                    (size_t)view->shape[axes.columns]);
    return read_tokens(call, view, what) < 0 ? -1 : read_strides(call, view, what, &tensor->data_strides);
}

/* ---- Positions -------------------------------------------------------------------------------------------------- */

/* Rejects arguments that exclude each other. Returns -1 with ValueError set on failure. */
static int check_use(PyObject *const given[MAX_ARGUMENTS])
{
    const bool start = given[ARGUMENT_START] != NULL, starts = given[ARGUMENT_STARTS] != NULL;
    if (starts && start)
        return raise_error(PyExc_ValueError, "starts was given, but start was given too");
    if (given[ARGUMENT_POSITION_IDS] != NULL && (start || starts))
        return raise_error(PyExc_ValueError, "position_ids was given, but start or starts was given too");
    return 0;
}

static int read_offsets(struct rotation *call, PyObject *offsets)
{
    struct view *view = &call->offsets;
    if (offsets == NULL)
        return 0;
    if (call->dims != 1)
        return raise_error(PyExc_ValueError, "arrays[0] has 4 dimensions, expected 3 with offsets: [tokens, heads, "
                                             "columns], or [heads, tokens, columns] with heads_first");
    if (view_borrow_offsets(view, offsets, NULL) < 0)
        return -1;
    call->batch.offsets = (const int64_t *)(const void *)view->data;
    call->batch.sequences = (size_t)view->shape[0] - 1;
    return 0;
}

static int read_starts(struct rotation *call, PyObject *starts)
{
    struct view *view = &call->starts;
    const Py_ssize_t sequences = (Py_ssize_t)call->batch.sequences;
    if (starts == NULL)
        return 0;
    if (view_borrow(view, starts, "starts", DTYPE_UNKNOWN) < 0 || view_ids(view, "starts") == 0 ||
        view_require_shape(view, "starts", 1, &sequences) < 0 || view_pack(view, DTYPE_I64) < 0)
        return -1;
    call->batch.starts = (const int64_t *)(const void *)view->data;
    return 0;
}

static int read_positions(struct rotation *call, PyObject *const given[MAX_ARGUMENTS])
{
    inlay_batch *batch = &call->batch;
    PyObject *ids = given[ARGUMENT_POSITION_IDS];
    if (read_offsets(call, given[ARGUMENT_OFFSETS]) < 0 ||
        option_int64(given[ARGUMENT_START], "start", &batch->start) < 0 ||
        read_starts(call, given[ARGUMENT_STARTS]) < 0)
        return -1;
    const int rows = ids != NULL && call->rotary->axes > 1;
    call->id_dims = rows + call->dims;
    call->id_shape[0] = call->rotary->axes;
    memcpy(call->id_shape + rows, call->shape, (size_t)call->dims * sizeof *call->shape);
    return ids == NULL ? 0
                       : view_borrow_ids(&call->position_ids, ids, "position_ids", call->id_dims, call->id_shape,
                                         &batch->position_ids, &batch->position_id_type);
}

/* ---- Outputs ---------------------------------------------------------------------------------------------------- */

/* Opens the output of the next array: `out`, or a new array if `out` is null or None. */
static int open_output(struct rotation *call, PyObject *out)
{
    const size_t index = call->opened;
    const struct view *view = &call->arrays[index];
    inlay_rotary_tensor *tensor = &call->tensors[index];
    struct output *output = &call->outputs[index];
    if (output_open_strided(output, out, view->way, view->dtype, view->dims, view->shape) < 0)
        return -1;
    call->opened++;
    tensor->out = output->data;
    if (out != NULL && out != Py_None)
        return read_strides(call, &output->given, "out", &tensor->out_strides);
    const size_t row = output->stride_bytes, length = call->heads_first ? (size_t)view->shape[view->dims - 2] : 1;
    tensor->out_strides.token = call->heads_first ? row : tensor->heads * row;
    tensor->out_strides.head = length * row;
    tensor->out_strides.sequence =
        view->dims == 4 && view->shape[0] > 1 ? (size_t)view->shape[1] * (size_t)view->shape[2] * row : 0;
    return 0;
}

/* Opens all outputs. A tuple or list has one item for each array. */
static int open_outputs(struct rotation *call, PyObject *out)
{
    if (out == NULL || !(PyTuple_Check(out) || PyList_Check(out))) {
        if (out != NULL && call->count > 1)
            return raise_error(PyExc_TypeError,
                               "out must be a tuple with an array, or None for a new one, for each of %zu arrays",
                               call->count);
        int failed = 0;
        while (!failed && call->opened < call->count)
            failed = open_output(call, out);
        return failed;
    }
    PyObject *items = PySequence_Tuple(out); /* another thread may change a list */
    if (items == NULL)
        return -1;
    int failed = 0;
    if ((size_t)PyTuple_Size(items) != call->count)
        failed = raise_error(PyExc_ValueError, "out has %zd items, and there are %zu arrays: give one for each",
                             PyTuple_Size(items), call->count);
    while (!failed && call->opened < call->count)
        failed = open_output(call, PyTuple_GetItem(items, (Py_ssize_t)call->opened));
    Py_DECREF(items);
    return failed;
}

/* ---- The call --------------------------------------------------------------------------------------------------- */

static int begin(struct rotation *call, PyObject *const *arrays, PyObject *const given[MAX_ARGUMENTS])
{
    call->inverse = given[ARGUMENT_INVERSE] != NULL ? PyObject_IsTrue(given[ARGUMENT_INVERSE]) : 0;
    call->heads_first = given[ARGUMENT_HEADS_FIRST] != NULL ? PyObject_IsTrue(given[ARGUMENT_HEADS_FIRST]) : 0;
    if (call->inverse < 0 || call->heads_first < 0 || check_use(given) < 0)
        return -1;
    while (call->viewed < call->count)
        if (read_array(call, arrays[call->viewed]) < 0)
            return -1;
    return read_positions(call, given) < 0 ? -1 : open_outputs(call, given[ARGUMENT_OUT]);
}

/* Sets the exception of a call that failed. */
static void raise_of_call(const struct rotation *call, inlay_status status, const inlay_fault *fault)
{
    char text[ERROR_TEXT_BYTES];
    if (status_names_index(status)) {
        const inlay_batch *batch = &call->batch;
        const size_t axis = fault->sequence / batch->sequences;
        inlay_fault place = *fault; /* its sequences count through all axes */
        place.sequence %= batch->sequences;
        const size_t tokens = batch->offsets != NULL ? batch->length : batch->sequences * batch->length;
        index_text(text, "position", fault->value, axis * tokens + token_at(batch->offsets, batch->length, &place),
                   call->id_dims, call->id_shape, "[0, 2147483648)");
        PyErr_SetString(PyExc_IndexError, text);
    } else if (status == INLAY_ERROR_OVERLAP) {
        PyErr_SetString(PyExc_ValueError, "out overlaps an array: give the array itself to rotate it in place, or "
                                          "memory that overlaps no argument");
    } else if (status == INLAY_ERROR_STRIDE) {
        PyErr_SetString(PyExc_ValueError, "an array has heads that overlap each other: make a copy with "
                                          "numpy.ascontiguousarray(), or .contiguous() in PyTorch");
    } else {
        raise_call(status, fault, call->batch.length, false);
    }
}

static int run(struct rotation *call)
{
    inlay_fault fault;
    inlay_executor executor;
    const inlay_executor *threads;
    size_t bytes = 0;
    for (size_t i = 0; i < call->count; i++)
        bytes += view_count(&call->arrays[i]) * dtype_infos[call->arrays[i].dtype].bytes;
    PyThreadState *thread = threads_release_gil(bytes, call->rotary->threads, false, &executor, &threads);
    const inlay_status status =
        inlay_rotate(call->rotary->handle, &call->batch, call->tensors, call->count,
                     call->inverse ? INLAY_ROTARY_INVERSE : INLAY_ROTARY_FORWARD, threads, &fault);
    threads_restore_gil(thread);
    if (status == INLAY_OK)
        return 0;
    raise_of_call(call, status, &fault);
    return -1;
}

/* Ends a call. Returns its result, or null if `failed`. */
static PyObject *end(struct rotation *call, PyObject *const *arrays, bool failed)
{
    PyObject *results = failed || call->count == 1 ? NULL : PyTuple_New((Py_ssize_t)call->count);
    failed = failed || (results == NULL && call->count > 1);
    for (size_t i = 0; i < call->opened; i++) {
        if (failed)
            output_abandon(&call->outputs[i]);
        else if (call->count == 1)
            results = output_close(&call->outputs[i], call->arrays[i].way, arrays[i]);
        else
            sequence_put(&results, i, output_close(&call->outputs[i], call->arrays[i].way, arrays[i]));
    }
    for (size_t i = 0; i < call->viewed; i++)
        view_release(&call->arrays[i]);
    view_release(&call->starts);
    view_release(&call->offsets);
    view_release(&call->position_ids);
    return results;
}

PyObject *rotate_run(const struct rotary_facts *rotary, PyObject *const *args, size_t count, PyObject *names)
{
    PyObject *arguments[MAX_ARGUMENTS];
    struct rotation call; /* its arrays are set only up to the count: zeros would slow down small calls */
    if (count < 1 || count > INLAY_ROTARY_MAX_TENSORS)
        return PyErr_Format(PyExc_TypeError, "a Rotary takes 1 to %d arrays by position, but %zu were given",
                            INLAY_ROTARY_MAX_TENSORS, count);
    if (arguments_sort(&rotate_arguments, arguments, args + count - 1, 1, names) < 0)
        return NULL;
    memset(&call, 0, offsetof(struct rotation, arrays));
    call.rotary = rotary;
    call.batch = inlay_batch_i32(NULL, 0, 0, 0);
    call.count = count;
    const bool failed = begin(&call, args, arguments) < 0 || run(&call) < 0;
    return end(&call, args, failed);
}

/* ---- Given cosines and sines ------------------------------------------------------------------------------------ */

/* The arguments of rotate_given(). */
enum { GIVEN_COS, GIVEN_SIN, GIVEN_COLUMNS, GIVEN_HEADS_FIRST, GIVEN_OUT, GIVEN_ARRAYS };

/* Rows of cosines and sines in float32, and memory for them: rows [tokens, 2 * dim], then starts [sequences] and row
   indices [tokens]. */
struct given {
    struct view cos, sin; /* zeroed if absent */
    size_t tokens, length, dim;
    bool interleaved, first; /* `first`: only the first half of each row counts */
    float *rows;
    int64_t *starts;
    int32_t *indices;
};

static int read_given(struct given *given, PyObject *cos, PyObject *sin, PyObject *columns)
{
    const char *name = PyUnicode_AsUTF8AndSize(columns, NULL);
    if (name == NULL || view_borrow(&given->cos, cos, "cos", DTYPE_F32) < 0 ||
        view_borrow(&given->sin, sin, "sin", DTYPE_F32) < 0)
        return -1;
    const struct view *view = &given->cos;
    given->first = strcmp(name, "interleaved_first") == 0;
    given->interleaved = given->first || strcmp(name, "interleaved") == 0;
    if (!given->interleaved && strcmp(name, "halves") != 0)
        return raise_error(PyExc_ValueError, "columns is \"%s\", expected halves, interleaved or interleaved_first",
                           name);
    if (view->dims != 2 && view->dims != 3)
        return raise_error(PyExc_ValueError, "cos has %d dimensions, expected 2 or 3", view->dims);
    given->dim = (size_t)view->shape[view->dims - 1];
    given->length = (size_t)view->shape[view->dims - 2];
    given->tokens = view->dims == 3 ? (size_t)view->shape[0] * given->length : given->length;
    if (!dtype_is_output(view->dtype) || given->dim == 0 || given->dim % 2 != 0 || given->tokens == 0 ||
        given->tokens > INT32_MAX)
        return raise_error(PyExc_ValueError, "cos must have float32, float16 or bfloat16 rows of an even length");
    if (!view_is_contiguous(view) || !view_is_contiguous(&given->sin))
        return raise_error(PyExc_ValueError, "cos and sin must be contiguous");
    return view_require_dtype(&given->sin, "sin", view->dtype) < 0
               ? -1
               : view_require_shape(&given->sin, "sin", view->dims, view->shape);
}

static int allocate_given(struct given *given, size_t sequences)
{
    const size_t row_bytes = 2 * given->dim * sizeof(float) + sizeof *given->indices;
    if (given->tokens > (PTRDIFF_MAX / 2) / row_bytes ||
        (given->rows = PyMem_Malloc(given->tokens * row_bytes + sequences * sizeof *given->starts)) == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    given->starts = (int64_t *)(void *)(given->rows + 2 * given->dim * given->tokens);
    given->indices = (int32_t *)(void *)(given->starts + sequences);
    return 0;
}

/* Converts cosines or sines to float32, into rows of 2 * dim columns. */
static int convert_given(const struct given *given, const struct view *view, float *to)
{
    const inlay_table table = inlay_table_view(dtype_infos[view->dtype].element, view->data, given->tokens, given->dim,
                                               given->dim * dtype_infos[view->dtype].bytes);
    const inlay_status status = inlay_gather(&table, given->indices, INLAY_ID_I32, given->tokens, 1, to,
                                             2 * given->dim * sizeof(float), NULL, NULL);
    if (status == INLAY_OK)
        return 0;
    raise_status(status);
    return -1;
}

/* Moves one of the two copies of each number in a row [dim] to `to`, which may precede the row. Returns false if the
   copies differ, unless only the first half counts. */
static bool keep_half(const struct given *given, const float *row, float *to)
{
    const size_t half = given->dim / 2;
    bool same = true;
    if (given->first || !given->interleaved) {
        same = given->first || memcmp(row, row + half, half * sizeof *row) == 0;
        memmove(to, row, half * sizeof *row);
    } else {
        for (size_t i = 0; i < half; i++) {
            same = same && memcmp(row + 2 * i, row + 2 * i + 1, sizeof *row) == 0;
            to[i] = row[2 * i];
        }
    }
    return same;
}

/* Fills in the rows of a handle, [tokens, dim]. Returns 0 if cosines or sines don't repeat, and -1 on failure. */
static int make_rows(const struct given *given)
{
    const size_t dim = given->dim;
    for (size_t i = 0; i < given->tokens; i++)
        given->indices[i] = (int32_t)i;
    if (convert_given(given, &given->cos, given->rows) < 0 || convert_given(given, &given->sin, given->rows + dim) < 0)
        return -1;
    bool same = true;
    for (size_t i = 0; same && i < given->tokens; i++) {
        const float *row = given->rows + 2 * dim * i;
        same = keep_half(given, row, given->rows + dim * i) &&
               keep_half(given, row + dim, given->rows + dim * i + dim / 2);
    }
    return same;
}

/* Sets the positions of the tokens: the row of each. */
static int read_rows(struct rotation *call, const struct given *given)
{
    const size_t sequences = call->batch.sequences;
    if (call->batch.length != given->length ||
        (given->tokens != given->length * sequences && given->tokens != given->length))
        return raise_error(PyExc_ValueError, "cos must have the same tokens as the arrays");
    for (size_t i = 0; i < sequences; i++)
        given->starts[i] = given->tokens == given->length ? 0 : (int64_t)(i * given->length);
    call->batch.starts = given->starts;
    return 0;
}

/* Returns 1 if it has rotated the arrays, 0 if cosines or sines don't repeat, and -1 on failure. */
static int run_given(struct rotation *call, struct given *given, PyObject *const *args, struct rotary_facts *rotary)
{
    inlay_rotary *handle;
    call->heads_first = PyObject_IsTrue(args[GIVEN_HEADS_FIRST]);
    if (call->heads_first < 0 || read_given(given, args[GIVEN_COS], args[GIVEN_SIN], args[GIVEN_COLUMNS]) < 0)
        return -1;
    rotary->dim = (Py_ssize_t)given->dim;
    while (call->viewed < call->count)
        if (read_array(call, args[GIVEN_ARRAYS + call->viewed]) < 0)
            return -1;
    if (allocate_given(given, call->batch.sequences) < 0 || read_rows(call, given) < 0)
        return -1;
    const int repeats = make_rows(given);
    if (repeats <= 0)
        return repeats;
    const inlay_status status =
        inlay_rotary_from_rows(given->rows, given->tokens, given->dim,
                               given->interleaved ? INLAY_ROTARY_INTERLEAVED : INLAY_ROTARY_HALVES, NULL, &handle);
    if (status != INLAY_OK) {
        raise_status(status);
        return -1;
    }
    rotary->handle = handle;
    const int failed = open_outputs(call, args[GIVEN_OUT]) < 0 ? -1 : run(call);
    inlay_rotary_destroy(handle);
    return failed < 0 ? -1 : 1;
}

PyObject *rotate_given(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    struct rotary_facts rotary = {.axes = 1};
    struct given given;
    struct rotation call;
    if (count <= GIVEN_ARRAYS || count > GIVEN_ARRAYS + INLAY_ROTARY_MAX_TENSORS)
        return PyErr_Format(PyExc_TypeError, "rotate_given() takes 1 to %d arrays", INLAY_ROTARY_MAX_TENSORS);
    memset(&call, 0, offsetof(struct rotation, arrays));
    memset(&given, 0, sizeof given);
    call.rotary = &rotary;
    call.batch = inlay_batch_i32(NULL, 0, 0, 0);
    call.count = (size_t)(count - GIVEN_ARRAYS);
    const int rotated = run_given(&call, &given, args, &rotary);
    PyMem_Free(given.rows);
    view_release(&given.cos);
    view_release(&given.sin);
    PyObject *results = end(&call, args + GIVEN_ARRAYS, rotated <= 0);
    return rotated == 0 ? Py_NewRef(Py_None) : results;
}
