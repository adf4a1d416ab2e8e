/* SPDX-License-Identifier: MIT */
/*
 * Suggestions for an unknown word: the nearest known words.
 */
#pragma once

#include <stddef.h>

/** The known words that are nearest to the typed word, in order of distance. Initialize with {.typed = ...}. */
struct nearest {
    const char *typed; /**< up to a '=' */
    size_t count;
    struct near_word {
        const char *word, *name;
        unsigned distance;
    } words[3];
};

/** Considers a word by one of its names: the word itself or an alias. The distance is the number of missing, extra,
    wrong or swapped letters in the typed text, ignoring case, '-' and '_'. It is 0 if the name contains the typed
    text. */
void nearest_consider(struct nearest *nearest, const char *word, const char *name);

/** Appends "the nearest are A (name), B and C" to text [size], with `prefix` before each word. If some words contain
    the typed text, appends only those. */
void nearest_append(const struct nearest *nearest, const char *prefix, char *text, size_t size);
