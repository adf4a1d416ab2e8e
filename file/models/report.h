/* SPDX-License-Identifier: MIT */
/*
 * What was found in a file and done with it, as lines of text that grow one after the other.
 */
#pragma once

#include <inlay/file.h>

#include <stdbool.h>

/** Lines of text. All zero: none. */
struct inlay_report {
    char *text; /**< ended by a zero; null: no line yet */
    size_t used, room;
    bool failed; /**< malloc returned null, and lines are missing */
};

/** Adds a line, which ends before 512 bytes; bytes that are not printable ASCII become ?. */
void inlay_report_line(struct inlay_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Adds a line "what: name [shape] type". */
void inlay_report_tensor(struct inlay_report *report, const char *what, const inlay_file_tensor *tensor);

/** Releases the text. */
void inlay_report_release(struct inlay_report *report);
