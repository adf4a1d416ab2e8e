/* SPDX-License-Identifier: MIT */
/*
 * Numbers from the command line, strictly: the whole text, decimal, no blanks, nothing that overflows, no NaN and no
 * infinity. The option_ functions say what is wrong, under the name of the option that the text was given to.
 */
#ifndef INLAY_TOOL_NUMBER_H
#define INLAY_TOOL_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Whether text [size] is [+-]digits and fits in 64 bits. */
bool number_int64(const char *text, size_t size, int64_t *value);

/** Whether text [size] is a decimal number that a double holds. Rounded once. */
bool number_double(const char *text, size_t size, double *value);

/** DONE, or MISUSED with a message that names the option, where text is no integer in [least, most]. */
int option_int64(const char *option, const char *text, int64_t least, int64_t most, int64_t *value);

/** DONE, or MISUSED with a message, where text is no number in [least, most]. */
int option_double(const char *option, const char *text, double least, double most, double *value);

/** DONE, or MISUSED with a message, where text is no number that a float32 can hold. Rounded once. */
int option_float(const char *option, const char *text, float *value);

#endif
