/* SPDX-License-Identifier: MIT */
/*
 * Writes the lines of a report.
 */
#include "models/report.h"

#include "handle.h"
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void inlay_report_line(struct inlay_report *report, const char *format, ...)
{
    char *line = report->text + report->used;
    if (sizeof report->text - report->used <= INLAY_REPORT_LINE_BYTES)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, INLAY_REPORT_LINE_BYTES, format, arguments);
    va_end(arguments);
    inlay_make_printable(line);
    strcat(line, "\n");
    report->used += strlen(line);
}

void inlay_report_tensor(struct inlay_report *report, const char *what, const inlay_file_tensor *tensor)
{
    char shape[INLAY_FILE_RANK * 24] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < tensor->rank; i++)
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%llu", i > 0 ? ", " : "",
                                 (unsigned long long)tensor->shape[i]);
    inlay_report_line(report, "%s: %s [%s] %s", what, tensor->name, shape, tensor->type);
}

void inlay_report_choice(struct inlay_report *report, const inlay_file *file)
{
    if (file->catalog.choice != NULL)
        inlay_report_line(report, "file: %s", file->catalog.choice);
}
