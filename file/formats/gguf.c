/* SPDX-License-Identifier: MIT */
/*
 * The GGUF parser: "GGUF", version, numbers of tensors and values, the values, the tensors, and the data from the next
 * multiple of general.alignment on. Every length is compared with the remaining bytes before anything is allocated or
 * added, and no value nests.
 * Format: ggml's docs/gguf.md. Tensors are placed as ggml's reader requires, each at the next multiple after the
 * previous one.
 */
#include "formats/formats.h"
#include "formats/types.h"
#include "value.h"

#include <string.h>

/* The types of values. */
enum { UINT8, INT8, UINT16, INT16, UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY, UINT64, INT64, FLOAT64, VALUE_TYPES };

/* Returns the kind of an array of numbers of a type; kinds and types of numbers have the same order. */
static inlay_file_value_kind array_kind(uint64_t type)
{
    return (inlay_file_value_kind)(type < STRING ? INLAY_FILE_VALUE_ARRAY_U8 + type
                                                 : INLAY_FILE_VALUE_ARRAY_U64 + type - UINT64);
}

/* Minimum bytes of a value (key length, type, a byte) and of a tensor (name length, rank, type, offset). */
enum { MIN_VALUE = 13, MIN_TENSOR = 24, MAX_RANK = 4, MAX_ALIGNMENT = 1 << 20 };

/* Maximum bytes before the data, as in safetensors. Real models have up to 30 MB. */
enum { MAX_HEADER_BYTES = 100000000 };

/* The parser's state. */
struct parser {
    struct inlay_catalog *catalog;
    const struct inlay_source *source;
    size_t at, end;   /* next byte to parse, and limit of the header */
    const char *name; /* of the current value or tensor */
    uint64_t alignment;
};

static bool fail(const struct parser *parser, inlay_file_status status, const char *why)
{
    return inlay_file_fail(parser->catalog->error, status, parser->source->path, parser->name, "%s", why);
}

/* Returns true if the header has room for that many more elements of some size; otherwise reports an error. */
static bool has(const struct parser *parser, uint64_t count, size_t bytes)
{
    if (count <= (parser->end - parser->at) / bytes)
        return true;
    if (parser->end < parser->source->size)
        return fail(parser, INLAY_FILE_ERROR_LIMIT, "its header is longer than 100 MB");
    return fail(parser, INLAY_FILE_ERROR_TRUNCATED, "the file ends within its header");
}

/* Takes a number of 1 to 8 bytes. */
static bool take(struct parser *parser, size_t bytes, uint64_t *value)
{
    *value = 0;
    if (!has(parser, bytes, 1))
        return false;
    memcpy(value, parser->source->bytes + parser->at, bytes);
    parser->at += bytes;
    return true;
}

/* Takes a string, a u64 length and its bytes, and returns a copy; its bytes are null after an error. */
static struct inlay_text take_text(struct parser *parser)
{
    uint64_t bytes;
    if (!take(parser, 8, &bytes) || !has(parser, bytes, 1))
        return (struct inlay_text){NULL, 0};
    const struct inlay_text text = {(const char *)parser->source->bytes + parser->at, (size_t)bytes};
    parser->at += text.size;
    return (struct inlay_text){inlay_catalog_text(parser->catalog, text), text.size};
}

/* Takes a key or name and makes it the current one. */
static bool take_name(struct parser *parser)
{
    parser->name = NULL;
    const struct inlay_text name = take_text(parser);
    if (name.bytes == NULL)
        return false;
    if (!inlay_text_is_utf8(name))
        return fail(parser, INLAY_FILE_ERROR_SYNTAX, "the name of a tensor or value is not UTF-8, or has U+0000");
    parser->name = name.bytes;
    return true;
}

/* ---- Values ----------------------------------------------------------------------------------------------------- */

/* Reads strings [count]; each takes at least 8 bytes, for its length. */
static bool parse_strings(struct parser *parser, inlay_file_value *value, uint64_t count)
{
    if (!has(parser, count, 8))
        return false;
    const char **strings = inlay_catalog_memory(parser->catalog, (size_t)count * sizeof *strings);
    if (strings == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        if ((strings[i] = take_text(parser).bytes) == NULL)
            return false;
    value->kind = INLAY_FILE_VALUE_STRINGS;
    value->strings = strings;
    value->count = (size_t)count;
    return true;
}

/* Reads numbers [count] of a type, without copying them. */
static bool parse_numbers(struct parser *parser, inlay_file_value *value, uint64_t type, uint64_t count)
{
    const size_t bytes = inlay_value_element_bytes(array_kind(type));
    if (!has(parser, count, bytes))
        return false;
    value->kind = array_kind(type);
    value->text = (const char *)parser->source->bytes + parser->at;
    value->count = (size_t)count;
    parser->at += value->count * bytes;
    return true;
}

static bool parse_array(struct parser *parser, inlay_file_value *value)
{
    uint64_t type, count;
    if (!take(parser, 4, &type) || !take(parser, 8, &count))
        return false;
    if (type == ARRAY)
        return fail(parser, INLAY_FILE_ERROR_LIMIT, "it is an array of arrays, which is not supported");
    if (type >= VALUE_TYPES)
        return fail(parser, INLAY_FILE_ERROR_SYNTAX, "the elements of this array have an unknown type");
    return type == STRING ? parse_strings(parser, value, count) : parse_numbers(parser, value, type, count);
}

static bool parse_string(struct parser *parser, inlay_file_value *value)
{
    const struct inlay_text text = take_text(parser);
    value->kind = INLAY_FILE_VALUE_STRING;
    value->text = text.bytes;
    value->count = text.size;
    return text.bytes != NULL;
}

static bool parse_number(struct parser *parser, inlay_file_value *value, uint64_t type)
{
    uint64_t bits;
    if (!take(parser, inlay_value_element_bytes(array_kind(type)), &bits))
        return false;
    const struct inlay_number number = inlay_value_element(array_kind(type), &bits);
    value->kind = type == BOOL        ? INLAY_FILE_VALUE_BOOLEAN
                  : number.is_integer ? INLAY_FILE_VALUE_INTEGER
                                      : INLAY_FILE_VALUE_NUMBER;
    value->integer = number.integer;
    value->number = type == BOOL ? 0 : number.number;
    return true;
}

/* Records the alignment of the data if this value is general.alignment. */
static bool note_alignment(struct parser *parser, const inlay_file_value *value, uint64_t type)
{
    if (strcmp(value->key, "general.alignment") != 0)
        return true;
    if (type != UINT32 || value->integer <= 0 || (value->integer & (value->integer - 1)) != 0)
        return fail(parser, INLAY_FILE_ERROR_SYNTAX, "the alignment is not a uint32 that is a power of two");
    if (value->integer > MAX_ALIGNMENT)
        return fail(parser, INLAY_FILE_ERROR_LIMIT, "the alignment is above 2^20");
    parser->alignment = (uint64_t)value->integer;
    return true;
}

static bool parse_value(struct parser *parser)
{
    uint64_t type;
    inlay_file_value value = {0};
    if (!take_name(parser) || !take(parser, 4, &type))
        return false;
    value.key = parser->name;
    if (type >= VALUE_TYPES)
        return fail(parser, INLAY_FILE_ERROR_SYNTAX, "this value has an unknown type");
    const bool is_parsed = type == ARRAY    ? parse_array(parser, &value)
                           : type == STRING ? parse_string(parser, &value)
                                            : parse_number(parser, &value, type);
    return is_parsed && note_alignment(parser, &value, type) && inlay_catalog_add_value(parser->catalog, &value);
}

/* ---- Tensors ---------------------------------------------------------------------------------------------------- */

/* Reads the shape, stored with its fastest dimension first. */
static bool parse_shape(struct parser *parser, inlay_file_tensor *tensor)
{
    uint64_t rank;
    if (!take(parser, 4, &rank))
        return false;
    if (rank > MAX_RANK)
        return fail(parser, INLAY_FILE_ERROR_LIMIT, "it has more than 4 dimensions");
    tensor->rank = (uint32_t)rank;
    for (uint32_t i = tensor->rank; i-- > 0;) {
        if (!take(parser, 8, &tensor->shape[i]))
            return false;
        if (tensor->shape[i] > INT64_MAX)
            return fail(parser, INLAY_FILE_ERROR_RANGE, "a size of its shape is negative");
    }
    return true;
}

static bool parse_tensor(struct parser *parser)
{
    uint64_t number, offset;
    inlay_file_tensor tensor = {0};
    if (!take_name(parser) || !parse_shape(parser, &tensor) || !take(parser, 4, &number) || !take(parser, 8, &offset))
        return false;
    const struct inlay_type *type = inlay_ggml_type((uint32_t)number);
    if (type == NULL)
        return inlay_file_fail(parser->catalog->error, INLAY_FILE_ERROR_TYPE, parser->source->path, parser->name,
                               "its ggml type number is %llu, which this version does not know",
                               (unsigned long long)number);
    /* Blocks must not cross rows. */
    if (!inlay_tensor_set_type(&tensor, type) ||
        (tensor.rank == 0 ? 1 : tensor.shape[tensor.rank - 1]) % type->block != 0)
        return inlay_file_fail(parser->catalog->error, INLAY_FILE_ERROR_RANGE, parser->source->path, parser->name,
                               "its shape overflows, or its rows are not whole blocks of %s", tensor.type);
    if (offset > parser->source->size)
        return fail(parser, INLAY_FILE_ERROR_TRUNCATED, "its data starts past the end of the file");
    if (offset % parser->alignment != 0)
        return fail(parser, INLAY_FILE_ERROR_RANGE, "its data does not start at a multiple of the alignment");
    tensor.name = parser->name;
    tensor.data = parser->source->bytes + (size_t)offset;
    return inlay_catalog_add_tensor(parser->catalog, &tensor);
}

/* Reads magic, version and counts. */
static bool parse_counts(struct parser *parser, uint64_t *tensors, uint64_t *values)
{
    uint64_t version;
    parser->at = 4;
    if (!take(parser, 4, &version))
        return false;
    if (version != 0 && version % 0x10000 == 0)
        return fail(parser, INLAY_FILE_ERROR_KIND, "it is a big-endian GGUF file");
    if (version != 2 && version != 3)
        return inlay_file_fail(parser->catalog->error, INLAY_FILE_ERROR_KIND, parser->source->path, NULL,
                               "it is a GGUF file of version %llu: only versions 2 and 3 are supported",
                               (unsigned long long)version);
    if (!take(parser, 8, tensors) || !take(parser, 8, values))
        return false;
    const size_t left = parser->end - parser->at;
    if (*values > left / MIN_VALUE || *tensors > left / MIN_TENSOR)
        return fail(parser, INLAY_FILE_ERROR_TRUNCATED, "it counts more tensors or values than its bytes can hold");
    return true;
}

bool inlay_parse_gguf(struct inlay_catalog *catalog, const struct inlay_source *source)
{
    const size_t end = source->size < MAX_HEADER_BYTES ? source->size : MAX_HEADER_BYTES;
    struct parser parser = {.catalog = catalog, .source = source, .end = end, .alignment = 32};
    uint64_t tensors, values;
    if (!parse_counts(&parser, &tensors, &values))
        return false;
    for (uint64_t i = 0; i < values; i++)
        if (!parse_value(&parser))
            return false;
    for (uint64_t i = 0; i < tensors; i++)
        if (!parse_tensor(&parser))
            return false;
    const uint64_t data = (parser.at + parser.alignment - 1) / parser.alignment * parser.alignment;
    return inlay_catalog_place_tensors(catalog, source, data, parser.alignment, false);
}
