/* SPDX-License-Identifier: MIT */
/*
 * The JSON parser. The text may be a mapping that changes concurrently: no byte is read twice for a decision about
 * memory, and decoded text is never longer than the bytes that were read.
 */
#include "formats/json.h"

#include <locale.h>
#include <stdlib.h> /* strtod_l */
#include <string.h>

/* Maximum bytes of a number, plus one. */
enum { MAX_DIGITS = 400 };

void inlay_json_start(struct inlay_json *json, const void *bytes, size_t size, unsigned max_depth)
{
    *json = (struct inlay_json){.begin = bytes, .at = bytes, .end = (const char *)bytes + size};
    json->max_depth = max_depth;
}

bool inlay_json_refuse(struct inlay_json *json, inlay_file_status status, const char *problem)
{
    if (json->problem == NULL) {
        json->problem = problem;
        json->status = status;
    }
    return false;
}

static bool broken(struct inlay_json *json, const char *problem)
{
    return inlay_json_refuse(json, INLAY_FILE_ERROR_SYNTAX, problem);
}

char inlay_json_peek(struct inlay_json *json)
{
    if (json->problem != NULL)
        return '\0';
    while (json->at < json->end && (*json->at == ' ' || *json->at == '\n' || *json->at == '\r' || *json->at == '\t'))
        json->at++;
    return json->at < json->end ? *json->at : '\0';
}

/* Reads one character after white space. */
static bool take(struct inlay_json *json, char wanted)
{
    if (inlay_json_peek(json) != wanted)
        return false;
    json->at++; /* unless the text is null */
    return true;
}

/* ---- Strings ---------------------------------------------------------------------------------------------------- */

/* Returns the value of four hexadecimal digits, or a number above 0xffff. */
static uint32_t hexadecimal(const char *digits)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        char c = digits[i];
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 0x10000;
        value = value << 4 | digit;
    }
    return value;
}

/* Reads an escape after its backslash, including the second half of a surrogate pair. Returns its length and sets the
   character; returns 0 for an invalid escape. */
static size_t read_escape(const char *at, const char *end, uint32_t *character)
{
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char *name = at < end ? memchr(names, *at, sizeof names - 1) : NULL;
    if (name != NULL) {
        *character = (unsigned char)meanings[name - names];
        return 1;
    }
    if (end - at < 5 || *at != 'u')
        return 0;
    *character = hexadecimal(at + 1);
    if (*character == 0 || *character > 0xffff || (*character >= 0xdc00 && *character < 0xe000))
        return 0;
    if (*character < 0xd800 || *character >= 0xe000)
        return 5;
    uint32_t low = end - at >= 11 && at[5] == '\\' && at[6] == 'u' ? hexadecimal(at + 7) : 0;
    if (low < 0xdc00 || low >= 0xe000)
        return 0;
    *character = 0x10000 + ((*character - 0xd800) << 10 | (low - 0xdc00));
    return 11;
}

bool inlay_json_string(struct inlay_json *json, struct inlay_text *string)
{
    if (!take(json, '"'))
        return broken(json, "a string is expected");
    string->bytes = json->at;
    while (json->at < json->end) {
        unsigned char byte = (unsigned char)*json->at;
        size_t bytes = 1;
        uint32_t character;
        if (byte == '"') {
            string->size = (size_t)(json->at++ - string->bytes);
            return true;
        }
        if (byte < ' ')
            return broken(json, "a string has a control character");
        if (byte == '\\')
            bytes = read_escape(json->at + 1, json->end, &character);
        else if (byte >= 0x80)
            bytes = inlay_utf8_bytes(json->at, (size_t)(json->end - json->at));
        if (bytes == 0)
            return broken(json, byte == '\\' ? "a string has an escape that is not allowed" : "a string is not UTF-8");
        json->at += bytes + (byte == '\\');
    }
    return broken(json, "a string is not terminated");
}

/* Writes a character as UTF-8 and returns its length. */
static size_t write_utf8(uint32_t c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t bytes = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = bytes; i-- > 1; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((bytes == 2 ? 0xc0 : bytes == 3 ? 0xe0 : 0xf0) | c);
    return bytes;
}

/* Decodes the next character of a string, or copies the next byte, to out [1 to 4] and moves past it. Returns its
   length. */
static size_t decode_next(const char **at, const char *end, char *out)
{
    uint32_t character;
    const char byte = *(*at)++;
    const size_t bytes = byte == '\\' ? read_escape(*at, end, &character) : 0;
    *at += bytes;
    if (bytes > 0)
        return write_utf8(character, out);
    *out = byte;
    return 1;
}

size_t inlay_json_decode(struct inlay_text string, char *out)
{
    size_t size = 0;
    for (const char *at = string.bytes, *end = at + string.size; at < end;)
        size += decode_next(&at, end, out + size);
    return size;
}

bool inlay_json_means(struct inlay_text string, const char *text)
{
    for (const char *at = string.bytes, *end = at + string.size; at < end;) {
        char decoded[4];
        const size_t size = decode_next(&at, end, decoded);
        if (strlen(text) < size || memcmp(text, decoded, size) != 0)
            return false;
        text += size;
    }
    return *text == '\0';
}

/* ---- Arrays and objects ----------------------------------------------------------------------------------------- */

bool inlay_json_open(struct inlay_json *json, char bracket)
{
    if (!take(json, bracket))
        return broken(json, bracket == '{' ? "an object is expected" : "an array is expected");
    if (json->depth == json->max_depth)
        return inlay_json_refuse(json, INLAY_FILE_ERROR_LIMIT, "arrays and objects are nested too deeply");
    json->ends[json->depth++] = bracket == '{' ? '}' : ']';
    json->fresh = true;
    return true;
}

/* Returns true if the innermost array or object continues; leaves it at its end. */
static bool goes_on(struct inlay_json *json, char bracket)
{
    bool fresh = json->fresh;
    if (json->problem != NULL)
        return false;
    json->fresh = false;
    if (take(json, bracket)) {
        json->depth--;
        return false;
    }
    if (!fresh && !take(json, ','))
        return broken(json, bracket == '}' ? "a comma or the end of the object is expected"
                                           : "a comma or the end of the array is expected");
    return true;
}

bool inlay_json_member(struct inlay_json *json, struct inlay_text *key)
{
    if (!goes_on(json, '}') || !inlay_json_string(json, key))
        return false;
    if (!take(json, ':'))
        return broken(json, "a colon is expected");
    return true;
}

bool inlay_json_element(struct inlay_json *json)
{
    return goes_on(json, ']');
}

/* ---- Numbers and literals --------------------------------------------------------------------------------------- */

static bool is_digit(const struct inlay_json *json)
{
    return json->at < json->end && *json->at >= '0' && *json->at <= '9';
}

/* Takes one digit or more. */
static bool skip_digits(struct inlay_json *json)
{
    const char *first = json->at;
    while (is_digit(json))
        json->at++;
    return json->at > first;
}

/* Reads digits without leading zeros into a number with a sign; sets *fits if it fits. */
static bool take_digits(struct inlay_json *json, bool negative, int64_t *value, bool *fits)
{
    const char *first = json->at;
    *value = 0;
    *fits = true;
    for (; is_digit(json); json->at++) {
        const int digit = *json->at - '0';
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, negative ? -digit : digit, value))
            *fits = false;
    }
    return json->at > first && (*first != '0' || json->at == first + 1);
}

bool inlay_json_unsigned(struct inlay_json *json, uint64_t *value)
{
    static const char expected[] = "an integer without leading zeros is expected";
    int64_t integer;
    bool fits;
    inlay_json_peek(json);
    const char *first = json->at;
    bool good = json->problem == NULL && take_digits(json, false, &integer, &fits);
    if (!good || (json->at < json->end && (*json->at == '.' || *json->at == 'e' || *json->at == 'E'))) {
        json->at = first;
        return broken(json, expected);
    }
    if (!fits)
        return inlay_json_refuse(json, INLAY_FILE_ERROR_LIMIT, "an integer is above 2^63 - 1");
    *value = (uint64_t)integer;
    return true;
}

/* Takes one word. */
static bool take_word(struct inlay_json *json, const char *word)
{
    size_t size = strlen(word);
    if ((size_t)(json->end - json->at) < size || memcmp(json->at, word, size) != 0)
        return false;
    json->at += size;
    return true;
}

/* Parses the non-integer number that starts at `first`, independently of the program's locale. */
static bool read_number(struct inlay_json *json, const char *first, struct inlay_number *number)
{
    static const locale_t none = (locale_t)0;
    const size_t size = (size_t)(json->at - first);
    char copy[MAX_DIGITS];
    if (size >= sizeof copy)
        return inlay_json_refuse(json, INLAY_FILE_ERROR_LIMIT, "a number has too many digits");
    memcpy(copy, first, size);
    copy[size] = '\0';
    locale_t plain = newlocale(LC_ALL_MASK, "C", none);
    /* 1 branch never taken: glibc and musl have this locale without allocating it. */
    if (plain == none)
        return inlay_json_refuse(json, INLAY_FILE_ERROR_NO_MEMORY, "there is no memory to read a number");
    *number = (struct inlay_number){.number = strtod_l(copy, NULL, plain)};
    freelocale(plain);
    return true;
}

bool inlay_json_at_number(struct inlay_json *json)
{
    const char first = inlay_json_peek(json);
    return first == '-' || (first >= '0' && first <= '9') || (json->python && (first == 'I' || first == 'N'));
}

bool inlay_json_number(struct inlay_json *json, struct inlay_number *number)
{
    int64_t integer;
    bool is_integer;
    inlay_json_peek(json);
    const char *first = json->at;
    const bool negative = json->problem == NULL && take_word(json, "-");
    if (json->python && (take_word(json, "Infinity") || (!negative && take_word(json, "NaN"))))
        return read_number(json, first, number);
    bool good = json->problem == NULL && take_digits(json, negative, &integer, &is_integer);
    if (good && take_word(json, ".")) {
        is_integer = false;
        good = skip_digits(json);
    }
    if (good && (take_word(json, "e") || take_word(json, "E"))) {
        is_integer = false;
        if (!take_word(json, "+"))
            take_word(json, "-");
        good = skip_digits(json);
    }
    if (!good)
        return broken(json, "a number is expected");
    if (!is_integer)
        return read_number(json, first, number);
    *number = (struct inlay_number){integer, __builtin_copysign((double)integer, negative ? -1 : 1), true};
    return true;
}

bool inlay_json_literal(struct inlay_json *json)
{
    inlay_json_peek(json);
    if (json->problem == NULL && (take_word(json, "true") || take_word(json, "false") || take_word(json, "null")))
        return true;
    return broken(json, "a value is expected");
}

/* ---- Any value -------------------------------------------------------------------------------------------------- */

/* Not recursive: arrays and objects are entered and left at their ends. */
bool inlay_json_skip(struct inlay_json *json)
{
    struct inlay_text text;
    struct inlay_number number;
    const unsigned outside = json->depth;
    do {
        const bool inside = json->depth > outside;
        if (inside && !(json->ends[json->depth - 1] == '}' ? inlay_json_member(json, &text) : inlay_json_element(json)))
            continue;
        const char first = inlay_json_peek(json);
        if (first == '{' || first == '[')
            inlay_json_open(json, first);
        else if (first == '"')
            inlay_json_string(json, &text);
        else if (inlay_json_at_number(json))
            inlay_json_number(json, &number);
        else
            inlay_json_literal(json);
    } while (json->problem == NULL && json->depth > outside);
    return json->problem == NULL;
}

bool inlay_json_end(struct inlay_json *json)
{
    inlay_json_peek(json);
    if (json->at != json->end)
        broken(json, "text follows the end");
    return json->problem == NULL;
}
