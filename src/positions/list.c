/* SPDX-License-Identifier: MIT */
/*
 * Reading and validation of positions.
 */
#include "positions/list.h"

#include "table/ids.h"

#include <string.h>

size_t inlay_position_bytes(inlay_position_type type)
{
    switch (type) {
    case INLAY_POSITION_I64:
    case INLAY_POSITION_F64:
        return 8;
    case INLAY_POSITION_F32:
        return 4;
    }
    return 0;
}

/* Position i as the bits it has, which tell whether it is one: numbers are compared as such, without their signs. Read
   once, in a register from then on: another thread may change it. */
static uint64_t position_bits(const void *positions, inlay_position_type type, size_t i, bool *valid)
{
    const unsigned char *at = (const unsigned char *)positions + i * inlay_position_bytes(type);
    const uint32_t limit_f32 = 0x4f000000;                   /* 2^31 */
    const uint64_t limit_f64 = UINT64_C(0x41e0000000000000); /* 2^31 */
    uint64_t bits;
    if (type == INLAY_POSITION_F32) {
        uint32_t narrow;
        memcpy(&narrow, at, sizeof narrow);
        __asm__ volatile("" : "+r"(narrow));
        *valid = (narrow & INT32_MAX) < limit_f32;
        return narrow;
    }
    memcpy(&bits, at, sizeof bits);
    __asm__ volatile("" : "+r"(bits));
    *valid = type == INLAY_POSITION_I64 ? bits < (uint64_t)INLAY_POSITION_LIMIT : (bits & INT64_MAX) < limit_f64;
    return bits;
}

size_t inlay_first_bad_position(const void *positions, inlay_position_type type, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool valid;
        position_bits(positions, type, i, &valid);
        if (!valid)
            return i;
    }
    return n;
}

double inlay_position_at(const void *positions, inlay_position_type type, size_t i)
{
    bool valid;
    uint64_t bits = position_bits(positions, type, i, &valid);
    if (!valid)
        return 0;
    if (type == INLAY_POSITION_I64)
        return (double)bits;
    if (type == INLAY_POSITION_F32) {
        uint32_t narrow = (uint32_t)bits;
        float single;
        memcpy(&single, &narrow, sizeof single);
        return single;
    }
    double position;
    memcpy(&position, &bits, sizeof position);
    return position;
}

bool inlay_positions_in(int64_t start, size_t n, uint64_t limit, inlay_fault *fault)
{
    uint64_t first = (uint64_t)start; /* a negative one lies past every limit */
    if (first <= limit && n <= limit - first)
        return true;
    /* A start before the limit reaches it after limit - first tokens; any other is itself the first bad one. */
    size_t token = first < limit ? (size_t)(limit - first) : 0;
    *fault = (inlay_fault){0, token, (int64_t)(first + token)};
    return false;
}
