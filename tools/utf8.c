/* SPDX-License-Identifier: MIT */
/*
 * The decoder of utf8.h: overlong forms, surrogates and values past U+10FFFF are invalid (RFC 3629).
 */
#include "utf8.h"

size_t utf8_decode(const char *text, size_t size, uint32_t *code)
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

bool utf8_is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}
