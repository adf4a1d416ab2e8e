/* SPDX-License-Identifier: MIT */
/*
 * UTF-8, one code point at a time. For messages (which escape what a terminal would obey) and for the labels of
 * pictures. It must not allocate, and it knows no locale.
 */
#ifndef INLAY_TOOL_UTF8_H
#define INLAY_TOOL_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The bytes of the code point that begins at text, which go to *code; 0 where text [size] begins no valid one. */
size_t utf8_decode(const char *text, size_t size, uint32_t *code);

/** Whether a terminal would obey rather than show it: C0, C1, line separators and the directional overrides. */
bool utf8_is_control(uint32_t code);

#endif
