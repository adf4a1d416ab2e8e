/* SPDX-License-Identifier: MIT */
/*
 * The sinusoid handle: frequencies, constants derived from them, and single entries, computed exactly.
 */
#pragma once

#include "base/arguments.h"
#include "positions/exact.h"
#include "positions/recipe.h"

#include <inlay/inlay.h>

/* Arrays of doubles have inlay_padded(pairs) elements, arrays of frequencies too. */
struct inlay_sinusoid {
    inlay_allocator allocator;
    size_t bytes; /* of the handle and its arrays, which no output may overlap */
    size_t dim;
    size_t pairs; /* of a sine and a cosine; the last pair may lack one of them */
    inlay_sinusoid_layout layout;
    inlay_sinusoid_odd odd;
    struct inlay_taylor taylor;
    /*
     * Null: angles are exact, position * frequencies[i] turns. Otherwise these functions compute angles in radians from
     * the position and factors[i]; the handle then has neither frequencies nor rotations, and entries are rounded to
     * float32 and multiplied by float_amplitude.
     */
    const struct inlay_angles *angles;
    double amplitude; /* of exact entries; 1 with `angles` */
    struct inlay_fixed amplitude_fixed;
    float float_amplitude;               /* 1 without `angles` */
    double *factors;                     /* of `angles`, or the caller's own frequencies in radians; else null */
    double *sin_step, *cos_step;         /* the rotation by one position */
    double *sin_reanchor, *cos_reanchor; /* the rotation by INLAY_ANCHOR_ROWS positions */
    double *turns_high, *turns_low;      /* their sum: quarter turns per position, modulo 4 */
    struct inlay_fixed frequencies[];    /* turns per position; the arrays of doubles follow */
};

/* Returns the factor from the angle of pair i to turns: turns per position, or per radian with `angles`. */
static inline const struct inlay_fixed *inlay_frequency_of(const inlay_sinusoid *sinusoid, size_t i)
{
    return sinusoid->angles == NULL ? &sinusoid->frequencies[i] : &inlay_fixed_inverse_two_pi;
}

/* Returns the bits of a pair's sine or cosine at a position, |position| < 2^31, correctly rounded to `type`. The caller
   multiplies by float_amplitude. */
uint64_t inlay_sinusoid_exact(const inlay_sinusoid *sinusoid, size_t pair, bool cosine, double position,
                              inlay_element_type type);

/* Consecutive columns of a row, which are also consecutive in a piece of the row. */
struct inlay_columns {
    size_t first; /* in the row */
    size_t count;
    size_t at; /* in the piece */
};

/* The places of the entries of pairs [first, first + pairs): in whole rows, or in pieces with only these entries. */
struct inlay_placement {
    bool interleaved;      /* sine i and cosine i are 2i columns after the first ones; otherwise i columns */
    size_t sin, cos;       /* columns of the first sine and the first cosine */
    size_t sines, cosines; /* how many there are: `pairs`, or one fewer */
    bool last;             /* whether the extra last column of an odd dim is among the columns */
    size_t last_column;
    size_t columns; /* of a piece */
    int runs;       /* how many runs of consecutive columns of the row a piece consists of */
    struct inlay_columns run[2];
};

struct inlay_placement inlay_sinusoid_in_row(const inlay_sinusoid *sinusoid, size_t first, size_t pairs);
struct inlay_placement inlay_sinusoid_in_piece(const inlay_sinusoid *sinusoid, size_t first, size_t pairs);
