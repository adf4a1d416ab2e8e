/* SPDX-License-Identifier: MIT */
/*
 * Converts options to a spec of the library, and its errors to messages about options.
 */
#include "layers/layer_options.h"

#include "module/errors.h"
#include "module/objects.h"
#include "module/options.h"
#include "module/threads.h"
#include "tables/sinusoid.h"
#include "tables/table.h"

#include <math.h>

static int read_scale(PyObject *object, size_t dim, float *scale)
{
    double number = 1;
    if (PyUnicode_Check(object)) {
        if (PyUnicode_CompareWithASCIIString(object, "sqrt") == 0) {
            *scale = inlay_sqrt_dim(dim);
            return 0;
        }
        return raise_error(PyExc_ValueError, "scale must be a number or \"sqrt\", not %R", object);
    }
    if (option_double(object, &number) < 0)
        return -1;
    *scale = (float)number;
    return 0;
}

/* Returns positions or segments as a Table with the dim of the layer. */
static PyObject *read_table(PyObject *object, const char *what, size_t dim)
{
    PyObject *table = table_from(object, what);
    if (table == NULL || (table_view(table)->dim == dim && table_scale(table) == 1))
        return table;
    if (table_view(table)->dim == dim)
        PyErr_Format(PyExc_ValueError, "%s has a scale, which only the token table may have", what);
    else
        PyErr_Format(PyExc_ValueError, "%s has dim %zu, and the table has %zu", what, table_view(table)->dim, dim);
    Py_DECREF(table);
    return NULL;
}

/* Reads positions, given as a Sinusoid, its name, or a table. */
static int read_positions(struct layer *layer, PyObject *object, size_t dim, inlay_layer_spec *spec)
{
    if (PyUnicode_Check(object) || PyType_Check(object)) { /* a class is an error there */
        PyObject *sinusoid = python_call("inlay.positions", "sinusoid_of", "(O)", object);
        const int failed = sinusoid == NULL ? -1 : read_positions(layer, sinusoid, dim, spec);
        Py_XDECREF(sinusoid);
        return failed;
    }
    if (object == Py_None)
        return 0;
    if (PyObject_HasAttrString(object, "formula")) {
        layer->positions = PyObject_CallMethod(object, "formula", "n", (Py_ssize_t)dim);
        spec->sinusoid = layer->positions != NULL ? sinusoid_handle(layer->positions) : NULL;
        return spec->sinusoid != NULL ? 0 : -1;
    }
    layer->positions = read_table(object, "positions", dim);
    if (layer->positions == NULL)
        return -1;
    spec->positions = table_view(layer->positions);
    return 0;
}

/* Reads a norm, given as an object, a name or None. */
static int read_norm(struct layer *layer, PyObject *object, inlay_layer_spec *spec)
{
    const Py_ssize_t dim = (Py_ssize_t)spec->tokens->dim;
    double epsilon = (double)spec->epsilon;
    if (object == Py_None)
        return 0;
    PyObject *kind, *eps, *gamma, *beta, *parts = python_call("inlay.norms", "parts_of", "(O)", object);
    int failed = parts == NULL || !PyArg_ParseTuple(parts, "OOOO", &kind, &eps, &gamma, &beta) ||
                 option_enum(kind, &option_norms, &spec->norm) < 0 || option_double(eps, &epsilon) < 0;
    spec->epsilon = (float)epsilon;
    if (!failed && (!(epsilon >= 0) || !isfinite(spec->epsilon)))
        failed = raise_error(PyExc_ValueError, "eps of a norm must be finite and not negative");
    failed = failed || view_keep(&layer->gamma, gamma, "gamma", DTYPE_F32, 1, &dim, &spec->gamma) < 0 ||
             view_keep(&layer->beta, beta, "beta", DTYPE_F32, 1, &dim, &spec->beta) < 0;
    Py_XDECREF(parts);
    return failed ? -1 : 0;
}

/* Reads the options that are names, flags or numbers. */
static int read_scalars(const struct layer_options *given, inlay_layer_spec *spec, size_t *threads)
{
    spec->clamp_positions = given->clamp_positions != 0;
    spec->segments_first = given->segments_first != 0;
    spec->self_tuning = given->self_tuning ? INLAY_SELF_TUNING_ON : INLAY_SELF_TUNING_OFF;
    const bool failed = option_enum(given->stores, &option_stores, &spec->stores) < 0 ||
                        option_enum(given->bad_id, &option_bad_ids, &spec->bad_id) < 0 ||
                        option_enum(given->zero_rows, &option_zero_rows, &spec->zero_rows) < 0 ||
                        option_enum(given->position_mode, &option_position_modes, &spec->position_mode) < 0 ||
                        option_enum(given->pooling, &option_poolings, &spec->pooling) < 0 ||
                        read_scale(given->scale, spec->tokens->dim, &spec->scale) < 0 ||
                        option_int64(given->padding_id, "padding_id", &spec->padding_id) < 0 ||
                        option_int64(given->substitute_id, "substitute_id", &spec->substitute_id) < 0 ||
                        option_uint64(given->cached_positions, "cached_positions", &spec->cached_positions) < 0 ||
                        option_threads(given->threads, "threads", threads) < 0;
    return failed ? -1 : 0;
}

/* Reads the arrays indexed by token id: the token mapping and the token weights. */
static int read_tokens(struct layer *layer, const struct layer_options *given, inlay_layer_spec *spec)
{
    struct view *mapping = &layer->token_mapping;
    Py_ssize_t ids = (Py_ssize_t)(spec->tokens->vocab > 0 ? spec->tokens->vocab : spec->tokens->rows);
    if (given->token_mapping != Py_None) {
        if (view_of(mapping, given->token_mapping, "token_mapping", DTYPE_I64) < 0)
            return -1;
        ids = mapping->dims == 1 ? mapping->shape[0] : 1;
        if (view_require_shape(mapping, "token_mapping", 1, &ids) < 0 ||
            view_require_contiguous(mapping, "token_mapping") < 0)
            return -1;
        spec->token_mapping_type = view_ids(mapping, "token_mapping");
        if (spec->token_mapping_type == 0)
            return -1;
        spec->token_mapping = mapping->data;
        spec->token_mapping_length = (size_t)ids;
    }
    spec->token_weights_length = given->token_weights != Py_None ? (size_t)ids : 0;
    return view_keep(&layer->token_weights, given->token_weights, "token_weights", DTYPE_F32, 1, &ids,
                     &spec->token_weights);
}

void layer_set_facts(struct layer *layer, const inlay_layer_spec *spec, const inlay_layer *handle)
{
    layer->facts = (struct layer_facts){
        .handle = handle,
        .dim = (Py_ssize_t)spec->tokens->dim,
        .dtype = dtype_of_element(spec->out_type),
        .threads = layer->facts.threads,
        /* Rows are read ahead by id. With a token mapping, ids aren't row numbers, so there is no reading ahead. */
        .file = spec->token_mapping == NULL ? table_file(layer->tokens) : NULL,
        .rows = table_view(layer->tokens),
        .table_rows = {(Py_ssize_t)spec->tokens->rows, spec->positions != NULL ? (Py_ssize_t)spec->positions->rows : 0,
                       spec->segments != NULL ? (Py_ssize_t)spec->segments->rows : 0},
        .positioned = spec->sinusoid != NULL || spec->positions != NULL,
        .learned = spec->positions != NULL,
        .pooled = spec->pooling != INLAY_POOLING_NONE,
        .skips = spec->bad_id == INLAY_BAD_ID_SKIP,
    };
}

/* Sets the exception for a spec that the library rejects. Returns -1. */
static int raise_spec(const struct layer *layer, const inlay_layer_spec *spec)
{
    const struct view *mapping = &layer->token_mapping;
    inlay_fault fault;
    const inlay_status status = inlay_layer_spec_check(spec, &fault);
    if (status == INLAY_ERROR_ID)
        raise_index(fault.field, fault.value, fault.token, mapping->dims, mapping->shape, "the table");
    else if (status != INLAY_OK)
        raise_fault(status, &fault);
    else
        PyErr_NoMemory();
    return -1;
}

int layer_fill(struct layer *layer, const struct layer_options *given)
{
    layer->tokens = table_from(given->table, "table");
    if (layer->tokens == NULL)
        return -1;
    inlay_layer_spec spec = inlay_layer_spec_default(table_view(layer->tokens));
    const size_t dim = spec.tokens->dim;
    const enum dtype dtype = given->dtype != NULL ? dtype_of_argument(given->dtype) : DTYPE_F32;
    if (dtype == DTYPE_UNKNOWN || read_scalars(given, &spec, &layer->facts.threads) < 0 ||
        read_positions(layer, given->positions, dim, &spec) < 0 || read_norm(layer, given->norm, &spec) < 0 ||
        read_tokens(layer, given, &spec) < 0)
        return -1;
    if (given->segments != Py_None) {
        layer->segments = read_table(given->segments, "segments", dim);
        if (layer->segments == NULL)
            return -1;
        spec.segments = table_view(layer->segments);
    }
    spec.out_type = dtype_infos[dtype].element;
    spec.scale *= table_scale(layer->tokens);
    inlay_status status = inlay_layer_create(&spec, NULL, &layer->handle);
    layer_set_facts(layer, &spec, layer->handle);
    return status == INLAY_OK ? 0 : raise_spec(layer, &spec);
}
