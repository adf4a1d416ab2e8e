/* SPDX-License-Identifier: MIT */
/*
 * Limits the bytes of mapped files that are resident in this process. Excess pages are dropped from the process, not
 * from the system's cache, by madvise(MADV_DONTNEED) on one slice of the mappings after another, at 0.1 to 0.2 us per
 * page. Reading them maps them again, which is all that other threads notice.
 *
 * There is no cheap way to query how much of a mapping is resident, so an upper bound is kept. Calls add the most that
 * page faults can bring in during their time. If the bound might exceed the limit, it is replaced by the growth of the
 * process's file pages, from /proc/self/statm. That growth includes other files' pages; they are discounted once the
 * slices have passed all mappings.
 */
#pragma once

#include "mapping.h"

#include <stdatomic.h>

/** All zero: no limit. */
struct inlay_cap {
    const struct inlay_mapping *mappings; /**< [count], which must outlive the cap */
    size_t count;
    size_t bytes;           /**< limit of resident bytes; 0: none */
    size_t enough;          /**< bytes above which calls start to drop pages */
    atomic_size_t resident; /**< upper bound of resident bytes at the last check; stored by the trimming thread */
    atomic_size_t unseen;   /**< upper bound of the bytes that became resident since then */
    atomic_flag trimming;   /**< a thread is checking or dropping pages; it owns the fields below */
    size_t page;            /**< page size of the system */
    size_t total;           /**< bytes of all mappings */
    size_t shared;          /**< file pages of this process at the last check, in bytes; SIZE_MAX if unavailable */
    size_t grown;           /**< part of `resident` added since the slices restarted at the first mapping */
    size_t mapping, offset; /**< start of the next slice */
};

/** Prepares a file's mappings for a limit, on a system with pages of `page` bytes. */
void inlay_cap_start(struct inlay_cap *cap, const struct inlay_mapping *mappings, size_t count, size_t bytes,
                     size_t page);

/** Adds the time of a call, `intervals` times INLAY_SLOW_NS, and drops pages until at most the limit is resident.
   Leaves that to another thread if one is already doing it. Does nothing without a limit. */
void inlay_cap_grow(struct inlay_cap *cap, double intervals);
