/* SPDX-License-Identifier: MIT */
/*
 * The rotary handle.
 */
#pragma once

#include "positions/sinusoid.h"

struct inlay_rotary {
    inlay_allocator allocator;
    inlay_sinusoid *sinusoid; /* its rows are cosines, then sines; null: only the table has rows */
    size_t dim;
    bool interleaved;
    size_t limit;  /* positions are below it */
    size_t cached; /* rows of the table */
    const unsigned char
        *table;  /* float32 [cached, dim], a row per position; the caller's, or stored after the handle */
    size_t axes; /* rows of position ids */
    uint16_t pairs[INLAY_ROTARY_MAX_DIM / 2];     /* all pairs, sorted by axis */
    size_t first_pair[INLAY_ROTARY_MAX_AXES + 1]; /* of each axis, in `pairs`; last: the number of pairs */
};
