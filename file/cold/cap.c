/* SPDX-License-Identifier: MIT */
/*
 * The limit of resident bytes. Dropping starts at three quarters of it, one slice per call, so no call takes long.
 * Above the limit, a single call drops as many slices as necessary.
 */
#include "cold/cap.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Bytes that faults can make resident in INLAY_SLOW_NS, at 4 ns per page. Counting faults wouldn't help: one also maps
   the surrounding cached pages, 64 KiB or a folio of up to 2 MiB, which takes 4 us and more. */
enum { MAX_PAGES = 2560 };

/* Resident bytes that a slice should drop, in 0.2 ms, and the minimum length of a slice. */
#define SLICE_RESIDENT ((size_t)4 << 20)
#define MIN_SLICE ((size_t)2 << 20)

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Returns the bytes of file pages resident in this process, the third number of statm; SIZE_MAX if unavailable. */
static size_t read_shared(size_t page)
{
    char text[128], *at = text;
    unsigned long long pages = 0;
    const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return SIZE_MAX;
    const ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = '\0';
    for (int number = 0; number < 3; number++) {
        const char *const begin = at;
        pages = strtoull(begin, &at, 10);
        if (at == begin)
            return SIZE_MAX;
    }
    return (size_t)pages * page;
}

void inlay_cap_start(struct inlay_cap *cap, const struct inlay_mapping *mappings, size_t count, size_t bytes,
                     size_t page)
{
    *cap = (struct inlay_cap){.mappings = mappings,
                              .count = count,
                              .bytes = bytes,
                              .enough = bytes - bytes / 4,
                              .trimming = ATOMIC_FLAG_INIT,
                              .page = page};
    if (bytes == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        cap->total += mappings[i].size;
#ifdef MADV_NOHUGEPAGE
        madvise((void *)(uintptr_t)mappings[i].bytes, mappings[i].size, MADV_NOHUGEPAGE); /* a fault would map one */
#endif
    }
    cap->shared = read_shared(cap->page);
}

/* Corrects the bounds by the system's numbers. If the process has fewer file pages than before, other files' pages may
   have been dropped while this file's were added. */
static void look(struct inlay_cap *cap)
{
    const size_t unseen = atomic_exchange_explicit(&cap->unseen, 0, memory_order_relaxed), before = cap->shared;
    cap->shared = read_shared(cap->page);
    const bool is_known = cap->shared != SIZE_MAX && cap->shared >= before;
    const size_t more = is_known ? cap->shared - before : unseen;
    cap->grown += more;
    cap->resident = smaller(cap->resident + more, cap->shared);
}

/* Drops the next slice, which should have `want` resident bytes, and returns its length. */
static size_t drop_slice(struct inlay_cap *cap, size_t want)
{
    const struct inlay_mapping *mapping = &cap->mappings[cap->mapping];
    const size_t before = cap->shared, resident = cap->resident;
    const double share = (double)smaller(want, SLICE_RESIDENT) / (double)resident;
    size_t slice = (size_t)(share * (double)cap->total) & -MIN_SLICE;
    slice = smaller(slice > 0 ? slice : MIN_SLICE, mapping->size - cap->offset);
    madvise((void *)((uintptr_t)mapping->bytes + cap->offset), slice, MADV_DONTNEED);

    cap->shared = read_shared(cap->page);
    cap->resident = resident - smaller(resident, cap->shared < before ? before - cap->shared : 0);
    cap->offset += slice;
    if (cap->offset == mapping->size) {
        cap->offset = 0;
        cap->mapping = (cap->mapping + 1) % cap->count;
        if (cap->mapping == 0) { /* everything resident when the slices began has been dropped */
            cap->resident = smaller(cap->resident, cap->grown);
            cap->grown = 0;
        }
    }
    return slice;
}

static void trim(struct inlay_cap *cap)
{
    look(cap);
    for (size_t passed = 0; passed < cap->total && cap->resident > cap->enough;) {
        passed += drop_slice(cap, cap->resident - cap->enough);
        if (cap->resident <= cap->bytes)
            break;
    }
}

void inlay_cap_grow(struct inlay_cap *cap, double intervals)
{
    if (cap->bytes == 0)
        return;
    const double most = intervals * MAX_PAGES * (double)cap->page;
    const size_t bytes = most < (double)cap->total ? (size_t)most : cap->total;
    const size_t unseen = atomic_fetch_add_explicit(&cap->unseen, bytes, memory_order_relaxed) + bytes;
    const size_t resident = cap->resident;
    if (resident <= cap->enough && unseen <= cap->bytes - resident)
        return;
    if (atomic_flag_test_and_set_explicit(&cap->trimming, memory_order_acquire))
        return;
    trim(cap);
    atomic_flag_clear_explicit(&cap->trimming, memory_order_release);
}
