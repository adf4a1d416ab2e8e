/* SPDX-License-Identifier: MIT */
/*
 * Sorts the arguments of a call by name.
 */
#pragma once

#include "abi.h"

/* Maximum number of arguments of a call. */
enum { MAX_ARGUMENTS = 16 };

/* The arguments of one kind of call. The first one is required. None means not given. */
struct arguments {
    const char *what;                     /* the callable, e.g. "a layer" */
    int positional;                       /* number of leading arguments allowed without a name */
    const char *names[MAX_ARGUMENTS];     /* null: no such argument */
    unsigned char same_as[MAX_ARGUMENTS]; /* index of the argument that this name is a synonym of; 0: none */
    PyObject *interned[MAX_ARGUMENTS];
};

/* Prepares the names. Returns -1 with an exception set on failure. */
int arguments_init(struct arguments *arguments);

/* Sorts the arguments of a vectorcall by name, and sets missing ones to null. Returns -1 with TypeError set on failure.
 */
int arguments_sort(const struct arguments *arguments, PyObject *sorted[MAX_ARGUMENTS], PyObject *const *args,
                   size_t count, PyObject *names);

/* Like PyArg_ParseTupleAndKeywords(), but suggests the nearest name for an unknown argument. `format` must end with a
   colon and the name of the callable. Returns -1 with an exception set on failure. */
int arguments_parse(PyObject *args, PyObject *options, const char *format, char **names, ...);
