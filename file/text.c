/* SPDX-License-Identifier: MIT */
/*
 * Text functions. A text may be in a mapping that changes concurrently, so results must not be used to decide about
 * memory safety.
 */
#include "text.h"

#include <string.h>

struct inlay_text inlay_text_of(const char *string)
{
    return (struct inlay_text){string, strlen(string)};
}

bool inlay_text_is(struct inlay_text text, const char *string)
{
    return text.size == strlen(string) && memcmp(text.bytes, string, text.size) == 0;
}

size_t inlay_utf8_bytes(const char *text, size_t left)
{
    const unsigned char *at = (const unsigned char *)text;
    if (at[0] < 0x80)
        return 1;
    size_t bytes = at[0] >= 0xc2 && at[0] <= 0xdf   ? 2
                   : at[0] >= 0xe0 && at[0] <= 0xef ? 3
                   : at[0] >= 0xf0 && at[0] <= 0xf4 ? 4
                                                    : 0;
    if (bytes == 0 || bytes > left)
        return 0;
    unsigned least = at[0] == 0xe0 ? 0xa0 : at[0] == 0xf0 ? 0x90 : 0x80;
    unsigned most = at[0] == 0xed ? 0x9f : at[0] == 0xf4 ? 0x8f : 0xbf;
    if (at[1] < least || at[1] > most)
        return 0;
    for (size_t i = 2; i < bytes; i++)
        if (at[i] < 0x80 || at[i] > 0xbf)
            return 0;
    return bytes;
}

bool inlay_text_is_utf8(struct inlay_text text)
{
    size_t bytes;
    for (size_t i = 0; i < text.size; i += bytes) {
        bytes = text.bytes[i] != '\0' ? inlay_utf8_bytes(text.bytes + i, text.size - i) : 0;
        if (bytes == 0)
            return false;
    }
    return true;
}

bool inlay_ends_in(const char *string, const char *end)
{
    size_t size = strlen(string), end_size = strlen(end);
    return size >= end_size && strcmp(string + size - end_size, end) == 0;
}

void inlay_make_printable(char *string)
{
    for (; *string != '\0'; string++)
        if (*string < ' ' || *string > '~')
            *string = '?';
}
