/* SPDX-License-Identifier: MIT */
/*
 * The config.json parser. Settings are numbers, strings and booleans, and arrays of one of these kinds; objects become
 * prefixes with dots. Objects, null, and other arrays are values of kind 0, so a setting of the wrong type differs from
 * an absent one. Values with keys longer than INLAY_CONFIG_KEY are skipped. So are those with a dot in their own name,
 * which would look like settings in an object. MLX's settings of modules have the names of these.
 */
#include "formats/formats.h"

#include <string.h>

enum { MAX_DEPTH = 32 };

/* Maximum bytes of all keys with their prefixes: per byte of the file, plus a constant. A long prefix before many short
   keys would otherwise take a hundred times the memory of the file. */
enum { KEY_BYTES = 8, MORE_KEY_BYTES = 1 << 16 };

/* The parser's state. */
struct parser {
    struct inlay_catalog *catalog;
    struct inlay_json json;
    const char *prefixes[MAX_DEPTH + 1]; /* of the keys of the object at that depth */
    size_t key_bytes;                    /* left for keys */
};

/* Counts the elements of an array, and determines their common kind: strings, integers or numbers; 0 if mixed. */
static inlay_file_value_kind survey(struct inlay_json json, size_t *count)
{
    size_t strings = 0, integers = 0, numbers = 0;
    struct inlay_text string;
    struct inlay_number number = {0}; /* a broken one is reported when it is read again */
    *count = 0;
    inlay_json_open(&json, '[');
    for (; inlay_json_element(&json); ++*count) {
        if (inlay_json_peek(&json) == '"')
            strings += inlay_json_string(&json, &string);
        else if (inlay_json_at_number(&json)) {
            numbers += inlay_json_number(&json, &number);
            integers += number.is_integer;
        } else
            inlay_json_skip(&json);
    }
    return integers == *count  ? INLAY_FILE_VALUE_INTEGERS
           : numbers == *count ? INLAY_FILE_VALUE_NUMBERS
           : strings == *count ? INLAY_FILE_VALUE_STRINGS
                               : 0;
}

/* Reads a value that is neither an object nor an array; null has kind 0 and the integer 1. Returns false if allocation
   fails. */
static bool parse_plain(struct parser *parser, inlay_file_value *value)
{
    const char first = inlay_json_peek(&parser->json);
    struct inlay_text string;
    struct inlay_number number;
    if (first == '"') {
        if (!inlay_json_string(&parser->json, &string))
            return true;
        string = inlay_catalog_string(parser->catalog, "", string);
        value->kind = INLAY_FILE_VALUE_STRING;
        value->text = string.bytes;
        value->count = string.size;
        return value->text != NULL;
    }
    if (inlay_json_at_number(&parser->json)) {
        if (inlay_json_number(&parser->json, &number)) {
            value->kind = number.is_integer ? INLAY_FILE_VALUE_INTEGER : INLAY_FILE_VALUE_NUMBER;
            value->integer = number.integer;
            value->number = number.number;
        }
    } else if (inlay_json_literal(&parser->json)) {
        value->kind = first != 'n' ? INLAY_FILE_VALUE_BOOLEAN : 0;
        value->integer = first != 'f';
    }
    return true;
}

/* Reads an array of elements of one kind, and skips others. Returns false if allocation fails. */
static bool parse_array(struct parser *parser, inlay_file_value *value)
{
    size_t count;
    struct inlay_json *json = &parser->json;
    inlay_file_value_kind kind = survey(*json, &count);
    if (kind == 0) {
        inlay_json_skip(json);
        return true;
    }
    void *list = inlay_catalog_memory(parser->catalog, count * 8);
    if (list == NULL)
        return false;
    inlay_json_open(json, '[');
    /* 1 branch never taken: survey() counted the elements of this private copy. */
    for (size_t i = 0; inlay_json_element(json) && i < count; i++) {
        inlay_file_value element = {0};
        if (!parse_plain(parser, &element))
            return false;
        if (kind == INLAY_FILE_VALUE_STRINGS)
            ((const char **)list)[i] = element.text;
        else if (kind == INLAY_FILE_VALUE_INTEGERS)
            ((int64_t *)list)[i] = element.integer;
        else
            ((double *)list)[i] = element.number;
    }
    value->kind = kind;
    value->count = count;
    value->integers = kind == INLAY_FILE_VALUE_INTEGERS ? list : NULL;
    value->numbers = kind == INLAY_FILE_VALUE_NUMBERS ? list : NULL;
    value->strings = kind == INLAY_FILE_VALUE_STRINGS ? list : NULL;
    return true;
}

static void note_skipped(struct parser *parser, const char *key)
{
    if (parser->catalog->skipped_object == NULL)
        parser->catalog->skipped_object = key;
}

/* Reads the value of a key, or enters it if it is an object. Returns false if allocation fails. */
static bool parse_member(struct parser *parser, struct inlay_text key)
{
    struct inlay_json *json = &parser->json;
    const char *prefix = parser->prefixes[json->depth];
    const size_t bytes = strlen(prefix) + key.size + 1;
    char first = inlay_json_peek(json);
    if (bytes > INLAY_CONFIG_KEY + 1) {
        note_skipped(parser, "config");
        inlay_json_skip(json);
        return true;
    }
    if (bytes > parser->key_bytes) {
        inlay_json_refuse(json, INLAY_FILE_ERROR_LIMIT, "the names of all settings together are too long");
        return true;
    }
    parser->key_bytes -= bytes;
    static const char mlx[] = "config.quantization";
    const char *joined = inlay_catalog_string(parser->catalog, prefix, key).bytes;
    if (joined == NULL)
        return false;
    if (strchr(joined + strlen(prefix), '.') != NULL && strncmp(prefix, mlx, sizeof mlx - 1) != 0) {
        if (first == '{' || first == '[')
            note_skipped(parser, joined);
        inlay_json_skip(json);
        return true;
    }
    inlay_file_value value = {.key = joined};
    if (first == '{' && inlay_json_open(json, '{')) {
        parser->prefixes[json->depth] = inlay_catalog_string(parser->catalog, joined, inlay_text_of(".")).bytes;
        if (parser->prefixes[json->depth] == NULL)
            return false;
    } else if (!(first == '[' ? parse_array(parser, &value) : parse_plain(parser, &value)))
        return false;
    if (first == '[' && value.kind == 0)
        note_skipped(parser, joined);
    return inlay_catalog_add_value(parser->catalog, &value);
}

bool inlay_parse_config(struct inlay_catalog *catalog, const struct inlay_source *source)
{
    struct parser parser = {.catalog = catalog, .key_bytes = source->size * KEY_BYTES + MORE_KEY_BYTES};
    struct inlay_json *json = &parser.json;
    struct inlay_text key;
    bool is_parsed = true;
    inlay_json_start(json, source->bytes, source->size, MAX_DEPTH);
    json->python = true;
    parser.prefixes[1] = "config.";
    inlay_json_open(json, '{');
    while (is_parsed && json->problem == NULL && json->depth > 0)
        if (inlay_json_member(json, &key))
            is_parsed = parse_member(&parser, key);
    if (is_parsed && !inlay_json_end(json))
        is_parsed = inlay_catalog_fail_json(catalog, json, NULL, "");
    return is_parsed;
}
