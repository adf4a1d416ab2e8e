/* SPDX-License-Identifier: MIT */
/* Memory of handles, from the caller's allocator or malloc. Included by what creates and destroys handles. */
#ifndef INLAY_MEMORY_H
#define INLAY_MEMORY_H

#include <inlay/inlay.h>

/* The caller's allocator, or malloc and free where that is null; INLAY_ERROR_NULL where it lacks a function. */
inlay_status inlay_allocator_of(const inlay_allocator *allocator, inlay_allocator *chosen);

#endif
