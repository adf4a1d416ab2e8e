/* SPDX-License-Identifier: MIT */
/*
 * Huge pages on systems without such advice: arguments are checked, nothing else happens.
 */
#include "base/arguments.h"

static inlay_status advise_nothing(const void *data, size_t bytes, size_t *accepted_bytes)
{
    struct inlay_extent array;
    const inlay_status status = bytes == 0 ? INLAY_OK : inlay_check_array(data, bytes, 1, &array);
    if (status == INLAY_OK && accepted_bytes != NULL)
        *accepted_bytes = 0;
    return status;
}

size_t inlay_huge_pages_bytes(void)
{
    return 0;
}

inlay_status inlay_huge_pages_advise(const void *data, size_t bytes, size_t *advised_bytes)
{
    return advise_nothing(data, bytes, advised_bytes);
}

inlay_status inlay_huge_pages_collapse(const void *data, size_t bytes, size_t *huge_bytes)
{
    return advise_nothing(data, bytes, huge_bytes);
}
