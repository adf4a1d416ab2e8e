/* SPDX-License-Identifier: MIT */
/*
 * Argument checks.
 */
#include "base/arguments.h"

bool inlay_struct_extends(const void *structure, size_t size, size_t known)
{
    /* A larger size is garbage rather than a later version, and reading that far might fault. */
    const size_t plausible = 1024;
    if (size < known || size > plausible)
        return false;
    unsigned char appended = 0;
    for (size_t i = known; i < size; i++)
        appended |= ((const unsigned char *)structure)[i];
    return appended == 0;
}

__attribute__((cold)) inlay_status inlay_blame_field(inlay_fault *fault, inlay_status status, const char *field,
                                                     const char *reason)
{
    if (fault != NULL) {
        fault->field = field;
        fault->reason = reason != NULL ? reason : inlay_status_string(status);
    }
    return status;
}

inlay_status inlay_check_array(const void *data, size_t n, size_t element_bytes, struct inlay_extent *extent)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, element_bytes, &bytes))
        return INLAY_ERROR_OVERFLOW;
    return inlay_check_rows(data, 1, bytes, bytes, extent);
}

inlay_status inlay_check_read(const void *data, size_t n, size_t element_bytes, struct inlay_extent written)
{
    struct inlay_extent read;
    inlay_status status = inlay_check_array(data, n, element_bytes, &read);
    return status == INLAY_OK && inlay_extents_overlap(written, read) ? INLAY_ERROR_OVERLAP : status;
}
