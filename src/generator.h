/* SPDX-License-Identifier: MIT */
/*
 * The generator of sinusoid rows: exact anchors, the kernels between them, entries in doubt computed exactly. Included
 * by what writes whole rows (sinusoid.c, rotary.c, layer.c) and by the pass that computes rows on its way (embed.c).
 */
#ifndef INLAY_GENERATOR_H
#define INLAY_GENERATOR_H

#include "kernels.h"
#include "policy.h"
#include "sinusoid.h"

/* The positions of rows: first, first + 1, ... below 2^31; or those of a list. */
struct inlay_positions {
    uint32_t first;
    const void *list;         /* null: consecutive ones */
    inlay_position_type type; /* of the list */
};

/*
 * Generates one row after another of pairs [first, first + pairs), pairs <= INLAY_GENERATOR_PAIRS: 12 KiB of state, for
 * the stack. Consecutive positions turn the state; for lists and for the angles of recipes every row is an anchor. Runs
 * kernels, so the floating-point environment must be guarded.
 */
struct inlay_generator {
    const struct inlay_kernels *kernels;
    const inlay_sinusoid *sinusoid;
    size_t first, pairs;
    inlay_type type;
    inlay_type computed; /* as which entries are computed: floats, where a recipe says so */
    struct inlay_positions positions;
    size_t row;            /* the next one */
    unsigned anchor_rows;  /* from one anchor to the next */
    unsigned since_anchor; /* rows generated from the present state */
    struct inlay_sinusoid_state state;
};

/* The next row is that of the first position. */
void inlay_generator_start(struct inlay_generator *generator, const struct inlay_kernels *kernels,
                           const inlay_sinusoid *sinusoid, size_t first, size_t pairs, inlay_type type,
                           struct inlay_positions positions);

/* Writes the next n rows, placed as placement says, through the caches. With recipes rows need room for floats, which
   are cast where they lie. next: null, or [n] addresses that will be read next, as many bytes as a piece has. */
void inlay_generator_rows(struct inlay_generator *generator, const struct inlay_placement *placement, size_t n,
                          unsigned char *out, size_t stride_bytes, const unsigned char *const *next);

/* Writes n whole rows. `stream`: past the caches, where rows allow it; the caller fences. */
void inlay_sinusoid_fill(const struct inlay_kernels *kernels, const inlay_sinusoid *sinusoid,
                         struct inlay_positions positions, size_t n, inlay_type type, unsigned char *out,
                         size_t out_stride_bytes, bool stream);

#endif
