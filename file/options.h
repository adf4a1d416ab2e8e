/* SPDX-License-Identifier: MIT */
/*
 * The size check of a caller's struct, as in the core. It reads only the bytes that the struct's size covers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Returns true if a struct that begins with its size has all `known` bytes of this version, and zeros after them. */
static inline bool inlay_options_known(const void *options, size_t known)
{
    /* A larger size is garbage rather than a later version, and reading that far might fault. */
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
