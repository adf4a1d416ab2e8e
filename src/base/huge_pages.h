/* SPDX-License-Identifier: MIT */
/*
 * The size of a huge page.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

/* Cached result of inlay_huge_pages_bytes(); 0: none yet. Only tests set another size. */
extern _Atomic(size_t) inlay_shared_huge_pages_bytes;

/* Parses the size from one line of sysfs. For null and implausible text, returns the memory mapped by one page full of
   8-byte page table entries, which is the size of a huge page on x86-64 and aarch64. */
size_t inlay_huge_pages_bytes_of(const char *text, size_t page_bytes);
