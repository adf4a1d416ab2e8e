/* SPDX-License-Identifier: MIT */
/*
 * Tables whose rows lie in several arrays, each of which is a table of its own: what these must have in common.
 */
#pragma once

#include "abi.h"

#include <inlay/inlay.h>

struct extents_part {
    const inlay_table *view;
    float scale;
};

/* Makes the view of the rows of at least one part, one behind the other, and its extents, which PyMem_Free() releases.
   Returns -1 with an exception. */
int extents_view(const struct extents_part *parts, size_t count, inlay_table *view, inlay_table_extent **extents);
