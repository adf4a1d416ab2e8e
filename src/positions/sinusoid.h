/* SPDX-License-Identifier: MIT */
/*
 * The sinusoid handle: frequencies and what follows from them, one entry exactly, and which columns are which. Included
 * by sinusoid.c, which makes it, and through generator.h and embed.h by what reads it.
 */
#ifndef INLAY_SINUSOID_H
#define INLAY_SINUSOID_H

#include "positions/exact.h"
#include "positions/recipe.h"

#include <inlay/inlay.h>

struct inlay_sinusoid {
    inlay_allocator allocator;
    size_t dim;
    size_t pairs; /* of a sine and a cosine, the last of which may miss one */
    inlay_sinusoid_layout layout;
    inlay_sinusoid_odd odd;
    struct inlay_taylor taylor;
    /*
     * Null: the angle is position * frequencies[i] turns. Else it is what these compute from position and factors[i],
     * in radians, and there are no frequencies nor steps; entries are then those of float32, times float_amplitude.
     */
    const struct inlay_angles *angles;
    double amplitude; /* of exact entries; 1 where there are angles */
    struct inlay_fixed amplitude_fixed;
    float float_amplitude;            /* 1 where there are no angles */
    double *factors;                  /* [pairs]: of angles, or the caller's own frequencies in radians; else null */
    double *sin_step, *cos_step;      /* [pairs, padded]: of one position's angle */
    double *sin_reanchor, *cos_reanchor;      /* [pairs, padded]: of INLAY_ANCHOR_ROWS positions' */
    struct inlay_fixed frequencies[]; /* [pairs], turns per position; the arrays above lie behind them */
};

/* What an angle of pair i is counted in: turns per position, or turns per radian where there are angles. */
static inline const struct inlay_fixed *inlay_frequency_of(const inlay_sinusoid *sinusoid, size_t i)
{
    return sinusoid->angles == NULL ? &sinusoid->frequencies[i] : &inlay_fixed_inverse_two_pi;
}

/* The bits of a pair's sine or cosine at a position, |position| < 2^31, correctly rounded in that type; float_amplitude
   is left to the caller. */
uint64_t inlay_sinusoid_exact(const inlay_sinusoid *sinusoid, size_t pair, bool cosine, double position,
                              inlay_element_type type);

/* Consecutive columns of a row, as they lie in a piece of it. */
struct inlay_columns {
    size_t first; /* in the row */
    size_t count;
    size_t at; /* in the piece */
};

/* Where the entries of pairs [first, first + pairs) lie in rows, or in pieces of rows that hold nothing else. */
struct inlay_placement {
    bool interleaved;      /* sine i and cosine i stand 2i columns from the first ones; else i columns */
    size_t sin, cos;       /* columns of the first sine and cosine */
    size_t sines, cosines; /* how many there are: as many as pairs, or one fewer */
    bool last;             /* whether the column of its own that odd dims may end in is among them */
    size_t last_column;
    size_t columns; /* of a piece */
    int runs;       /* how many runs of consecutive columns a piece becomes in the row */
    struct inlay_columns run[2];
};

struct inlay_placement inlay_sinusoid_in_row(const inlay_sinusoid *sinusoid, size_t first, size_t pairs);
struct inlay_placement inlay_sinusoid_in_piece(const inlay_sinusoid *sinusoid, size_t first, size_t pairs);

#endif
