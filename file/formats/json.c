/* SPDX-License-Identifier: MIT */
/*
 * The JSON parser. The text may be a mapping that changes concurrently: no byte is read twice for a decision about
 * memory, and decoded text is never longer than the bytes that were read.
 */
#include "formats/json.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

/* Maximum bytes of a number, plus one. */
enum { MAX_DIGITS = 400 };

void inlay_json_start(struct inlay_json *json, const void *bytes, size_t size, unsigned max_depth)
{
    *json = (struct inlay_json){.begin = bytes, .at = bytes, .end = (const char *)bytes + size};
    json->max_depth = max_depth;
}

struct inlay_json inlay_json_ahead(const struct inlay_json *json)
{
    struct inlay_json ahead = *json;
    ahead.looks_ahead = true;
    return ahead;
}

void inlay_json_finish(struct inlay_json *json)
{
    free(json->keys);
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
    const char *name = at < end && *at != '\0' ? strchr(names, *at) : NULL;
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
    return broken(json, "a string does not end");
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

/* Iterates over the decoded bytes of a string. */
struct meaning {
    const char *at, *end;
    char bytes[4]; /* of an escape, of which `size` are there and `used` taken */
    size_t size, used;
};

/* Returns the next byte, or -1 at the closing quote. The text may have changed since the string was read. */
static int next_byte(struct meaning *meaning)
{
    uint32_t character;
    if (meaning->used < meaning->size)
        return (unsigned char)meaning->bytes[meaning->used++];
    if (meaning->at == meaning->end || *meaning->at == '"')
        return -1;
    char byte = *meaning->at++;
    size_t bytes = byte == '\\' ? read_escape(meaning->at, meaning->end, &character) : 0;
    if (bytes == 0)
        return (unsigned char)byte;
    meaning->at += bytes;
    meaning->size = write_utf8(character, meaning->bytes);
    meaning->used = 1;
    return (unsigned char)meaning->bytes[0];
}

static struct meaning meaning_of(struct inlay_text string)
{
    return (struct meaning){.at = string.bytes, .end = string.bytes + string.size};
}

size_t inlay_json_decode(struct inlay_text string, char *out)
{
    struct meaning meaning = meaning_of(string);
    size_t size = 0;
    for (int byte; (byte = next_byte(&meaning)) >= 0; size++)
        out[size] = (char)byte;
    return size;
}

bool inlay_json_means(struct inlay_text string, const char *text)
{
    struct meaning meaning = meaning_of(string);
    int byte;
    while ((byte = next_byte(&meaning)) > 0 && byte == (unsigned char)*text)
        text++;
    return byte < 0 && *text == '\0';
}

/* ---- Keys that are there twice ---------------------------------------------------------------------------------- */

/* Records a key of the innermost object: the FNV-1a hash of its bytes, and its offset. */
static bool note_key(struct inlay_json *json, struct inlay_text key)
{
    if (json->looks_ahead)
        return true;
    if (json->key_count == json->key_room) {
        const size_t room = json->key_room + json->key_room / 2 + 32;
        uint64_t *keys = realloc(json->keys, 2 * room * sizeof *keys);
        if (keys == NULL)
            return inlay_json_refuse(json, INLAY_FILE_ERROR_NO_MEMORY, "there is no memory to compare keys");
        json->keys = keys;
        json->key_room = room;
    }
    uint32_t hash = 2166136261;
    struct meaning meaning = meaning_of(key);
    for (int byte; (byte = next_byte(&meaning)) >= 0;)
        hash = (hash ^ (uint32_t)byte) * 16777619;
    json->keys[json->key_count++] = (uint64_t)hash << 32 | (uint32_t)(key.bytes - json->begin);
    return true;
}

/* Orders keys by hash, then by decoded text. */
static int compare_keys(const struct inlay_json *json, uint64_t a, uint64_t b)
{
    if (a >> 32 != b >> 32)
        return a < b ? -1 : 1;
    struct meaning first = {.at = json->begin + (uint32_t)a, .end = json->end};
    struct meaning second = {.at = json->begin + (uint32_t)b, .end = json->end};
    int byte, other;
    do {
        byte = next_byte(&first);
        other = next_byte(&second);
    } while (byte == other && byte >= 0);
    return byte - other;
}

/* Rejects a duplicate key. */
static void refuse_repeated(struct inlay_json *json, uint64_t key)
{
    json->at = json->begin + (uint32_t)key - 1; /* the quote before it */
    inlay_json_string(json, &json->repeated);
    json->at = json->begin + (uint32_t)key; /* the text may have changed, and have no key there any more */
    inlay_json_refuse(json, INLAY_FILE_ERROR_DUPLICATE, "a key is there twice");
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Drops the keys of an object that ends, and rejects duplicates. Keys are merge sorted bottom up, in n log n steps for
   any input; equal keys meet when their runs are merged. */
static void compare_all(struct inlay_json *json)
{
    const size_t first = json->first_key[json->depth], count = json->key_count - first;
    json->key_count = first;
    if (count < 2)
        return;
    uint64_t *from = json->keys + first, *to = from + json->key_room;
    for (size_t run = 1; run < count; run *= 2) {
        for (size_t i = 0; i < count;) {
            size_t a = i, middle = smaller(a + run, count), b = middle;
            for (const size_t end = smaller(b + run, count); i < end; i++) {
                const int order = a == middle ? 1 : b == end ? -1 : compare_keys(json, from[a], from[b]);
                if (order == 0) {
                    refuse_repeated(json, from[b]);
                    return;
                }
                to[i] = order < 0 ? from[a++] : from[b++];
            }
        }
        uint64_t *const sorted = to;
        to = from;
        from = sorted;
    }
}

/* ---- Arrays and objects ----------------------------------------------------------------------------------------- */

bool inlay_json_open(struct inlay_json *json, char bracket)
{
    if (!take(json, bracket))
        return broken(json, bracket == '{' ? "an object is expected" : "an array is expected");
    if (json->depth == json->max_depth)
        return inlay_json_refuse(json, INLAY_FILE_ERROR_LIMIT, "arrays and objects are nested too deeply");
    json->first_key[json->depth] = (uint32_t)json->key_count;
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
        if (bracket == '}')
            compare_all(json);
        return false;
    }
    if (!fresh && !take(json, ','))
        return broken(json, bracket == '}' ? "a comma or the end of the object is expected"
                                           : "a comma or the end of the array is expected");
    return true;
}

bool inlay_json_member(struct inlay_json *json, struct inlay_text *key)
{
    if (!goes_on(json, '}') || !inlay_json_string(json, key) || !note_key(json, *key))
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
    static const char expected[] = "an integer is expected: 0, or digits that do not begin with 0";
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
        broken(json, "something follows the end");
    return json->problem == NULL;
}
