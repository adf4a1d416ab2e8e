/* SPDX-License-Identifier: MIT */
/*
 * Names of options, and optional numbers.
 */
#include "module/options.h"

#include "module/errors.h"
#include "module/objects.h"
#include "module/threads.h"

#include <inlay/inlay.h>

#include <string.h>

static const char *element_alias(int value, size_t index)
{
    return inlay_element_type_name((inlay_element_type)value, index);
}

static const char *recipe_alias(int value, size_t index)
{
    return index == 0 ? inlay_recipe_name((inlay_recipe)value) : inlay_recipe_framework((inlay_recipe)value, index - 1);
}

const struct option_names option_elements = {"type", INLAY_F32, .alias = element_alias, .synonyms = true};
const struct option_names option_recipes = {"recipe", INLAY_RECIPE_EXACT, .alias = recipe_alias};
const struct option_names option_bad_ids = {"bad_id", 0, .names = {"error", "clamp", "zero", "substitute", "skip"}};
const struct option_names option_zero_rows = {"zero_rows", 0, .names = {"bare", "positioned", "table"}};
const struct option_names option_position_modes = {"position_mode", 0, .names = {"sequential", "padding_aware"}};
const struct option_names option_norms = {"norm", 0, .names = {"none", "layer", "rms", "l2"}};
const struct option_names option_poolings = {"pooling", 0, .names = {"none", "sum", "mean"}};
const struct option_names option_stores = {"stores", 0, .names = {"automatic", "cached", "streamed"}};
const struct option_names option_layouts = {"layout", 1, .names = {"interleaved", "split", "split_cos_first"}};
const struct option_names option_spacings = {"spacing", 1, .names = {"dim", "half"}};
const struct option_names option_odds = {"odd", 1, .names = {"formula", "zero", "wrap", "error"}};
const struct option_names option_scalings = {
    "scaling", 1, .names = {"default", "linear", "ntk", "dynamic", "llama3", "yarn", "longrope"}};
const struct option_names option_rotary_layouts = {"layout", 1, .names = {"pairs", "halves", "interleaved"}};
const struct option_names option_distributions = {"kind", 1, .names = {"normal", "truncated_normal", "uniform"}};
const struct option_names option_mixes = {"mix", INLAY_NGRAM_MIX_XOR, .names = {"xor", "add"}};
const struct option_names option_combines = {"combine", INLAY_NGRAM_CONCAT, .names = {"concat", "sum"}};
/* Values of inlay_file_memory. */
const struct option_names option_memories = {"memory", 0, .names = {"mapped", "copied", "loaded"}};

/* Returns a name of a value, or null past the last. */
static const char *alias_of(const struct option_names *names, int value, size_t index)
{
    if (names->alias != NULL)
        return names->alias(value, index);
    return index == 0 ? names->names[value - names->first] : NULL;
}

const char *option_name(int value, const struct option_names *names)
{
    return alias_of(names, value, 0);
}

/* Returns a new tuple of a value's names, or null with an exception set. */
static PyObject *aliases_of(const struct option_names *names, int value)
{
    size_t count = 0;
    while (alias_of(names, value, count) != NULL)
        count++;
    PyObject *aliases = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; aliases != NULL && i < count; i++)
        sequence_put(&aliases, i, PyUnicode_FromString(alias_of(names, value, i)));
    return aliases;
}

/* Sets ValueError for an unknown name. */
static int unknown_name(PyObject *name, const struct option_names *names)
{
    int last = names->first;
    while (alias_of(names, last, 0) != NULL)
        last++;
    PyObject *known = PyTuple_New(last - names->first);
    for (int value = names->first; known != NULL && value < last; value++)
        sequence_put(&known, (size_t)(value - names->first), aliases_of(names, value));
    return raise_object(
        python_call("inlay.names", "unknown", "(sONi)", names->what, name, known, (int)names->synonyms));
}

/* The functions below write enums of the library as ints. */
_Static_assert(sizeof(inlay_recipe) == sizeof(int), "enums have the size of int");

int option_enum(PyObject *name, const struct option_names *names, void *value)
{
    return name == NULL || name == Py_None ? 0 : option_required_enum(name, names, value);
}

int option_required_enum(PyObject *name, const struct option_names *names, void *value)
{
    if (!PyUnicode_Check(name))
        return raise_error(PyExc_TypeError, "%s is %R, not a string", names->what, name);
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL), *alias;
    if (text == NULL)
        return -1;
    for (int named = names->first; alias_of(names, named, 0) != NULL; named++)
        for (size_t i = 0; (alias = alias_of(names, named, i)) != NULL && (i == 0 || names->synonyms); i++)
            if (inlay_name_equal(alias, text)) {
                memcpy(value, &named, sizeof named);
                return 0;
            }
    return unknown_name(name, names);
}

int option_double(PyObject *object, double *number)
{
    if (object == NULL || object == Py_None)
        return 0;
    *number = PyFloat_AsDouble(object);
    return PyErr_Occurred() != NULL ? -1 : 0;
}

/* Turns the OverflowError of a conversion into a ValueError that names the argument. */
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
    *number = PyLong_AsLongLong(object);
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

int option_threads(PyObject *object, const char *what, size_t *threads)
{
    uint64_t count = 1;
    if (option_uint64(object, what, &count) < 0)
        return -1;
    if (count < 1 || count > MAX_THREADS)
        return raise_error(PyExc_ValueError, "%s is %S, not in [1, %d]", what, object, MAX_THREADS);
    if (object != NULL && object != Py_None)
        *threads = count;
    return 0;
}

PyObject *option_number(uint64_t number)
{
    return number > 0 ? PyLong_FromUnsignedLongLong(number) : Py_NewRef(Py_None);
}
