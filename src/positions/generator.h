/* SPDX-License-Identifier: MIT */
/*
 * The generator of sinusoid rows: anchors from exact phases, kernels between them, and the exact fallback for entries
 * that the kernels leave undecided. Used for whole rows and by the fused pass, which computes rows while it reads
 * tokens. Validates nothing.
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

/* Rows per kernel call, and the size of a buffer for pieces of rows: a few rows of the columns of one generator, plus
   the extra column of an odd dim, rounded up to a cache line of floats. */
enum { INLAY_GENERATOR_ROWS = 16, INLAY_PIECE_ROWS = 4, INLAY_PIECE_COLUMNS = 2 * INLAY_GENERATOR_PAIRS + 16 };

/*
 * Generates consecutive rows of pairs [first, first + pairs), pairs <= INLAY_GENERATOR_PAIRS. It is on the stack, with
 * 32 KiB of state. Consecutive positions rotate the state from row to row. Rows of a list, and runs too short for an
 * anchor, are computed separately. For non-integer positions and the angles of recipes, every row is an anchor. All
 * functions run kernels, so the floating-point environment must be guarded.
 */
struct inlay_generator {
    const struct inlay_kernels *kernels;
    const inlay_sinusoid *sinusoid;
    size_t first, pairs;
    inlay_element_type type;
    inlay_element_type computed; /* the type that entries are computed in: INLAY_F32 for recipes, else `type` */
    struct inlay_positions positions;
    bool direct;        /* rows of integer positions are computed separately */
    size_t row;         /* the index of the next row */
    size_t anchor_rows; /* rows per anchor */
    size_t rows_left;   /* rows left of the current anchor */
    unsigned reanchors; /* anchors since the last one from exact phases */
    struct inlay_sinusoid_state state;
};

/* Prepares a generator for `rows` rows, starting with the first position. */
void inlay_generator_start(struct inlay_generator *generator, const struct inlay_kernels *kernels,
                           const inlay_sinusoid *sinusoid, size_t first, size_t pairs, inlay_element_type type,
                           struct inlay_positions positions, size_t rows);

/* Whole float32 rows that are fused with the generated rows, one of each array per row. */
struct inlay_fused_rows {
    const unsigned char *const *tokens; /* null, or token rows [n] that the generated rows are added to */
    float scale;                        /* the factor of the tokens */
    const unsigned char *const *next;   /* null, or rows [n] to prefetch, since they will be read next */
    bool near;                          /* to L1, else to L2 */
};

/* Writes the next n rows with ordinary stores, laid out by `placement`. For recipes each row needs room for floats,
   since 16-bit elements are converted in place. `fused` may be null; its tokens must be null. */
void inlay_generator_rows(struct inlay_generator *generator, const struct inlay_placement *placement, size_t n,
                          unsigned char *out, size_t stride_bytes, const struct inlay_fused_rows *fused);

/* Returns true if inlay_generator_add() can be used: not for recipes, for odd dims with an extra last column, or for
   non-temporal stores to rows that aren't aligned to cache lines. */
bool inlay_sinusoid_adds(const inlay_sinusoid *sinusoid, const unsigned char *out, size_t stride_bytes, bool stream);

/* Writes fused->tokens * fused->scale + position, float32, to the generator's columns of the next n whole rows.
   Position 0 must not be among them. */
void inlay_generator_add(struct inlay_generator *generator, size_t n, unsigned char *out, size_t stride_bytes,
                         bool stream, const struct inlay_fused_rows *fused);

/* Writes n whole rows. `stream`: with non-temporal stores where possible; the caller fences. */
void inlay_sinusoid_fill(const struct inlay_kernels *kernels, const inlay_sinusoid *sinusoid,
                         struct inlay_positions positions, size_t n, inlay_element_type type, unsigned char *out,
                         size_t out_stride_bytes, bool stream);
