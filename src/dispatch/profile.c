/* SPDX-License-Identifier: MIT */
/*
 * The parser of profiles. It writes its result only when the whole text is right.
 */
#include "dispatch/profile.h"

#include "base/file.h"

#include <string.h>

enum { COMPUTE_KEY = 2 };

static const struct {
    const char *name;
    size_t offset;
} profile_keys[INLAY_PROFILE_KEYS] = {
    {"l2_bytes", offsetof(inlay_tuning, l2_bytes)},
    {"stream_bytes", offsetof(inlay_tuning, stream_bytes)},
    [COMPUTE_KEY] = {"compute_bytes", offsetof(inlay_tuning, compute_bytes)},
    {"block_bytes", offsetof(inlay_tuning, block_bytes)},
    {"prefetch_bytes", offsetof(inlay_tuning, prefetch_bytes)},
};

/* Returns the index of the key that is text [length]; INLAY_PROFILE_KEYS if there is none. */
static size_t key_of(const char *text, size_t length)
{
    size_t key = 0;
    while (key < INLAY_PROFILE_KEYS &&
           (strlen(profile_keys[key].name) != length || memcmp(profile_keys[key].name, text, length) != 0))
        key++;
    return key;
}

/* Reads text [length] as a decimal number without a sign. Returns whether it is one that a size_t holds. */
static bool parse_bytes(const char *text, size_t length, size_t *value)
{
    size_t sum = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, (size_t)(text[i] - '0'), &sum))
            return false;
    }
    *value = sum;
    return length > 0;
}

/* Parses one line, which ends at a line feed, a # or a null character. Returns whether it is right. */
static bool parse_line(const char *line, struct inlay_profile *profile)
{
    static const char blanks[] = " \t\r", ends[] = " \t\r\n#";
    line += strspn(line, blanks);
    const size_t key_length = strcspn(line, ends), key = key_of(line, key_length);
    if (key_length == 0)
        return true;
    if (key == INLAY_PROFILE_KEYS || profile->given[key])
        return false;
    line += key_length;
    line += strspn(line, blanks);
    const size_t length = strcspn(line, ends);
    profile->given[key] = parse_bytes(line, length, &profile->values[key]);
    line += length;
    line += strspn(line, blanks);
    return profile->given[key] && strchr("\n#", *line) != NULL;
}

inlay_status inlay_profile_parse(const char *text, size_t bytes, struct inlay_profile *profile)
{
    struct inlay_profile parsed = {{false}, {0}};
    bool any = false;
    if (memchr(text, '\0', bytes) != NULL)
        return INLAY_ERROR_OPTION;
    for (const char *line = text; line != NULL;) {
        if (!parse_line(line, &parsed))
            return INLAY_ERROR_OPTION;
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    for (size_t i = 0; i < INLAY_PROFILE_KEYS; i++)
        any |= parsed.given[i];
    if (any)
        *profile = parsed;
    return any ? INLAY_OK : INLAY_ERROR_OPTION;
}

inlay_status inlay_profile_read(const char *path, struct inlay_profile *profile)
{
    char text[INLAY_PROFILE_BYTES];
    size_t bytes;
    if (!inlay_read_file(path, text, sizeof text, &bytes))
        return INLAY_ERROR_FILE;
    return inlay_profile_parse(text, bytes, profile);
}

void inlay_profile_apply(const struct inlay_profile *profile, inlay_tuning *tuning)
{
    for (size_t i = 0; i < INLAY_PROFILE_KEYS; i++)
        if (profile->given[i])
            memcpy((char *)tuning + profile_keys[i].offset, &profile->values[i], sizeof(size_t));
}

bool inlay_profile_computes(const struct inlay_profile *profile)
{
    return profile->given[COMPUTE_KEY];
}
