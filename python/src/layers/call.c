/* SPDX-License-Identifier: MIT */
/*
 * Converts the arguments of a call to a batch, and faults to exceptions. Types and shapes are checked here; the library
 * checks contents. Calls with only ids and out take a fast path.
 */
#include "layers/call.h"

#include "module/errors.h"
#include "module/options.h"
#include "module/threads.h"

#include <string.h>

struct arguments call_arguments = {
    .what = "a layer",
    .positional = ARGUMENT_OUT + 1,
    .names = {"ids", "out", "start", "starts", "offsets", "padded", "position_ids", "segment_ids", "weights", "dropout",
              "seed", "step", "token_type_ids"},
    .same_as[ARGUMENT_TOKEN_TYPE_IDS] = ARGUMENT_SEGMENT_IDS,
};
_Static_assert((int)ARGUMENTS <= (int)MAX_ARGUMENTS, "each argument has a place");

/* ---- Arrays other than ids -------------------------------------------------------------------------------------- */

/* Rejects arguments that can't be combined with the layer or other arguments. Returns -1 with ValueError set on
   failure. */
static int check_use(const struct layer_facts *layer, PyObject *const given[ARGUMENTS])
{
    const bool start = given[ARGUMENT_START] != NULL, starts = given[ARGUMENT_STARTS] != NULL;
    const struct {
        enum argument argument;
        bool wrong;
        const char *why;
    } reasons[] = {
        {ARGUMENT_PADDED, given[ARGUMENT_OFFSETS] == NULL, "there are no offsets"},
        {ARGUMENT_PADDED, layer->pooled && given[ARGUMENT_PADDED] != Py_False,
         "a layer with pooling has one row for each sequence"},
        {ARGUMENT_STARTS, !layer->positioned, "this layer has no positions"},
        {ARGUMENT_STARTS, start, "start was given too"},
        {ARGUMENT_POSITION_IDS, start || starts, "start or starts was given too"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (given[reasons[i].argument] != NULL && reasons[i].wrong)
            return raise_error(PyExc_ValueError, "%s was given, but %s", call_arguments.names[reasons[i].argument],
                               reasons[i].why);
    return 0;
}

/* Reads the position ids or segment ids, if given: one per token. */
static int read_ids(struct view *view, PyObject *array, const char *what, const struct view *ids, const void **data,
                    inlay_id_type *type)
{
    return array != NULL ? view_borrow_ids(view, array, what, ids->dims, ids->shape, data, type) : 0;
}

static int read_weights(struct call *call, PyObject *array)
{
    struct view *view = &call->more.weights;
    if (array == NULL)
        return 0;
    if (view_borrow(view, array, "weights", DTYPE_F32) < 0 || view_require_dtype(view, "weights", DTYPE_F32) < 0 ||
        view_broadcast(view, "weights", call->ids.dims, call->ids.shape) < 0 || view_pack(view, DTYPE_F32) < 0)
        return -1;
    call->batch.weights = view->data;
    return 0;
}

/* Returns the length of the longest sequence. The library checks the offsets later, so any values must be safe here.
 */
static size_t longest_sequence(const struct view *offsets)
{
    const size_t count = view_count(offsets);
    int64_t longest = 0, length;
    for (size_t i = 1; i < count; i++)
        if (!__builtin_sub_overflow(view_int64_at(offsets, i), view_int64_at(offsets, i - 1), &length) &&
            length > longest)
            longest = length;
    return (size_t)longest;
}

/* Reads the length of sequences in a padded output: a number, or True for the longest sequence of the call. */
static int read_padded(struct call *call, PyObject *padded)
{
    uint64_t length = 0;
    if (padded == NULL || padded == Py_False)
        return 0;
    if (padded == Py_True)
        length = longest_sequence(&call->more.offsets);
    else if (option_uint64(padded, "padded", &length) < 0)
        return -1;
    /* To the library, length 0 means a packed output. If there are no tokens, a padded output of length 0 is the
       same. */
    if (length > PY_SSIZE_T_MAX || (length == 0 && call->batch.length > 0))
        return raise_error(PyExc_ValueError, "padded is %llu, but the sequences have %zu tokens",
                           (unsigned long long)length, call->batch.length);
    call->batch.padded_length = (size_t)length;
    call->dims = 3;
    call->shape[0] = (Py_ssize_t)call->batch.sequences;
    call->shape[1] = (Py_ssize_t)length;
    return 0;
}

static int read_offsets(struct call *call, const struct layer_facts *layer, PyObject *offsets, PyObject *padded)
{
    struct view *view = &call->more.offsets;
    if (offsets == NULL)
        return 0;
    if (view_borrow_offsets(view, offsets, &call->ids) < 0)
        return -1;
    call->batch.offsets = (const int64_t *)(const void *)view->data;
    call->batch.sequences = (size_t)view->shape[0] - 1;
    call->batch.length = (size_t)call->ids.shape[0];
    call->dims = 2;
    call->shape[0] = layer->pooled ? (Py_ssize_t)call->batch.sequences : call->ids.shape[0];
    return read_padded(call, padded);
}

static int read_starts(struct call *call, PyObject *starts)
{
    struct view *view = &call->more.starts;
    if (starts == NULL)
        return 0;
    const Py_ssize_t sequences = (Py_ssize_t)call->batch.sequences;
    const bool ragged = call->batch.offsets != NULL;
    const int dims = ragged ? 1 : call->ids.dims - 1;
    const bool alone = dims <= 0; /* a single sequence takes one start, as a list */
    if (view_borrow(view, starts, "starts", DTYPE_UNKNOWN) < 0 || view_ids(view, "starts") == 0 ||
        view_require_shape(view, "starts", alone ? 1 : dims, ragged || alone ? &sequences : call->ids.shape) < 0 ||
        view_pack(view, DTYPE_I64) < 0)
        return -1;
    call->batch.starts = (const int64_t *)(const void *)view->data;
    return 0;
}

static int read_dropout(struct call *call, PyObject *const arguments[ARGUMENTS])
{
    double dropout = 0;
    if (option_double(arguments[ARGUMENT_DROPOUT], &dropout) < 0 ||
        option_uint64(arguments[ARGUMENT_SEED], "seed", &call->batch.dropout_key) < 0 ||
        option_uint64(arguments[ARGUMENT_STEP], "step", &call->batch.dropout_offset) < 0)
        return -1;
    call->batch.dropout = (float)dropout;
    if (call->batch.dropout >= 0 && call->batch.dropout < 1)
        return 0;
    return raise_error(PyExc_ValueError, "dropout is %S, not in [0, 1)", arguments[ARGUMENT_DROPOUT]);
}

/* Reads all arguments except ids and out. The caller has zeroed the views, so any of them can be released. */
static int read_more(struct call *call, const struct layer_facts *layer, PyObject *const arguments[ARGUMENTS])
{
    inlay_batch *batch = &call->batch;
    if (check_use(layer, arguments) < 0 ||
        read_offsets(call, layer, arguments[ARGUMENT_OFFSETS], arguments[ARGUMENT_PADDED]) < 0 ||
        option_int64(arguments[ARGUMENT_START], "start", &batch->start) < 0 ||
        read_starts(call, arguments[ARGUMENT_STARTS]) < 0 ||
        read_ids(&call->more.positions, arguments[ARGUMENT_POSITION_IDS], "position_ids", &call->ids,
                 &batch->position_ids, &batch->position_id_type) < 0 ||
        read_ids(&call->more.segments, arguments[ARGUMENT_SEGMENT_IDS], "segment_ids", &call->ids, &batch->segment_ids,
                 &batch->segment_id_type) < 0 ||
        read_weights(call, arguments[ARGUMENT_WEIGHTS]) < 0)
        return -1;
    return read_dropout(call, arguments);
}

/* ---- The call --------------------------------------------------------------------------------------------------- */

/* Fills in the shape of the batch, and the shape of the output except its last dimension. The last dimension of ids
   runs along a sequence. */
static void read_shape(struct call *call, const struct layer_facts *layer)
{
    const int leading = call->ids.dims > 0 ? call->ids.dims - 1 : 0;
    size_t sequences = 1;
    for (int i = 0; i < leading; i++) {
        sequences *= (size_t)call->ids.shape[i];
        call->shape[i] = call->ids.shape[i];
    }
    call->batch.sequences = sequences;
    call->batch.length = call->ids.dims > 0 ? (size_t)call->ids.shape[leading] : 1;
    call->dims = leading;
    if (call->ids.dims > 0 && !layer->pooled)
        call->shape[call->dims++] = call->ids.shape[leading];
    call->dims++;
}

static void release_views(struct call *call)
{
    view_release(&call->ids);
    if (!call->has_more)
        return;
    struct view *const more[] = {&call->more.starts, &call->more.offsets, &call->more.positions, &call->more.segments,
                                 &call->more.weights};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        view_release(more[i]);
}

static bool any_beyond_out(PyObject *const arguments[ARGUMENTS])
{
    for (int i = ARGUMENT_OUT + 1; i < ARGUMENTS; i++)
        if (arguments[i] != NULL)
            return true;
    return false;
}

/* Returns the size of the output from its first row through its last, in bytes. */
static size_t output_bytes(const struct call *call)
{
    size_t bytes = call->output.stride_bytes;
    for (int i = 0; i < call->dims - 1; i++)
        bytes *= (size_t)call->shape[i];
    return bytes;
}

static int begin(struct call *call, const struct layer_facts *layer, PyObject *const arguments[ARGUMENTS])
{
    if (call->ids.dims >= VIEW_DIMS)
        return raise_error(PyExc_ValueError, "ids has %d dimensions, more than %d", call->ids.dims, VIEW_DIMS - 1);
    const inlay_id_type type = view_ids(&call->ids, "ids");
    if (type == 0)
        return -1;
    call->batch = inlay_batch_i32(NULL, 0, 0, layer->start);
    call->batch.ids = call->ids.data;
    call->batch.id_type = type;
    read_shape(call, layer);
    if (call->has_more && read_more(call, layer, arguments) < 0)
        return -1;
    call->shape[call->dims - 1] = layer->dim;
    PyObject *out = arguments[ARGUMENT_OUT];
    if (output_open(&call->output, out, call->ids.way, layer->dtype, call->dims, call->shape) < 0)
        return -1;
    /* A new output with skipped rows is zeroed: skipped rows must not leak earlier contents of the memory. */
    if (layer->skips && out == NULL)
        memset(call->output.data, 0, output_bytes(call));
    return 0;
}

int call_begin(struct call *call, const struct layer_facts *layer, PyObject *const arguments[ARGUMENTS])
{
    call->has_more = any_beyond_out(arguments);
    if (call->has_more)
        memset(&call->more, 0, sizeof call->more);
    if (view_borrow(&call->ids, arguments[ARGUMENT_IDS], "ids", DTYPE_UNKNOWN) < 0)
        return -1;
    if (begin(call, layer, arguments) == 0)
        return 0;
    release_views(call);
    return -1;
}

PyObject *call_end(struct call *call, PyObject *like, bool failed)
{
    PyObject *result = failed ? output_abandon(&call->output) : output_close(&call->output, call->ids.way, like);
    release_views(call);
    return result;
}

/* Sets the exception of a call that failed. */
static void raise_of_call(const struct call *call, const struct layer_facts *layer, inlay_status status,
                          const inlay_fault *fault)
{
    if (status_names_index(status)) {
        char text[ERROR_TEXT_BYTES];
        fault_text(text, status, &call->batch, fault, call->ids.dims, call->ids.shape, layer->learned);
        PyErr_SetString(PyExc_IndexError, text);
        return;
    }
    raise_call(status, fault, call->batch.length, call->batch.padded_length > 0);
}

/* Releases the GIL for a long call and fills in its executor. With pooling, the rows that are read count too, one per
   token. */
static PyThreadState *release_gil(const struct call *call, const struct layer_facts *layer, inlay_executor *executor,
                                  const inlay_executor **threads)
{
    const size_t row_bytes = (size_t)layer->dim * dtype_infos[layer->dtype].bytes;
    const size_t bytes = layer->pooled ? view_count(&call->ids) * row_bytes : 0;
    const bool waits = layer->file != NULL && open_file_waits(layer->file);
    return threads_release_gil(output_bytes(call) + bytes, layer->threads, waits, executor, threads);
}

/* Runs the call. For a mapped file, first reads the rows of the ids into memory, unless recent calls were fast. */
static inlay_status forward(const struct call *call, const struct layer_facts *layer, const inlay_executor *threads,
                            inlay_fault *fault)
{
    const struct output *output = &call->output;
    const inlay_batch *batch = &call->batch;
    if (layer->file == NULL)
        return inlay_forward(layer->handle, batch, output->data, output->stride_bytes, threads, fault);
    inlay_file_read read;
    open_file_begin(layer->file, layer->rows, batch->ids, batch->id_type, view_count(&call->ids), &read);
    const inlay_status status = inlay_forward(layer->handle, batch, output->data, output->stride_bytes, threads, fault);
    open_file_end(layer->file, &read);
    return status;
}

int call_run(struct call *call, const struct layer_facts *layer, const inlay_gradients *gradients)
{
    inlay_fault fault;
    inlay_executor executor;
    const inlay_executor *threads;
    const struct output *output = &call->output;
    PyThreadState *thread = release_gil(call, layer, &executor, &threads);
    const inlay_status status = gradients == NULL ? forward(call, layer, threads, &fault)
                                                  : inlay_backward(layer->handle, &call->batch, output->data,
                                                                   output->stride_bytes, gradients, threads, &fault);
    threads_restore_gil(thread);
    if (status == INLAY_OK)
        return 0;
    raise_of_call(call, layer, status, &fault);
    return -1;
}

PyObject *call_explain(struct call *call, const struct layer_facts *layer)
{
    char text[INLAY_PLAN_TEXT_BYTES];
    inlay_executor executor;
    const inlay_executor *threads;
    inlay_fault fault;
    PyThreadState *thread = release_gil(call, layer, &executor, &threads);
    inlay_status status = inlay_forward_explain(layer->handle, &call->batch, call->output.data,
                                                call->output.stride_bytes, threads, &fault, text, sizeof text);
    threads_restore_gil(thread);
    if (status == INLAY_OK)
        return PyUnicode_FromString(text);
    raise_of_call(call, layer, status, &fault);
    return NULL;
}
