/* SPDX-License-Identifier: MIT */
/* Memory of handles, from the caller's allocator or malloc. Included by what creates and destroys handles. */
#ifndef INLAY_MEMORY_H
#define INLAY_MEMORY_H

#include <inlay/inlay.h>

/* The caller's, or malloc and free where that is null. */
inlay_allocator inlay_allocator_or_default(const inlay_allocator *allocator);

#endif
