/* SPDX-License-Identifier: MIT */
/*
 * Checks of what callers hand in, and reading of their ids. Included by the public functions; computes no output and
 * does no floating-point operation, since it runs in the host's floating-point environment.
 */
#ifndef INLAY_VALIDATE_H
#define INLAY_VALIDATE_H

#include <inlay/inlay.h>

#include <stdbool.h>
#include <string.h>

/* Whether a struct that begins with its size is one that this version, which knows `known` bytes of it, understands:
   no smaller, and zero in what a later version appended. */
bool inlay_struct_known(const void *structure, size_t known);

/* The bytes [begin, end) that an array touches, gaps between rows included; begin == end where it is empty. */
struct inlay_extent {
    uintptr_t begin, end;
};

/* The extent of so many bytes, or INLAY_OVERFLOW past the end of the address space. */
inlay_status inlay_extent_of(const void *data, size_t bytes, struct inlay_extent *extent);

static inline bool inlay_extents_overlap(struct inlay_extent a, struct inlay_extent b)
{
    return a.begin < b.end && b.begin < a.end;
}

/* The bytes of one element of an output; 0 for a type that is none of theirs. */
size_t inlay_type_bytes(inlay_type type);

/* The bytes of a stored row before a column that is a multiple of 32 or, of floats, any. */
size_t inlay_bytes_before(inlay_type type, size_t column);

/* Whether low <= x <= high, for 0 <= low; not for NaN. */
bool inlay_double_in(double x, double low, double high);

/* Whether low <= x <= high, for 0 <= low; not for NaN. A float that becomes a double would be an operation. */
bool inlay_float_in(float x, float low, float high);

/* Whether a < b, neither being negative; a NaN counts as larger than every number. */
bool inlay_double_less(double a, double b);

/* Whether x is 0 or -0. */
bool inlay_double_is_zero(double x);

/* The extent of rows [rows, dim] of a type: INLAY_OPTION, INLAY_SHAPE, INLAY_STRIDE, INLAY_OVERFLOW or INLAY_NULL where
   there is none. */
inlay_status inlay_check_extent(const void *data, size_t rows, size_t dim, inlay_type type, size_t stride_bytes,
                                struct inlay_extent *extent);

/* What a table's arrays touch; those that it has not touch nothing. */
struct inlay_table_extents {
    struct inlay_extent data, scales, zeros;
};

/* The same for a view of any type, whose fields are checked too. */
inlay_status inlay_check_rows(const inlay_rows *rows, struct inlay_table_extents *extents);

bool inlay_table_overlaps(struct inlay_extent a, const struct inlay_table_extents *table);

/* The bytes of one id; 0 for a type that is none. */
static inline size_t inlay_id_bytes(inlay_id_type type)
{
    switch (type) {
    case INLAY_ID_U8:
        return 1;
    case INLAY_ID_I16:
    case INLAY_ID_U16:
        return 2;
    case INLAY_ID_I32:
    case INLAY_ID_U32:
        return 4;
    case INLAY_ID_I64:
        return 8;
    }
    return 0;
}

/* The extent of n > 0 elements that must be there. */
inlay_status inlay_check_array(const void *data, size_t n, size_t element_bytes, struct inlay_extent *extent);

/* ids[i], from any address. Here, since it is done for every token. */
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

/* The index of the first of n ids that is not in [0, rows); n where all are. */
size_t inlay_first_bad_id(const void *ids, inlay_id_type type, size_t n, size_t rows);

/* The bytes of one position of a list; 0 for a type that is none. */
size_t inlay_position_bytes(inlay_position_type type);

/* The index of the first of n positions that is none: an integer outside [0, 2^31), a real number of 2^31 or more in
   magnitude or not a number; n where all are good. */
size_t inlay_first_bad_position(const void *positions, inlay_position_type type, size_t n);

/* positions[i], from any address; 0 where it is none, as another thread may have made it since it was checked. Converts
   between floating-point types: for the guarded environment. */
double inlay_position_at(const void *positions, inlay_position_type type, size_t i);

/* Whether positions [start, start + n) lie in [0, limit); where not, *fault tells the first that does not. */
bool inlay_positions_in(int64_t start, size_t n, uint64_t limit, inlay_fault *fault);

#endif
