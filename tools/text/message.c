/* SPDX-License-Identifier: MIT */
/*
 * A message is formatted as a whole before it is written, so lines from several processes don't mix.
 */
#include "text/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

/* Enough for any readable path; longer text is truncated. */
enum { SHOWN_BYTES = 200 };

static const char *message_command = "";

void message_name(const char *name)
{
    message_command = name;
}

int message(enum outcome outcome, const char *format, ...)
{
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "inlay%s%s: %s\n", *message_command != '\0' ? " " : "", message_command, text);
    return outcome;
}

void out_of_memory(const char *what, double bytes)
{
    exit(failed("out of memory: %s (%.4g MB)", what, bytes * 1e-6));
}

void *xcalloc(size_t count, size_t bytes, const char *what)
{
    /* calloc() checks the product, and may return null for 0 bytes. */
    void *memory = calloc(count > 0 ? count : 1, bytes > 0 ? bytes : 1);
    if (memory == NULL)
        out_of_memory(what, (double)count * (double)bytes);
    return memory;
}

void *xrealloc(void *memory, size_t bytes, const char *what)
{
    void *moved = realloc(memory, bytes);
    if (moved == NULL)
        out_of_memory(what, (double)bytes);
    return moved;
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

int check_fault(inlay_status status, const inlay_fault *fault)
{
    return status == INLAY_OK ? DONE : failed("%s: %s", fault->field, fault->reason);
}

/* Returns true if a terminal would interpret a character instead of showing it: C0, C1, line separators (U+2028,
   U+2029) and directional overrides (U+202A to U+202E, U+2066 to U+2069). */
static bool is_control(const char *character)
{
    const unsigned char *byte = (const unsigned char *)character;
    return byte[0] < 0x20 || byte[0] == 0x7f || (byte[0] == 0xc2 && byte[1] < 0xa0) ||
           (byte[0] == 0xe2 && byte[1] == 0x80 && byte[2] >= 0xa8 && byte[2] <= 0xae) ||
           (byte[0] == 0xe2 && byte[1] == 0x81 && byte[2] >= 0xa6 && byte[2] <= 0xa9);
}

/* Writes text [size] into one of four buffers, enclosed in `quote`. */
static const char *quoted(const char *text, size_t size, const char *quote)
{
    /* The last character may begin before SHOWN_BYTES and take three more bytes. */
    static char buffers[4][4 * (SHOWN_BYTES + 3) + 8];
    static unsigned turn;
    char *buffer = buffers[turn++ % 4];

    char *end = buffer + sprintf(buffer, "%s", quote);
    size_t i = 0;
    while (i < size && i < SHOWN_BYTES) {
        size_t length = inlay_utf8_bytes(text + i, size - i);
        if (length == 0 || is_control(text + i)) {
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

size_t leading_bytes(const char *text, size_t size, size_t characters)
{
    size_t bytes = 0;
    for (; bytes < size && characters > 0; characters--) {
        size_t length = inlay_utf8_bytes(text + bytes, size - bytes);
        bytes += length ? length : 1;
    }
    return bytes;
}
