/* SPDX-License-Identifier: MIT */
/*
 * The reader of spec.h. The whole text is checked as JSON first; after that a value is a reader that stands in front of
 * it. Keys are taken in an order of ours, those first that bound others; every number is checked here, because the
 * library's status could not say which one is bad.
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

/* A value of a file. */
struct value {
    const char *path;
    char name[64]; /* as messages call it, such as columns[3].modulus */
    bool required;
    struct inlay_json json; /* a reader in front of it, which changes nothing; all zero where it is not there */
};

/* ---- Single values ---------------------------------------------------------------------------------------------- */

/* Says what a value should have been, or that it is missing. A value that is not there and need not be is DONE. */
static int refuse(const struct value *value, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int refuse(const struct value *value, const char *format, ...)
{
    if (value->json.begin == NULL)
        return value->required ? failed("%s: %s is missing", shown(value->path), value->name) : DONE;
    char wanted[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(wanted, sizeof wanted, format, arguments);
    va_end(arguments);
    struct inlay_json json = value->json;
    const char kind = inlay_json_peek(&json), *first = json.at;
    inlay_json_skip(&json);
    /* Arrays and objects can be long, and a text of them says little. */
    const char *given = kind == '['   ? "an array"
                        : kind == '{' ? "an object"
                                      : escaped(first, (size_t)(json.at - first));
    return failed("%s: %s is %s, not %s", shown(value->path), value->name, given, wanted);
}

/* Returns the first character of a value, which tells its kind; 0 of one that is not there. */
static char kind_of(const struct value *value)
{
    struct inlay_json json = value->json;
    return inlay_json_peek(&json);
}

/* Returns whether a value is a string that means a text. */
static bool is_string(const struct value *value, const char *text)
{
    struct inlay_json json = value->json;
    struct inlay_text string;
    return inlay_json_string(&json, &string) && inlay_json_means(string, text);
}

/* Reads an integer in [least, most]. */
static int take_integer(const struct value *value, int64_t least, int64_t most, int64_t *out)
{
    struct inlay_json json = value->json;
    struct inlay_number number;
    if (!inlay_json_number(&json, &number) || !number.is_integer || number.integer < least || number.integer > most)
        return refuse(value, "an integer from %" PRId64 " to %" PRId64, least, most);
    *out = number.integer;
    return DONE;
}

/* Reads an integer in [least, most] into a field of 32 bits. */
static int take_u32(const struct value *value, int64_t least, int64_t most, uint32_t *out)
{
    int64_t integer = *out;
    TRY(take_integer(value, least, most, &integer));
    *out = (uint32_t)integer;
    return DONE;
}

static int take_mix(const struct value *value, inlay_ngram_mix *out)
{
    for (int mix = INLAY_NGRAM_MIX_XOR; mix <= INLAY_NGRAM_MIX_ADD; mix++)
        if (is_string(value, enum_name(MIXES, mix))) {
            *out = (inlay_ngram_mix)mix;
            return DONE;
        }
    return refuse(value, "\"xor\" or \"add\"");
}

static int take_truth(const struct value *value, uint32_t *out)
{
    const char kind = kind_of(value);
    *out = kind == 't';
    return kind == 't' || kind == 'f' ? DONE : refuse(value, "true or false");
}

/* ---- Arrays ----------------------------------------------------------------------------------------------------- */

/* The elements of an array, one after the other. */
struct elements {
    const char *array; /* its name */
    struct inlay_json json;
    size_t end;           /* of the elements so far */
    struct value element; /* the last of them */
};

static struct elements elements_of(const struct value *array)
{
    struct elements all = {array->name, array->json, 0, {.path = array->path}};
    inlay_json_open(&all.json, '[');
    return all;
}

/* Goes to the next element. Returns false behind the last, and where the value is no array. */
static bool next_element(struct elements *all)
{
    if (all->end > 0)
        inlay_json_skip(&all->json);
    if (!inlay_json_element(&all->json))
        return false;
    snprintf(all->element.name, sizeof all->element.name, "%.30s[%zu]", all->array, all->end++);
    all->element.json = all->json;
    return true;
}

/* Returns the number of elements of an array; 0 of another value. */
static size_t count_of(const struct value *array)
{
    struct inlay_json json = array->json;
    size_t n = 0;
    inlay_json_open(&json, '[');
    for (; inlay_json_element(&json); n++)
        inlay_json_skip(&json);
    return n;
}

/* Allocates an array [n] that lives as long as the spec. */
static void *new_array(struct ngram_spec *spec, size_t n, size_t bytes)
{
    return spec->arrays[spec->array_count++] = calloc(n + 1, bytes);
}

/* Checks that a value is an array of [least, most] elements and allocates as many of `bytes`. */
static int take_array(const struct value *value, size_t least, size_t most, size_t bytes, struct ngram_spec *spec,
                      void **out, size_t *n)
{
    if (kind_of(value) != '[')
        return refuse(value, "an array");
    *n = count_of(value);
    if (*n < least || *n > most)
        return failed(least == most ? "%s: %s has %zu elements, not %zu"
                                    : "%s: %s has %zu elements, not from %zu to %zu",
                      shown(value->path), value->name, *n, least, most);
    *out = new_array(spec, *n, bytes);
    return *out != NULL ? DONE : out_of_memory(value->name, (double)*n * (double)bytes);
}

/* Reads integers in [least, most] into list [n of the array]. */
static int take_integers(const struct value *value, int64_t least, int64_t most, int64_t *list)
{
    for (struct elements all = elements_of(value); next_element(&all); list++)
        TRY(take_integer(&all.element, least, most, list));
    return DONE;
}

/* Reads token ids of any number. */
static int take_ids(const struct value *value, struct ngram_spec *spec, const int64_t **ids, size_t *n)
{
    int64_t *list = NULL;
    TRY(take_array(value, 0, SIZE_MAX, sizeof *list, spec, (void **)&list, n));
    *ids = list;
    return take_integers(value, 0, (int64_t)spec->spec.vocab - 1, list);
}

static int take_token_map(const struct value *value, struct ngram_spec *spec)
{
    const size_t vocab = spec->spec.vocab;
    size_t n;
    uint32_t *map = NULL;
    spec->map_required = is_string(value, "required");
    if (spec->map_required)
        return DONE;
    if (kind_of(value) != '[')
        return refuse(value, "an array of numbers, or \"required\" where --token-map is to give it");
    TRY(take_array(value, vocab, vocab, sizeof *map, spec, (void **)&map, &n));
    spec->spec.token_map = map;
    for (struct elements all = elements_of(value); next_element(&all); map++)
        TRY(take_u32(&all.element, 0, UINT32_MAX, map));
    return DONE;
}

static int take_multipliers(const struct value *value, struct ngram_spec *spec)
{
    const size_t length = spec->spec.length;
    int64_t *list = NULL;
    /* Sized for whole vectors at once: the library wants them one behind the other. */
    TRY(take_array(value, 1, INLAY_NGRAM_COLUMNS_MOST, length * sizeof *list, spec, (void **)&list,
                   &spec->spec.vectors));
    spec->spec.multipliers = list;
    for (struct elements all = elements_of(value); next_element(&all); list += length) {
        const struct value *vector = &all.element;
        if (kind_of(vector) != '[')
            return refuse(vector, "an array of %zu multipliers, as many as length says", length);
        if (count_of(vector) != length)
            return failed("%s: %s has %zu multipliers, not %zu as length says", shown(vector->path), vector->name,
                          count_of(vector), length);
        TRY(take_integers(vector, INT64_MIN, INT64_MAX, list));
    }
    return DONE;
}

/* ---- Objects ---------------------------------------------------------------------------------------------------- */

/* A key of an object, and where its value goes. */
struct key {
    const char *name;
    struct value *value;
    bool required;
};

static int unknown_key(const struct value *object, struct inlay_text name)
{
    char meaning[2048] = ""; /* messages show less */
    if (name.size >= sizeof meaning)
        name.size = sizeof meaning - 1;
    inlay_json_decode(name, meaning);
    return failed("%s: %s has no key %s", shown(object->path), object->name, shown(meaning));
}

/* Finds the values of an object's keys [n]. */
static int find_values(const struct value *object, const struct key *keys, size_t n)
{
    struct inlay_json json = object->json;
    struct inlay_text name;
    const bool nested = json.depth > 0;
    if (!inlay_json_open(&json, '{'))
        return refuse(object, "an object");
    for (size_t i = 0; i < n; i++) {
        *keys[i].value = (struct value){.path = object->path, .required = keys[i].required};
        snprintf(keys[i].value->name, sizeof keys[i].value->name, "%.30s%s%s", nested ? object->name : "",
                 nested ? "." : "", keys[i].name);
    }
    while (inlay_json_member(&json, &name)) {
        size_t i = 0;
        while (i < n && !inlay_json_means(name, keys[i].name))
            i++;
        if (i == n)
            return unknown_key(object, name);
        keys[i].value->json = json;
        inlay_json_skip(&json);
    }
    return DONE;
}

static int take_column(const struct value *object, struct ngram_spec *spec, inlay_ngram_column *column)
{
    struct value length, vector, modulus, table, offset;
    const struct key keys[] = {
        {"length", &length, true}, {"vector", &vector, false}, {"modulus", &modulus, true},
        {"table", &table, false},  {"offset", &offset, false},
    };
    int64_t first = 0;
    TRY(find_values(object, keys, sizeof keys / sizeof *keys));
    TRY(take_u32(&length, 1, spec->spec.length, &column->length));
    TRY(take_u32(&vector, 0, (int64_t)spec->spec.vectors - 1, &column->vector));
    TRY(take_u32(&modulus, 1, UINT32_MAX, &column->modulus));
    TRY(take_u32(&table, 0, INLAY_NGRAM_COLUMNS_MOST - 1, &column->table));
    /* offset + modulus is at most 2^63. */
    TRY(take_integer(&offset, 0, INT64_MAX - (int64_t)column->modulus + 1, &first));
    column->offset = (uint64_t)first;
    if (column->table >= spec->tables)
        spec->tables = (size_t)column->table + 1;
    return DONE;
}

static int take_columns(const struct value *value, struct ngram_spec *spec)
{
    inlay_ngram_column *columns = NULL;
    TRY(take_array(value, 1, INLAY_NGRAM_COLUMNS_MOST, sizeof *columns, spec, (void **)&columns,
                   &spec->spec.column_count));
    spec->spec.columns = columns;
    for (struct elements all = elements_of(value); next_element(&all); columns++)
        TRY(take_column(&all.element, spec, columns));
    return DONE;
}

/* Takes first what bounds the rest. */
static int take_spec(const struct value *object, struct ngram_spec *spec)
{
    struct value comment, vocab, length, mix, pad, zero_is_none, token_map, resets, masks, multipliers, columns;
    const struct key keys[] = {
        {"comment", &comment, false},
        {"vocab", &vocab, true},
        {"length", &length, true},
        {"mix", &mix, true},
        {"pad", &pad, false},
        {"zero_is_none", &zero_is_none, false},
        {"token_map", &token_map, false},
        {"resets", &resets, false},
        {"masks", &masks, false},
        {"multipliers", &multipliers, true},
        {"columns", &columns, true},
    };
    inlay_ngram_spec *out = &spec->spec;
    int64_t ids = 0;
    *out = inlay_ngram_spec_default(0, 0, (inlay_ngram_mix)0);
    TRY(find_values(object, keys, sizeof keys / sizeof *keys));
    if (kind_of(&comment) != '"')
        TRY(refuse(&comment, "a text"));
    TRY(take_integer(&vocab, 1, (int64_t)1 << 31, &ids));
    out->vocab = (size_t)ids;
    TRY(take_u32(&length, 1, INLAY_NGRAM_LENGTH_MOST, &out->length));
    TRY(take_mix(&mix, &out->mix));
    TRY(take_u32(&pad, 0, UINT32_MAX, &out->pad));
    TRY(take_truth(&zero_is_none, &out->zero_is_none));
    TRY(take_token_map(&token_map, spec));
    TRY(take_ids(&resets, spec, &out->resets, &out->reset_count));
    TRY(take_ids(&masks, spec, &out->masks, &out->mask_count));
    TRY(take_multipliers(&multipliers, spec));
    return take_columns(&columns, spec);
}

/* ---- Files ------------------------------------------------------------------------------------------------------ */

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
    const struct value value = {.path = path, .name = "the spec", .json = root};
    return take_spec(&value, spec);
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

/* Makes a token map of the integers of a file. */
static int take_map(const char *path, const struct npy *npy, const void *data, struct ngram_spec *spec)
{
    const size_t vocab = spec->spec.vocab;
    if (npy->rows != vocab)
        return failed("--token-map %s has %zu numbers, and the spec has a vocab of %zu", shown(path), npy->rows, vocab);
    uint32_t *map = new_array(spec, vocab, sizeof *map);
    if (map == NULL)
        return out_of_memory("the token map", (double)vocab * sizeof *map);
    spec->spec.token_map = map;
    for (size_t i = 0; i < vocab; i++) {
        const int64_t number = npy_integer(npy, data, i);
        if (number < 0 || number > UINT32_MAX)
            return failed("--token-map %s: the number of id %zu is %" PRId64 ", not from 0 to %" PRIu32, shown(path), i,
                          number, UINT32_MAX);
        map[i] = (uint32_t)number;
    }
    return DONE;
}

int ngram_spec_map(const char *path, struct ngram_spec *spec)
{
    struct npy npy;
    void *data = NULL;
    TRY(load_npy(path, NPY_INTEGERS, &npy, &data));
    int outcome = take_map(path, &npy, data, spec);
    free(data);
    return outcome;
}

void ngram_spec_free(struct ngram_spec *spec)
{
    for (size_t i = 0; i < spec->array_count; i++)
        free(spec->arrays[i]);
}
