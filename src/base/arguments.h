/* SPDX-License-Identifier: MIT */
/*
 * Which bytes an argument touches, whether two arguments overlap, and whether a struct is one that this version knows.
 * Nothing here computes in floating point: it runs in the caller's floating-point environment.
 */
#pragma once

#include <inlay/inlay.h>

#include <stdbool.h>

/* Returns whether this version, which knows `known` bytes of a struct that begins with its size, understands it: it is
   no smaller, and zero in what a later version appended. */
bool inlay_struct_known(const void *structure, size_t known);

/* The bytes [begin, end) that an array touches, with the gaps between rows; begin == end if it is empty. */
struct inlay_extent {
    uintptr_t begin, end;
};

/* Returns the extent of a struct, a number or a handle that takes `bytes`; it is empty for a null pointer. */
static inline struct inlay_extent inlay_bytes_at(const void *at, size_t bytes)
{
    return at == NULL ? (struct inlay_extent){0, 0} : (struct inlay_extent){(uintptr_t)at, (uintptr_t)at + bytes};
}

static inline bool inlay_extents_overlap(struct inlay_extent a, struct inlay_extent b)
{
    return a.begin < b.end && b.begin < a.end;
}

/* Makes *all reach over `one` too. */
static inline void inlay_reach_over(struct inlay_extent *all, struct inlay_extent one)
{
    if (one.begin < one.end) {
        all->begin = all->begin == all->end || one.begin < all->begin ? one.begin : all->begin;
        all->end = one.end > all->end ? one.end : all->end;
    }
}

/* Finds the extent of `rows` rows of `row_bytes` bytes, stride_bytes apart; INLAY_ERROR_STRIDE, _OVERFLOW or _NULL if
   there is none. */
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

/* Finds the extent of n > 0 elements that must be there; INLAY_ERROR_OVERFLOW or _NULL if there is none. */
inlay_status inlay_check_array(const void *data, size_t n, size_t element_bytes, struct inlay_extent *extent);

/* Checks such an array that is read; INLAY_ERROR_OVERLAP if it overlaps what is written. */
inlay_status inlay_check_read(const void *data, size_t n, size_t element_bytes, struct inlay_extent written);

/* Does the same if the array is there, and the checks before were good; inlined, since most arrays are absent. */
static inline inlay_status inlay_check_if_there(inlay_status before, const void *data, size_t n, size_t element_bytes,
                                                struct inlay_extent written)
{
    return before == INLAY_OK && data != NULL ? inlay_check_read(data, n, element_bytes, written) : before;
}
