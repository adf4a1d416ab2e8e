/* SPDX-License-Identifier: MIT */
/*
 * Profiles: thresholds as a small text file, which `inlay tune` writes. A line is a key and a value, and # begins a
 * comment:
 *
 *     # AMD EPYC, avx512
 *     stream_bytes 4194304
 *
 * Keys are the fields of inlay_tuning, each at most once and one at least; values are decimal. Files may be hostile.
 */
#ifndef INLAY_DISPATCH_PROFILE_H
#define INLAY_DISPATCH_PROFILE_H

#include <inlay/inlay.h>

#include <stdbool.h>

enum { INLAY_PROFILE_KEYS = 5 };

/* A file of as many bytes, or of more, is no profile. */
enum { INLAY_PROFILE_BYTES = 4096 };

/* What a profile says. Keys are counted in the order of the fields of inlay_tuning. */
struct inlay_profile {
    bool given[INLAY_PROFILE_KEYS];
    size_t values[INLAY_PROFILE_KEYS];
};

/* Parses text [bytes]; text[bytes] is a null character. Returns INLAY_OK; INLAY_ERROR_OPTION if it is no profile. */
inlay_status inlay_profile_parse(const char *text, size_t bytes, struct inlay_profile *profile);

/* Reads and parses a file. Returns INLAY_OK; INLAY_ERROR_FILE if it cannot be read, INLAY_ERROR_OPTION if it is no
   profile. */
inlay_status inlay_profile_read(const char *path, struct inlay_profile *profile);

/* Replaces the thresholds that the profile gives. */
void inlay_profile_apply(const struct inlay_profile *profile, inlay_tuning *tuning);

/* Returns whether the profile gives compute_bytes. */
bool inlay_profile_computes(const struct inlay_profile *profile);

#endif
