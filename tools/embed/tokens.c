/* SPDX-License-Identifier: MIT */
/*
 * Texts and lists of ids become sequences of ids, which the same code pads and truncates. Words get their ids by
 * sorting: first all occurrences by word, then the distinct words by frequency. There is no hash table, in which
 * hostile texts could cause long chains. Punctuation and the order of equally frequent words are as in Keras'
 * TextVectorization and IndexLookup, which sort (count, word) pairs in reverse.
 */
#include "embed/tokens.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "inputs/load.h"
#include "text/message.h"

/* ---- Texts ------------------------------------------------------------------------------------------------------ */

/* One word of a text. */
struct occurrence {
    struct inlay_text word;
    size_t place; /* index among all words of the texts; for a distinct word, index of its first occurrence in sorted
                     order */
    size_t count; /* for a distinct word, number of occurrences; else 0 */
};

/* The words of all texts. */
struct occurrences {
    struct occurrence *all; /* [n] */
    size_t n;
};

/* Orders words by descending frequency, and equally frequent ones by descending word. */
static int compare(const void *left, const void *right)
{
    const struct occurrence *a = left, *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    size_t common = a->word.size < b->word.size ? a->word.size : b->word.size;
    int order = memcmp(b->word.bytes, a->word.bytes, common);
    return order != 0 ? order : (a->word.size < b->word.size) - (a->word.size > b->word.size);
}

/* Appends the words of a text [size]. Overwrites the text with the letters of the words. Splits on ASCII whitespace,
   removes the 32 ASCII punctuation marks, and converts ASCII letters to lower case. Other bytes are kept. The process
   uses the locale "C", so the functions of <ctype.h> treat only ASCII characters. */
static void split(char *text, size_t size, struct occurrences *words)
{
    /* A word takes at least one letter and one separator. */
    struct occurrence *all = xrealloc(words->all, (words->n + size / 2 + 1) * sizeof *all, "the words of the text");
    bool inside = false;
    words->all = all;
    char *end = text;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (isspace(byte))
            inside = false;
        if (isspace(byte) || ispunct(byte))
            continue;
        if (!inside) {
            all[words->n] = (struct occurrence){{end, 0}, words->n, 0};
            words->n++;
        }
        inside = true;
        all[words->n - 1].word.size++;
        *end++ = (char)tolower(byte);
    }
}

/* Writes each distinct word of the sorted occurrences once, with its count and the index of its first occurrence.
   Returns the number of distinct words. */
static size_t collect(const struct occurrences *words, struct occurrence *distinct)
{
    const struct occurrence *all = words->all;
    size_t n = 0;
    for (size_t i = 0; i < words->n; i++) {
        if (i == 0 || compare(&all[i - 1], &all[i]) != 0)
            distinct[n++] = (struct occurrence){all[i].word, i, 0};
        distinct[n - 1].count++;
    }
    return n;
}

/* Makes the vocabulary, and the ids of all words. Words that aren't in the vocabulary get [UNK]. */
static void assign(struct occurrences *words, size_t max_tokens, struct tokens *tokens)
{
    const struct occurrence *all = words->all;
    struct occurrence *distinct = xcalloc(words->n, sizeof *distinct, "the vocabulary");
    tokens->words = xcalloc(words->n + 2, sizeof *tokens->words, "the vocabulary");
    tokens->lists.ids = xcalloc(words->n, sizeof *tokens->lists.ids, "the ids");
    qsort(words->all, words->n, sizeof *all, compare);
    const size_t n = collect(words, distinct);
    qsort(distinct, n, sizeof *distinct, compare);
    tokens->vocab = max_tokens != 0 && max_tokens < n + 2 ? max_tokens : n + 2;
    tokens->words[0] = inlay_text_of("");
    tokens->words[1] = inlay_text_of("[UNK]");
    for (size_t i = 0; i < n; i++) {
        tokens->words[i + 2] = distinct[i].word;
        for (size_t j = 0; j < distinct[i].count; j++)
            tokens->lists.ids[all[distinct[i].place + j].place] = i + 2 < tokens->vocab ? (int64_t)(i + 2) : 1;
    }
    free(distinct);
}

/* Reads the texts, from the command line or from files, and vectorizes them. */
static int read_texts(const struct embed_options *options, struct tokens *tokens, struct occurrences *words)
{
    struct id_lists *lists = &tokens->lists;
    tokens->letters = xcalloc(options->inputs, sizeof *tokens->letters, "the list of texts");
    lists->offsets = xcalloc(options->inputs + 1, sizeof *lists->offsets, "the list of texts");
    for (size_t i = 0; i < options->inputs; i++) {
        char **text = &tokens->letters[i];
        size_t size = strlen(options->input[i]);
        if (options->source == SOURCE_FILE)
            TRY(load_text(options->input[i], text, &size));
        else
            *text = memcpy(xcalloc(size, 1, "a text"), options->input[i], size);
        split(*text, size, words);
        lists->offsets[++lists->n] = (int64_t)words->n;
    }
    assign(words, (size_t)options->max_tokens, tokens);
    return DONE;
}

/* ---- Ids -------------------------------------------------------------------------------------------------------- */

static int read_ids(const struct embed_options *options, struct id_lists *lists)
{
    for (size_t i = 0; i < options->inputs; i++) {
        TRY(id_lists_add(lists, "--ids", NULL, options->input[i], strlen(options->input[i])));
        if (id_list_length(lists, i) == 0)
            return misused("--ids %s has no ids", shown(options->input[i]));
    }
    return DONE;
}

/* Lays out the sequences as the rows of a rectangle. Its width is --length, or the length of the longest sequence. For
   the layer of a model, concatenates the sequences instead. */
static void lay_out(const struct embed_options *options, struct tokens *tokens)
{
    const struct id_lists *lists = &tokens->lists;
    size_t length = (size_t)options->length;
    for (size_t i = 0; options->length == 0 && i < lists->n; i++)
        length = id_list_length(lists, i) > length ? id_list_length(lists, i) : length;
    tokens->length = length;
    tokens->ids = xcalloc(length, lists->n * sizeof *tokens->ids, "the ids");
    tokens->offsets = xcalloc(lists->n + 1, sizeof *tokens->offsets, "the ids");
    for (size_t i = 0; i < lists->n; i++) {
        size_t own = id_list_length(lists, i), kept = own < length ? own : length;
        memcpy(tokens->ids + tokens->count, lists->ids + lists->offsets[i], kept * sizeof *tokens->ids);
        tokens->count += options->table == TABLE_LAYER ? kept : length;
        tokens->offsets[i + 1] = (int64_t)tokens->count;
    }
}

int tokens_read(const struct embed_options *options, struct tokens *tokens)
{
    struct occurrences words = {NULL, 0};
    *tokens = (struct tokens){.sequences = options->inputs};
    int outcome =
        options->source == SOURCE_IDS ? read_ids(options, &tokens->lists) : read_texts(options, tokens, &words);
    free(words.all);
    TRY(outcome);
    lay_out(options, tokens);
    return DONE;
}

size_t tokens_vocab(const struct tokens *tokens)
{
    int64_t largest = 0;
    if (tokens->words != NULL)
        return tokens->vocab;
    for (size_t i = 0; i < tokens->count; i++)
        largest = tokens->ids[i] > largest ? tokens->ids[i] : largest;
    return (size_t)(largest < INLAY_POSITION_LIMIT ? largest + 1 : INLAY_POSITION_LIMIT);
}
