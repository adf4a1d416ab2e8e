/* SPDX-License-Identifier: MIT */
/*
 * The rotary handle.
 */
#pragma once

#include "positions/sinusoid.h"

struct inlay_rotary {
    inlay_allocator allocator;
    size_t bytes;             /* of the handle and its table, which no output may overlap */
    inlay_sinusoid *sinusoid; /* its rows are cosines, then sines */
    bool interleaved;
    size_t cached;                                /* rows of the table */
    const unsigned char *table;                   /* float32 [cached, dim], rows of positions from 0 on */
    size_t axes;                                  /* rows of position ids */
    uint16_t pairs[INLAY_ROTARY_MAX_DIM / 2];     /* all pairs, those of each axis after those of the one before */
    size_t first_pair[INLAY_ROTARY_MAX_AXES + 1]; /* of each axis, in `pairs`; last: the number of pairs */
};
