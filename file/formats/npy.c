/* SPDX-License-Identifier: MIT */
/*
 * The npy parser and formatter. NumPy evaluates the header as a Python expression; this parser accepts only the
 * literals that NumPy writes: a dictionary of a string, a boolean and a tuple of decimal integers. Format:
 * numpy.lib.format, versions 1.0, 2.0 and 3.0.
 */
#include "formats/npy.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

/* The rest of the header's text. */
struct cursor {
    const char *at;
    const char *end;
};

/* Sets the reason for rejecting a file. Returns false. */
static bool refuse(struct npy *npy, inlay_file_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool refuse(struct npy *npy, inlay_file_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(npy->why, sizeof npy->why, format, arguments);
    va_end(arguments);
    npy->status = status;
    return false;
}

static void skip_blanks(struct cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
        c->at++;
}

/* Reads the text `wanted`, after blanks. */
static bool take(struct cursor *c, const char *wanted)
{
    size_t size = strlen(wanted);
    skip_blanks(c);
    if ((size_t)(c->end - c->at) < size || memcmp(c->at, wanted, size) != 0)
        return false;
    c->at += size;
    return true;
}

/* Reads a string literal without escapes, with either of Python's quotes. */
static bool take_string(struct cursor *c, struct inlay_text *string)
{
    char quote = take(c, "'") ? '\'' : '"';
    if (quote == '"' && !take(c, "\""))
        return false;
    const char *close = memchr(c->at, quote, (size_t)(c->end - c->at));
    if (close == NULL || memchr(c->at, '\\', (size_t)(close - c->at)) != NULL)
        return false;
    *string = (struct inlay_text){c->at, (size_t)(close - c->at)};
    c->at = close + 1;
    return true;
}

/* Takes True or False. */
static bool take_truth(struct cursor *c, bool *truth)
{
    *truth = take(c, "True");
    return *truth || take(c, "False");
}

/* Takes 0 or a decimal integer without leading zeros that fits in size_t. */
static bool take_size(struct cursor *c, size_t *value)
{
    skip_blanks(c);
    const char *first = c->at;
    *value = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        if (__builtin_mul_overflow(*value, (size_t)10, value) ||
            __builtin_add_overflow(*value, (size_t)(*c->at - '0'), value))
            return false;
    }
    return c->at > first && (*first != '0' || c->at == first + 1);
}

/* Reads a tuple of integers and counts them; the first NPY_RANK are stored in npy. */
static bool take_shape(struct cursor *c, size_t *rank, struct npy *npy)
{
    *rank = 0;
    if (!take(c, "("))
        return false;
    bool comma = true;
    while (!take(c, ")")) {
        size_t value;
        if (!comma || !take_size(c, &value))
            return false;
        if (*rank < NPY_RANK)
            npy->shape[*rank] = value;
        ++*rank;
        comma = take(c, ",");
    }
    /* Python reads (5) as a number in parentheses; a tuple of one element has a comma. */
    return *rank != 1 || comma;
}

/* ---- Types of elements ------------------------------------------------------------------------------------------ */

/* A table of u2 is one of bfloat16. */
static const struct inlay_type elements[] = {
    [NPY_F4] = {"<f4", 0, INLAY_F32, 1, 4}, [NPY_F8] = {"<f8", 0, 0, 1, 8},
    [NPY_I4] = {"<i4", 0, 0, 1, 4},         [NPY_I8] = {"<i8", 0, 0, 1, 8},
    [NPY_F2] = {"<f2", 0, INLAY_F16, 1, 2}, [NPY_U2] = {"<u2", 0, INLAY_BF16, 1, 2},
    [NPY_U4] = {"<u4", 0, 0, 1, 4},         [NPY_I1] = {"|i1", 0, INLAY_I8, 1, 1},
    [NPY_U1] = {"|u1", 0, 0, 1, 1},         [NPY_B1] = {"|b1", 0, 0, 1, 1},
    [NPY_I2] = {"<i2", 0, 0, 1, 2},         [NPY_U8] = {"<u8", 0, 0, 1, 8},
};

enum { ELEMENTS = sizeof elements / sizeof *elements };

const struct inlay_type *inlay_npy_type(enum npy_element element)
{
    return &elements[element];
}

/* What each kind of file requires. */
static const struct {
    unsigned elements; /* a set of bits 1 << npy_element */
    size_t min_rank, max_rank;
    const char *convert; /* a type that NumPy can convert others to */
    const char *shape;   /* the required dimensions, for messages */
} kinds[] = {
    [NPY_TABLE] = {1u << NPY_F4 | 1u << NPY_F2 | 1u << NPY_U2 | 1u << NPY_I1 | 1u << NPY_U1, 2, 2, "<f4",
                   "a table has 2: [rows, dim]"},
    [NPY_LIST] = {1u << NPY_F4 | 1u << NPY_F8 | 1u << NPY_I4 | 1u << NPY_I8, 1, 1, "<f8",
                  "a list has 1: convert it with numpy.save(file, a.ravel())"},
    [NPY_INTEGERS] = {1u << NPY_I4 | 1u << NPY_U4 | 1u << NPY_I8, 1, 1, "<i8",
                      "a list has 1: convert it with numpy.save(file, a.ravel())"},
    [NPY_SCALES] = {1u << NPY_F4 | 1u << NPY_U1, 1, 2, "<f4", "scales and zero points have 1 or 2"},
    [NPY_TENSOR] = {(1u << ELEMENTS) - 1, 0, NPY_RANK, "<f4", "a tensor has at most 8"},
};

/* Reports the types that a kind of file can have. */
static bool refuse_elements(struct inlay_text descr, enum npy_kind kind, struct npy *npy)
{
    char name[16], list[ELEMENTS * sizeof " or '<f4'"] = "";
    size_t used = 0;
    snprintf(name, sizeof name, "%.*s", (int)descr.size, descr.bytes);
    inlay_make_printable(name);
    unsigned left = kinds[kind].elements;
    for (unsigned i = 0; i < ELEMENTS; i++) {
        if ((left & 1u << i) == 0)
            continue;
        left &= ~(1u << i);
        const char *before = used == 0 ? "" : left != 0 ? ", " : " or ";
        used += (size_t)snprintf(list + used, sizeof list - used, "%s'%s'", before, elements[i].name);
    }
    return refuse(npy, INLAY_FILE_ERROR_TYPE,
                  "its elements are '%s', not %s: convert it with numpy.save(file, a.astype('%s'))", name, list,
                  kinds[kind].convert);
}

/* Checks the type of the elements and the number of dimensions. The byte order must be '<', '=' (native), '|' (not
   applicable) or absent. */
static bool check_kind(struct inlay_text descr, size_t rank, enum npy_kind kind, struct npy *npy)
{
    const bool has_order = descr.size > 0 && memchr("<=|", descr.bytes[0], 3) != NULL;
    const struct inlay_text type = {descr.bytes + has_order, descr.size - has_order};
    unsigned i = 0;
    while (i < ELEMENTS && !((kinds[kind].elements & 1u << i) != 0 && inlay_text_is(type, elements[i].name + 1)))
        i++;
    if (i == ELEMENTS)
        return refuse_elements(descr, kind, npy);
    if (rank < kinds[kind].min_rank || rank > kinds[kind].max_rank)
        return refuse(npy, INLAY_FILE_ERROR_SHAPE, "it has %zu dimensions, and %s", rank, kinds[kind].shape);
    npy->element = (enum npy_element)i;
    npy->element_bytes = elements[i].block_bytes;
    npy->rank = rank;
    npy->rows = rank >= 1 ? npy->shape[0] : 1;
    npy->dim = rank >= 2 ? npy->shape[1] : 1;
    return true;
}

/* ---- The header ------------------------------------------------------------------------------------------------- */

/* Reads the dictionary: three keys in any order, each once, and nothing after it. */
static bool parse_dictionary(struct cursor c, enum npy_kind kind, struct npy *npy)
{
    static const char broken[] = "its header is not the dictionary that NumPy writes";
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    bool seen[3] = {false, false, false};
    struct inlay_text descr = {NULL, 0};
    bool fortran_order = false;
    size_t rank = 0;

    if (!take(&c, "{"))
        return refuse(npy, INLAY_FILE_ERROR_SYNTAX, broken);
    bool comma = true;
    while (!take(&c, "}")) {
        struct inlay_text key;
        if (!comma || !take_string(&c, &key) || !take(&c, ":"))
            return refuse(npy, INLAY_FILE_ERROR_SYNTAX, broken);
        size_t which = 0;
        while (which < 3 && !inlay_text_is(key, keys[which]))
            which++;
        if (which == 3)
            return refuse(npy, INLAY_FILE_ERROR_SYNTAX,
                          "its header has a key other than descr, fortran_order and shape");
        if (seen[which])
            return refuse(npy, INLAY_FILE_ERROR_DUPLICATE, "its header has a key twice");
        seen[which] = true;
        if (which == 0 && take(&c, "["))
            return refuse(npy, INLAY_FILE_ERROR_TYPE, "its elements are structures, not numbers");
        bool good = which == 0   ? take_string(&c, &descr)
                    : which == 1 ? take_truth(&c, &fortran_order)
                                 : take_shape(&c, &rank, npy);
        if (!good)
            return refuse(npy, INLAY_FILE_ERROR_SYNTAX, which == 2 ? "its shape is not a tuple of sizes" : broken);
        comma = take(&c, ",");
    }
    skip_blanks(&c);
    if (c.at < c.end)
        return refuse(npy, INLAY_FILE_ERROR_SYNTAX, "its header continues after the dictionary");
    if (!seen[0] || !seen[1] || !seen[2])
        return refuse(npy, INLAY_FILE_ERROR_SYNTAX, "its header lacks descr, fortran_order or shape");
    size_t long_axes = 0;
    for (size_t i = 0; i < rank && i < NPY_RANK; i++)
        long_axes += npy->shape[i] > 1;
    if (fortran_order && long_axes > 1)
        return refuse(npy, INLAY_FILE_ERROR_SHAPE,
                      "it is in Fortran order: convert it with numpy.save(file, numpy.ascontiguousarray(a))");
    return check_kind(descr, rank, kind, npy);
}

/* Checks that the file has all of its data. */
static bool check_size(uint64_t file_bytes, enum npy_kind kind, struct npy *npy)
{
    char shape[NPY_RANK * sizeof ", 18446744073709551615"] = "";
    size_t used = 0;
    const uint64_t rest = file_bytes - npy->data_offset;
    npy->data_bytes = npy->element_bytes;
    if (kind != NPY_TENSOR && npy->dim == 0)
        return refuse(npy, INLAY_FILE_ERROR_SHAPE, "its rows have dim 0: a table needs at least one column");
    for (size_t i = 0; i < npy->rank; i++)
        if (__builtin_mul_overflow(npy->data_bytes, npy->shape[i], &npy->data_bytes))
            return refuse(npy, INLAY_FILE_ERROR_RANGE, "its shape overflows");
    if (npy->data_bytes <= rest)
        return true;
    for (size_t i = 0; i < npy->rank; i++)
        used += (size_t)snprintf(shape + used, sizeof shape - used, i > 0 ? ", %zu" : "%zu", npy->shape[i]);
    return refuse(npy, INLAY_FILE_ERROR_TRUNCATED, "its shape [%s] needs %zu bytes of data, but the file has %llu",
                  shape, npy->data_bytes, (unsigned long long)rest);
}

bool inlay_npy_parse(const void *head, size_t head_bytes, uint64_t file_bytes, enum npy_kind kind, struct npy *npy)
{
    const unsigned char *bytes = head;
    memset(npy, 0, sizeof *npy);
    if (head_bytes < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return refuse(npy, INLAY_FILE_ERROR_KIND, "it does not begin with \\x93NUMPY, as .npy files do");
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
        return refuse(npy, INLAY_FILE_ERROR_KIND, "its format version is not 1.0, 2.0 or 3.0");

    size_t text_offset = bytes[6] == 1 ? 10 : 12;
    if (head_bytes < text_offset)
        return refuse(npy, INLAY_FILE_ERROR_TRUNCATED, "it ends within its header");
    size_t text_bytes = bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] > 1 && (bytes[10] | bytes[11]) != 0)
        return refuse(npy, INLAY_FILE_ERROR_LIMIT, "its header is longer than 65535 bytes");
    if (text_bytes > head_bytes - text_offset)
        return refuse(npy, INLAY_FILE_ERROR_TRUNCATED, "it ends within its header");
    npy->data_offset = text_offset + text_bytes;

    struct cursor text = {(const char *)bytes + text_offset, (const char *)bytes + npy->data_offset};
    return parse_dictionary(text, kind, npy) && check_size(file_bytes, kind, npy);
}

size_t inlay_npy_format(const char *descr, const size_t *shape, size_t rank, char out[NPY_FORMAT_BYTES])
{
    memcpy(out, "\x93NUMPY\x01", 8);
    char *text = out + 10;
    char *end = text + sprintf(text, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (size_t i = 0; i < rank; i++)
        end += sprintf(end, i == 0 ? "%zu," : i + 1 < rank ? " %zu," : " %zu", shape[i]);
    end += sprintf(end, "), }");
    while ((end + 1 - out) % 64 != 0)
        *end++ = ' ';
    *end++ = '\n';
    size_t text_bytes = (size_t)(end - text);
    out[8] = (char)(text_bytes & 0xff);
    out[9] = (char)(text_bytes >> 8);
    return (size_t)(end - out);
}
