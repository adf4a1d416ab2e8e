/* SPDX-License-Identifier: MIT */
/*
 * Options that are given by name: strings of Python and the enum values of the library that they stand for.
 */
#pragma once

#include "abi.h"

#include <stdbool.h>

/* The names of an enum's values, the first of which stands for `first`, and a null after the last. */
struct option_names {
    const char *what;
    int first;
    const char *names[8];
    const char *(*alias)(int value, size_t index); /* or null: the names of a value instead, the option's own first */
    bool synonyms;                                 /* the others of them name the value too */
};

extern const struct option_names option_recipes, option_bad_ids, option_zero_rows, option_position_modes, option_norms,
    option_poolings, option_stores, option_elements, option_layouts, option_spacings, option_odds, option_scalings,
    option_rotary_layouts, option_distributions, option_mixes, option_combines, option_memories;

/* Fills in the enum value that a name stands for; null and None leave it as it is. Returns -1 with TypeError, or
   ValueError with the names, or the nearest ones. */
int option_enum(PyObject *name, const struct option_names *names, void *value);

/* The same where None is TypeError. */
int option_required_enum(PyObject *name, const struct option_names *names, void *value);

/* Returns the name of a value. */
const char *option_name(int value, const struct option_names *names);

/* Likewise for numbers. Returns -1 with TypeError. */
int option_double(PyObject *object, double *number);

/* Likewise for integers that fit in 64 bits; ValueError if they do not. */
int option_int64(PyObject *object, const char *what, int64_t *number);
int option_uint64(PyObject *object, const char *what, uint64_t *number);

/* Likewise for a number of threads in [1, THREADS_MOST]. */
int option_threads(PyObject *object, const char *what, size_t *threads);

/* Returns a number as an object, or None for 0, which stands for one that is absent. */
PyObject *option_number(uint64_t number);
