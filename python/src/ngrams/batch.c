/* SPDX-License-Identifier: MIT */
/*
 * Reads the arguments common to all calls, and reports faults. Without offsets, the last dimension of ids runs along a
 * sequence, and arrays with one row per sequence have all other dimensions of ids. One-dimensional ids are one
 * sequence. Arrays with one row per sequence may then have a leading dimension of 1.
 */
#include "ngrams/batch.h"

#include "module/errors.h"
#include "module/options.h"
#include "module/threads.h"

#include <stdio.h>
#include <string.h>

/* ---- The batch -------------------------------------------------------------------------------------------------- */

void ngram_batch_end(struct ngram_call *call)
{
    struct view *const views[] = {&call->ids, &call->offsets, &call->history, &call->lengths, &call->accepted};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        view_release(views[i]);
}

int ngram_by_sequence(struct ngram_call *call, struct view *view, PyObject *array, const char *what, bool rows)
{
    Py_ssize_t shape[VIEW_DIMS + 1];
    if (view_borrow(view, array, what, DTYPE_UNKNOWN) < 0)
        return -1;
    const int lead = call->alone && view->dims == rows ? 0 : call->lead;
    memcpy(shape, call->lead_shape, (size_t)lead * sizeof *shape);
    shape[lead] = (Py_ssize_t)call->ngram->length - 1;
    return view_require_shape(view, what, lead + rows, shape);
}

static int read_offsets(struct ngram_call *call, PyObject *array)
{
    struct view *view = &call->offsets;
    if (view_borrow_offsets(view, array, &call->ids) < 0)
        return -1;
    call->batch.offsets = (const int64_t *)(const void *)view->data;
    call->batch.sequences = (size_t)view->shape[0] - 1;
    call->alone = false;
    call->lead_shape[0] = view->shape[0] - 1;
    return 0;
}

/* Reads histories. If their type differs from that of ids, converts both to int64. */
static int read_history(struct ngram_call *call, PyObject *const arguments[NGRAM_ARGUMENTS])
{
    PyObject *lengths = arguments[NGRAM_HISTORY_LENGTHS];
    if (arguments[NGRAM_HISTORY] == NULL) {
        if (lengths == NULL)
            return 0;
        return raise_error(PyExc_ValueError, "history_lengths requires history");
    }
    if (ngram_by_sequence(call, &call->history, arguments[NGRAM_HISTORY], "history", true) < 0 ||
        view_ids(&call->history, "history") == 0)
        return -1;
    if (call->history.dtype != call->ids.dtype &&
        (view_pack(&call->history, DTYPE_I64) < 0 || view_pack(&call->ids, DTYPE_I64) < 0))
        return -1;
    call->batch.history = call->history.data;
    if (lengths == NULL)
        return 0;
    if (ngram_by_sequence(call, &call->lengths, lengths, "history_lengths", false) < 0 ||
        view_pack_u32(&call->lengths, "history_lengths") < 0)
        return -1;
    call->batch.history_lengths = (const uint32_t *)(const void *)call->lengths.data;
    return 0;
}

/* Fills in the shape of the batch: the last dimension of ids runs along a sequence. */
static int read_ids(struct ngram_call *call, PyObject *array)
{
    struct view *ids = &call->ids;
    if (view_borrow(ids, array, "ids", DTYPE_UNKNOWN) < 0 || view_ids(ids, "ids") == 0)
        return -1;
    if (ids->dims >= VIEW_DIMS)
        return raise_error(PyExc_ValueError, "ids has %d dimensions, more than %d", ids->dims, VIEW_DIMS - 1);
    call->alone = ids->dims <= 1;
    call->lead = call->alone ? 1 : ids->dims - 1;
    call->lead_shape[0] = 1;
    if (!call->alone)
        memcpy(call->lead_shape, ids->shape, (size_t)call->lead * sizeof *ids->shape);
    call->batch.sequences = 1;
    for (int i = 0; i < call->lead; i++)
        call->batch.sequences *= (size_t)call->lead_shape[i];
    call->batch.length = ids->dims > 0 ? (size_t)ids->shape[ids->dims - 1] : 1;
    call->tokens = view_count(ids);
    return 0;
}

/* Reads the range of columns. */
static int read_columns(struct ngram_call *call, PyObject *const arguments[NGRAM_ARGUMENTS])
{
    const size_t all = call->ngram->columns;
    uint64_t first = 0;
    if (option_uint64(arguments[NGRAM_FIRST_COLUMN], "first_column", &first) < 0)
        return -1;
    uint64_t columns = first < all ? all - first : 0;
    if (option_uint64(arguments[NGRAM_COLUMNS], "columns", &columns) < 0 ||
        option_threads(arguments[NGRAM_THREADS], "threads", &call->threads) < 0)
        return -1;
    if (first >= all || columns < 1 || columns > all - first)
        return raise_error(PyExc_ValueError, "%llu columns starting at %llu are not in [0, %zu)",
                           (unsigned long long)columns, (unsigned long long)first, all);
    call->first_column = first;
    call->columns = columns;
    return 0;
}

int ngram_batch_begin(struct ngram_call *call, const struct ngram_facts *ngram,
                      PyObject *const arguments[NGRAM_ARGUMENTS])
{
    memset(call, 0, sizeof *call);
    call->ngram = ngram;
    call->batch = inlay_ngram_batch_i32(NULL, 0, 0);
    if (read_ids(call, arguments[NGRAM_IDS]) < 0 ||
        (arguments[NGRAM_OFFSETS] != NULL && read_offsets(call, arguments[NGRAM_OFFSETS]) < 0) ||
        read_history(call, arguments) < 0 || read_columns(call, arguments) < 0) {
        ngram_batch_end(call);
        return -1;
    }
    call->batch.ids = call->ids.data;
    call->batch.id_type = dtype_infos[call->ids.dtype].id;
    return 0;
}

/* ---- Errors ----------------------------------------------------------------------------------------------------- */

/* Sets ValueError or IndexError for an invalid history or number of accepted tokens. */
static PyObject *raise_history(const struct ngram_call *call, const inlay_fault *fault, const char *vocab)
{
    const size_t most = call->ngram->length - 1, sequence = fault->sequence;
    const uint32_t *lengths = call->batch.history_lengths;
    if (lengths != NULL && lengths[sequence] > most)
        return PyErr_Format(PyExc_ValueError, "history_lengths[%zu] is %lld, more than %zu", sequence,
                            (long long)fault->value, most);
    const struct view *accepted = &call->accepted;
    const int64_t *counts = (const int64_t *)(const void *)accepted->data;
    const size_t tokens = call->batch.offsets != NULL
                              ? (size_t)(call->batch.offsets[sequence + 1] - call->batch.offsets[sequence])
                              : call->batch.length;
    if (counts != NULL && (counts[sequence] < 0 || (uint64_t)counts[sequence] > tokens))
        return PyErr_Format(PyExc_ValueError, "accepted[%zu] is %lld, and the sequence has %zu tokens", sequence,
                            (long long)fault->value, tokens);
    return raise_index("history id", fault->value, sequence * most + fault->token, call->history.dims,
                       call->history.shape, vocab);
}

PyObject *ngram_raise(const struct ngram_call *call, inlay_status status, const inlay_fault *fault)
{
    char vocab[40];
    snprintf(vocab, sizeof vocab, "[0, %zu)", call->ngram->vocab);
    if (status == INLAY_ERROR_ID)
        return raise_index("id", fault->value, token_at(call->batch.offsets, call->batch.length, fault), call->ids.dims,
                           call->ids.shape, vocab);
    if (status == INLAY_ERROR_HISTORY)
        return raise_history(call, fault, vocab);
    return raise_call(status, fault, call->tokens, false);
}
