/* SPDX-License-Identifier: MIT */
/*
 * A cap of the bytes of mapped files that are resident in this process. Pages beyond it are dropped from the process,
 * not from the system's cache, by madvise(MADV_DONTNEED) on one slice of the mappings after the other, which costs 0.1
 * to 0.2 us a page; reading them again maps them again. Threads that read meanwhile see no difference but that.
 *
 * The system does not tell cheaply how much of a mapping is resident. What is kept here is an upper bound. Calls add
 * what page faults can bring in their time, and where that might exceed the cap, it is replaced by what the file pages
 * of the whole process have grown, from /proc/self/statm. So file pages of others count too when they come, and are
 * forgotten when the slices have passed all mappings.
 */
#pragma once

#include "mapping.h"

#include <stdatomic.h>

/** All zero: no cap. */
struct inlay_cap {
    const struct inlay_mapping *mappings; /**< [count], which outlive it */
    size_t count;
    size_t bytes;           /**< that may be resident; 0: any number */
    size_t enough;          /**< bytes above which calls begin to drop pages */
    atomic_size_t resident; /**< at most so many bytes were when somebody last looked; stored by who trims */
    atomic_size_t unseen;   /**< that have become resident since then, at most */
    atomic_flag trimming;   /**< a thread looks or drops pages; the fields below are its own */
    size_t page;            /**< bytes of a page of the system */
    size_t total;           /**< bytes of all mappings */
    size_t shared;          /**< bytes of file pages of this process, when last looked; SIZE_MAX if nobody tells */
    size_t grown;           /**< of `resident`, what came since the slices began with the first mapping */
    size_t mapping, offset; /**< where the next slice begins */
};

/** Prepares the mappings of a file for a cap on a system with pages of `page` bytes. */
void inlay_cap_start(struct inlay_cap *cap, const struct inlay_mapping *mappings, size_t count, size_t bytes,
                     size_t page);

/** Adds the time of a call, `intervals` times INLAY_SLOW_NS, and drops pages until no more than the cap are resident.
    A thread that finds another one dropping leaves that to it. Does nothing without a cap. */
void inlay_cap_grow(struct inlay_cap *cap, double intervals);
