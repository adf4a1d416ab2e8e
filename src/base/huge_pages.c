/* SPDX-License-Identifier: MIT */
/*
 * Huge pages for the caller's memory: MADV_HUGEPAGE and MADV_COLLAPSE. Nothing here reads or writes the memory itself.
 */
#include "base/huge_pages.h"

#include "base/arguments.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* Since Linux 6.1. C libraries are often older than the running kernel. */
#if defined(__linux__) && !defined(MADV_COLLAPSE)
#define MADV_COLLAPSE 25
#endif

/* Rejected by every system. */
enum { NO_ADVICE = -1 };
#ifndef MADV_HUGEPAGE
#define MADV_HUGEPAGE NO_ADVICE
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE NO_ADVICE
#endif

_Atomic(size_t) inlay_shared_huge_pages_bytes;

size_t inlay_huge_pages_bytes_of(const char *text, size_t page_bytes)
{
    const size_t most = (size_t)1 << 30, filled = page_bytes / 8 * page_bytes;
    size_t stated = 0;
    for (; text != NULL && *text >= '0' && *text <= '9' && stated <= most; text++)
        stated = stated * 10 + (size_t)(*text - '0');
    const bool whole_line = text != NULL && (*text == '\n' || *text == '\0');
    const bool plausible = stated > page_bytes && stated <= most && (stated & (stated - 1)) == 0;
    return whole_line && plausible ? stated : filled;
}

/* Reads a small sysfs file, which takes one read, as text; empty if it cannot be read. Preserves errno. */
static void read_text(const char *path, char *text, size_t size)
{
    const int host_errno = errno, file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = file >= 0 ? read(file, text, size - 1) : 0;
    text[got > 0 ? got : 0] = '\0';
    if (file >= 0)
        close(file);
    errno = host_errno;
}

size_t inlay_huge_pages_bytes(void)
{
    size_t found = atomic_load_explicit(&inlay_shared_huge_pages_bytes, memory_order_relaxed);
    if (found == 0) {
        char text[32];
        read_text("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", text, sizeof text);
        found = inlay_huge_pages_bytes_of(text, (size_t)sysconf(_SC_PAGESIZE));
        atomic_store_explicit(&inlay_shared_huge_pages_bytes, found, memory_order_relaxed);
    }
    return found;
}

/* Computes the extent of the whole huge pages inside an array; empty if there are none. */
static inlay_status find_huge_pages(const void *data, size_t bytes, struct inlay_extent *pages)
{
    *pages = (struct inlay_extent){0, 0};
    if (bytes == 0)
        return INLAY_OK;
    struct inlay_extent array;
    inlay_status status = inlay_check_array(data, bytes, 1, &array);
    if (status != INLAY_OK)
        return status;
    /* The next huge page may start at the end of the address space, where adding would wrap around to 0. */
    const uintptr_t huge = inlay_huge_pages_bytes(), before = -array.begin % huge;
    if (bytes > before)
        *pages = (struct inlay_extent){array.begin + before, array.end - array.end % huge};
    return INLAY_OK;
}

/* Advises about an extent. Returns true if the system accepted it. */
static bool advise(struct inlay_extent pages, int advice)
{
    const int host_errno = errno;
    const bool accepted = madvise((void *)pages.begin, pages.end - pages.begin, advice) == 0;
    errno = host_errno;
    return accepted;
}

/* Advises about the huge pages inside an array, all at once or one at a time, and sets *accepted_bytes to the number of
   bytes for which the system accepted it. */
static inlay_status advise_inside(const void *data, size_t bytes, int advice, bool one_at_a_time,
                                  size_t *accepted_bytes)
{
    struct inlay_extent pages;
    inlay_status status = find_huge_pages(data, bytes, &pages);
    if (status != INLAY_OK)
        return status;
    const uintptr_t step = one_at_a_time ? inlay_huge_pages_bytes() : pages.end - pages.begin;
    size_t accepted = 0;
    for (uintptr_t page = pages.begin; page < pages.end; page += step)
        if (advise((struct inlay_extent){page, page + step}, advice))
            accepted += step;
    if (accepted_bytes != NULL)
        *accepted_bytes = accepted;
    return INLAY_OK;
}

inlay_status inlay_huge_pages_advise(const void *data, size_t bytes, size_t *advised_bytes)
{
    return advise_inside(data, bytes, MADV_HUGEPAGE, false, advised_bytes);
}

inlay_status inlay_huge_pages_collapse(const void *data, size_t bytes, size_t *huge_bytes)
{
    /* One at a time, so one rejected page doesn't hide the result of the others. */
    return advise_inside(data, bytes, MADV_COLLAPSE, true, huge_bytes);
}
