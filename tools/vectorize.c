/* SPDX-License-Identifier: MIT */
/*
 * The text vectorization of vectorize.h, by sorting: all occurrences by word, then the distinct words by frequency.
 * No hash table, whose chains a hostile text could lengthen. Tie rule and table of marks: keras.layers
 * TextVectorization and IndexLookup, which sort (count, word) pairs in reverse.
 */
#include "vectorize.h"

#include <stdlib.h>
#include <string.h>

/* One word where it stands in a text. */
struct occurrence {
    struct text word;
    size_t place; /* its index among all the words */
};

/* One distinct word: a run of sorted occurrences. */
struct entry {
    struct text word;
    size_t first;
    size_t count;
};

/* 1 where `left` comes first: the order is a falling one. */
static int compare_words(const struct text *left, const struct text *right)
{
    size_t common = left->size < right->size ? left->size : right->size;
    int order = memcmp(left->bytes, right->bytes, common);
    if (order == 0)
        order = (left->size > right->size) - (left->size < right->size);
    return -order;
}

static int compare_occurrences(const void *left, const void *right)
{
    const struct occurrence *a = left;
    const struct occurrence *b = right;
    return compare_words(&a->word, &b->word);
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return compare_words(&a->word, &b->word);
}

/* isspace and ispunct of the C locale, whatever the process' locale is. */
static bool is_blank(unsigned char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static bool is_mark(unsigned char byte)
{
    return (byte >= '!' && byte <= '/') || (byte >= ':' && byte <= '@') || (byte >= '[' && byte <= '`') ||
           (byte >= '{' && byte <= '~');
}

/* Appends the standardized words of one text, separated by one blank each; returns the new end. */
static char *standardize(const struct text *text, char *end)
{
    bool between = true;
    for (size_t i = 0; i < text->size; i++) {
        unsigned char byte = (unsigned char)text->bytes[i];
        if (is_mark(byte))
            continue;
        if (is_blank(byte)) {
            if (!between)
                *end++ = ' ';
            between = true;
            continue;
        }
        *end++ = (char)(byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte);
        between = false;
    }
    if (!between)
        *end++ = ' ';
    return end;
}

/* Standardizes all texts into result->letters, with result->offsets; returns the end of the letters. */
static const char *standardize_all(const struct text *texts, struct vectorized *result)
{
    char *end = result->letters;
    size_t words = 0;
    for (size_t i = 0; i < result->sequences; i++) {
        char *from = end;
        end = standardize(&texts[i], end);
        for (const char *at = from; at < end; at++)
            words += *at == ' ';
        result->offsets[i + 1] = words;
    }
    return end;
}

static void split(const char *letters, const char *end, struct occurrence *occurrences)
{
    for (size_t place = 0; letters < end; place++) {
        const char *blank = memchr(letters, ' ', (size_t)(end - letters));
        occurrences[place].word = (struct text){letters, (size_t)(blank - letters)};
        occurrences[place].place = place;
        letters = blank + 1;
    }
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
    result->words[0] = (struct text){"", 0};
    result->words[1] = (struct text){"[UNK]", 5};
    for (size_t i = 0; i < distinct; i++) {
        if (i < kept)
            result->words[i + 2] = entries[i].word;
        for (size_t j = 0; j < entries[i].count; j++)
            result->ids[occurrences[entries[i].first + j].place] = i < kept ? (int64_t)(i + 2) : 1;
    }
    return true;
}

bool vectorize(const struct text *texts, size_t count, size_t max_tokens, struct vectorized *result)
{
    *result = (struct vectorized){.sequences = count};
    size_t bytes = 1;
    for (size_t i = 0; i < count; i++)
        bytes += texts[i].size + 1;
    result->letters = malloc(bytes);
    result->offsets = calloc(count + 1, sizeof *result->offsets);
    if (result->letters == NULL || result->offsets == NULL) {
        vectorized_free(result);
        return false;
    }
    const char *end = standardize_all(texts, result);

    /* One more than the words everywhere, because calloc(0) may be null. */
    size_t words = result->offsets[count];
    result->ids = calloc(words + 1, sizeof *result->ids);
    struct occurrence *occurrences = calloc(words + 1, sizeof *occurrences);
    struct entry *entries = calloc(words + 1, sizeof *entries);
    bool good = result->ids != NULL && occurrences != NULL && entries != NULL;
    if (good) {
        split(result->letters, end, occurrences);
        qsort(occurrences, words, sizeof *occurrences, compare_occurrences);
        size_t distinct = collect(occurrences, words, entries);
        qsort(entries, distinct, sizeof *entries, compare_entries);
        good = assign(occurrences, entries, distinct, max_tokens, result);
    }
    free(entries);
    free(occurrences);
    if (!good)
        vectorized_free(result);
    return good;
}

void vectorized_free(struct vectorized *result)
{
    free(result->words);
    free(result->offsets);
    free(result->ids);
    free(result->letters);
    *result = (struct vectorized){0};
}
