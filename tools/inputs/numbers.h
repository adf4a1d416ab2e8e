/* SPDX-License-Identifier: MIT */
/*
 * Parses numbers strictly: the whole text must be a decimal number, without whitespace. Overflow, NaN and infinity are
 * rejected. Also reads lists of numbers from an option or a file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Returns true if text [size] is digits with an optional sign, and the number fits in 64 bits. */
bool number_int64(const char *text, size_t size, int64_t *value);

/** Returns true if text [size] is a decimal number in the range of a double. It is rounded once. */
bool number_double(const char *text, size_t size, double *value);

/** Returns true if text is a decimal number in the range of a float32. It is rounded once. */
bool number_float(const char *text, float *value);

/** The row scale: `value`, or sqrt(dim). */
struct scale {
    bool is_sqrt;
    float value;
};

/** Returns the scale for rows of `dim` columns. */
float scale_of(const struct scale *scale, size_t dim);

struct numbers {
    double *values; /**< [n] */
    size_t n;
};

/**
 * Reads "X,Y,...", "FILE.npy" or "@FILE". @FILE is a text file with one number per line; blank lines and # comments are
 * skipped. "@-" is standard input. There must be at least one number, and each must be finite and in [min, max].
 * Returns DONE; or MISUSED or FAILED, with a message, if the command line or the file is invalid.
 */
int numbers_read(const char *option, const char *text, double min, double max, struct numbers *numbers);
