/* SPDX-License-Identifier: MIT */
/*
 * A pull parser for JSON (RFC 8259). It allocates nothing, and a copy of its state reads ahead. It is strict: no
 * extensions, no invalid UTF-8, no character U+0000. The caller requests the kind of value that it expects; the first
 * mismatch ends parsing. Callers reject duplicate keys.
 *
 *     inlay_json_open(json, '{');
 *     while (inlay_json_member(json, &key))
 *         inlay_json_string(json, &value);
 *     if (!inlay_json_end(json))
 *         // json->status, json->problem, json->at
 */
#pragma once

#include <stdint.h>

#include "text.h"
#include "value.h"

/** Maximum nesting depth of arrays and objects. */
enum { INLAY_JSON_DEPTH = 64 };

/** A parser's state. */
struct inlay_json {
    const char *begin, *at, *end;
    unsigned depth;              /**< open arrays and objects */
    unsigned max_depth;          /**< maximum depth for this text, at most INLAY_JSON_DEPTH */
    bool fresh;                  /**< nothing was read yet from the innermost array or object */
    bool python;                 /**< accept NaN, Infinity and -Infinity, which Python writes */
    char ends[INLAY_JSON_DEPTH]; /**< closing bracket of each open array and object */
    inlay_file_status status;    /**< of the first problem: INLAY_FILE_ERROR_SYNTAX, _LIMIT, _DUPLICATE or _NO_MEMORY */
    const char *problem;         /**< first problem, with the value at `at`; null: none so far */
};

/** Starts parsing [size] bytes. */
void inlay_json_start(struct inlay_json *json, const void *bytes, size_t size, unsigned max_depth);

/** Returns the first character of the next value, which determines its kind; 0 at the end or after a problem. */
char inlay_json_peek(struct inlay_json *json);

/** Enters an object, for '{', or an array, for '['. */
bool inlay_json_open(struct inlay_json *json, char bracket);

/** Reads the next key of the innermost object; read its value next. Returns false and leaves the object if there is
   none, and after a problem. */
bool inlay_json_member(struct inlay_json *json, struct inlay_text *key);

/** Returns true if the innermost array has another element, which must be read next; otherwise leaves the array.
   Returns false after a problem. */
bool inlay_json_element(struct inlay_json *json);

/** Reads a string, as written between its quotes. */
bool inlay_json_string(struct inlay_json *json, struct inlay_text *string);

/** Decodes a string, which never makes it longer, into out [string.size]. Returns its length. */
size_t inlay_json_decode(struct inlay_text string, char *out);

/** Returns true if a decoded string equals a text. */
bool inlay_json_means(struct inlay_text string, const char *text);

/** Reads an integer 0 or [1-9][0-9]* up to 2^63 - 1. */
bool inlay_json_unsigned(struct inlay_json *json, uint64_t *value);

/** Returns true if a number is next. */
bool inlay_json_at_number(struct inlay_json *json);

/** Reads a number. It is an integer if it is written as one and fits. */
bool inlay_json_number(struct inlay_json *json, struct inlay_number *number);

/** Reads true, false or null, given by 't', 'f' or 'n' from inlay_json_peek(). */
bool inlay_json_literal(struct inlay_json *json);

/** Skips a value of any kind. */
bool inlay_json_skip(struct inlay_json *json);

/** Returns true if only white space is left and there was no problem. */
bool inlay_json_end(struct inlay_json *json);

/** Records a problem, unless there already is one. Returns false. */
bool inlay_json_refuse(struct inlay_json *json, inlay_file_status status, const char *problem);
