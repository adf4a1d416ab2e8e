/* SPDX-License-Identifier: MIT */
/*
 * Memory for handles, from the caller's allocator or malloc.
 */
#pragma once

#include <inlay/inlay.h>

/* Copies the caller's allocator, or malloc and free if it is null. Returns INLAY_ERROR_NULL if a function is missing.
 */
inlay_status inlay_allocator_of(const inlay_allocator *allocator, inlay_allocator *chosen);
