/* SPDX-License-Identifier: MIT */
/*
 * Computes edit distances (restricted Damerau-Levenshtein), and keeps the words with the smallest ones.
 */
#include "text/nearest.h"

#include <stdbool.h>
#include <string.h>

#include <inlay/inlay.h>

#include "text/message.h"

/* Longer words are compared by their first MAX_LETTERS - 1 letters. */
enum { MAX_LETTERS = 32 };

/* Writes the relevant letters in lower case, null-terminated. Returns their number. */
static size_t fold(const char *text, char letters[MAX_LETTERS])
{
    size_t n = 0;
    for (; *text != '\0' && *text != '=' && n + 1 < MAX_LETTERS; text++) {
        if (*text != '-' && *text != '_')
            letters[n++] = (char)(*text >= 'A' && *text <= 'Z' ? *text - 'A' + 'a' : *text);
    }
    letters[n] = '\0';
    return n;
}

static unsigned min(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned distance_of(const char *typed, const char *name)
{
    char a[MAX_LETTERS], b[MAX_LETTERS];
    const size_t rows = fold(typed, a), columns = fold(name, b);
    if (strstr(b, a) != NULL)
        return 0;
    unsigned edits[MAX_LETTERS][MAX_LETTERS]; /* from the first i letters of a to the first k of b */
    for (size_t i = 0; i <= rows; i++) {
        for (size_t k = 0; k <= columns; k++) {
            edits[i][k] = (unsigned)(i + k);
            if (i == 0 || k == 0)
                continue;
            edits[i][k] = min(min(edits[i - 1][k], edits[i][k - 1]) + 1, edits[i - 1][k - 1] + (a[i - 1] != b[k - 1]));
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                edits[i][k] = min(edits[i][k], edits[i - 2][k - 2] + 1);
        }
    }
    return edits[rows][columns];
}

void nearest_consider(struct nearest *nearest, const char *word, const char *name)
{
    enum { MAX = sizeof nearest->words / sizeof *nearest->words };
    struct near_word *const words = nearest->words;
    const struct near_word found = {word, name, distance_of(nearest->typed, name)};
    size_t place = 0;
    while (place < nearest->count && words[place].word != word)
        place++;
    if (place < nearest->count && words[place].distance <= found.distance)
        return; /* another name of the word is at least as near */
    if (place == nearest->count && place < MAX)
        nearest->count++;
    for (; place > 0 && words[place - 1].distance > found.distance; place--) {
        if (place < MAX)
            words[place] = words[place - 1];
    }
    if (place < MAX)
        words[place] = found;
}

void nearest_append(const struct nearest *nearest, const char *prefix, char *text, size_t size)
{
    size_t count = 1;
    while (count < nearest->count && (nearest->words[0].distance > 0 || nearest->words[count].distance == 0))
        count++;
    append(text, size, "the nearest %s ", count == 1 ? "is" : "are");
    for (size_t i = 0; i < count; i++) {
        const struct near_word *near = &nearest->words[i];
        append(text, size, "%s%s%s", i == 0 ? "" : i + 1 < count ? ", " : " and ", prefix, near->word);
        if (!inlay_name_equal(near->word, near->name))
            append(text, size, " (%s)", near->name);
    }
}
