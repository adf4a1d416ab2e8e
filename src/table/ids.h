/* SPDX-License-Identifier: MIT */
/*
 * Ids: unaligned loads, and finding the first one out of range.
 */
#pragma once

#include <inlay/inlay.h>

#include <stdbool.h>

/* Returns a value that was read from memory which another thread may change. Without the barrier, a compiler may read
   it once to compare it with a limit and again to use it. */
static inline uint64_t inlay_load_once(uint64_t value)
{
    __asm__ volatile("" : "+r"(value));
    return value;
}

/* Returns the bytes of one id; 0 for an invalid type. */
static inline size_t inlay_id_bytes(inlay_id_type type)
{
    static const unsigned char bytes[] = {[INLAY_ID_I32] = 4, [INLAY_ID_I64] = 8, [INLAY_ID_U8] = 1,
                                          [INLAY_ID_U16] = 2, [INLAY_ID_I16] = 2, [INLAY_ID_U32] = 4};
    return (unsigned)type < sizeof bytes ? bytes[type] : 0;
}

/* Integers in memory, unaligned and of any effective type. */
typedef int16_t inlay_i16_in_memory __attribute__((aligned(1), may_alias));
typedef uint16_t inlay_u16_in_memory __attribute__((aligned(1), may_alias));
typedef int32_t inlay_i32_in_memory __attribute__((aligned(1), may_alias));
typedef uint32_t inlay_u32_in_memory __attribute__((aligned(1), may_alias));
typedef int64_t inlay_i64_in_memory __attribute__((aligned(1), may_alias));

/* Returns ids[i]. */
static inline int64_t inlay_id_at(const void *ids, inlay_id_type type, size_t i)
{
    switch (type) {
    case INLAY_ID_U8:
        return ((const unsigned char *)ids)[i];
    case INLAY_ID_I16:
        return ((const inlay_i16_in_memory *)ids)[i];
    case INLAY_ID_U16:
        return ((const inlay_u16_in_memory *)ids)[i];
    case INLAY_ID_I32:
        return ((const inlay_i32_in_memory *)ids)[i];
    case INLAY_ID_U32:
        return ((const inlay_u32_in_memory *)ids)[i];
    case INLAY_ID_I64:
        return ((const inlay_i64_in_memory *)ids)[i];
    }
    return -1;
}

/* Returns the index of the first of n ids that is not in [0, rows), or n if all are. */
size_t inlay_first_bad_id(const void *ids, inlay_id_type type, size_t n, size_t rows);
