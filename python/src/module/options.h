/* SPDX-License-Identifier: MIT */
/*
 * Options given by name (strings for enum values of the library), and optional numbers.
 */
#pragma once

#include "abi.h"

#include <stdbool.h>

/* The names of an enum's values. names[0] is the name of `first`; a null ends the list. */
struct option_names {
    const char *what;
    int first;
    const char *names[8];
    const char *(*alias)(int value, size_t index); /* if not null, replaces names. index 0 is the primary name */
    bool synonyms;                                 /* names with an index above 0 are accepted too */
};

extern const struct option_names option_recipes, option_bad_ids, option_zero_rows, option_position_modes, option_norms,
    option_poolings, option_stores, option_elements, option_layouts, option_spacings, option_odds, option_scalings,
    option_rotary_layouts, option_distributions, option_mixes, option_combines, option_memories;

/* Sets the enum value of a name. Does nothing for null and None. On failure, returns -1 and sets TypeError, or
   ValueError with the valid or nearest names. */
int option_enum(PyObject *name, const struct option_names *names, void *value);

/* Does the same, but None raises TypeError. */
int option_required_enum(PyObject *name, const struct option_names *names, void *value);

/* Returns the name of a value. */
const char *option_name(int value, const struct option_names *names);

/* Set a number. Do nothing for null and None. On failure, return -1 and set TypeError, or ValueError if the number
   doesn't fit in 64 bits or, for threads, isn't in [1, MAX_THREADS]. */
int option_double(PyObject *object, double *number);
int option_int64(PyObject *object, const char *what, int64_t *number);
int option_uint64(PyObject *object, const char *what, uint64_t *number);
int option_threads(PyObject *object, const char *what, size_t *threads);

/* Returns a number as an object, or None for 0. */
PyObject *option_number(uint64_t number);
