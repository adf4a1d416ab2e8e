/* SPDX-License-Identifier: MIT */
/*
 * The safetensors parser: a u64 N, N bytes of JSON, and the data, which tensors cover without gaps or overlaps. Each
 * key is a tensor with "dtype", "shape" and "data_offsets" into the data, except "__metadata__", an object of strings.
 * Data may start at any address. Format: https://github.com/huggingface/safetensors. Its limit of 100 MB for headers
 * applies.
 */
#include "formats/formats.h"
#include "formats/types.h"

#include <string.h>

/* Levels: the header, a tensor, its arrays, and one for keys of later versions. */
enum { LENGTH_BYTES = 8, MAX_HEADER_BYTES = 100000000, MAX_DEPTH = 4 };

/* The state of the parser. */
struct parser {
    struct inlay_catalog *catalog;
    const struct inlay_source *source;
    struct inlay_json json;
    uint64_t data_bytes; /* after the header */
};

static bool fail(const struct parser *parser, inlay_file_status status, const char *name, const char *why)
{
    return inlay_file_fail(parser->catalog->error, status, parser->source->path, name, "%s", why);
}

/* Returns true if the JSON had no problem so far; otherwise reports it. */
static bool is_sound(const struct parser *parser, const char *name)
{
    if (parser->json.problem != NULL)
        return inlay_catalog_fail_json(parser->catalog, &parser->json, name, " of the header");
    return true;
}

/* Reads an object of strings. */
static bool parse_metadata(struct parser *parser)
{
    struct inlay_text key, text;
    struct inlay_json *json = &parser->json;
    inlay_json_open(json, '{');
    while (inlay_json_member(json, &key) && inlay_json_string(json, &text)) {
        const struct inlay_text meaning = inlay_catalog_string(parser->catalog, "", text);
        const inlay_file_value value = {.kind = INLAY_FILE_VALUE_STRING,
                                        .key = inlay_catalog_string(parser->catalog, "", key).bytes,
                                        .text = meaning.bytes,
                                        .count = meaning.size};
        if (value.key == NULL || value.text == NULL || !inlay_catalog_add_value(parser->catalog, &value))
            return false;
    }
    return is_sound(parser, "__metadata__");
}

/* Reads an array of at most `most` integers. */
static bool take_integers(struct inlay_json *json, uint64_t *list, uint32_t most, uint32_t *count)
{
    uint64_t value;
    *count = 0;
    inlay_json_open(json, '[');
    while (inlay_json_element(json) && inlay_json_unsigned(json, &value)) {
        if (*count == most)
            return inlay_json_refuse(json, INLAY_FILE_ERROR_LIMIT, "an array has too many numbers");
        list[(*count)++] = value;
    }
    return json->problem == NULL;
}

/* Sets the type of a tensor, and checks that its offsets are within the data and match its shape. */
static bool check_tensor(const struct parser *parser, inlay_file_tensor *tensor, const struct inlay_type *type,
                         const uint64_t offsets[2])
{
    if (offsets[0] > offsets[1] || offsets[1] > parser->data_bytes)
        return inlay_file_fail(parser->catalog->error, INLAY_FILE_ERROR_RANGE, parser->source->path, tensor->name,
                               "its data_offsets [%llu, %llu] are outside the %llu bytes of data",
                               (unsigned long long)offsets[0], (unsigned long long)offsets[1],
                               (unsigned long long)parser->data_bytes);
    if (!inlay_tensor_set_type(tensor, type))
        return fail(parser, INLAY_FILE_ERROR_RANGE, tensor->name,
                    "its shape overflows, or its elements do not fill whole bytes");
    if (tensor->bytes != offsets[1] - offsets[0])
        return inlay_file_fail(parser->catalog->error, INLAY_FILE_ERROR_RANGE, parser->source->path, tensor->name,
                               "its shape needs %llu bytes of %s, but data_offsets span %llu",
                               (unsigned long long)tensor->bytes, type->name,
                               (unsigned long long)(offsets[1] - offsets[0]));
    tensor->data = parser->source->bytes + offsets[0];
    return true;
}

static bool parse_tensor(struct parser *parser, struct inlay_text key)
{
    enum { DTYPE, SHAPE, DATA_OFFSETS, KEYS };
    static const char *const keys[KEYS] = {"dtype", "shape", "data_offsets"};
    struct inlay_json *json = &parser->json;
    struct inlay_text text;
    const struct inlay_type *type = NULL;
    unsigned seen = 0; /* a set of bits 1 << key */
    uint64_t offsets[2] = {0, 0};
    uint32_t count;
    inlay_file_tensor tensor = {.name = inlay_catalog_string(parser->catalog, "", key).bytes};
    if (tensor.name == NULL)
        return false;
    inlay_json_open(json, '{');
    while (inlay_json_member(json, &key)) {
        unsigned which = 0;
        while (which < KEYS && !inlay_json_means(key, keys[which]))
            which++;
        if ((seen & 1u << which) != 0)
            inlay_json_refuse(json, INLAY_FILE_ERROR_DUPLICATE, "a key occurs twice");
        else if (which == KEYS)
            inlay_json_skip(json);
        else if (which == SHAPE)
            take_integers(json, tensor.shape, INLAY_FILE_RANK, &tensor.rank);
        else if (which == DATA_OFFSETS && take_integers(json, offsets, 2, &count) && count != 2)
            inlay_json_refuse(json, INLAY_FILE_ERROR_SYNTAX, "data_offsets are not two numbers");
        else if (which == DTYPE && inlay_json_string(json, &text) && (type = inlay_safetensors_type(text)) == NULL)
            return fail(parser, INLAY_FILE_ERROR_TYPE, tensor.name, "its dtype is unknown");
        seen |= which < KEYS ? 1u << which : 0;
    }
    if (!is_sound(parser, tensor.name))
        return false;
    if (seen != (1u << KEYS) - 1)
        return fail(parser, INLAY_FILE_ERROR_SYNTAX, tensor.name, "it lacks dtype, shape or data_offsets");
    return check_tensor(parser, &tensor, type, offsets) && inlay_catalog_add_tensor(parser->catalog, &tensor);
}

/* Checks the length of the header, and sets the extents of header and data. */
static bool find_header(struct parser *parser)
{
    const struct inlay_source *source = parser->source;
    uint64_t bytes;
    if (source->size < LENGTH_BYTES)
        return fail(parser, INLAY_FILE_ERROR_TRUNCATED, NULL, "it is shorter than the length of a safetensors header");
    memcpy(&bytes, source->bytes, LENGTH_BYTES);
    if (bytes > MAX_HEADER_BYTES) {
        const bool other = bytes >> 48 != 0;
        return other ? fail(parser, INLAY_FILE_ERROR_KIND, NULL, "it is neither safetensors nor GGUF nor npy")
                     : fail(parser, INLAY_FILE_ERROR_LIMIT, NULL, "its safetensors header is longer than 100 MB");
    }
    if (bytes > source->size - LENGTH_BYTES)
        return fail(parser, INLAY_FILE_ERROR_TRUNCATED, NULL, "it ends within its safetensors header");
    inlay_json_start(&parser->json, source->bytes + LENGTH_BYTES, (size_t)bytes, MAX_DEPTH);
    parser->data_bytes = source->size - LENGTH_BYTES - bytes;
    return true;
}

static bool parse_header(struct parser *parser)
{
    struct inlay_text key;
    bool has_metadata = false;
    inlay_json_open(&parser->json, '{');
    while (inlay_json_member(&parser->json, &key)) {
        const bool is_metadata = inlay_json_means(key, "__metadata__");
        if (is_metadata && has_metadata)
            return fail(parser, INLAY_FILE_ERROR_DUPLICATE, "__metadata__", "this key occurs twice");
        has_metadata |= is_metadata;
        if (!(is_metadata ? parse_metadata(parser) : parse_tensor(parser, key)))
            return false;
    }
    inlay_json_end(&parser->json);
    return is_sound(parser, NULL);
}

bool inlay_parse_safetensors(struct inlay_catalog *catalog, const struct inlay_source *source)
{
    struct parser parser = {.catalog = catalog, .source = source};
    return find_header(&parser) && parse_header(&parser) &&
           inlay_catalog_place_tensors(catalog, source, source->size - parser.data_bytes, 1, true);
}
