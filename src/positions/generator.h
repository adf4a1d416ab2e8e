/* SPDX-License-Identifier: MIT */
/*
 * The generator of sinusoid rows: anchors from exact phases, the kernels between them, and the exact fallback for
 * entries that the kernels leave undecided. It is used for whole rows and by the fused pass, which computes rows while
 * it reads tokens. It validates nothing.
 */
#pragma once

#include "dispatch/kernels.h"
#include "dispatch/tuning.h"
#include "positions/sinusoid.h"

/* The positions of rows: first, first + 1, ... below 2^31, or those of a list. */
struct inlay_positions {
    uint32_t first;
    const void *list;         /* null: consecutive positions */
    inlay_position_type type; /* of the list */
};

/* Rows that a kernel generates in one call, and the size of a buffer for pieces of rows: a few rows of the columns of
   one generator, in the last of which an odd dim can have one more column, rounded up to a cache line of floats. */
enum { INLAY_GENERATOR_ROWS = 16, INLAY_PIECE_ROWS = 4, INLAY_PIECE_COLUMNS = 2 * INLAY_GENERATOR_PAIRS + 16 };

/*
 * Generates one row after another for pairs [first, first + pairs), pairs <= INLAY_GENERATOR_PAIRS. It holds 32 KiB of
 * state and lies on the stack. Consecutive positions rotate the state from row to row. Rows of a list, and runs that
 * are too short to be worth an anchor, are computed each by itself; for positions that are no whole numbers, and for
 * the angles of recipes, every row is an anchor. All functions run kernels, so the floating-point environment must be
 * guarded.
 */
struct inlay_generator {
    const struct inlay_kernels *kernels;
    const inlay_sinusoid *sinusoid;
    size_t first, pairs;
    inlay_element_type type;
    inlay_element_type computed; /* the type that entries are computed in: INLAY_F32 for recipes, else `type` */
    struct inlay_positions positions;
    bool direct;        /* rows are computed each by itself where their positions are whole numbers */
    size_t row;         /* the index of the next row */
    size_t anchor_rows; /* rows from one anchor to the next */
    size_t rows_left;   /* rows that the current anchor still serves */
    unsigned reanchors; /* anchors since the latest one from exact phases */
    struct inlay_sinusoid_state state;
};

/* Prepares a generator, whose first row will be that of the first position, for `rows` rows. */
void inlay_generator_start(struct inlay_generator *generator, const struct inlay_kernels *kernels,
                           const inlay_sinusoid *sinusoid, size_t first, size_t pairs, inlay_element_type type,
                           struct inlay_positions positions, size_t rows);

/* Whole float32 rows that are fused with the rows being generated, one of each array per row. */
struct inlay_fused_rows {
    const unsigned char *const *tokens; /* null, or token rows [n] that the generated rows are added to */
    float scale;                        /* the factor of the tokens */
    const unsigned char *const *next;   /* null, or rows [n] to prefetch, since they will be read next */
    bool near;                          /* to L1, else to L2 */
};

/* Writes the next n rows with ordinary stores, placed as `placement` says. For recipes each row needs room for floats,
   since 16-bit elements are converted in place. `fused` may be null; its tokens must be null. */
void inlay_generator_rows(struct inlay_generator *generator, const struct inlay_placement *placement, size_t n,
                          unsigned char *out, size_t stride_bytes, const struct inlay_fused_rows *fused);

/* Returns whether inlay_generator_add() can be used: not for recipes, not if an odd dim has an extra last column, and
   not with non-temporal stores to rows that are not aligned to cache lines. */
bool inlay_sinusoid_adds(const inlay_sinusoid *sinusoid, const unsigned char *out, size_t stride_bytes, bool stream);

/* Writes fused->tokens * fused->scale + position, float32, to the generator's columns of the next n whole rows.
   Position 0 must not be among them. */
void inlay_generator_add(struct inlay_generator *generator, size_t n, unsigned char *out, size_t stride_bytes,
                         bool stream, const struct inlay_fused_rows *fused);

/* Writes n whole rows. `stream`: with non-temporal stores where possible; the caller fences. */
void inlay_sinusoid_fill(const struct inlay_kernels *kernels, const inlay_sinusoid *sinusoid,
                         struct inlay_positions positions, size_t n, inlay_element_type type, unsigned char *out,
                         size_t out_stride_bytes, bool stream);
