/* SPDX-License-Identifier: MIT */
/*
 * The lines of report.h.
 */
#include "models/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_ROOM = 512 };

static void add_line(struct inlay_report *report, const char *line, size_t size)
{
    if (report->room - report->used < size + 2) {
        size_t room = report->room * 2 + size + 2;
        char *text = realloc(report->text, room);
        if (text == NULL) {
            report->failed = true;
            return;
        }
        report->text = text;
        report->room = room;
    }
    char *end = report->text + report->used;
    for (size_t i = 0; i < size; i++)
        end[i] = line[i] >= ' ' && line[i] <= '~' ? line[i] : '?';
    end[size] = '\n';
    end[size + 1] = '\0';
    report->used += size + 1;
}

void inlay_report_line(struct inlay_report *report, const char *format, ...)
{
    char line[LINE_ROOM];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (size > 0)
        add_line(report, line, (size_t)size < sizeof line ? (size_t)size : sizeof line - 1);
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

void inlay_report_release(struct inlay_report *report)
{
    free(report->text);
    *report = (struct inlay_report){NULL, 0, 0, false};
}
