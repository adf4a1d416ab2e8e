/* SPDX-License-Identifier: MIT */
/*
 * The report of a layer or an n-gram embedding: lines of text.
 */
#pragma once

#include <inlay/file.h>

#include <stdbool.h>

enum { INLAY_REPORT_LINE_BYTES = 512, INLAY_REPORT_LINES = 40 };

/** Lines of text. Lines without room are dropped; a layer has at most 39 lines. All zero: empty. */
struct inlay_report {
    size_t used;
    char text[INLAY_REPORT_LINES * INLAY_REPORT_LINE_BYTES]; /**< [used], null-terminated */
};

/** Adds a line, truncated to INLAY_REPORT_LINE_BYTES, with ? for bytes that are not printable ASCII. */
void inlay_report_line(struct inlay_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Adds a line "what: name [shape] type". */
void inlay_report_tensor(struct inlay_report *report, const char *what, const inlay_file_tensor *tensor);

/** Adds the reason why a model of a directory was chosen, if it had several. */
void inlay_report_choice(struct inlay_report *report, const inlay_file *file);
