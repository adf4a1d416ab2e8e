/* SPDX-License-Identifier: MIT */
/*
 * The Layer type: its vectorcall, its methods, and layers made from model files.
 */
#include "layers/layer.h"

#include "files/file_errors.h"
#include "files/file_tables.h"
#include "layers/layer_options.h"
#include "module/objects.h"
#include "module/options.h"
#include "tables/table.h"

#include <time.h>

static PyTypeObject *layer_type; /* set at import */

static struct layer *layer_of(PyObject *self)
{
    return (struct layer *)(void *)self;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------ */

static PyObject *layer_call(PyObject *self, PyObject *const *args, size_t count_and_flag, PyObject *names)
{
    const struct layer_facts *facts = &layer_of(self)->facts;
    PyObject *arguments[MAX_ARGUMENTS];
    struct call call;
    if (arguments_sort(&call_arguments, arguments, args, inlay_positional(count_and_flag), names) < 0 ||
        call_begin(&call, facts, arguments) < 0)
        return NULL;
    return call_end(&call, arguments[ARGUMENT_IDS], call_run(&call, facts, NULL) < 0);
}

/* layer.explain(ids, out=None, ...): takes the arguments of a call, but only describes it. */
static PyObject *layer_explain(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    const struct layer_facts *facts = &layer_of(self)->facts;
    PyObject *arguments[MAX_ARGUMENTS];
    struct call call;
    if (arguments_sort(&call_arguments, arguments, args, (size_t)count, names) < 0 ||
        call_begin(&call, facts, arguments) < 0)
        return NULL;
    PyObject *text = call_explain(&call, facts);
    call_end(&call, NULL, true);
    return text;
}

/* layer._time(ids, out, calls): returns the seconds per call of the C function on this batch, including the release of
   the GIL. The benchmark subtracts this time from the time of a call from Python. */
static PyObject *layer_time(PyObject *self, PyObject *args)
{
    const struct layer_facts *facts = &layer_of(self)->facts;
    PyObject *arguments[ARGUMENTS] = {NULL};
    Py_ssize_t calls;
    struct call call;
    if (!PyArg_ParseTuple(args, "OOn", &arguments[ARGUMENT_IDS], &arguments[ARGUMENT_OUT], &calls) ||
        call_begin(&call, facts, arguments) < 0)
        return NULL;
    struct timespec begin, end;
    int failed = 0;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (Py_ssize_t i = 0; i < calls && !failed; i++)
        failed = call_run(&call, facts, NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    call_end(&call, NULL, true);
    const double seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    return failed ? NULL : PyFloat_FromDouble(seconds / (double)(calls > 0 ? calls : 1));
}

/* layer._backward(targets, ids, gradient, ...): adds the gradients of the token, position and segment tables to
   `targets`, a tuple of three items, each a float32 tensor [rows, dim] or None. `gradient` is the gradient of the
   output. The other arguments are as in the forward call. */
static PyObject *layer_backward(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    const struct layer_facts *facts = &layer_of(self)->facts;
    inlay_gradients gradients = inlay_gradients_none((size_t)facts->dim);
    const void *targets[3] = {NULL};
    struct view views[3] = {{.data = NULL}};
    PyObject *arguments[MAX_ARGUMENTS];
    struct call call;
    if (arguments_sort(&call_arguments, arguments, args + 1, (size_t)count - 1, names) < 0 ||
        call_begin(&call, facts, arguments) < 0)
        return NULL;
    int failed = 0;
    for (Py_ssize_t i = 0; i < 3 && !failed; i++) {
        PyObject *target = PyTuple_GetItem(args[0], i);
        const Py_ssize_t shape[] = {facts->table_rows[i], facts->dim};
        failed = target == NULL || view_keep(&views[i], target, "a gradient", DTYPE_F32, 2, shape, &targets[i]) < 0;
    }
    gradients.tokens = views[0].data;
    gradients.positions = views[1].data;
    gradients.segments = views[2].data;
    failed = failed || call_run(&call, facts, &gradients) < 0;
    for (int i = 0; i < 3; i++)
        view_release(&views[i]);
    call_end(&call, NULL, true);
    return failed ? NULL : Py_NewRef(Py_None);
}

/* layer._disown(): drops the references to the layer's tables, gamma and beta. The caller must then keep
   their memory alive, and not move it, during each call. */
static PyObject *layer_disown(PyObject *self, PyObject *Py_UNUSED(args))
{
    struct layer *layer = layer_of(self);
    Py_CLEAR(layer->tokens);
    Py_CLEAR(layer->positions);
    Py_CLEAR(layer->segments);
    view_release(&layer->gamma);
    view_release(&layer->beta);
    return Py_NewRef(self);
}

/* ---- Layers of files -------------------------------------------------------------------------------------------- */

/* Creates the library's layer. Returns -1 with an exception set on failure. */
static int make_of_file(struct layer *layer, const inlay_file_layer_options *options)
{
    inlay_file_error error;
    PyThreadState *thread = PyEval_SaveThread();
    const inlay_file_status status = inlay_file_layer_create(layer->file->file, options, &layer->of_file, &error);
    PyEval_RestoreThread(thread);
    if (status == INLAY_FILE_OK)
        return 0;
    raise_file_error(&error);
    return -1;
}

PyObject *layer_of_file(struct open_file *file, inlay_file_layer_options *options, PyObject *dtype, PyObject *threads)
{
    const enum dtype out = dtype_of_argument(dtype);
    size_t count = 0;
    if (out == DTYPE_UNKNOWN || option_threads(threads, "threads", &count) < 0)
        return NULL;
    options->out_type = dtype_infos[out].element;
    PyObject *self = PyType_GenericAlloc(layer_type, 0); /* zeroed */
    if (self == NULL)
        return NULL;
    struct layer *layer = layer_of(self);
    owner_hold(&file->owner);
    layer->call = layer_call;
    layer->file = file;
    layer->facts.threads = count;
    if (make_of_file(layer, options) == 0)
        layer->tokens = table_of_rows(file, inlay_file_layer_spec(layer->of_file)->tokens);
    if (layer->tokens == NULL) {
        Py_DECREF(self);
        return NULL;
    }
    layer_set_facts(layer, inlay_file_layer_spec(layer->of_file), inlay_file_layer_get(layer->of_file));
    layer->facts.start = inlay_file_layer_start(layer->of_file);
    return self;
}

/* ---- The type --------------------------------------------------------------------------------------------------- */

static PyObject *layer_new(PyTypeObject *type, PyObject *args, PyObject *options)
{
    static char *names[] = {"table",     "scale",         "positions",       "segments",
                            "norm",      "padding_id",    "bad_id",          "substitute_id",
                            "zero_rows", "position_mode", "clamp_positions", "segments_first",
                            "pooling",   "dtype",         "stores",          "cached_positions",
                            "threads",   "token_mapping", "token_weights",   "self_tuning",
                            NULL};
    struct layer_options given = {NULL,    Py_None, Py_None, Py_None, Py_None, Py_None,
                                  Py_None, Py_None, Py_None, Py_None, Py_None, NULL,
                                  Py_None, Py_None, Py_None, Py_None, Py_None, .self_tuning = 1};
    if (arguments_parse(args, options, "O|$OOOOOOOOOppOOOOOOOp:Layer", names, &given.table, &given.scale,
                        &given.positions, &given.segments, &given.norm, &given.padding_id, &given.bad_id,
                        &given.substitute_id, &given.zero_rows, &given.position_mode, &given.clamp_positions,
                        &given.segments_first, &given.pooling, &given.dtype, &given.stores, &given.cached_positions,
                        &given.threads, &given.token_mapping, &given.token_weights, &given.self_tuning) < 0)
        return NULL;
    PyObject *self = PyType_GenericAlloc(type, 0); /* zeroed */
    if (self == NULL)
        return NULL;
    layer_of(self)->call = layer_call;
    if (layer_fill(layer_of(self), &given) < 0)
        Py_CLEAR(self);
    return self;
}

static void layer_dealloc(PyObject *self)
{
    struct layer *layer = layer_of(self);
    PyObject_ClearWeakRefs(self);
    inlay_layer_destroy(layer->handle);
    Py_XDECREF(layer->tokens);
    Py_XDECREF(layer->positions);
    Py_XDECREF(layer->segments);
    view_release(&layer->gamma);
    view_release(&layer->beta);
    view_release(&layer->token_mapping);
    view_release(&layer->token_weights);
    inlay_file_layer_destroy(layer->of_file);
    if (layer->file != NULL)
        owner_release(&layer->file->owner);
    object_free(self);
}

static PyObject *get_dtype(PyObject *self, void *Py_UNUSED(closure))
{
    return PyUnicode_FromString(dtype_infos[layer_of(self)->facts.dtype].name);
}

static PyObject *get_threads(PyObject *self, void *Py_UNUSED(closure))
{
    return option_number(layer_of(self)->facts.threads);
}

static PyObject *get_report(PyObject *self, void *Py_UNUSED(closure))
{
    const inlay_file_layer *of_file = layer_of(self)->of_file;
    return of_file != NULL ? PyUnicode_FromString(inlay_file_layer_report(of_file)) : Py_NewRef(Py_None);
}

/* Returns the model's steps between the layer and the first block, as pairs (operation, tensor name or None). */
static PyObject *get_remaining_ops(PyObject *self, void *Py_UNUSED(closure))
{
    const inlay_file_layer *of_file = layer_of(self)->of_file;
    const char *what, *tensor;
    size_t count = 0;
    while (of_file != NULL && inlay_file_layer_remaining_op(of_file, count, NULL) != NULL)
        count++;
    PyObject *steps = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; steps != NULL && i < count; i++) {
        what = inlay_file_layer_remaining_op(of_file, i, &tensor);
        sequence_put(&steps, i, Py_BuildValue("sz", what, tensor));
    }
    return steps;
}

static PyObject *get_complete(PyObject *self, void *Py_UNUSED(closure))
{
    const inlay_file_layer *of_file = layer_of(self)->of_file;
    return PyBool_FromLong(of_file == NULL || inlay_file_layer_remaining_op(of_file, 0, NULL) == NULL);
}

static PyObject *layer_repr(PyObject *self)
{
    const struct layer *layer = layer_of(self);
    if (layer->tokens == NULL)
        return PyUnicode_FromString("inlay.Layer()");
    const inlay_table *table = table_view(layer->tokens);
    return PyUnicode_FromFormat("inlay.Layer(%s [%zu, %zu] -> %s)", option_name((int)table->type, &option_elements),
                                table->rows, table->dim, dtype_infos[layer->facts.dtype].name);
}

int layer_init(PyObject *module)
{
    static PyMethodDef methods[] = {
        {"explain", (PyCFunction)(void (*)(void))layer_explain, METH_FASTCALL | METH_KEYWORDS,
         "Returns a description of how a call with these arguments would run."},
        {"_time", layer_time, METH_VARARGS, NULL},
        {"_backward", (PyCFunction)(void (*)(void))layer_backward, METH_FASTCALL | METH_KEYWORDS, NULL},
        {"_disown", layer_disown, METH_NOARGS, NULL},
        {NULL, NULL, 0, NULL},
    };
    static PyGetSetDef properties[] = {
        {"dtype", get_dtype, NULL, "Name of the element type of the output.", NULL},
        {"report", get_report, NULL, "How the layer was made from a model file, line by line; else None.", NULL},
        {"complete", get_complete, NULL, "True if nothing comes between the layer and the first block.", NULL},
        {"remaining_ops", get_remaining_ops, NULL,
         "The model's steps between the layer and the first block: pairs (operation, tensor name or None).", NULL},
        {"threads", get_threads, NULL, "Threads of a call; None: the number set by inlay.set_num_threads().", NULL},
        {NULL, NULL, NULL, NULL, NULL},
    };
    static PyMemberDef members[] = {
        {"dim", T_PYSSIZET, offsetof(struct layer, facts.dim), READONLY, "Columns of the output."},
        {"table", T_OBJECT, offsetof(struct layer, tokens), READONLY, "The Table of tokens."},
        {"start", T_LONGLONG, offsetof(struct layer, facts.start), READONLY,
         "Default of `start` in calls: 0, or the first position of the model file, e.g. 2 for OPT."},
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct layer, call), READONLY, NULL},
        {"__weaklistoffset__", T_PYSSIZET, offsetof(struct layer, weak_references), READONLY, NULL},
        {NULL, 0, 0, 0, NULL},
    };
    static PyType_Slot slots[] = {
        {Py_tp_new, layer_new},
        {Py_tp_dealloc, layer_dealloc},
        {Py_tp_call, PyVectorcall_Call},
        {Py_tp_repr, layer_repr},
        {Py_tp_methods, methods},
        {Py_tp_getset, properties},
        {Py_tp_members, members},
        {Py_tp_doc,
         "Layer(table, *, scale=1, positions=None, segments=None, norm=None, padding_id=None, bad_id=\"error\", "
         "substitute_id=None, zero_rows=\"bare\", position_mode=\"sequential\", clamp_positions=False, "
         "segments_first=False, pooling=None, dtype=\"float32\", stores=\"automatic\", cached_positions=None, "
         "threads=None, token_mapping=None, token_weights=None, self_tuning=True)\n--\n\n"
         "An input layer: cast(dropout(norm(row * scale + position + segment))). Calls are "
         "layer(ids, out=None, *, start=None, starts=None, offsets=None, padded=None, position_ids=None, "
         "segment_ids=None, "
         "weights=None, dropout=0, seed=0, step=0)."},
        {0, NULL},
    };
    if (arguments_init(&call_arguments) < 0)
        return -1;
    return type_add(module, &layer_type, "inlay.Layer", sizeof(struct layer), Py_TPFLAGS_HAVE_VECTORCALL, slots);
}
