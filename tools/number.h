/* SPDX-License-Identifier: MIT */
/*
 * Numbers from text, strictly: the whole text, decimal, no blanks, nothing that overflows, no NaN and no infinity.
 */
#ifndef INLAY_TOOL_NUMBER_H
#define INLAY_TOOL_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Returns whether text [size] is [+-]digits and fits in 64 bits. */
bool number_int64(const char *text, size_t size, int64_t *value);

/** Returns whether text [size] is a decimal number that a double holds. It is rounded once. */
bool number_double(const char *text, size_t size, double *value);

/** Returns whether text is a decimal number that a float32 holds. It is rounded once. */
bool number_float(const char *text, float *value);

#endif
