/* SPDX-License-Identifier: MIT */
/*
 * The messages of message.h. A message is formatted as a whole before it is written, so that lines of several
 * processes on one terminal do not mix.
 */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "utf8.h"

/* Enough for any path that a person can still read; what is longer loses its tail. */
enum { SHOWN_BYTES = 200 };

static const char *message_prefix = "inlay";

void message_name(const char *name)
{
    message_prefix = name;
}

static void print_line(const char *format, va_list arguments)
{
    char text[4096];
    vsnprintf(text, sizeof text, format, arguments);
    fprintf(stderr, "%s: %s\n", message_prefix, text);
}

int failed(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
    return FAILED;
}

int misused(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
    return MISUSED;
}

int out_of_memory(const char *what, double bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
    size_t unit = 0;
    for (; bytes >= 1000 && unit + 1 < sizeof units / sizeof *units; unit++)
        bytes /= 1000;
    return failed("%s needs %.4g %s, which this process cannot get", what, bytes, units[unit]);
}

void append(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

int check_status(inlay_status status)
{
    return status == INLAY_OK ? DONE : failed("%s", inlay_status_string(status));
}

/* Writes text [size] into one of four buffers between two copies of `quote`. */
static const char *quoted(const char *text, size_t size, const char *quote)
{
    static char buffers[4][4 * SHOWN_BYTES + 8];
    static unsigned turn;
    char *buffer = buffers[turn++ % 4];

    char *end = buffer + sprintf(buffer, "%s", quote);
    size_t i = 0;
    while (i < size && i < SHOWN_BYTES) {
        uint32_t code;
        size_t length = utf8_decode(text + i, size - i, &code);
        if (length == 0 || utf8_is_control(code)) {
            for (size_t last = i + (length ? length : 1); i < last; i++)
                end += sprintf(end, "\\x%02x", (unsigned char)text[i]);
        } else {
            memcpy(end, text + i, length);
            end += length;
            i += length;
        }
    }
    sprintf(end, "%s%s", i < size ? "..." : "", quote);
    return buffer;
}

const char *shown(const char *text)
{
    return quoted(text, strlen(text), "'");
}

const char *escaped(const char *text, size_t size)
{
    return quoted(text, size, "");
}
