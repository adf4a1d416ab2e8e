/* SPDX-License-Identifier: MIT */
/*
 * The text vectorization of vectorize.h, by sorting: all occurrences by word, then the distinct words by frequency.
 * No hash table, whose chains a hostile text could lengthen. Tie rule and table of marks: keras.layers
 * TextVectorization and IndexLookup, which sort (count, word) pairs in reverse.
 */
#include "embed/vectorize.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* One word where it stands in a text. */
struct occurrence {
    struct inlay_text word;
    size_t place; /* its index among all the words */
};

/* One distinct word: a run of sorted occurrences. */
struct entry {
    struct inlay_text word;
    size_t first;
    size_t count;
};

/* Compares for a falling order. */
static int compare_words(const struct inlay_text *left, const struct inlay_text *right)
{
    size_t common = left->size < right->size ? left->size : right->size;
    int order = memcmp(right->bytes, left->bytes, common);
    return order != 0 ? order : (left->size < right->size) - (left->size > right->size);
}

static int compare_occurrences(const void *left, const void *right)
{
    return compare_words(&((const struct occurrence *)left)->word, &((const struct occurrence *)right)->word);
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return compare_words(&a->word, &b->word);
}

/* Appends the standardized words of one text to occurrences, of which there are *count, and their letters at `end`.
   Returns the new end. The process has the locale "C", whose letters, marks and blanks are ASCII. */
static char *split(const struct inlay_text *text, char *end, struct occurrence *occurrences, size_t *count)
{
    bool inside = false;
    for (size_t i = 0; i < text->size; i++) {
        unsigned char byte = (unsigned char)text->bytes[i];
        if (ispunct(byte))
            continue;
        if (!isspace(byte)) {
            if (!inside) {
                occurrences[*count] = (struct occurrence){{end, 0}, *count};
                ++*count;
            }
            occurrences[*count - 1].word.size++;
            *end++ = (char)tolower(byte);
        }
        inside = !isspace(byte);
    }
    return end;
}

/* Collects the distinct words of sorted occurrences [count]; returns how many there are. */
static size_t collect(const struct occurrence *occurrences, size_t count, struct entry *entries)
{
    size_t distinct = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || compare_words(&occurrences[i].word, &occurrences[i - 1].word) != 0)
            entries[distinct++] = (struct entry){occurrences[i].word, i, 0};
        entries[distinct - 1].count++;
    }
    return distinct;
}

/* Gives ids to the words: the place in entries [distinct] plus the two reserved ids, or [UNK] past the vocabulary. */
static bool assign(const struct occurrence *occurrences, const struct entry *entries, size_t distinct,
                   size_t max_tokens, struct vectorized *result)
{
    size_t kept = max_tokens != 0 && distinct > max_tokens - 2 ? max_tokens - 2 : distinct;
    result->vocab = kept + 2;
    result->words = calloc(result->vocab, sizeof *result->words);
    if (result->words == NULL)
        return false;
    result->words[0] = (struct inlay_text){"", 0};
    result->words[1] = (struct inlay_text){"[UNK]", 5};
    for (size_t i = 0; i < distinct; i++) {
        if (i < kept)
            result->words[i + 2] = entries[i].word;
        for (size_t j = 0; j < entries[i].count; j++)
            result->lists.ids[occurrences[entries[i].first + j].place] = i < kept ? (int64_t)(i + 2) : 1;
    }
    return true;
}

bool vectorize(const struct inlay_text *texts, size_t count, size_t max_tokens, struct vectorized *result)
{
    *result = (struct vectorized){.lists.n = count};
    /* A word has at least one letter and a blank. One more everywhere, because calloc(0) may be null. */
    size_t bytes = 1, words = 0;
    for (size_t i = 0; i < count; i++)
        bytes += texts[i].size + 1;
    result->letters = malloc(bytes);
    result->lists.offsets = calloc(count + 1, sizeof *result->lists.offsets);
    struct occurrence *occurrences = calloc(bytes / 2 + 1, sizeof *occurrences);
    char *end = result->letters;
    bool good = result->letters != NULL && result->lists.offsets != NULL && occurrences != NULL;
    for (size_t i = 0; good && i < count; i++) {
        end = split(&texts[i], end, occurrences, &words);
        result->lists.offsets[i + 1] = (int64_t)words;
    }
    result->lists.ids = calloc(words + 1, sizeof *result->lists.ids);
    struct entry *entries = calloc(words + 1, sizeof *entries);
    good = good && result->lists.ids != NULL && entries != NULL;
    if (good) {
        qsort(occurrences, words, sizeof *occurrences, compare_occurrences);
        size_t distinct = collect(occurrences, words, entries);
        qsort(entries, distinct, sizeof *entries, compare_entries);
        good = assign(occurrences, entries, distinct, max_tokens, result);
    }
    free(entries);
    free(occurrences);
    return good;
}

void vectorized_free(struct vectorized *result)
{
    free(result->words);
    id_lists_free(&result->lists);
    free(result->letters);
}
