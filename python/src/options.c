/* SPDX-License-Identifier: MIT */
/*
 * Names of options, and numbers that may be absent.
 */
#include "options.h"

#include <inlay/inlay.h>

#include <string.h>

const struct option_names option_bad_ids = {"bad_id", 0, {"error", "clamp", "zero", "substitute", "skip"}};
const struct option_names option_zero_rows = {"zero_rows", 0, {"bare", "positioned"}};
const struct option_names option_position_modes = {"position_mode", 0, {"sequential", "padding_aware"}};
const struct option_names option_norms = {"norm", 0, {"none", "layer", "rms", "l2"}};
const struct option_names option_poolings = {"pooling", 0, {"none", "sum", "mean"}};
const struct option_names option_stores = {"stores", 0, {"automatic", "cached", "streamed"}};
const struct option_names option_elements = {
    "type",
    INLAY_F32,
    {"float32", "float16", "bfloat16",        "i8",   "i8_inverse", "u8_rowwise", "u4_rowwise", "u4_grouped",
     "q8_0",    "q4_0",    "u4_grouped_flat", "e4m3", "e4m3_e8m0",  "q4_1",       "q5_0",       "q5_1",
     "iq4_nl",  "mxfp4",   "nvfp4",           "q3_k", "q4_k",       "q5_k",       "q6_k"}};
const struct option_names option_layouts = {"layout", 1, {"interleaved", "split", "split_cos_first"}};
const struct option_names option_spacings = {"spacing", 1, {"dim", "half"}};
const struct option_names option_odds = {"odd", 1, {"formula", "zero", "wrap", "error"}};
const struct option_names option_scalings = {
    "scaling", 1, {"default", "linear", "ntk", "dynamic", "llama3", "yarn", "longrope"}};
const struct option_names option_rotary_layouts = {"layout", 1, {"pairs", "halves", "interleaved"}};
const struct option_names option_distributions = {"kind", 1, {"normal", "truncated_normal", "uniform"}};
const struct option_names option_mixes = {"mix", INLAY_NGRAM_MIX_XOR, {"xor", "add"}};
const struct option_names option_combines = {"combine", INLAY_NGRAM_CONCAT, {"concat", "sum"}};
const struct option_names option_memories = {"memory", 0, {"mapped", "copied", "loaded"}}; /* inlay_file_memory */

/* Sets ValueError for a name that is none of those in a list of strings, whose reference is taken over. */
static int unknown_name(const char *what, PyObject *name, PyObject *known)
{
    PyObject *comma = PyUnicode_FromString(", ");
    PyObject *list = comma != NULL && known != NULL ? PyUnicode_Join(comma, known) : NULL;
    if (list != NULL)
        PyErr_Format(PyExc_ValueError, "%s is %R, not one of %U", what, name, list);
    Py_XDECREF(list);
    Py_XDECREF(comma);
    Py_XDECREF(known);
    return -1;
}

static int append(PyObject *list, const char *text)
{
    PyObject *string = list != NULL ? PyUnicode_FromString(text) : NULL;
    int failed = string != NULL ? PyList_Append(list, string) : -1;
    Py_XDECREF(string);
    return failed;
}

/* Returns the text of a name, or null with TypeError. */
static const char *text_of(PyObject *name, const char *what)
{
    if (PyUnicode_Check(name))
        return PyUnicode_AsUTF8AndSize(name, NULL);
    PyErr_Format(PyExc_TypeError, "%s is %R, not a string", what, name);
    return NULL;
}

int option_value(PyObject *name, const struct option_names *names, int fallback)
{
    if (name == NULL || name == Py_None)
        return fallback;
    const char *text = text_of(name, names->what);
    if (text == NULL)
        return -1;
    PyObject *known = PyList_New(0);
    for (int i = 0; names->names[i] != NULL; i++) {
        if (strcmp(names->names[i], text) == 0) {
            Py_XDECREF(known);
            return names->first + i;
        }
        append(known, names->names[i]);
    }
    return unknown_name(names->what, name, known);
}

const char *option_name(int value, const struct option_names *names)
{
    return names->names[value - names->first];
}

int option_recipe(PyObject *name)
{
    const char *text = text_of(name, "recipe");
    if (text == NULL)
        return -1;
    PyObject *known = PyList_New(0);
    const char *recipe;
    for (int i = 0; (recipe = inlay_recipe_name((inlay_recipe)i)) != NULL; i++) {
        if (strcmp(recipe, text) == 0) {
            Py_XDECREF(known);
            return i;
        }
        append(known, recipe);
    }
    return unknown_name("recipe", name, known);
}

int option_double(PyObject *object, double *number)
{
    if (object == NULL || object == Py_None)
        return 0;
    *number = PyFloat_AsDouble(object);
    return PyErr_Occurred() != NULL ? -1 : 0;
}

/* Turns the OverflowError of a conversion into ValueError that names the argument. */
static int out_of_range(PyObject *object, const char *what)
{
    if (!PyErr_Occurred())
        return 0;
    if (PyErr_ExceptionMatches(PyExc_OverflowError))
        PyErr_Format(PyExc_ValueError, "%s is %S, which is out of range", what, object);
    return -1;
}

int option_int64(PyObject *object, const char *what, int64_t *number)
{
    if (object == NULL || object == Py_None)
        return 0;
    PyObject *index = PyNumber_Index(object);
    if (index == NULL)
        return -1;
    *number = PyLong_AsLongLong(index);
    Py_DECREF(index);
    return out_of_range(object, what);
}

int option_uint64(PyObject *object, const char *what, uint64_t *number)
{
    if (object == NULL || object == Py_None)
        return 0;
    PyObject *index = PyNumber_Index(object);
    if (index == NULL)
        return -1;
    *number = PyLong_AsUnsignedLongLong(index);
    Py_DECREF(index);
    return out_of_range(object, what);
}
