/* SPDX-License-Identifier: MIT */
/*
 * The reader of spec.h. The whole text is checked as JSON first; after that a value is the place in the text where it
 * begins. Keys are read in the order of a table, those first that bound others; every number is checked here, because
 * the library's status could not say which one is bad.
 */
#include "ngram/spec.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/json.h"
#include "inputs/load.h"
#include "text/message.h"
#include "text/names.h"

/* The most keys of an object. */
enum { KEYS_MOST = 11 };

/* Where the reader is in a file. */
struct place {
    const char *path;
    char key[64]; /* such as columns[3].modulus */
};

/* ---- Single values ---------------------------------------------------------------------------------------------- */

/* Says what a value should have been. */
static int refuse(const struct place *place, const struct inlay_json *value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(const struct place *place, const struct inlay_json *value, const char *format, ...)
{
    char wanted[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(wanted, sizeof wanted, format, arguments);
    va_end(arguments);
    struct inlay_json json = inlay_json_ahead(value);
    const char kind = inlay_json_peek(&json), *first = json.at;
    inlay_json_skip(&json);
    /* Arrays and objects can be long, and a text of them says little. */
    const char *given = kind == '['   ? "an array"
                        : kind == '{' ? "an object"
                                      : escaped(first, (size_t)(json.at - first));
    return failed("%s: %s is %s, not %s", shown(place->path), place->key, given, wanted);
}

/* Returns the first character of a value, which tells its kind. */
static char kind_of(const struct inlay_json *value)
{
    struct inlay_json json = inlay_json_ahead(value);
    return inlay_json_peek(&json);
}

/* Returns the text of a string as it is written, or a text that nothing means. */
static struct inlay_text string_of(const struct inlay_json *value)
{
    struct inlay_json json = inlay_json_ahead(value);
    struct inlay_text string = {NULL, 0};
    inlay_json_string(&json, &string);
    return string;
}

/* Reads an integer in [least, most]. */
static int take_integer(const struct place *place, const struct inlay_json *value, int64_t least, int64_t most,
                        int64_t *out)
{
    struct inlay_json json = inlay_json_ahead(value);
    bool integer = false;
    double number;
    if (!inlay_json_number(&json, &integer, out, &number) || !integer || *out < least || *out > most)
        return refuse(place, value, "an integer from %" PRId64 " to %" PRId64, least, most);
    return DONE;
}

/* Reads an integer in [least, most] into a field of 32 bits. */
static int take_u32(const struct place *place, const struct inlay_json *value, int64_t least, int64_t most,
                    uint32_t *out)
{
    int64_t integer = 0;
    TRY(take_integer(place, value, least, most, &integer));
    *out = (uint32_t)integer;
    return DONE;
}

/* ---- Arrays ----------------------------------------------------------------------------------------------------- */

/* Begins to read the elements of an array. */
static struct inlay_json elements_of(const struct inlay_json *value)
{
    struct inlay_json json = inlay_json_ahead(value);
    inlay_json_open(&json, '[');
    return json;
}

/* Returns the number of elements of an array; 0 of another value. */
static size_t count_of(const struct inlay_json *value)
{
    struct inlay_json json = elements_of(value);
    size_t n = 0;
    for (; inlay_json_element(&json); n++)
        inlay_json_skip(&json);
    return n;
}

/* Checks that a value is an array of [least, most] elements and allocates as many of `bytes`. */
static int take_array(const struct place *place, const struct inlay_json *value, size_t least, size_t most,
                      size_t bytes, void **out)
{
    size_t n = count_of(value);
    if (kind_of(value) != '[')
        return refuse(place, value, "an array");
    if (n < least || n > most)
        return failed(least == most ? "%s: %s has %zu elements, not %zu"
                                    : "%s: %s has %zu elements, not from %zu to %zu",
                      shown(place->path), place->key, n, least, most);
    *out = calloc(n + 1, bytes);
    return *out != NULL ? DONE : out_of_memory(place->key, (double)n * (double)bytes);
}

/* Returns the place of element `i` of an array. */
static struct place element_of(const struct place *array, size_t i)
{
    struct place place = {.path = array->path};
    snprintf(place.key, sizeof place.key, "%.30s[%zu]", array->key, i);
    return place;
}

/* Reads integers in [least, most] into list [n of the array]. */
static int take_integers(const struct place *place, const struct inlay_json *value, int64_t least, int64_t most,
                         int64_t *list)
{
    struct inlay_json json = elements_of(value);
    for (size_t i = 0; inlay_json_element(&json); i++) {
        const struct place element = element_of(place, i);
        TRY(take_integer(&element, &json, least, most, &list[i]));
        inlay_json_skip(&json);
    }
    return DONE;
}

/* Reads token ids of any number. */
static int take_ids(const struct place *place, const struct inlay_json *value, size_t vocab, int64_t **ids, size_t *n)
{
    TRY(take_array(place, value, 0, SIZE_MAX, sizeof **ids, (void **)ids));
    *n = count_of(value);
    return take_integers(place, value, 0, (int64_t)vocab - 1, *ids);
}

/* ---- Objects ---------------------------------------------------------------------------------------------------- */

/* A key of an object, and what reads its value into an object of type `void *`. */
struct key {
    const char *name;
    bool required;
    int (*take)(const struct place *place, const struct inlay_json *value, struct ngram_spec *spec, void *object);
};

static int unknown_key(const struct place *at, struct inlay_text name)
{
    char *meaning = calloc(name.size + 1, 1);
    if (meaning == NULL)
        return out_of_memory("a key", (double)name.size);
    inlay_json_decode(name, meaning);
    int outcome = failed("%s: %s has no key %s", shown(at->path), at->key, shown(meaning));
    free(meaning);
    return outcome;
}

/* Reads the keys [n <= KEYS_MOST] of an object in their order. `prefix` stands before the names of keys in messages. */
static int take_object(const struct place *at, const char *prefix, const struct inlay_json *value,
                       const struct key *keys, size_t n, struct ngram_spec *spec, void *object)
{
    struct inlay_json json = inlay_json_ahead(value), members[KEYS_MOST];
    struct inlay_text name;
    bool there[KEYS_MOST] = {false};
    if (!inlay_json_open(&json, '{'))
        return refuse(at, value, "an object");
    while (inlay_json_member(&json, &name)) {
        size_t i = 0;
        while (i < n && !inlay_json_means(name, keys[i].name))
            i++;
        if (i == n)
            return unknown_key(at, name);
        members[i] = json;
        there[i] = true;
        inlay_json_skip(&json);
    }
    for (size_t i = 0; i < n; i++) {
        struct place place = {.path = at->path};
        snprintf(place.key, sizeof place.key, "%.30s%s", prefix, keys[i].name);
        if (!there[i] && keys[i].required)
            return failed("%s: %s is missing", shown(at->path), place.key);
        if (there[i])
            TRY(keys[i].take(&place, &members[i], spec, object));
    }
    return DONE;
}

/* ---- Columns ---------------------------------------------------------------------------------------------------- */

static int take_column_length(const struct place *place, const struct inlay_json *value, struct ngram_spec *spec,
                              void *object)
{
    return take_u32(place, value, 1, spec->spec.length, &((inlay_ngram_column *)object)->length);
}

static int take_column_vector(const struct place *place, const struct inlay_json *value, struct ngram_spec *spec,
                              void *object)
{
    return take_u32(place, value, 0, (int64_t)spec->spec.vectors - 1, &((inlay_ngram_column *)object)->vector);
}

static int take_column_modulus(const struct place *place, const struct inlay_json *value, struct ngram_spec *spec,
                               void *object)
{
    (void)spec;
    return take_u32(place, value, 1, UINT32_MAX, &((inlay_ngram_column *)object)->modulus);
}

static int take_column_table(const struct place *place, const struct inlay_json *value, struct ngram_spec *spec,
                             void *object)
{
    uint32_t *table = &((inlay_ngram_column *)object)->table;
    TRY(take_u32(place, value, 0, INLAY_NGRAM_COLUMNS_MOST - 1, table));
    spec->tables = *table >= spec->tables ? (size_t)*table + 1 : spec->tables;
    return DONE;
}

static int take_column_offset(const struct place *place, const struct inlay_json *value, struct ngram_spec *spec,
                              void *object)
{
    (void)spec;
    inlay_ngram_column *column = object;
    int64_t offset = 0;
    /* The modulus has been read: offset + modulus is at most 2^63. */
    TRY(take_integer(place, value, 0, INT64_MAX - (int64_t)column->modulus + 1, &offset));
    column->offset = (uint64_t)offset;
    return DONE;
}

static const struct key column_keys[] = {
    {"length", true, take_column_length}, {"vector", false, take_column_vector}, {"modulus", true, take_column_modulus},
    {"table", false, take_column_table},  {"offset", false, take_column_offset},
};

static int take_columns(const struct place *place, const struct inlay_json *value, struct ngram_spec *spec,
                        void *object)
{
    (void)object;
    TRY(take_array(place, value, 1, INLAY_NGRAM_COLUMNS_MOST, sizeof *spec->columns, (void **)&spec->columns));
    spec->spec.columns = spec->columns;
    spec->spec.column_count = count_of(value);
    spec->tables = 1;
    struct inlay_json json = elements_of(value);
    for (size_t i = 0; inlay_json_element(&json); i++) {
        const struct place element = element_of(place, i);
        char prefix[sizeof element.key + 1];
        snprintf(prefix, sizeof prefix, "%s.", element.key);
        TRY(take_object(&element, prefix, &json, column_keys, sizeof column_keys / sizeof *column_keys, spec,
                        &spec->columns[i]));
        inlay_json_skip(&json);
    }
    return DONE;
}

/* ---- The spec --------------------------------------------------------------------------------------------------- */

static int take_comment(const struct place *place, const struct inlay_json *value, struct ngram_spec *spec,
                        void *object)
{
    (void)spec, (void)object;
    return kind_of(value) == '"' ? DONE : refuse(place, value, "a text");
}

static int take_vocab(const struct place *place, const struct inlay_json *value, struct ngram_spec *spec, void *object)
{
    (void)object;
    int64_t vocab = 0;
    TRY(take_integer(place, value, 1, (int64_t)1 << 31, &vocab));
    spec->spec.vocab = (size_t)vocab;
    return DONE;
}

static int take_length(const struct place *place, const struct inlay_json *value, struct ngram_spec *spec, void *object)
{
    (void)object;
    return take_u32(place, value, 1, INLAY_NGRAM_LENGTH_MOST, &spec->spec.length);
}

static int take_mix(const struct place *place, const struct inlay_json *value, struct ngram_spec *spec, void *object)
{
    (void)object;
    const struct inlay_text text = string_of(value);
    for (int mix = INLAY_NGRAM_MIX_XOR; mix <= INLAY_NGRAM_MIX_ADD; mix++)
        if (text.bytes != NULL && inlay_json_means(text, enum_name(MIXES, mix))) {
            spec->spec.mix = (inlay_ngram_mix)mix;
            return DONE;
        }
    return refuse(place, value, "\"xor\" or \"add\"");
}

static int take_pad(const struct place *place, const struct inlay_json *value, struct ngram_spec *spec, void *object)
{
    (void)object;
    return take_u32(place, value, 0, UINT32_MAX, &spec->spec.pad);
}

static int take_zero_is_none(const struct place *place, const struct inlay_json *value, struct ngram_spec *spec,
                             void *object)
{
    (void)object;
    const char kind = kind_of(value);
    spec->spec.zero_is_none = kind == 't';
    return kind == 't' || kind == 'f' ? DONE : refuse(place, value, "true or false");
}

static int take_token_map(const struct place *place, const struct inlay_json *value, struct ngram_spec *spec,
                          void *object)
{
    (void)object;
    spec->map_required = kind_of(value) == '"' && inlay_json_means(string_of(value), "required");
    if (spec->map_required)
        return DONE;
    if (kind_of(value) != '[')
        return refuse(place, value, "an array of numbers, or \"required\" where --token-map is to give it");
    size_t vocab = spec->spec.vocab;
    TRY(take_array(place, value, vocab, vocab, sizeof *spec->token_map, (void **)&spec->token_map));
    spec->spec.token_map = spec->token_map;
    struct inlay_json json = elements_of(value);
    for (size_t i = 0; inlay_json_element(&json); i++) {
        const struct place element = element_of(place, i);
        TRY(take_u32(&element, &json, 0, UINT32_MAX, &spec->token_map[i]));
        inlay_json_skip(&json);
    }
    return DONE;
}

static int take_resets(const struct place *place, const struct inlay_json *value, struct ngram_spec *spec, void *object)
{
    (void)object;
    TRY(take_ids(place, value, spec->spec.vocab, &spec->resets, &spec->spec.reset_count));
    spec->spec.resets = spec->resets;
    return DONE;
}

static int take_masks(const struct place *place, const struct inlay_json *value, struct ngram_spec *spec, void *object)
{
    (void)object;
    TRY(take_ids(place, value, spec->spec.vocab, &spec->masks, &spec->spec.mask_count));
    spec->spec.masks = spec->masks;
    return DONE;
}

static int take_multipliers(const struct place *place, const struct inlay_json *value, struct ngram_spec *spec,
                            void *object)
{
    (void)object;
    size_t vectors = count_of(value), length = spec->spec.length;
    /* Sized for whole vectors at once: the library wants them one behind the other. */
    TRY(take_array(place, value, 1, INLAY_NGRAM_COLUMNS_MOST, length * sizeof *spec->multipliers,
                   (void **)&spec->multipliers));
    spec->spec.multipliers = spec->multipliers;
    spec->spec.vectors = vectors;
    struct inlay_json json = elements_of(value);
    for (size_t i = 0; inlay_json_element(&json); i++) {
        const struct place element = element_of(place, i);
        if (kind_of(&json) != '[')
            return refuse(&element, &json, "an array of %zu multipliers, as many as length says", length);
        if (count_of(&json) != length)
            return failed("%s: %s has %zu multipliers, not %zu as length says", shown(place->path), element.key,
                          count_of(&json), length);
        TRY(take_integers(&element, &json, INT64_MIN, INT64_MAX, spec->multipliers + i * length));
        inlay_json_skip(&json);
    }
    return DONE;
}

static const struct key spec_keys[] = {
    {"comment", false, take_comment},
    {"vocab", true, take_vocab},
    {"length", true, take_length},
    {"mix", true, take_mix},
    {"pad", false, take_pad},
    {"zero_is_none", false, take_zero_is_none},
    {"token_map", false, take_token_map},
    {"resets", false, take_resets},
    {"masks", false, take_masks},
    {"multipliers", true, take_multipliers},
    {"columns", true, take_columns},
};
_Static_assert(sizeof spec_keys / sizeof *spec_keys <= KEYS_MOST, "take_object() has room for them");

/* Says what is wrong with a text that is no JSON. */
static int refuse_text(const char *path, const struct inlay_json *json)
{
    size_t line = 1;
    for (const char *at = json->begin; at < json->at; at++)
        line += *at == '\n';
    if (json->status == INLAY_FILE_ERROR_NO_MEMORY)
        return out_of_memory(shown(path), (double)(json->end - json->begin));
    return failed("%s, line %zu, cannot be read as JSON: %s%s%s", shown(path), line, json->problem,
                  json->repeated.size > 0 ? ": " : "", escaped(json->repeated.bytes, json->repeated.size));
}

static int take_text(const char *path, const char *text, size_t size, struct ngram_spec *spec)
{
    struct inlay_json whole, root;
    if (size > UINT32_MAX)
        return failed("%s is longer than the 4 GiB that a spec can have", shown(path));
    inlay_json_start(&whole, text, size, INLAY_JSON_DEPTH);
    root = inlay_json_ahead(&whole);
    inlay_json_skip(&whole);
    int outcome = inlay_json_end(&whole) ? DONE : refuse_text(path, &whole);
    inlay_json_finish(&whole);
    TRY(outcome);
    const struct place place = {.path = path, .key = "the spec"};
    spec->spec = inlay_ngram_spec_default(0, 0, (inlay_ngram_mix)0);
    return take_object(&place, "", &root, spec_keys, sizeof spec_keys / sizeof *spec_keys, spec, NULL);
}

int ngram_spec_read(const char *path, struct ngram_spec *spec)
{
    char *text = NULL;
    size_t size;
    int outcome = load_text(path, &text, &size);
    if (outcome == DONE)
        outcome = take_text(path, text, size, spec);
    free(text);
    return outcome;
}
