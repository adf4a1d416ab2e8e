/* SPDX-License-Identifier: MIT */
/*
 * What was found in a file and done with it, as lines of text that grow one after the other.
 */
#pragma once

#include <inlay/file.h>

#include <stdbool.h>

enum { INLAY_REPORT_LINE_BYTES = 512, INLAY_REPORT_LINES = 40 };

/** Lines of text; one that has no room is left out. A layer has at most 37, all of them as long as can be. All zero:
    none. */
struct inlay_report {
    size_t used;
    char text[INLAY_REPORT_LINES * INLAY_REPORT_LINE_BYTES]; /**< [used], ended by a zero */
};

/** Adds a line, cut to fewer than INLAY_REPORT_LINE_BYTES; bytes that are not printable ASCII become ?. */
void inlay_report_line(struct inlay_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Adds a line "what: name [shape] type". */
void inlay_report_tensor(struct inlay_report *report, const char *what, const inlay_file_tensor *tensor);

/** Adds which model of a directory was chosen, if there was a choice. */
void inlay_report_choice(struct inlay_report *report, const inlay_file *file);
