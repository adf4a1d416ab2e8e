/* SPDX-License-Identifier: MIT */
/*
 * Lists of token ids, one behind the other: from the command line, from text files and from .npy files. What an id may
 * be is the library's to say.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** Lists of ids. All zero where there are none. */
struct id_lists {
    size_t n;         /**< number of lists */
    int64_t *offsets; /**< [n + 1]: list i has ids[offsets[i]] to ids[offsets[i + 1] - 1]; null for no lists */
    int64_t *ids;
};

/** Adds the list in text [size]: integers of 64 bits, separated by white space or commas. Messages name `option`, and
    the file `path` if that is not null. The list may be empty. */
int id_lists_add(struct id_lists *lists, const char *option, const char *path, const char *text, size_t size);

/** Adds the list in a file: a text, or a .npy file of int32, uint32 or int64; "-" is standard input. */
int id_lists_add_file(struct id_lists *lists, const char *option, const char *path);

/** Returns the number of ids of list `i`. */
size_t id_list_length(const struct id_lists *lists, size_t i);
