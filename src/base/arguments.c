/* SPDX-License-Identifier: MIT */
/*
 * The checks of arguments.h.
 */
#include "base/arguments.h"

#include <string.h>

bool inlay_struct_known(const void *structure, size_t known)
{
    /* A size beyond this is garbage rather than a later version, and reading so far might fault. */
    const size_t plausible = 1024;
    size_t size;
    memcpy(&size, structure, sizeof size);
    if (size < known || size > plausible)
        return false;
    unsigned char appended = 0;
    for (size_t i = known; i < size; i++)
        appended |= ((const unsigned char *)structure)[i];
    return appended == 0;
}

inlay_status inlay_check_rows(const void *data, size_t rows, size_t row_bytes, size_t stride_bytes,
                              struct inlay_extent *extent)
{
    size_t bytes;
    if (stride_bytes < row_bytes)
        return INLAY_ERROR_STRIDE;
    if (rows == 0)
        return INLAY_OK;
    if (__builtin_mul_overflow(rows - 1, stride_bytes, &bytes) || __builtin_add_overflow(bytes, row_bytes, &bytes))
        return INLAY_ERROR_OVERFLOW;
    if (data == NULL)
        return INLAY_ERROR_NULL;
    extent->begin = (uintptr_t)data;
    if (__builtin_add_overflow(extent->begin, bytes, &extent->end) || bytes > PTRDIFF_MAX)
        return INLAY_ERROR_OVERFLOW;
    return INLAY_OK;
}

inlay_status inlay_check_array(const void *data, size_t n, size_t element_bytes, struct inlay_extent *extent)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, element_bytes, &bytes))
        return INLAY_ERROR_OVERFLOW;
    return inlay_check_rows(data, 1, bytes, bytes, extent);
}
