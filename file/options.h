/* SPDX-License-Identifier: MIT */
/*
 * Whether the options of a caller are known: the rule that holds for every struct of the core. Reads no byte beyond the
 * size that the struct says it has.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Returns whether a struct that begins with its size has at least the `known` bytes of this version, and zeros in what
   a later version appended. */
static inline bool inlay_options_known(const void *options, size_t known)
{
    /* A size beyond this is garbage rather than a later version, and reading so far might fault. */
    const size_t plausible = 1024;
    size_t size;
    memcpy(&size, options, sizeof size);
    if (size < known || size > plausible)
        return false;
    unsigned char appended = 0;
    for (size_t i = known; i < size; i++)
        appended |= ((const unsigned char *)options)[i];
    return appended == 0;
}
