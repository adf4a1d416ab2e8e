/* SPDX-License-Identifier: MIT */
/*
 * Validation of positions as bits, which raises no floating-point exception in the caller's environment.
 */
#include "positions/list.h"

#include "base/bits.h"
#include "table/ids.h"

size_t inlay_position_bytes(inlay_position_type type)
{
    static const unsigned char bytes[] = {[INLAY_POSITION_I64] = sizeof(int64_t),
                                          [INLAY_POSITION_F32] = sizeof(float),
                                          [INLAY_POSITION_F64] = sizeof(double)};
    return (unsigned)type < sizeof bytes ? bytes[type] : 0;
}

/* Returns the bits of position i and sets *valid. Floating-point numbers are compared as integers, without their signs.
   Each position is loaded once, since another thread may change it. */
static uint64_t load_position(const void *positions, inlay_position_type type, size_t i, bool *valid)
{
    const uint64_t limit_f32 = UINT64_C(0x4f000000), limit_f64 = UINT64_C(0x41e0000000000000); /* 2^31 */
    const bool narrow = type == INLAY_POSITION_F32;
    const uint64_t bits = inlay_load_once((uint64_t)inlay_id_at(positions, narrow ? INLAY_ID_U32 : INLAY_ID_I64, i));
    if (type == INLAY_POSITION_I64)
        *valid = bits + INLAY_POSITION_LIMIT - 1 < 2 * (uint64_t)INLAY_POSITION_LIMIT - 1;
    else
        *valid = narrow ? (bits & INT32_MAX) < limit_f32 : (bits & INT64_MAX) < limit_f64;
    return bits;
}

size_t inlay_first_bad_position(const void *positions, inlay_position_type type, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool valid;
        load_position(positions, type, i, &valid);
        if (!valid)
            return i;
    }
    return n;
}

double inlay_position_at(const void *positions, inlay_position_type type, size_t i)
{
    bool valid;
    uint64_t bits = load_position(positions, type, i, &valid);
    if (!valid)
        return 0;
    if (type == INLAY_POSITION_I64)
        return (double)(int64_t)bits;
    return type == INLAY_POSITION_F32 ? inlay_f32_of_bits((uint32_t)bits) : inlay_f64_of_bits(bits);
}

bool inlay_positions_in(int64_t start, size_t n, uint64_t limit, inlay_fault *fault)
{
    uint64_t first = (uint64_t)start; /* a negative start exceeds every limit */
    if (first <= limit && n <= limit - first)
        return true;
    /* A start below the limit reaches it after limit - first tokens; any other start is itself the first bad one. */
    size_t token = first < limit ? (size_t)(limit - first) : 0;
    *fault = (inlay_fault){.token = token, .value = (int64_t)(first + token)};
    return false;
}
