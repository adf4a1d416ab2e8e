/* SPDX-License-Identifier: MIT */
/*
 * The version and the status strings.
 */
#include <inlay/base.h>

#define TEXT_OF(x) TEXT(x)
#define TEXT(x) #x

const char *inlay_version(void)
{
    return TEXT_OF(INLAY_VERSION_MAJOR) "." TEXT_OF(INLAY_VERSION_MINOR) "." TEXT_OF(INLAY_VERSION_PATCH);
}

static const char *const sentences[] = {
    [INLAY_OK] = "success",
    [INLAY_ERROR_NULL] = "a required pointer is null",
    [INLAY_ERROR_SHAPE] = "dim is 0, too large or odd where it must be even, or two dims that must agree do not",
    [INLAY_ERROR_STRIDE] = "stride_bytes is smaller than one row",
    [INLAY_ERROR_OVERFLOW] = "the bytes of an array do not fit in the address space",
    [INLAY_ERROR_OVERLAP] = "an output overlaps an input or another output",
    [INLAY_ERROR_ID] = "an id is negative or not below the rows of its table or vocabulary",
    [INLAY_ERROR_POSITION] = "a position is negative, not below 2^31, not a number or past the table of positions",
    [INLAY_ERROR_BASE] = "base is not a number from 1 to 1e30",
    [INLAY_ERROR_OPTION] =
        "a struct size, enum value, reserved field or number is not allowed, or two fields exclude each other",
    [INLAY_ERROR_NO_MEMORY] = "the allocator returned no memory",
    [INLAY_ERROR_OFFSETS] = "offsets do not begin at 0, decrease, do not end at the number of tokens or leave no room",
    [INLAY_ERROR_SEGMENT] = "a segment id is negative or not below the rows of its table",
    [INLAY_ERROR_HISTORY] =
        "a history is too long, has an id outside of the vocabulary, or too many tokens are accepted",
};

const char *inlay_status_string(inlay_status status)
{
    const size_t known = sizeof sentences / sizeof *sentences;
    return (size_t)status < known ? sentences[status] : "not a status of this version";
}
