/* SPDX-License-Identifier: MIT */
/*
 * Options that are given by name: strings of Python and the enum values of the library that they stand for.
 */
#ifndef INLAY_PYTHON_OPTIONS_H
#define INLAY_PYTHON_OPTIONS_H

#include "abi.h"

/* The names of an enum's values, the first of which stands for `first`, and a null after the last. */
struct option_names {
    const char *what;
    int first;
    const char *names[25];
};

extern const struct option_names option_bad_ids, option_zero_rows, option_position_modes, option_norms, option_poolings,
    option_stores, option_elements, option_layouts, option_spacings, option_odds, option_scalings,
    option_rotary_layouts, option_distributions, option_mixes, option_combines, option_memories;

/* Returns the value that a name stands for. None and null stand for `fallback`. Returns -1 with TypeError, or
   ValueError that lists the names. */
int option_value(PyObject *name, const struct option_names *names, int fallback);

/* Returns the name of a value. */
const char *option_name(int value, const struct option_names *names);

/* Returns the recipe that a name stands for, or -1 with an exception. */
int option_recipe(PyObject *name);

/* Fills in a number that may be absent: null and None leave it as it is. Returns -1 with TypeError. */
int option_double(PyObject *object, double *number);

/* Likewise for integers that fit in 64 bits; ValueError if they do not. */
int option_int64(PyObject *object, const char *what, int64_t *number);
int option_uint64(PyObject *object, const char *what, uint64_t *number);

#endif
