/* SPDX-License-Identifier: MIT */
/*
 * Memory of handles, from the caller's allocator or malloc.
 */
#pragma once

#include <inlay/inlay.h>

/* Copies the caller's allocator, or malloc and free if that is null; INLAY_ERROR_NULL if it lacks a function. */
inlay_status inlay_allocator_of(const inlay_allocator *allocator, inlay_allocator *chosen);
