/* SPDX-License-Identifier: MIT */
/*
 * Finding the first bad id.
 */
#include "table/ids.h"

/* Returns true if any id is out of range. One unsigned comparison also finds negative ids. The loop has no exit, and
   its type is a constant at each call, so compilers vectorize it; only a block with a bad id is read again. */
static inline __attribute__((always_inline)) bool any_bad(const void *ids, inlay_id_type type, size_t n, uint64_t limit)
{
    bool narrow = inlay_id_bytes(type) < 8;
    uint32_t limit_32 = limit <= UINT32_MAX ? (uint32_t)limit : UINT32_MAX, bad_32 = 0;
    uint64_t bad_64 = 0;
    for (size_t i = 0; i < n; i++) {
        if (narrow)
            bad_32 |= (uint32_t)inlay_id_at(ids, type, i) >= limit_32;
        else
            bad_64 |= (uint64_t)inlay_id_at(ids, type, i) >= limit;
    }
    return (bad_32 | bad_64) != 0;
}

static bool any_bad_of(const void *ids, inlay_id_type type, size_t n, uint64_t limit)
{
    switch (type) {
    case INLAY_ID_U8:
        return any_bad(ids, INLAY_ID_U8, n, limit);
    case INLAY_ID_I16:
        return any_bad(ids, INLAY_ID_I16, n, limit);
    case INLAY_ID_U16:
        return any_bad(ids, INLAY_ID_U16, n, limit);
    case INLAY_ID_I32: /* negative ids exceed its limit */
    case INLAY_ID_U32:
        return any_bad(ids, INLAY_ID_U32, n, limit);
    case INLAY_ID_I64:
        break;
    }
    return any_bad(ids, INLAY_ID_I64, n, limit);
}

size_t inlay_first_bad_id(const void *ids, inlay_id_type type, size_t n, size_t rows)
{
    /* No id exceeds these; with larger limits negative ids would pass the unsigned comparison. */
    uint64_t most = type == INLAY_ID_I64   ? (uint64_t)INT64_MAX + 1
                    : type == INLAY_ID_U32 ? UINT64_C(1) << 32
                                           : 1u << 31;
    uint64_t limit = rows < most ? rows : most;
    const size_t block = 4096;
    for (size_t first = 0; first < n; first += block) {
        size_t count = n - first < block ? n - first : block;
        const void *at = (const unsigned char *)ids + first * inlay_id_bytes(type);
        if (!any_bad_of(at, type, count, limit))
            continue;
        for (size_t i = first; i < first + count; i++)
            if ((uint64_t)inlay_id_at(ids, type, i) >= limit)
                return i;
    }
    return n;
}
