/* SPDX-License-Identifier: MIT */
/*
 * What somebody may have meant by a word that nothing is called: the nearest of those that there are.
 */
#pragma once

#include <stddef.h>

/** The words that are nearest to what was typed, the nearest first. Begin with {.typed = ...}. */
struct nearest {
    const char *typed; /**< up to a '=' */
    size_t count;
    struct near_word {
        const char *word, *name;
        unsigned distance;
    } words[3];
};

/** Considers a word, and a name of it: itself or another one. The distance of the two texts is how many letters are
    missing, superfluous, wrong or swapped, without regard to case, '-' and '_'; 0 if what was typed is a part. */
void nearest_consider(struct nearest *nearest, const char *word, const char *name);

/** Appends "the nearest are A (name), B and C" to text [size], each word behind `prefix`; of parts no others. */
void nearest_append(const struct nearest *nearest, const char *prefix, char *text, size_t size);
