/* SPDX-License-Identifier: MIT */
/*
 * Reads specs. The whole text is first checked to be JSON. A struct value then refers to a value by a JSON reader
 * positioned at it. Keys are read in a fixed order: first those that limit the values of others. Every number is
 * checked here, since the library's status doesn't identify an invalid number.
 */
#include "ngram/spec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json.h"
#include "inputs/load.h"
#include "text/message.h"
#include "text/names.h"

/* A value in a file. */
struct value {
    const char *path;
    char name[64]; /* name in messages, e.g. columns[3].modulus */
    bool required;
    int64_t min, max;       /* range of an integer, or of the integers in an array */
    struct inlay_json json; /* a reader positioned at the value; all zero if absent */
};

/* Reads a value into `place` [bytes]. */
typedef int take_value(struct value value, struct ngram_spec *spec, void *place, size_t bytes);

/* Makes the spec own the memory, and returns the memory. */
static void *keep(struct ngram_spec *spec, void *memory)
{
    if (spec->memory_count == sizeof spec->memory / sizeof *spec->memory)
        abort(); /* unreachable: no spec has that many arrays */
    return spec->memory[spec->memory_count++] = memory;
}

/* ---- Single values ---------------------------------------------------------------------------------------------- */

/* Reports that a value has the wrong kind or is missing. Returns DONE if the value is absent and optional. */
static int refuse(struct value value, const char *wanted)
{
    if (value.json.begin == NULL)
        return value.required ? failed("%s: %s is missing", shown(value.path), value.name) : DONE;
    const char kind = inlay_json_peek(&value.json), *first = value.json.at;
    inlay_json_skip(&value.json);
    /* Arrays and objects can be long, so only their kind is shown. */
    const char *given = kind == '['   ? "an array"
                        : kind == '{' ? "an object"
                                      : escaped(first, (size_t)(value.json.at - first));
    return failed("%s: %s is %s, not %s", shown(value.path), value.name, given, wanted);
}

/* Returns the first character of a value, which identifies its kind; 0 if absent. */
static char kind_of(struct value value)
{
    return inlay_json_peek(&value.json);
}

/* Returns true if a value is a string that decodes to `text`. */
static bool is_string(struct value value, const char *text)
{
    struct inlay_text string;
    return inlay_json_string(&value.json, &string) && inlay_json_means(string, text);
}

static int take_integer(struct value value, struct ngram_spec *spec, void *place, size_t bytes)
{
    (void)spec;
    struct inlay_json json = value.json;
    struct inlay_number number;
    char wanted[80];
    snprintf(wanted, sizeof wanted, "an integer from %" PRId64 " to %" PRId64, value.min, value.max);
    if (!inlay_json_number(&json, &number) || !number.is_integer || number.integer < value.min ||
        number.integer > value.max)
        return refuse(value, wanted);
    /* Low bytes come first: big-endian hosts are rejected at build time. */
    memcpy(place, &number.integer, bytes);
    return DONE;
}

static int take_mix(struct value value, inlay_ngram_mix *out)
{
    for (int mix = INLAY_NGRAM_MIX_XOR; mix <= INLAY_NGRAM_MIX_ADD; mix++)
        if (is_string(value, enum_name(MIXES, mix))) {
            *out = (inlay_ngram_mix)mix;
            return DONE;
        }
    return refuse(value, "\"xor\" or \"add\"");
}

static int take_truth(struct value value, uint32_t *out)
{
    const char kind = kind_of(value);
    *out = kind == 't';
    return kind == 't' || kind == 'f' ? DONE : refuse(value, "true or false");
}

/* ---- Arrays ----------------------------------------------------------------------------------------------------- */

/* Returns the number of elements of an array; 0 for other values. */
static size_t count_of(struct value array)
{
    size_t n = 0;
    inlay_json_open(&array.json, '[');
    for (; inlay_json_element(&array.json); n++)
        inlay_json_skip(&array.json);
    return n;
}

/* Reads all elements of an array into `places` [elements][bytes]. */
static int take_elements(struct value array, struct ngram_spec *spec, take_value *take, char *places, size_t bytes)
{
    struct value element = {.path = array.path, .min = array.min, .max = array.max};
    inlay_json_open(&array.json, '[');
    for (size_t i = 0; inlay_json_element(&array.json); i++) {
        snprintf(element.name, sizeof element.name, "%.30s[%zu]", array.name, i);
        element.json = array.json;
        TRY(take(element, spec, places + i * bytes, bytes));
        inlay_json_skip(&array.json);
    }
    return DONE;
}

/* Reads an array of `min` to `max` elements into memory that the spec owns. Sets null if the array is absent. */
static int take_array(struct value array, size_t min, size_t max, struct ngram_spec *spec, take_value *take,
                      size_t bytes, void **out, size_t *n)
{
    *out = NULL;
    if (kind_of(array) != '[')
        return refuse(array, "an array");
    *n = count_of(array);
    if (*n < min || *n > max)
        return failed(min == max ? "%s: %s has %zu elements, not %zu" : "%s: %s has %zu elements, not from %zu to %zu",
                      shown(array.path), array.name, *n, min, max);
    *out = keep(spec, xcalloc(*n, bytes, array.name));
    return take_elements(array, spec, take, *out, bytes);
}

static int take_vector(struct value vector, struct ngram_spec *spec, void *multipliers, size_t bytes)
{
    const size_t length = spec->spec.length, n = count_of(vector);
    char wanted[80];
    snprintf(wanted, sizeof wanted, "an array of %zu multipliers (length)", length);
    if (kind_of(vector) != '[')
        return refuse(vector, wanted);
    if (n != length)
        return failed("%s: %s has %zu multipliers, but length is %zu", shown(vector.path), vector.name, n, length);
    return take_elements(vector, spec, take_integer, multipliers, bytes / length);
}

static int take_token_map(struct value value, struct ngram_spec *spec)
{
    size_t n = spec->spec.vocab;
    void *map = NULL;
    spec->map_required = is_string(value, "required");
    if (!spec->map_required && kind_of(value) != '[')
        return refuse(value, "an array of numbers, or \"required\" if --token-map gives it");
    if (!spec->map_required)
        TRY(take_array(value, n, n, spec, take_integer, sizeof(uint32_t), &map, &n));
    spec->spec.token_map = map;
    return DONE;
}

/* ---- Objects ---------------------------------------------------------------------------------------------------- */

/* Reports that an object has an unknown or repeated key; `number` is "no" or "a second", for the message. */
static int refuse_key(struct value object, const char *number, struct inlay_text name)
{
    char meaning[2048] = ""; /* messages are shorter */
    if (name.size >= sizeof meaning)
        name.size = sizeof meaning - 1;
    inlay_json_decode(name, meaning);
    return failed("%s: %s has %s key %s", shown(object.path), object.name, number, shown(meaning));
}

/* Checks that a value is an object, that all its keys are in the null-terminated list `keys`, and that no key is
   repeated. */
static int check_keys(struct value object, const char *const *keys)
{
    struct inlay_json json = object.json;
    struct inlay_text name;
    unsigned seen = 0; /* a set of bits 1 << key */
    if (!inlay_json_open(&json, '{'))
        return refuse(object, "an object");
    while (inlay_json_member(&json, &name)) {
        size_t i = 0;
        while (keys[i] != NULL && !inlay_json_means(name, keys[i]))
            i++;
        if (keys[i] == NULL || (seen & 1u << i) != 0)
            return refuse_key(object, keys[i] == NULL ? "no" : "a second", name);
        seen |= 1u << i;
        inlay_json_skip(&json);
    }
    return DONE;
}

enum { OPTIONAL, REQUIRED };

/* Returns the value of a key of an object. If it is an integer or an array of integers, these must be in [min, max]. */
static struct value value_of(struct value object, const char *key, bool required, int64_t min, int64_t max)
{
    struct value value = {.path = object.path, .required = required, .min = min, .max = max};
    const bool nested = object.json.depth > 0;
    struct inlay_text name;
    snprintf(value.name, sizeof value.name, "%.30s%s%s", nested ? object.name : "", nested ? "." : "", key);
    inlay_json_open(&object.json, '{');
    while (value.json.begin == NULL && inlay_json_member(&object.json, &name)) {
        if (inlay_json_means(name, key))
            value.json = object.json;
        inlay_json_skip(&object.json);
    }
    return value;
}

static int take_column(struct value object, struct ngram_spec *spec, void *place, size_t column_bytes)
{
    static const char *const keys[] = {"length", "vector", "modulus", "table", "offset", NULL};
    const int64_t vectors = (int64_t)spec->spec.vectors, tables = INLAY_NGRAM_MAX_COLUMNS;
    const size_t bytes = sizeof(uint32_t);
    inlay_ngram_column *out = place;
    (void)column_bytes;
    TRY(check_keys(object, keys));
    TRY(take_integer(value_of(object, "length", REQUIRED, 1, spec->spec.length), spec, &out->length, bytes));
    TRY(take_integer(value_of(object, "vector", OPTIONAL, 0, vectors - 1), spec, &out->vector, bytes));
    TRY(take_integer(value_of(object, "modulus", REQUIRED, 1, UINT32_MAX), spec, &out->modulus, bytes));
    TRY(take_integer(value_of(object, "table", OPTIONAL, 0, tables - 1), spec, &out->table, bytes));
    /* offset + modulus is at most 2^63. */
    TRY(take_integer(value_of(object, "offset", OPTIONAL, 0, INT64_MAX - (int64_t)out->modulus + 1), spec, &out->offset,
                     sizeof out->offset));
    if (out->table >= spec->tables)
        spec->tables = (size_t)out->table + 1;
    return DONE;
}

/* Values that limit others are read first. */
static int take_spec(struct value object, struct ngram_spec *spec)
{
    static const char *const keys[] = {"comment",   "vocab",  "length", "mix",         "pad",     "zero_is_none",
                                       "token_map", "resets", "masks",  "multipliers", "columns", NULL};
    const int64_t max_vocab = (int64_t)1 << 31;
    const struct value comment = value_of(object, "comment", OPTIONAL, 0, 0);
    inlay_ngram_spec *out = &spec->spec;
    void *array;
    *out = inlay_ngram_spec_default(0, 0, (inlay_ngram_mix)0);
    TRY(check_keys(object, keys));
    TRY(kind_of(comment) == '"' ? DONE : refuse(comment, "a text"));
    TRY(take_integer(value_of(object, "vocab", REQUIRED, 1, max_vocab), spec, &out->vocab, sizeof out->vocab));
    TRY(take_integer(value_of(object, "length", REQUIRED, 1, INLAY_NGRAM_MAX_LENGTH), spec, &out->length,
                     sizeof out->length));
    TRY(take_mix(value_of(object, "mix", REQUIRED, 0, 0), &out->mix));
    TRY(take_integer(value_of(object, "pad", OPTIONAL, 0, UINT32_MAX), spec, &out->pad, sizeof out->pad));
    TRY(take_truth(value_of(object, "zero_is_none", OPTIONAL, 0, 0), &out->zero_is_none));
    TRY(take_token_map(value_of(object, "token_map", OPTIONAL, 0, UINT32_MAX), spec));
    const int64_t last = (int64_t)out->vocab - 1;
    TRY(take_array(value_of(object, "resets", OPTIONAL, 0, last), 0, SIZE_MAX, spec, take_integer, sizeof *out->resets,
                   &array, &out->reset_count));
    out->resets = array;
    TRY(take_array(value_of(object, "masks", OPTIONAL, 0, last), 0, SIZE_MAX, spec, take_integer, sizeof *out->masks,
                   &array, &out->mask_count));
    out->masks = array;
    TRY(take_array(value_of(object, "multipliers", REQUIRED, INT64_MIN, INT64_MAX), 1, INLAY_NGRAM_MAX_COLUMNS, spec,
                   take_vector, out->length * sizeof *out->multipliers, &array, &out->vectors));
    out->multipliers = array;
    TRY(take_array(value_of(object, "columns", REQUIRED, 0, 0), 1, INLAY_NGRAM_MAX_COLUMNS, spec, take_column,
                   sizeof *out->columns, &array, &out->column_count));
    out->columns = array;
    return DONE;
}

/* ---- Files ------------------------------------------------------------------------------------------------------ */

/* Reports why a text is not JSON. */
static int refuse_text(const char *path, const struct inlay_json *json)
{
    size_t line = 1;
    for (const char *at = json->begin; at < json->at; at++)
        line += *at == '\n';
    if (json->status == INLAY_FILE_ERROR_NO_MEMORY)
        out_of_memory(shown(path), (double)(json->end - json->begin));
    return failed("%s, line %zu, is not JSON: %s", shown(path), line, json->problem);
}

int ngram_spec_read(const char *path, struct ngram_spec *spec)
{
    char *text = NULL;
    size_t size;
    int outcome = load_text(path, &text, &size);
    keep(spec, text);
    TRY(outcome);
    struct inlay_json whole, root;
    inlay_json_start(&whole, text, size, INLAY_JSON_DEPTH);
    root = whole;
    inlay_json_skip(&whole);
    outcome = inlay_json_end(&whole) ? DONE : refuse_text(path, &whole);
    TRY(outcome);
    return take_spec((struct value){.path = path, .name = "the spec", .json = root}, spec);
}

int ngram_spec_map(const char *path, struct ngram_spec *spec)
{
    const size_t vocab = spec->spec.vocab;
    struct npy npy;
    void *data = NULL;
    TRY(load_npy(path, NPY_INTEGERS, &npy, &data));
    keep(spec, data);
    if (npy.rows != vocab)
        return failed("--token-map %s has %zu numbers, but the spec has vocab %zu", shown(path), npy.rows, vocab);
    uint32_t *map = keep(spec, xcalloc(vocab, sizeof *map, "the token map"));
    spec->spec.token_map = map;
    for (size_t i = 0; i < vocab; i++) {
        const int64_t number = npy_integer(&npy, data, i);
        if (number < 0 || number > UINT32_MAX)
            return failed("--token-map %s: id %zu maps to %" PRId64 ", which must be from 0 to %" PRIu32, shown(path),
                          i, number, UINT32_MAX);
        map[i] = (uint32_t)number;
    }
    return DONE;
}
