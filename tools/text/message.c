/* SPDX-License-Identifier: MIT */
/*
 * The messages of message.h. A message is formatted as a whole before it is written, so that lines of several
 * processes on one terminal do not mix.
 */
#include "text/message.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Enough for any path that a person can still read; what is longer loses its tail. */
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

/* Returns the bytes of the code point that begins at text, which go to *code; 0 where text [size] begins no valid one:
   overlong forms, surrogates and values past U+10FFFF (RFC 3629). */
static size_t decode_utf8(const char *text, size_t size, uint32_t *code)
{
    const unsigned char *bytes = (const unsigned char *)text;
    if (size == 0)
        return 0;
    if (bytes[0] < 0x80) {
        *code = bytes[0];
        return 1;
    }
    size_t length = bytes[0] >= 0xf0 ? 4 : bytes[0] >= 0xe0 ? 3 : 2;
    /* The first code point that needs this length: what lies below it is an overlong form. */
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (bytes[0] < 0xc2 || bytes[0] > 0xf4 || size < length)
        return 0;
    uint32_t value = bytes[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (bytes[i] & 0x3fu);
    }
    if (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *code = value;
    return length;
}

/* Returns whether a terminal would obey rather than show it: C0, C1, line separators, directional overrides. */
static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
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
        size_t length = decode_utf8(text + i, size - i, &code);
        if (length == 0 || is_control(code)) {
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

bool is_utf8(const char *text)
{
    size_t size = strlen(text), length = 1;
    uint32_t code;
    for (; size > 0 && length > 0; text += length, size -= length)
        length = decode_utf8(text, size, &code);
    return length > 0;
}

size_t leading_bytes(const char *text, size_t size, size_t characters)
{
    size_t bytes = 0;
    for (uint32_t code; bytes < size && characters > 0; characters--) {
        size_t length = decode_utf8(text + bytes, size - bytes, &code);
        bytes += length ? length : 1;
    }
    return bytes;
}
