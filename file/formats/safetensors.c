/* SPDX-License-Identifier: MIT */
/*
 * The parser of safetensors: eight bytes N, N bytes of a JSON object, and the data, which tensors cover without hole or
 * overlap. Each key is a tensor, with "dtype", "shape" and "data_offsets" counted from the first byte of the data; only
 * "__metadata__" has strings. Data may begin at any address.
 * Format: https://github.com/huggingface/safetensors, whose limit of 100 MB for the header is kept.
 */
#include "formats/formats.h"
#include "formats/types.h"

#include <string.h>

/* The header's object, that of a tensor, and its arrays; one level for keys that a later version may have. */
enum { LENGTH_BYTES = 8, MOST_HEADER_BYTES = 100000000, MOST_DEPTH = 4 };

/* What is parsed, and where to. */
struct parser {
    struct inlay_catalogue *catalogue;
    const struct inlay_source *source;
    struct inlay_json json;
    const unsigned char *data; /* where the data of tensors begin */
    uint64_t data_bytes;
};

static bool fail(const struct parser *parser, inlay_file_status status, const char *name, const char *why)
{
    return inlay_file_fail(parser->catalogue->error, status, parser->source->path, name, "%s", why);
}

/* Returns whether the JSON had no problem so far, and else reports it. */
static bool is_sound(const struct parser *parser, const char *name)
{
    if (parser->json.problem != NULL)
        return inlay_catalogue_fail_json(parser->catalogue, &parser->json, name, " of the header");
    return true;
}

/* Reads an object of strings. */
static bool parse_metadata(struct parser *parser)
{
    struct inlay_text key, text;
    struct inlay_json *json = &parser->json;
    inlay_json_open(json, '{');
    while (inlay_json_member(json, &key) && inlay_json_string(json, &text)) {
        inlay_file_value *value = inlay_catalogue_add_value(parser->catalogue);
        if (value == NULL)
            return false;
        const struct inlay_text meaning = inlay_catalogue_string(parser->catalogue, "", text);
        value->kind = INLAY_FILE_VALUE_STRING;
        value->key = inlay_catalogue_string(parser->catalogue, "", key).bytes;
        value->text = meaning.bytes;
        value->count = meaning.size;
        if (value->key == NULL || value->text == NULL)
            return false;
    }
    return is_sound(parser, "__metadata__");
}

/* Reads an array of integers, as many as there are but at most `most`. */
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

/* The keys of a tensor. */
enum { DTYPE = 1, SHAPE = 2, OFFSETS = 4 };

/* Reads the object of a tensor. `keys` becomes the set of those that are there. */
static bool take_tensor(struct parser *parser, const char *name, const struct inlay_type **type,
                        inlay_file_tensor *tensor, uint64_t offsets[2], unsigned *keys)
{
    static const char *const names[] = {"dtype", "shape", "data_offsets"};
    struct inlay_json *json = &parser->json;
    struct inlay_text key, text;
    uint32_t count = 2;
    *keys = 0;
    inlay_json_open(json, '{');
    while (inlay_json_member(json, &key)) {
        unsigned i = 0;
        while (i < 3 && !inlay_json_means(key, names[i]))
            i++;
        *keys |= i < 3 ? 1u << i : 0;
        if (i == 3)
            inlay_json_skip(json);
        else if (1u << i == SHAPE)
            take_integers(json, tensor->shape, INLAY_FILE_RANK, &tensor->rank);
        else if (1u << i == OFFSETS)
            take_integers(json, offsets, 2, &count);
        else if (inlay_json_string(json, &text) && (*type = inlay_safetensors_type(text)) == NULL)
            return fail(parser, INLAY_FILE_ERROR_TYPE, name, "its dtype is none that safetensors has");
        if (count != 2)
            inlay_json_refuse(json, INLAY_FILE_ERROR_SYNTAX, "data_offsets are not two numbers");
    }
    return is_sound(parser, name);
}

/* Checks that a tensor's bytes lie in the data and are those of its shape. */
static bool check_tensor(const struct parser *parser, const inlay_file_tensor *tensor, const struct inlay_type *type,
                         const uint64_t offsets[2])
{
    uint64_t bytes;
    if (offsets[0] > offsets[1] || offsets[1] > parser->data_bytes)
        return inlay_file_fail(parser->catalogue->error, INLAY_FILE_ERROR_RANGE, parser->source->path, tensor->name,
                               "its data_offsets [%llu, %llu] do not lie in the %llu bytes of data",
                               (unsigned long long)offsets[0], (unsigned long long)offsets[1],
                               (unsigned long long)parser->data_bytes);
    if (!inlay_tensor_bytes(type, tensor->shape, tensor->rank, &bytes))
        return fail(parser, INLAY_FILE_ERROR_RANGE, tensor->name, "its shape overflows, or makes no whole bytes");
    if (bytes != offsets[1] - offsets[0])
        return inlay_file_fail(parser->catalogue->error, INLAY_FILE_ERROR_RANGE, parser->source->path, tensor->name,
                               "its shape makes %llu bytes of %s, and data_offsets are %llu bytes",
                               (unsigned long long)bytes, type->name, (unsigned long long)(offsets[1] - offsets[0]));
    return true;
}

static bool parse_tensor(struct parser *parser, struct inlay_text key)
{
    const struct inlay_type *type = NULL;
    inlay_file_tensor tensor = {.path = parser->source->path};
    uint64_t offsets[2] = {0, 0};
    unsigned keys;
    tensor.name = inlay_catalogue_string(parser->catalogue, "", key).bytes;
    inlay_file_tensor *place = inlay_catalogue_add_tensor(parser->catalogue);
    if (tensor.name == NULL || place == NULL || !take_tensor(parser, tensor.name, &type, &tensor, offsets, &keys))
        return false;
    /* 1 branch never taken: take_tensor() refuses a dtype that it does not know. */
    if (keys != (DTYPE | SHAPE | OFFSETS) || type == NULL)
        return fail(parser, INLAY_FILE_ERROR_SYNTAX, tensor.name, "it lacks dtype, shape or data_offsets");
    if (!check_tensor(parser, &tensor, type, offsets))
        return false;
    tensor.type = type->name;
    tensor.element = type->element;
    tensor.data = parser->data + offsets[0];
    tensor.bytes = offsets[1] - offsets[0];
    *place = tensor;
    return true;
}

/* Checks the length of the header, and finds header and data. */
static bool find_header(struct parser *parser)
{
    const struct inlay_source *source = parser->source;
    uint64_t bytes = 0;
    if (source->size < LENGTH_BYTES)
        return fail(parser, INLAY_FILE_ERROR_TRUNCATED, NULL, "it is shorter than the length of a safetensors header");
    for (size_t i = LENGTH_BYTES; i-- > 0;)
        bytes = bytes << 8 | source->bytes[i];
    if (bytes > MOST_HEADER_BYTES) {
        bool other = source->bytes[LENGTH_BYTES - 1] != 0 || source->bytes[LENGTH_BYTES - 2] != 0;
        return other ? fail(parser, INLAY_FILE_ERROR_KIND, NULL, "it is neither safetensors nor GGUF nor npy")
                     : fail(parser, INLAY_FILE_ERROR_LIMIT, NULL, "its safetensors header is longer than 100 MB");
    }
    if (bytes > source->size - LENGTH_BYTES)
        return fail(parser, INLAY_FILE_ERROR_TRUNCATED, NULL, "it ends within its safetensors header");
    inlay_json_start(&parser->json, source->bytes + LENGTH_BYTES, (size_t)bytes, MOST_DEPTH);
    parser->data = source->bytes + LENGTH_BYTES + (size_t)bytes;
    parser->data_bytes = source->size - LENGTH_BYTES - bytes;
    return true;
}

static bool parse_header(struct parser *parser)
{
    struct inlay_text key;
    inlay_json_open(&parser->json, '{');
    while (inlay_json_member(&parser->json, &key))
        if (!(inlay_json_means(key, "__metadata__") ? parse_metadata(parser) : parse_tensor(parser, key)))
            return false;
    inlay_json_end(&parser->json);
    return is_sound(parser, NULL);
}

bool inlay_parse_safetensors(struct inlay_catalogue *catalogue, const struct inlay_source *source)
{
    struct parser parser = {.catalogue = catalogue, .source = source};
    const bool is_parsed = find_header(&parser) && parse_header(&parser);
    inlay_json_finish(&parser.json);
    return is_parsed && inlay_catalogue_end_file(catalogue, source, (uint64_t)(parser.data - source->bytes), 1, true);
}
