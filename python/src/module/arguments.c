/* SPDX-License-Identifier: MIT */
/*
 * Names are compared by address first: Python interns the names in source code.
 */
#include "module/arguments.h"

#include "module/errors.h"
#include "module/objects.h"

#include <stdarg.h>
#include <string.h>

int arguments_init(struct arguments *arguments)
{
    for (int i = 0; i < MAX_ARGUMENTS; i++) {
        if (arguments->names[i] == NULL)
            continue;
        arguments->interned[i] = PyUnicode_InternFromString(arguments->names[i]);
        if (arguments->interned[i] == NULL)
            return -1;
    }
    return 0;
}

/* Returns the index of the argument with this name, or MAX_ARGUMENTS. */
static int find_name(const struct arguments *arguments, PyObject *name)
{
    for (int i = 0; i < MAX_ARGUMENTS; i++)
        if (arguments->interned[i] == name)
            return i;
    for (int i = 0; i < MAX_ARGUMENTS; i++)
        if (arguments->interned[i] != NULL && PyUnicode_Compare(arguments->interned[i], name) == 0)
            return i;
    return MAX_ARGUMENTS;
}

/* Sets TypeError for an unknown name. Items of `names` may be null. */
static int no_argument(const char *what, PyObject *name, const char *const *names, size_t count)
{
    PyObject *known = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; i < count; i++)
        sequence_put(&known, i, names[i] != NULL ? PyUnicode_FromString(names[i]) : Py_NewRef(Py_None));
    return raise_object(python_call("inlay.names", "no_argument", "(sON)", what, name, known));
}

int arguments_parse(PyObject *args, PyObject *options, const char *format, char **names, ...)
{
    PyObject *name, *value;
    Py_ssize_t at = 0;
    while (options != NULL && PyDict_Next(options, &at, &name, &value)) {
        size_t i = 0;
        while (names[i] != NULL && PyUnicode_CompareWithASCIIString(name, names[i]) != 0)
            i++;
        if (names[i] == NULL)
            return no_argument(strrchr(format, ':') + 1, name, (const char *const *)names, i);
    }
    va_list to;
    va_start(to, names);
    const int parsed = PyArg_VaParseTupleAndKeywords(args, options, format, names, to);
    va_end(to);
    return parsed ? 0 : -1;
}

/* Sets TypeError for too many positional arguments. */
static int too_many(const struct arguments *arguments, size_t count)
{
    return raise_error(PyExc_TypeError, "%s takes %s%s%s by position, but %zu arguments were given", arguments->what,
                       arguments->names[0], arguments->positional > 1 ? " and " : "",
                       arguments->positional > 1 ? arguments->names[1] : "", count);
}

int arguments_sort(const struct arguments *arguments, PyObject *sorted[MAX_ARGUMENTS], PyObject *const *args,
                   size_t count, PyObject *names)
{
    if (count > (size_t)arguments->positional)
        return too_many(arguments, count);
    memset(sorted, 0, MAX_ARGUMENTS * sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = args[i];
    const Py_ssize_t named = names != NULL ? PyTuple_Size(names) : 0;
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GetItem(names, i);
        int place = find_name(arguments, name);
        if (place == MAX_ARGUMENTS)
            return no_argument(arguments->what, name, arguments->names, MAX_ARGUMENTS);
        if (arguments->same_as[place] != 0)
            place = arguments->same_as[place];
        if (sorted[place] != NULL)
            return raise_error(PyExc_TypeError, "%R was given twice", name);
        sorted[place] = args[count + (size_t)i];
    }
    for (int i = 0; i < MAX_ARGUMENTS; i++)
        if (sorted[i] == Py_None)
            sorted[i] = NULL;
    if (sorted[0] != NULL)
        return 0;
    return raise_error(PyExc_TypeError, "%s is missing", arguments->names[0]);
}
