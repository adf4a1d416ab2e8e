/* SPDX-License-Identifier: MIT */
/*
 * Concatenated lists of token ids: from the command line, text files and .npy files. The library checks their values.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** Lists of ids. All zero if empty. */
struct id_lists {
    size_t n;         /**< number of lists */
    int64_t *offsets; /**< [n + 1]: list i is ids[offsets[i]] to ids[offsets[i + 1] - 1]; null if n is 0 */
    int64_t *ids;
};

/** Adds the list in text [size]: 64-bit integers, separated by whitespace or commas. The list may be empty. Messages
    name `option`, and `path` if the text is from a file; otherwise it is null. */
int id_lists_add(struct id_lists *lists, const char *option, const char *path, const char *text, size_t size);

/** Adds the list in a file: text, or a .npy file of int32, uint32 or int64. "-" is standard input. */
int id_lists_add_file(struct id_lists *lists, const char *option, const char *path);

/** Returns the number of ids of list `i`. */
size_t id_list_length(const struct id_lists *lists, size_t i);
