/* SPDX-License-Identifier: MIT */
/*
 * The arguments of a call: where each name belongs. Nothing here knows what arguments mean.
 */
#pragma once

#include "abi.h"

/* The most arguments of a call. */
enum { ARGUMENTS_MOST = 16 };

/* The arguments of one kind of call. The first one must be given, and None stands for one that is absent. */
struct arguments {
    const char *what;                  /* what is called, as "a layer" */
    int positional;                    /* how many of the first arguments may be given without their name */
    const char *names[ARGUMENTS_MOST]; /* null: there is no such argument */
    PyObject *interned[ARGUMENTS_MOST];
};

/* Prepares the names. Returns -1 with an exception. */
int arguments_init(struct arguments *arguments);

/* Sorts the arguments of a vectorcall by name; absent ones are null. Returns -1 with TypeError. */
int arguments_sort(const struct arguments *arguments, PyObject *sorted[ARGUMENTS_MOST], PyObject *const *args,
                   size_t count, PyObject *names);

/* Does what PyArg_ParseTupleAndKeywords() does, but names the nearest argument for an unknown one. `format` ends with a
   colon and what is called. Returns -1 with an exception. */
int arguments_parse(PyObject *args, PyObject *options, const char *format, char **names, ...);
