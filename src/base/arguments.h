/* SPDX-License-Identifier: MIT */
/*
 * Argument checks: the bytes that an argument touches, overlap of arguments, and structs of other versions. Nothing
 * here uses floating point, since it runs in the caller's floating-point environment.
 */
#pragma once

#include <inlay/inlay.h>

#include <stdbool.h>
#include <string.h>

/* Returns true if a struct of `size` bytes is no smaller than the `known` ones, and the bytes after these are zero. */
bool inlay_struct_extends(const void *structure, size_t size, size_t known);

/* Returns true if a struct, which begins with its size, is usable by this version, which has `known` bytes of it.
   Inlined, since most structs are of this version. */
static inline bool inlay_struct_known(const void *structure, size_t known)
{
    size_t size;
    memcpy(&size, structure, sizeof size);
    return size == known || inlay_struct_extends(structure, size, known);
}

/* The reason of a field `size` that inlay_struct_known() rejects. */
#define INLAY_SIZE_UNKNOWN "is not the size of the struct, or a later version's fields are set"

/* Sets the field of a fault, which may be null, and the reason; null: what the status says. Returns the status. */
inlay_status inlay_blame_field(inlay_fault *fault, inlay_status status, const char *field, const char *reason);

/* Does so if the status is an error. Inlined, since most checks succeed. */
static inline inlay_status inlay_blame(inlay_fault *fault, inlay_status status, const char *field, const char *reason)
{
    return __builtin_expect(status == INLAY_OK, 1) ? status : inlay_blame_field(fault, status, field, reason);
}

/* The bytes [begin, end) that an array touches, including the gaps between rows; begin == end if it is empty. */
struct inlay_extent {
    uintptr_t begin, end;
};

/* Returns the extent of a struct, number or handle of `bytes` bytes; empty for a null pointer. */
static inline struct inlay_extent inlay_bytes_at(const void *at, size_t bytes)
{
    return at == NULL ? (struct inlay_extent){0, 0} : (struct inlay_extent){(uintptr_t)at, (uintptr_t)at + bytes};
}

static inline bool inlay_extents_overlap(struct inlay_extent a, struct inlay_extent b)
{
    return a.begin < b.end && b.begin < a.end;
}

/* Extends *all to include `one`. */
static inline void inlay_reach_over(struct inlay_extent *all, struct inlay_extent one)
{
    if (one.begin < one.end) {
        all->begin = all->begin == all->end || one.begin < all->begin ? one.begin : all->begin;
        all->end = one.end > all->end ? one.end : all->end;
    }
}

/* Computes the extent of `rows` rows of `row_bytes` bytes, stride_bytes apart. Returns INLAY_ERROR_STRIDE, _OVERFLOW or
   _NULL if they are invalid. */
static inline inlay_status inlay_check_rows(const void *data, size_t rows, size_t row_bytes, size_t stride_bytes,
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

/* Computes the extent of a required array of n > 0 elements. Returns INLAY_ERROR_OVERFLOW or _NULL if it is invalid. */
inlay_status inlay_check_array(const void *data, size_t n, size_t element_bytes, struct inlay_extent *extent);

/* Checks a required array that is read. Returns INLAY_ERROR_OVERLAP if it overlaps `written`. */
inlay_status inlay_check_read(const void *data, size_t n, size_t element_bytes, struct inlay_extent written);

/* Same for an optional array, after the checks `before`; blames `field`. Inlined, since most arrays are absent. */
static inline inlay_status inlay_check_if_there(inlay_status before, inlay_fault *fault, const char *field,
                                                const void *data, size_t n, size_t element_bytes,
                                                struct inlay_extent written)
{
    if (before != INLAY_OK || data == NULL)
        return before;
    return inlay_blame(fault, inlay_check_read(data, n, element_bytes, written), field, NULL);
}
