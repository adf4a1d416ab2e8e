/* SPDX-License-Identifier: MIT */
/*
 * Tables with rows in several arrays. Each array is a table by itself.
 */
#pragma once

#include "abi.h"

#include <inlay/inlay.h>

struct extents_part {
    const inlay_table *view;
    float scale;
};

/* Makes a view of the concatenated rows of one or more parts, and the extents of the view. Free the extents with
   PyMem_Free(). Returns -1 with an exception set on failure. */
int extents_view(const struct extents_part *parts, size_t count, inlay_table *view, inlay_table_extent **extents);
