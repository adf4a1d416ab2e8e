/* SPDX-License-Identifier: MIT */
/* Implementation of log.h. */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void inlay_ggml_log(enum ggml_log_level level, const char *format, ...)
{
    char line[402] = "inlay: ";
    const size_t prefix = strlen(line);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + prefix, 400 - prefix, format, arguments);
    va_end(arguments);
    strcat(line, "\n");
    ggml_log_callback callback = NULL;
    void *user_data = NULL;
    ggml_log_get(&callback, &user_data);
    if (callback != NULL)
        callback(level, line, user_data);
}
