/* SPDX-License-Identifier: MIT */
/*
 * The version, and a sentence for each status.
 */
#include <inlay/base.h>

#define TEXT_OF(x) TEXT(x)
#define TEXT(x) #x

const char *inlay_version(void)
{
    return TEXT_OF(INLAY_VERSION_MAJOR) "." TEXT_OF(INLAY_VERSION_MINOR) "." TEXT_OF(INLAY_VERSION_PATCH);
}

const char *inlay_status_string(inlay_status status)
{
    switch (status) {
    case INLAY_OK:
        return "success";
    case INLAY_ERROR_NULL:
        return "a required pointer is null";
    case INLAY_ERROR_SHAPE:
        return "dim is 0, too large or odd where it must be even, or two dims that must agree do not";
    case INLAY_ERROR_STRIDE:
        return "stride_bytes is smaller than one row";
    case INLAY_ERROR_OVERFLOW:
        return "the bytes of an array do not fit in the address space";
    case INLAY_ERROR_OVERLAP:
        return "the output overlaps an input";
    case INLAY_ERROR_ID:
        return "an id is negative or not below the rows of its table";
    case INLAY_ERROR_POSITION:
        return "a position is negative, not below 2^31, not a number or past the table of positions";
    case INLAY_ERROR_BASE:
        return "base is not a number from 1 to 1e30";
    case INLAY_ERROR_OPTION:
        return "a struct size, enum value, reserved field or number is none of those allowed, or two fields exclude "
               "each other";
    case INLAY_ERROR_NO_MEMORY:
        return "the allocator had no memory";
    case INLAY_ERROR_OFFSETS:
        return "offsets do not begin at 0, fall, do not end at the number of tokens or leave no room";
    case INLAY_ERROR_SEGMENT:
        return "a segment is negative or not below the rows of its table";
    }
    return "not a status of this version";
}
