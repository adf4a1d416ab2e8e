/* SPDX-License-Identifier: MIT */
/*
 * Initializes the _core module, and implements its functions.
 */
#include "abi.h"

#include "arrays/dtype.h"
#include "arrays/numpy.h"
#include "arrays/output.h"
#include "arrays/pool.h"
#include "files/file.h"
#include "files/file_errors.h"
#include "files/tensor.h"
#include "frameworks/xla.h"
#include "layers/layer.h"
#include "module/options.h"
#include "module/threads.h"
#include "ngrams/ngram.h"
#include "rotary/rotary.h"
#include "rotary/rotate.h"
#include "tables/new.h"
#include "tables/sinusoid.h"
#include "tables/table.h"

#include <inlay/inlay.h>

#include <stdbool.h>

static int64_t interpreter; /* the first one that imported the module */

static int64_t this_interpreter(void)
{
    return PyInterpreterState_GetID(PyInterpreterState_Get());
}

/* use_numpy(numpy, direct): each import of the package calls it. */
static PyObject *use_numpy(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *numpy;
    int direct = 1;
    if (this_interpreter() != interpreter)
        return PyErr_Format(PyExc_ImportError, "inlay supports only the main interpreter: import it there");
    if (!PyArg_ParseTuple(args, "O|p", &numpy, &direct) || numpy_use(numpy, direct != 0) < 0)
        return NULL;
    return PyBool_FromLong(numpy_is_direct());
}

static PyObject *get_num_threads(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    return PyLong_FromSize_t(threads_get());
}

static PyObject *set_num_threads(PyObject *Py_UNUSED(module), PyObject *number)
{
    size_t threads = 0;
    if (option_threads(number, "the number of threads", &threads) < 0)
        return NULL;
    if (threads == 0)
        return PyErr_Format(PyExc_ValueError, "the number of threads must be in [1, %d], not None", MAX_THREADS);
    threads_set(threads);
    return Py_NewRef(Py_None);
}

static PyObject *get_pool_stats(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    const struct pool_stats stats = pool_stats();
    return Py_BuildValue("{s:K,s:n,s:n,s:n,s:n,s:K,s:K,s:K}", "limit_bytes", (unsigned long long)stats.limit_bytes,
                         "idle_bytes", (Py_ssize_t)stats.idle_bytes, "idle_blocks", (Py_ssize_t)stats.idle_blocks,
                         "used_bytes", (Py_ssize_t)stats.used_bytes, "used_blocks", (Py_ssize_t)stats.used_blocks,
                         "reused", (unsigned long long)stats.reused, "allocated", (unsigned long long)stats.allocated,
                         "released", (unsigned long long)stats.released);
}

static PyObject *set_pool_limit(PyObject *Py_UNUSED(module), PyObject *number)
{
    uint64_t bytes = 0;
    if (number == Py_None)
        return PyErr_Format(PyExc_TypeError, "the limit of the pool must be a number of bytes, not None");
    if (option_uint64(number, "the limit of the pool", &bytes) < 0)
        return NULL;
    pool_set_limit(bytes);
    return Py_NewRef(Py_None);
}

static PyObject *trim_pool(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    PyThreadState *thread = PyEval_SaveThread();
    const size_t bytes = pool_trim();
    PyEval_RestoreThread(thread);
    return PyLong_FromSize_t(bytes);
}

static PyObject *get_isa(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    return PyUnicode_FromString(inlay_isa());
}

/* Returns the name of an output type. */
static PyObject *dtype_name(PyObject *Py_UNUSED(module), PyObject *object)
{
    const enum dtype dtype = dtype_of_argument(object);
    return dtype != DTYPE_UNKNOWN ? PyUnicode_FromString(dtype_infos[dtype].name) : NULL;
}

static PyMethodDef functions[] = {
    {"use_numpy", use_numpy, METH_VARARGS, NULL},
    {"get_num_threads", get_num_threads, METH_NOARGS, NULL},
    {"set_num_threads", set_num_threads, METH_O, NULL},
    {"pool_stats", get_pool_stats, METH_NOARGS, NULL},
    {"pool_limit", set_pool_limit, METH_O, NULL},
    {"pool_trim", trim_pool, METH_NOARGS, NULL},
    {"zeros", output_zeros, METH_VARARGS, NULL},
    {"isa", get_isa, METH_NOARGS, NULL},
    {"dtype_name", dtype_name, METH_O, NULL},
    {"quantize", table_quantize, METH_VARARGS, NULL},
    {"random", table_random, METH_VARARGS, NULL},
    {"sinusoid_rows", sinusoid_rows, METH_VARARGS, NULL},
    {"xla_handler", xla_handler, METH_NOARGS, NULL},
    {"rotate_given", (PyCFunction)(void (*)(void))rotate_given, METH_FASTCALL, NULL},
    {"rotary_rows", sinusoid_rotary_rows, METH_VARARGS, NULL},
    {"rotary_frequencies", (PyCFunction)(void (*)(void))sinusoid_rotary_frequencies, METH_VARARGS | METH_KEYWORDS,
     NULL},
    {NULL, NULL, 0, NULL},
};

/* The module has one state per process: types, NumPy, pool and threads. Subinterpreters with a separate GIL can't
   import it, because it uses single-phase initialization. use_numpy() rejects all other subinterpreters. */
PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
    static struct PyModuleDef definition = {
        PyModuleDef_HEAD_INIT,
        .m_name = "inlay._core",
        .m_size = -1,
        .m_methods = functions,
    };
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL)
        return NULL;
#ifdef Py_GIL_DISABLED
    PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
#endif
    interpreter = this_interpreter();
    inlay_init();
    pool_init();
    threads_init();
    if (PyModule_AddStringConstant(module, "version", inlay_version()) < 0 || output_init(module) < 0 ||
        table_init(module) < 0 || sinusoid_init(module) < 0 || layer_init(module) < 0 || ngram_init(module) < 0 ||
        rotary_init(module) < 0 || file_errors_init(module) < 0 || file_tensor_init(module) < 0 ||
        file_init(module) < 0)
        Py_CLEAR(module);
    return module;
}
