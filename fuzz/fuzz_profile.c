/* SPDX-License-Identifier: MIT */
/*
 * Bytes are parsed as a profile of thresholds. One that is refused leaves what was there; the values of one that is
 * accepted, written as a profile again, must be the same profile.
 */
#include "dispatch/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

/* Returns what the thresholds become that are all `before`. */
static inlay_tuning applied(const struct inlay_profile *profile, size_t before)
{
    inlay_tuning tuning = inlay_tuning_default();
    tuning.l2_bytes = tuning.stream_bytes = tuning.compute_bytes = tuning.block_bytes = tuning.prefetch_bytes = before;
    inlay_profile_apply(profile, &tuning);
    return tuning;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const keys[INLAY_PROFILE_KEYS] = {"l2_bytes", "stream_bytes", "compute_bytes", "block_bytes",
                                                         "prefetch_bytes"};
    struct inlay_profile profile = {{false}, {0}}, again = profile;
    profile.values[0] = 7;
    const struct inlay_profile before = profile;
    /* The parser's text has a null character behind it, and nothing more. */
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    inlay_status status = inlay_profile_parse(text, size, &profile);
    free(text);
    demand(status == INLAY_OK || status == INLAY_ERROR_OPTION, "another status");
    if (status != INLAY_OK) {
        demand(memcmp(&profile, &before, sizeof profile) == 0, "a profile that is refused was written");
        return 0;
    }
    char formatted[INLAY_PROFILE_BYTES];
    size_t used = 0;
    for (size_t i = 0; i < INLAY_PROFILE_KEYS; i++)
        if (profile.given[i])
            used += (size_t)snprintf(formatted + used, sizeof formatted - used, "%s %zu\n", keys[i], profile.values[i]);
    demand(inlay_profile_parse(formatted, used, &again) == INLAY_OK, "its values are refused");
    for (size_t unset = 1; unset < 3; unset++) {
        const inlay_tuning first = applied(&profile, unset), second = applied(&again, unset);
        demand(memcmp(&first, &second, sizeof first) == 0, "its values are others");
        demand(profile.given[0] ? first.l2_bytes == profile.values[0] : first.l2_bytes == unset, "another threshold");
    }
    demand(inlay_profile_computes(&profile) == inlay_profile_computes(&again), "another compute_bytes");
    return 0;
}
