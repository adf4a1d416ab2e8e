/* SPDX-License-Identifier: MIT */
/*
 * The lines of report.h.
 */
#include "models/report.h"

#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_ROOM = 512 };

void inlay_report_line(struct inlay_report *report, const char *format, ...)
{
    if (report->room - report->used <= LINE_ROOM) {
        const size_t room = report->room * 2 + LINE_ROOM + 1;
        char *text = realloc(report->text, room);
        if (text == NULL) {
            report->failed = true;
            return;
        }
        report->text = text;
        report->room = room;
    }
    char *line = report->text + report->used;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, LINE_ROOM, format, arguments);
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

void inlay_report_release(struct inlay_report *report)
{
    free(report->text);
    *report = (struct inlay_report){NULL, 0, 0, false};
}
