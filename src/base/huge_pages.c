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

inlay_status inlay_huge_pages_advise(const void *data, size_t bytes, size_t *advised_bytes)
{
    struct inlay_extent pages;
    inlay_status status = find_huge_pages(data, bytes, &pages);
    if (status != INLAY_OK)
        return status;
    size_t advised = 0;
#ifdef MADV_HUGEPAGE
    if (pages.begin < pages.end && advise(pages, MADV_HUGEPAGE))
        advised = pages.end - pages.begin;
#endif
    if (advised_bytes != NULL)
        *advised_bytes = advised;
    return INLAY_OK;
}

inlay_status inlay_huge_pages_collapse(const void *data, size_t bytes, size_t *huge_bytes)
{
    struct inlay_extent pages;
    inlay_status status = find_huge_pages(data, bytes, &pages);
    if (status != INLAY_OK)
        return status;
    size_t collapsed = 0;
#ifdef MADV_COLLAPSE
    /* One at a time: a page that the system refuses does not hide what became of the others. */
    const uintptr_t huge = huge_page_bytes();
    for (uintptr_t page = pages.begin; page < pages.end; page += huge)
        if (advise((struct inlay_extent){page, page + huge}, MADV_COLLAPSE))
            collapsed += huge;
#endif
    if (huge_bytes != NULL)
        *huge_bytes = collapsed;
    return INLAY_OK;
}
