/* SPDX-License-Identifier: MIT */
/*
 * Suggestions for an unknown word: the nearest known words.
 */
#pragma once

#include <stddef.h>

/** The words nearest to the typed one, nearest first. Initialize with {.typed = ...}. */
struct nearest {
    const char *typed; /**< up to a '=' */
    size_t count;
    struct near_word {
        const char *word, *name;
        unsigned distance;
    } words[3];
};

/** Considers a word under one of its names: itself or an alias. The distance of two texts is the number of missing,
    extra, wrong or swapped letters, ignoring case, '-' and '_'. It is 0 if the name contains the typed text. */
void nearest_consider(struct nearest *nearest, const char *word, const char *name);

/** Appends "the nearest are A (name), B and C" to text [size], with `prefix` before each word. If some words contain
    the typed text, appends only those. */
void nearest_append(const struct nearest *nearest, const char *prefix, char *text, size_t size);
