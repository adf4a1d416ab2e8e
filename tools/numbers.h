/* SPDX-License-Identifier: MIT */
/*
 * Lists of numbers that an option gives: written out, or in a file. Included by the files that need such a list.
 */
#ifndef INLAY_TOOL_NUMBERS_H
#define INLAY_TOOL_NUMBERS_H

#include <stddef.h>

struct numbers {
    double *values; /**< [n] */
    size_t n;
};

/**
 * Reads "X,Y,...", "FILE.npy" or "@FILE", a text with one number a line, where blank lines and what follows a # do not
 * count; "@-" is standard input. Each number is finite and in [least, most], and there is at least one. DONE; MISUSED
 * or FAILED with a message where the command line or the file is wrong. The caller frees *numbers in any case.
 */
int numbers_read(const char *option, const char *text, double least, double most, struct numbers *numbers);

void numbers_free(struct numbers *numbers);

#endif
