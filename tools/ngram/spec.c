/* SPDX-License-Identifier: MIT */
/*
 * The reader of spec.h. Keys are read in the order of a table, those first that bound others; every number is
 * checked here, because the library's status could not say which one is bad. jansson keeps integers of 64 bits exactly
 * and refuses those beyond.
 */
#include "ngram/spec.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs/load.h"
#include "text/message.h"
#include "text/names.h"

/* Where the reader is in a file. */
struct place {
    const char *path;
    char key[64]; /* such as columns[3].modulus */
};

const char *ngram_spec_library(void)
{
    return "jansson " JANSSON_VERSION;
}

/* ---- Single values ---------------------------------------------------------------------------------------------- */

/* Says what a value should have been. */
static int refuse(const struct place *place, const json_t *value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(const struct place *place, const json_t *value, const char *format, ...)
{
    char wanted[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(wanted, sizeof wanted, format, arguments);
    va_end(arguments);
    /* Arrays and objects can be long, and a text of them says little. */
    char *text = json_is_array(value) || json_is_object(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY);
    const char *given = text != NULL ? escaped(text, strlen(text)) : json_is_array(value) ? "an array" : "an object";
    int outcome = failed("%s: %s is %s, not %s", shown(place->path), place->key, given, wanted);
    free(text);
    return outcome;
}

/* Reads an integer in [least, most]. */
static int take_integer(const struct place *place, const json_t *value, int64_t least, int64_t most, int64_t *out)
{
    if (!json_is_integer(value) || json_integer_value(value) < least || json_integer_value(value) > most)
        return refuse(place, value, "an integer from %" PRId64 " to %" PRId64, least, most);
    *out = json_integer_value(value);
    return DONE;
}

/* Reads an integer in [least, most] into a field of 32 bits. */
static int take_u32(const struct place *place, const json_t *value, int64_t least, int64_t most, uint32_t *out)
{
    int64_t integer = 0;
    TRY(take_integer(place, value, least, most, &integer));
    *out = (uint32_t)integer;
    return DONE;
}

/* ---- Arrays ----------------------------------------------------------------------------------------------------- */

/* Checks that a value is an array of [least, most] elements and allocates as many of `bytes`. */
static int take_array(const struct place *place, const json_t *value, size_t least, size_t most, size_t bytes,
                      void **out)
{
    size_t n = json_array_size(value);
    if (!json_is_array(value))
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
static int take_integers(const struct place *place, const json_t *value, int64_t least, int64_t most, int64_t *list)
{
    for (size_t i = 0; i < json_array_size(value); i++) {
        const struct place element = element_of(place, i);
        TRY(take_integer(&element, json_array_get(value, i), least, most, &list[i]));
    }
    return DONE;
}

/* Reads token ids of any number. */
static int take_ids(const struct place *place, const json_t *value, size_t vocab, int64_t **ids, size_t *n)
{
    TRY(take_array(place, value, 0, SIZE_MAX, sizeof **ids, (void **)ids));
    *n = json_array_size(value);
    return take_integers(place, value, 0, (int64_t)vocab - 1, *ids);
}

/* ---- Objects ---------------------------------------------------------------------------------------------------- */

/* A key of an object, and what reads its value into an object of type `void *`. */
struct key {
    const char *name;
    bool required;
    int (*take)(const struct place *place, const json_t *value, struct ngram_spec *spec, void *object);
};

/* Reads the keys [n] of an object in their order. `prefix` stands before the names of keys in messages. */
static int take_object(const struct place *at, const char *prefix, const json_t *value, const struct key *keys,
                       size_t n, struct ngram_spec *spec, void *object)
{
    if (!json_is_object(value))
        return refuse(at, value, "an object");
    const char *name;
    json_t *member;
    json_object_foreach((json_t *)value, name, member)
    {
        size_t i = 0;
        while (i < n && strcmp(name, keys[i].name) != 0)
            i++;
        if (i == n)
            return failed("%s: %s has no key %s", shown(at->path), at->key, shown(name));
    }
    for (size_t i = 0; i < n; i++) {
        struct place place = {.path = at->path};
        snprintf(place.key, sizeof place.key, "%.30s%s", prefix, keys[i].name);
        member = json_object_get(value, keys[i].name);
        if (member == NULL && keys[i].required)
            return failed("%s: %s is missing", shown(at->path), place.key);
        if (member != NULL)
            TRY(keys[i].take(&place, member, spec, object));
    }
    return DONE;
}

/* ---- Columns ---------------------------------------------------------------------------------------------------- */

static int take_column_length(const struct place *place, const json_t *value, struct ngram_spec *spec, void *object)
{
    return take_u32(place, value, 1, spec->spec.length, &((inlay_ngram_column *)object)->length);
}

static int take_column_vector(const struct place *place, const json_t *value, struct ngram_spec *spec, void *object)
{
    return take_u32(place, value, 0, (int64_t)spec->spec.vectors - 1, &((inlay_ngram_column *)object)->vector);
}

static int take_column_modulus(const struct place *place, const json_t *value, struct ngram_spec *spec, void *object)
{
    (void)spec;
    return take_u32(place, value, 1, UINT32_MAX, &((inlay_ngram_column *)object)->modulus);
}

static int take_column_table(const struct place *place, const json_t *value, struct ngram_spec *spec, void *object)
{
    uint32_t *table = &((inlay_ngram_column *)object)->table;
    TRY(take_u32(place, value, 0, INLAY_NGRAM_COLUMNS_MOST - 1, table));
    spec->tables = *table >= spec->tables ? (size_t)*table + 1 : spec->tables;
    return DONE;
}

static int take_column_offset(const struct place *place, const json_t *value, struct ngram_spec *spec, void *object)
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

static int take_columns(const struct place *place, const json_t *value, struct ngram_spec *spec, void *object)
{
    (void)object;
    TRY(take_array(place, value, 1, INLAY_NGRAM_COLUMNS_MOST, sizeof *spec->columns, (void **)&spec->columns));
    spec->spec.columns = spec->columns;
    spec->spec.column_count = json_array_size(value);
    spec->tables = 1;
    for (size_t i = 0; i < json_array_size(value); i++) {
        const struct place element = element_of(place, i);
        char prefix[sizeof element.key + 1];
        snprintf(prefix, sizeof prefix, "%s.", element.key);
        TRY(take_object(&element, prefix, json_array_get(value, i), column_keys,
                        sizeof column_keys / sizeof *column_keys, spec, &spec->columns[i]));
    }
    return DONE;
}

/* ---- The spec --------------------------------------------------------------------------------------------------- */

static int take_comment(const struct place *place, const json_t *value, struct ngram_spec *spec, void *object)
{
    (void)spec, (void)object;
    return json_is_string(value) ? DONE : refuse(place, value, "a text");
}

static int take_vocab(const struct place *place, const json_t *value, struct ngram_spec *spec, void *object)
{
    (void)object;
    int64_t vocab = 0;
    TRY(take_integer(place, value, 1, (int64_t)1 << 31, &vocab));
    spec->spec.vocab = (size_t)vocab;
    return DONE;
}

static int take_length(const struct place *place, const json_t *value, struct ngram_spec *spec, void *object)
{
    (void)object;
    return take_u32(place, value, 1, INLAY_NGRAM_LENGTH_MOST, &spec->spec.length);
}

static int take_mix(const struct place *place, const json_t *value, struct ngram_spec *spec, void *object)
{
    (void)object;
    const int mix = enum_value(MIXES, json_string_value(value)); /* of what is no string null, which names nothing */
    spec->spec.mix = (inlay_ngram_mix)mix;
    return mix > 0 ? DONE : refuse(place, value, "\"xor\" or \"add\"");
}

static int take_pad(const struct place *place, const json_t *value, struct ngram_spec *spec, void *object)
{
    (void)object;
    return take_u32(place, value, 0, UINT32_MAX, &spec->spec.pad);
}

static int take_zero_is_none(const struct place *place, const json_t *value, struct ngram_spec *spec, void *object)
{
    (void)object;
    spec->spec.zero_is_none = json_is_true(value);
    return json_is_boolean(value) ? DONE : refuse(place, value, "true or false");
}

static int take_token_map(const struct place *place, const json_t *value, struct ngram_spec *spec, void *object)
{
    (void)object;
    spec->map_required = json_is_string(value) && strcmp(json_string_value(value), "required") == 0;
    if (spec->map_required)
        return DONE;
    if (!json_is_array(value))
        return refuse(place, value, "an array of numbers, or \"required\" where --token-map is to give it");
    size_t vocab = spec->spec.vocab;
    TRY(take_array(place, value, vocab, vocab, sizeof *spec->token_map, (void **)&spec->token_map));
    spec->spec.token_map = spec->token_map;
    for (size_t i = 0; i < vocab; i++) {
        const struct place element = element_of(place, i);
        TRY(take_u32(&element, json_array_get(value, i), 0, UINT32_MAX, &spec->token_map[i]));
    }
    return DONE;
}

static int take_resets(const struct place *place, const json_t *value, struct ngram_spec *spec, void *object)
{
    (void)object;
    TRY(take_ids(place, value, spec->spec.vocab, &spec->resets, &spec->spec.reset_count));
    spec->spec.resets = spec->resets;
    return DONE;
}

static int take_masks(const struct place *place, const json_t *value, struct ngram_spec *spec, void *object)
{
    (void)object;
    TRY(take_ids(place, value, spec->spec.vocab, &spec->masks, &spec->spec.mask_count));
    spec->spec.masks = spec->masks;
    return DONE;
}

static int take_multipliers(const struct place *place, const json_t *value, struct ngram_spec *spec, void *object)
{
    (void)object;
    size_t vectors = json_array_size(value), length = spec->spec.length;
    /* Sized for whole vectors at once: the library wants them one behind the other. */
    TRY(take_array(place, value, 1, INLAY_NGRAM_COLUMNS_MOST, length * sizeof *spec->multipliers,
                   (void **)&spec->multipliers));
    spec->spec.multipliers = spec->multipliers;
    spec->spec.vectors = vectors;
    for (size_t i = 0; i < vectors; i++) {
        const struct place element = element_of(place, i);
        const json_t *vector = json_array_get(value, i);
        if (!json_is_array(vector))
            return refuse(&element, vector, "an array of %zu multipliers, as many as length says", length);
        if (json_array_size(vector) != length)
            return failed("%s: %s has %zu multipliers, not %zu as length says", shown(place->path), element.key,
                          json_array_size(vector), length);
        TRY(take_integers(&element, vector, INT64_MIN, INT64_MAX, spec->multipliers + i * length));
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

static int take_text(const char *path, const char *text, size_t size, struct ngram_spec *spec)
{
    json_error_t error;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    /* Without memory jansson says nothing. */
    if (root == NULL && error.text[0] == '\0')
        return out_of_memory(shown(path), (double)size);
    if (root == NULL)
        return failed("%s, line %d, cannot be read as JSON: %s", shown(path), error.line,
                      escaped(error.text, strlen(error.text)));
    const struct place place = {.path = path, .key = "the spec"};
    spec->spec = inlay_ngram_spec_default(0, 0, (inlay_ngram_mix)0);
    int outcome = take_object(&place, "", root, spec_keys, sizeof spec_keys / sizeof *spec_keys, spec, NULL);
    json_decref(root);
    return outcome;
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
