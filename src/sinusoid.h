/* SPDX-License-Identifier: MIT */
/*
 * The sinusoid handle: exact frequencies and what follows from them. Included by sinusoid.c, which makes it, and by
 * generator.c, layer.c and embed.c, which read it.
 */
#ifndef INLAY_SINUSOID_H
#define INLAY_SINUSOID_H

#include "exact.h"

#include <inlay/inlay.h>

struct inlay_sinusoid {
    inlay_allocator allocator;
    size_t dim;
    size_t pairs; /* ceil(dim / 2) */
    inlay_layout layout;
    struct inlay_taylor taylor;
    double *sin_step, *cos_step;      /* [pairs, padded]: of one position's angle; behind the frequencies */
    struct inlay_fixed frequencies[]; /* [pairs], turns per position */
};

/* Consecutive columns of a row, as they lie in a piece of it. */
struct inlay_columns {
    size_t first; /* in the row */
    size_t count;
    size_t at; /* in the piece */
};

/* The columns that pairs [first, first + pairs) fill: one run of them, or two where the layout splits them. Returns how
   many runs there are. In a piece of their own the first run comes first and the second behind it. */
int inlay_sinusoid_columns(const inlay_sinusoid *sinusoid, size_t first, size_t pairs, struct inlay_columns runs[2]);

/* Cosines among pairs [first, first + pairs): one fewer where the last frequency of an odd dim is among them. */
size_t inlay_sinusoid_cosines(const inlay_sinusoid *sinusoid, size_t first, size_t pairs);

#endif
