/* SPDX-License-Identifier: MIT */
/*
 * A reader of JSON (RFC 8259) that takes one value after the other from text and keeps none of them: of a header it
 * remembers where the keys of open objects are, in 24 bytes each at most. It accepts nothing beyond the standard, no
 * bytes that are not UTF-8, no character U+0000, and no key twice in an object. A caller names what it expects; the
 * first thing that is something else ends the reading.
 *
 *     inlay_json_open(json, '{');
 *     while (inlay_json_member(json, &key))
 *         inlay_json_string(json, &value);
 *     if (!inlay_json_end(json))
 *         // json->status, json->problem, json->at
 *     inlay_json_finish(json);
 */
#pragma once

#include <stdint.h>

#include "text.h"
#include "value.h"

/** The most nested arrays and objects that any text can have. */
enum { INLAY_JSON_DEPTH = 64 };

/** A text that is being read. */
struct inlay_json {
    const char *begin, *at, *end;
    unsigned depth;      /**< open arrays and objects */
    unsigned most_depth; /**< that may be open, at most INLAY_JSON_DEPTH */
    bool fresh;          /**< nothing was taken yet from the innermost array or object */
    bool python;         /**< accept NaN, Infinity and -Infinity, which Python writes */
    bool looks_ahead;    /**< keys are not compared: from inlay_json_ahead() */
    uint64_t *keys;      /**< [key_count] of the open objects: the hash of a key, and the byte where it begins */
    size_t key_count;
    size_t key_room;                      /**< `keys` is twice as long, so that they can be sorted */
    uint32_t first_key[INLAY_JSON_DEPTH]; /**< of the array or object at each depth */
    char ends[INLAY_JSON_DEPTH];          /**< the bracket that ends each of them */
    inlay_file_status status;   /**< of the first problem: INLAY_FILE_ERROR_SYNTAX, _LIMIT, _DUPLICATE or _NO_MEMORY */
    const char *problem;        /**< the first problem, of the value at `at`; null: none so far */
    struct inlay_text repeated; /**< the key that is there twice, if that is the problem */
};

/** Begins to read [size] bytes, less than 4 GiB. */
void inlay_json_start(struct inlay_json *json, const void *bytes, size_t size, unsigned most_depth);

/** Returns a reader of what is to be read next, which changes nothing and compares no keys. */
struct inlay_json inlay_json_ahead(const struct inlay_json *json);

/** Releases the memory of the reading. */
void inlay_json_finish(struct inlay_json *json);

/** Returns the first character of the next value, which tells its kind; 0 at the end or after a problem. */
char inlay_json_peek(struct inlay_json *json);

/** Enters an object, for '{', or an array, for '['. */
bool inlay_json_open(struct inlay_json *json, char bracket);

/** Takes the next key of the innermost object; its value must be taken next. Returns false and leaves the object if
    there is none, and after a problem. That a key is there twice is a problem at the end of the object. */
bool inlay_json_member(struct inlay_json *json, struct inlay_text *key);

/** Returns whether the innermost array has another element, which must be taken next; else leaves the array. False
    after a problem. */
bool inlay_json_element(struct inlay_json *json);

/** Takes a string, as it is written between its quotes. */
bool inlay_json_string(struct inlay_json *json, struct inlay_text *string);

/** Writes what a string means, which is never longer than what is written, into out [string.size] and returns its
    length. */
size_t inlay_json_decode(struct inlay_text string, char *out);

/** Returns whether a string means a text. */
bool inlay_json_means(struct inlay_text string, const char *text);

/** Takes an integer 0 or [1-9][0-9]* up to 2^63 - 1. */
bool inlay_json_unsigned(struct inlay_json *json, uint64_t *value);

/** Returns whether a number is next. */
bool inlay_json_at_number(struct inlay_json *json);

/** Takes a number, which is an integer if it is written as one that fits. */
bool inlay_json_number(struct inlay_json *json, struct inlay_number *number);

/** Takes true, false or null: 't', 'f' or 'n' as inlay_json_peek() says. */
bool inlay_json_literal(struct inlay_json *json);

/** Takes a value of any kind. */
bool inlay_json_skip(struct inlay_json *json);

/** Returns whether nothing but white space is left, and there was no problem. */
bool inlay_json_end(struct inlay_json *json);

/** Notes a problem, unless there was one already. Returns false. */
bool inlay_json_refuse(struct inlay_json *json, inlay_file_status status, const char *problem);
