/* SPDX-License-Identifier: MIT */
/*
 * The default allocator, malloc and free.
 */
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>

static void *allocate(void *ctx, size_t bytes)
{
    (void)ctx;
    int host_errno = errno;
    void *memory = malloc(bytes);
    /* Without this barrier clang drops the next line, since it assumes that malloc writes no visible memory, including
       errno. */
    __asm__ volatile("" ::: "memory");
    errno = host_errno;
    return memory;
}

static void release(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

inlay_status inlay_allocator_of(const inlay_allocator *allocator, inlay_allocator *chosen)
{
    *chosen = allocator != NULL ? *allocator : (inlay_allocator){NULL, allocate, release};
    return chosen->allocate != NULL && chosen->release != NULL ? INLAY_OK : INLAY_ERROR_NULL;
}
