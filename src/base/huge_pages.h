/* SPDX-License-Identifier: MIT */
/*
 * The size of a huge page, which the system states or which follows from the size of its pages.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

/* What inlay_huge_pages_bytes() has found; 0: nothing yet. Only tests write another size. */
extern _Atomic(size_t) inlay_shared_huge_pages_bytes;

/* Returns the size that a text of the system states, one line with a number; or, for null and for what cannot be, what
   one page full of page table entries maps, of 8 bytes each, as on x86-64 and aarch64. */
size_t inlay_huge_pages_bytes_of(const char *text, size_t page_bytes);
