/* SPDX-License-Identifier: MIT */
/*
 * The default allocator: malloc and free behind the callbacks.
 */
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>

static void *allocate(void *ctx, size_t bytes)
{
    (void)ctx;
    int host_errno = errno;
    void *memory = malloc(bytes);
    /* Without this, clang drops the next line: it takes malloc for a function that writes no visible memory, and errno
       for such memory. */
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
