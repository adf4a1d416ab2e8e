/* SPDX-License-Identifier: MIT */
/* The default allocator: malloc and free behind the callbacks. */
#include "memory.h"

#include <stdlib.h>

static void *allocate(void *ctx, size_t bytes)
{
    (void)ctx;
    return malloc(bytes);
}

static void release(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

inlay_allocator inlay_allocator_or_default(const inlay_allocator *allocator)
{
    return allocator != NULL ? *allocator : (inlay_allocator){NULL, allocate, release};
}
