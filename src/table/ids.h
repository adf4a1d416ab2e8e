/* SPDX-License-Identifier: MIT */
/*
 * Ids: reading them from any address, and finding the first that is out of range.
 */
#ifndef INLAY_TABLE_IDS_H
#define INLAY_TABLE_IDS_H

#include <inlay/inlay.h>

#include <stdbool.h>
#include <string.h>

/* Returns a value that was read from memory which another thread may change. Without the barrier a compiler may read it
   once to compare it with a limit and once more to use it. */
static inline uint64_t inlay_load_once(uint64_t value)
{
    __asm__ volatile("" : "+r"(value));
    return value;
}

/* Returns the bytes of one id; 0 for a value that is no type. */
static inline size_t inlay_id_bytes(inlay_id_type type)
{
    static const unsigned char bytes[] = {[INLAY_ID_I32] = 4, [INLAY_ID_I64] = 8, [INLAY_ID_U8] = 1,
                                          [INLAY_ID_U16] = 2, [INLAY_ID_I16] = 2, [INLAY_ID_U32] = 4};
    return (unsigned)type < sizeof bytes ? bytes[type] : 0;
}

/* Returns ids[i], from any address. */
static inline int64_t inlay_id_at(const void *ids, inlay_id_type type, size_t i)
{
    const unsigned char *at = (const unsigned char *)ids + i * inlay_id_bytes(type);
    union {
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
    } id;
    switch (type) {
    case INLAY_ID_U8:
        return *at;
    case INLAY_ID_I16:
        memcpy(&id.i16, at, sizeof id.i16);
        return id.i16;
    case INLAY_ID_U16:
        memcpy(&id.u16, at, sizeof id.u16);
        return id.u16;
    case INLAY_ID_I32:
        memcpy(&id.i32, at, sizeof id.i32);
        return id.i32;
    case INLAY_ID_U32:
        memcpy(&id.u32, at, sizeof id.u32);
        return id.u32;
    case INLAY_ID_I64:
        memcpy(&id.i64, at, sizeof id.i64);
        return id.i64;
    }
    return -1;
}

/* Returns the index of the first of n ids that is not in [0, rows), or n if all are. */
size_t inlay_first_bad_id(const void *ids, inlay_id_type type, size_t n, size_t rows);

#endif
