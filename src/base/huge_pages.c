/* SPDX-License-Identifier: MIT */
/*
 * Advice to the system about the caller's memory: MADV_HUGEPAGE and MADV_COLLAPSE. Nothing here reads or writes the
 * memory itself.
 */
#include "base/arguments.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

/* Since Linux 6.1. C libraries are often older than the kernel that they run on. */
#if defined(__linux__) && !defined(MADV_COLLAPSE)
#define MADV_COLLAPSE 25
#endif

/* No system accepts this advice. */
enum { NO_ADVICE = -1 };
#ifndef MADV_HUGEPAGE
#define MADV_HUGEPAGE NO_ADVICE
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE NO_ADVICE
#endif

/* Returns the bytes of a huge page: what one page full of page table entries, of 8 bytes each, maps. */
static uintptr_t huge_page_bytes(void)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    return page / 8 * page;
}

/* Finds the huge pages that lie wholly inside an array; the extent is empty if there are none. */
static inlay_status find_huge_pages(const void *data, size_t bytes, struct inlay_extent *pages)
{
    *pages = (struct inlay_extent){0, 0};
    if (bytes == 0)
        return INLAY_OK;
    struct inlay_extent array;
    inlay_status status = inlay_check_array(data, bytes, 1, &array);
    if (status != INLAY_OK)
        return status;
    /* The next huge page can begin at the end of the address space, where a sum would wrap around to 0. */
    const uintptr_t huge = huge_page_bytes(), before = -array.begin % huge;
    if (bytes > before)
        *pages = (struct inlay_extent){array.begin + before, array.end - array.end % huge};
    return INLAY_OK;
}

/* Gives advice about an extent; returns whether the system accepted it. */
static bool advise(struct inlay_extent pages, int advice)
{
    const int host_errno = errno;
    const bool accepted = madvise((void *)pages.begin, pages.end - pages.begin, advice) == 0;
    errno = host_errno;
    return accepted;
}

/* Gives advice about the huge pages inside an array, all at once or one at a time, and writes for how many bytes the
   system accepted it. */
static inlay_status advise_inside(const void *data, size_t bytes, int advice, bool one_at_a_time,
                                  size_t *accepted_bytes)
{
    struct inlay_extent pages;
    inlay_status status = find_huge_pages(data, bytes, &pages);
    if (status != INLAY_OK)
        return status;
    const uintptr_t step = one_at_a_time ? huge_page_bytes() : pages.end - pages.begin;
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
    /* One at a time: a page that the system refuses does not hide what became of the others. */
    return advise_inside(data, bytes, MADV_COLLAPSE, true, huge_bytes);
}
