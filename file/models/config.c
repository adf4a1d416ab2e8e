/* SPDX-License-Identifier: MIT */
/*
 * The reader of config.json. A model's settings are numbers, strings and truth values under names; objects become
 * prefixes with dots. What no setting of an input layer is made of is left out: null, arrays of arrays or objects or of
 * different kinds, and values whose names are longer than MOST_KEY. Keys of objects and of such arrays are noted, so
 * that a setting of the wrong type is no setting that is absent.
 */
#include "formats/formats.h"
#include "formats/json.h"

#include <string.h>

enum { MOST_DEPTH = 32, MOST_KEY = 1024 };

/* The most bytes of all keys with their prefixes, for each byte of the file and besides. A long prefix before many
   short keys would otherwise take a hundred times the memory of the file. */
enum { KEY_BYTES = 8, KEY_BYTES_BESIDES = 1 << 16 };

/* What is parsed, and where to. */
struct parser {
    struct inlay_catalogue *catalogue;
    struct inlay_json json;
    struct inlay_text prefixes[MOST_DEPTH + 1]; /* of the keys of the object at that depth */
    size_t key_bytes;                           /* that keys may still take */
    bool no_memory;                             /* or more values than there may be */
};

static void *memory(struct parser *parser, size_t bytes)
{
    void *piece = inlay_catalogue_memory(parser->catalogue, bytes);
    if (piece == NULL)
        parser->no_memory = true;
    return piece;
}

/* Returns a copy of what a string means; null if there is no memory. */
static const char *copy_string(struct parser *parser, struct inlay_text string, size_t *size)
{
    char *copy = memory(parser, string.size + 1);
    if (copy == NULL)
        return NULL;
    *size = inlay_json_decode(string, copy);
    copy[*size] = '\0';
    return copy;
}

/* Returns the prefix of the innermost object and the key behind it; null if there is no memory or keys take too much.
 */
static struct inlay_text join_key(struct parser *parser, struct inlay_text key)
{
    struct inlay_text prefix = parser->prefixes[parser->json.depth];
    size_t bytes = prefix.size + key.size + 1;
    if (bytes > parser->key_bytes) {
        inlay_json_refuse(&parser->json, INLAY_FILE_ERROR_LIMIT, "the names of all settings are too long together");
        return (struct inlay_text){NULL, 0};
    }
    parser->key_bytes -= bytes;
    char *joined = memory(parser, bytes);
    if (joined == NULL)
        return (struct inlay_text){NULL, 0};
    memcpy(joined, prefix.bytes, prefix.size);
    size_t size = prefix.size + inlay_json_decode(key, joined + prefix.size);
    joined[size] = '\0';
    return (struct inlay_text){joined, size};
}

static bool is_number(char first)
{
    return first == '-' || (first >= '0' && first <= '9') || first == 'I' || first == 'N';
}

/* Counts the elements of an array, and whether all are strings, integers or numbers: 0 if not. */
static inlay_file_value_kind survey(struct inlay_json json, size_t *count)
{
    size_t strings = 0, integers = 0, numbers = 0;
    struct inlay_text string;
    bool integer;
    int64_t value;
    double number;
    *count = 0;
    inlay_json_open(&json, '[');
    for (; inlay_json_element(&json); ++*count) {
        char first = inlay_json_peek(&json);
        if (first == '"')
            strings += inlay_json_string(&json, &string);
        else if (!is_number(first))
            inlay_json_skip(&json);
        else if (inlay_json_number(&json, &integer, &value, &number)) {
            numbers++;
            integers += integer;
        }
    }
    return integers == *count  ? INLAY_FILE_VALUE_INTEGERS
           : numbers == *count ? INLAY_FILE_VALUE_NUMBERS
           : strings == *count ? INLAY_FILE_VALUE_STRINGS
                               : 0;
}

/* Notes a key whose value is left out. */
static void note_odd(struct parser *parser, const char *key)
{
    struct inlay_odd_key *odd = memory(parser, sizeof *odd);
    if (odd == NULL)
        return;
    *odd = (struct inlay_odd_key){parser->catalogue->odd_keys, key};
    parser->catalogue->odd_keys = odd;
}

/* Reads an array whose elements are all of a kind, and skips others. */
static void parse_array(struct parser *parser, inlay_file_value *value)
{
    size_t count, size;
    struct inlay_json *json = &parser->json;
    inlay_file_value_kind kind = survey(inlay_json_ahead(json), &count);
    void *list = kind != 0 ? memory(parser, count * 8) : NULL;
    if (list == NULL) {
        inlay_json_skip(json);
        return;
    }
    inlay_json_open(json, '[');
    /* 1 branch never taken: survey() has counted the elements, in bytes that are a copy which nobody changes. */
    for (size_t i = 0; inlay_json_element(json) && i < count; i++) {
        struct inlay_text string;
        bool integer;
        int64_t whole;
        double number;
        if (kind == INLAY_FILE_VALUE_STRINGS) {
            /* 1 branch never taken: survey() has read the same strings. */
            if (inlay_json_string(json, &string))
                ((const char **)list)[i] = copy_string(parser, string, &size);
        } else if (inlay_json_number(json, &integer, &whole, &number)) { /* 1 branch never taken: as of strings */
            if (kind == INLAY_FILE_VALUE_INTEGERS)
                ((int64_t *)list)[i] = whole;
            else
                ((double *)list)[i] = number;
        }
    }
    value->kind = kind;
    value->count = count;
    value->integers = kind == INLAY_FILE_VALUE_INTEGERS ? list : NULL;
    value->numbers = kind == INLAY_FILE_VALUE_NUMBERS ? list : NULL;
    value->strings = kind == INLAY_FILE_VALUE_STRINGS ? list : NULL;
}

static void parse_number(struct parser *parser, inlay_file_value *value)
{
    bool integer;
    if (inlay_json_number(&parser->json, &integer, &value->integer, &value->number))
        value->kind = integer ? INLAY_FILE_VALUE_INTEGER : INLAY_FILE_VALUE_NUMBER;
}

static void parse_string(struct parser *parser, inlay_file_value *value)
{
    struct inlay_text string;
    if (!inlay_json_string(&parser->json, &string))
        return;
    value->kind = INLAY_FILE_VALUE_STRING;
    value->text = copy_string(parser, string, &value->count);
}

/* Reads a value that is no object. Its kind stays 0 if it is left out. */
static void parse_plain(struct parser *parser, char first, inlay_file_value *value)
{
    if (first == '[')
        parse_array(parser, value);
    else if (first == '"')
        parse_string(parser, value);
    else if (is_number(first))
        parse_number(parser, value);
    else if (inlay_json_literal(&parser->json) && first != 'n') {
        value->kind = INLAY_FILE_VALUE_BOOLEAN;
        value->integer = first == 't';
    }
}

/* Reads the value of a key, or enters it if it is an object. */
static void parse_member(struct parser *parser, struct inlay_text key)
{
    struct inlay_json *json = &parser->json;
    struct inlay_text prefix = parser->prefixes[json->depth];
    char first = inlay_json_peek(json);
    if (key.size > MOST_KEY || prefix.size + key.size > MOST_KEY) {
        inlay_json_skip(json);
        return;
    }
    struct inlay_text joined = join_key(parser, key);
    if (joined.bytes == NULL)
        return;
    if (first == '{') {
        note_odd(parser, joined.bytes);
        if (inlay_json_open(json, '{')) {
            char *dotted = memory(parser, joined.size + 1);
            if (dotted == NULL)
                return;
            memcpy(dotted, joined.bytes, joined.size);
            dotted[joined.size] = '.';
            parser->prefixes[json->depth] = (struct inlay_text){dotted, joined.size + 1};
        }
        return;
    }
    inlay_file_value value = {.key = joined.bytes};
    parse_plain(parser, first, &value);
    if (value.kind == 0 && first == '[')
        note_odd(parser, joined.bytes);
    if (value.kind == 0 || parser->no_memory)
        return;
    inlay_file_value *place = inlay_catalogue_add_value(parser->catalogue);
    parser->no_memory = place == NULL;
    if (place != NULL)
        *place = value;
}

static inlay_file_status parse_settings(struct parser *parser, const char *path, inlay_file_error *error)
{
    struct inlay_json *json = &parser->json;
    parser->prefixes[1] = inlay_text_of("config.");
    inlay_json_open(json, '{');
    while (json->problem == NULL && json->depth > 0 && !parser->no_memory) {
        struct inlay_text key;
        if (inlay_json_member(json, &key))
            parse_member(parser, key);
    }
    if (parser->no_memory)
        return inlay_catalogue_fail(parser->catalogue, path, error);
    if (!inlay_json_end(json))
        return inlay_file_fail(error, json->status, path, json->repeated, "%s at byte %zu", json->problem,
                               inlay_json_offset(json));
    return INLAY_FILE_OK;
}

inlay_file_status inlay_parse_config(struct inlay_catalogue *catalogue, const struct inlay_source *source,
                                     inlay_file_error *error)
{
    struct parser parser = {.catalogue = catalogue, .key_bytes = source->size * KEY_BYTES + KEY_BYTES_BESIDES};
    inlay_json_start(&parser.json, source->bytes, source->size, MOST_DEPTH);
    parser.json.python = true;
    inlay_file_status status = parse_settings(&parser, source->path, error);
    inlay_json_finish(&parser.json);
    if (status != INLAY_FILE_OK)
        return status;
    return inlay_catalogue_end_file(catalogue, source, 0, 1, false, error);
}
