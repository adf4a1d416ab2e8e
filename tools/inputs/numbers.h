/* SPDX-License-Identifier: MIT */
/*
 * Numbers from text, strictly: the whole text, decimal, no blanks, nothing that overflows, no NaN and no infinity; and
 * lists of them that an option gives, written out or in a file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Returns whether text [size] is [+-]digits and fits in 64 bits. */
bool number_int64(const char *text, size_t size, int64_t *value);

/** Returns whether text [size] is a decimal number that a double holds. It is rounded once. */
bool number_double(const char *text, size_t size, double *value);

/** Returns whether text is a decimal number that a float32 holds. It is rounded once. */
bool number_float(const char *text, float *value);

/** The factor of rows: `value`, or sqrt(dim). */
struct scale {
    bool is_sqrt;
    float value;
};

/** Returns the factor of rows of `dim` columns. */
float scale_of(const struct scale *scale, size_t dim);

struct numbers {
    double *values; /**< [n] */
    size_t n;
};

/**
 * Reads "X,Y,...", "FILE.npy" or "@FILE", a text with one number a line, where blank lines and what follows a # do not
 * count; "@-" is standard input. Each number is finite and in [least, most], and there is at least one. DONE; MISUSED
 * or FAILED with a message where the command line or the file is wrong.
 */
int numbers_read(const char *option, const char *text, double least, double most, struct numbers *numbers);
