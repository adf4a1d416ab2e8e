/* SPDX-License-Identifier: MIT */
/*
 * Pieces of text, such as strings in a header.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** A piece of text, not null-terminated. */
struct inlay_text {
    const char *bytes;
    size_t size;
};

/** Returns the text of a string. */
struct inlay_text inlay_text_of(const char *string);

/** Returns true if a text equals a string. */
bool inlay_text_is(struct inlay_text text, const char *string);

/** Returns true if a text is valid UTF-8 without U+0000. */
bool inlay_text_is_utf8(struct inlay_text text);

/** Returns the length of the UTF-8 character at the start of `text` [left >= 1], or 0 if it is invalid (RFC 3629: no
    surrogates, no overlong forms, at most U+10FFFF). */
size_t inlay_utf8_bytes(const char *text, size_t left);

/** Returns true if a string ends with `end`. */
bool inlay_ends_in(const char *string, const char *end);

/** Replaces all characters that aren't printable ASCII by ?. */
void inlay_make_printable(char *string);
