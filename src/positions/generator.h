/* SPDX-License-Identifier: MIT */
/*
 * The generator of sinusoid rows: exact anchors, the kernels between them, entries in doubt computed exactly. Included
 * by what writes whole rows (rows.c, layer.c, stages.c) and by the pass that computes rows on its way (embed.c).
 */
#ifndef INLAY_GENERATOR_H
#define INLAY_GENERATOR_H

#include "dispatch/kernels.h"
#include "dispatch/tuning.h"
#include "positions/sinusoid.h"

/* The positions of rows: first, first + 1, ... below 2^31; or those of a list. */
struct inlay_positions {
    uint32_t first;
    const void *list;         /* null: consecutive ones */
    inlay_position_type type; /* of the list */
};

/*
 * Generates one row after another of pairs [first, first + pairs), pairs <= INLAY_GENERATOR_PAIRS: 32 KiB of state, for
 * the stack. Consecutive positions turn the state; for lists and for the angles of recipes every row is an anchor. Runs
 * kernels, so the floating-point environment must be guarded.
 */
struct inlay_generator {
    const struct inlay_kernels *kernels;
    const inlay_sinusoid *sinusoid;
    size_t first, pairs;
    inlay_element_type type;
    inlay_element_type computed; /* as which entries are computed: floats, where a recipe says so */
    struct inlay_positions positions;
    size_t row;            /* the next one */
    unsigned anchor_rows;  /* from one anchor to the next */
    unsigned since_anchor; /* rows generated from the present state */
    unsigned reanchors;        /* since the latest anchor from exact phases */
    struct inlay_sinusoid_state state;
};

/* The next row is that of the first position. */
void inlay_generator_start(struct inlay_generator *generator, const struct inlay_kernels *kernels,
                           const inlay_sinusoid *sinusoid, size_t first, size_t pairs, inlay_element_type type,
                           struct inlay_positions positions);

/* What goes with rows that are generated, row by row. */
struct inlay_companions {
    const unsigned char *const *tokens; /* null, or [n] whole token rows to add */
    float scale;                        /* their factor */
    const unsigned char *const *next;   /* null, or [n] whole rows that will be read next */
};

/* Writes the next n rows, placed as placement says, through the caches. With recipes rows need room for floats, which
   are cast where they lie. `with` may be null; it brings no tokens. */
void inlay_generator_rows(struct inlay_generator *generator, const struct inlay_placement *placement, size_t n,
                          unsigned char *out, size_t stride_bytes, const struct inlay_companions *with);

/* Whether inlay_generator_add() can be used: not for recipes, nor where an odd dim ends in a column of its own, nor
   past the caches where rows do not lie on cache lines. */
bool inlay_sinusoid_adds(const inlay_sinusoid *sinusoid, const unsigned char *out, size_t stride_bytes, bool stream);

/* Writes tokens * scale + position, float32, for the generator's columns of the next n whole rows. Not from position 0
   on. */
void inlay_generator_add(struct inlay_generator *generator, size_t n, unsigned char *out, size_t stride_bytes,
                         bool stream, const struct inlay_companions *with);

/* Writes n whole rows. `stream`: past the caches, where rows allow it; the caller fences. */
void inlay_sinusoid_fill(const struct inlay_kernels *kernels, const inlay_sinusoid *sinusoid,
                         struct inlay_positions positions, size_t n, inlay_element_type type, unsigned char *out,
                         size_t out_stride_bytes, bool stream);

#endif
