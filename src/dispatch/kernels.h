/* SPDX-License-Identifier: MIT */
/*
 * struct inlay_kernels: what an ISA implements, one field per operation, with the numerical contract of each. Included
 * by the baseline code that calls the table and by <isa>/kernels.c that fill it. Kernels see pointers and counts; ids,
 * batches, policies and validation end before them.
 */
#ifndef INLAY_KERNELS_H
#define INLAY_KERNELS_H

#include "base/line.h"

#include <inlay/inlay.h>

#include <stdbool.h>

/* Rows that become out[i][0 .. columns) = rows[i][0 .. columns) * scale + positions[i][0 .. columns). */
struct inlay_embed_tile {
    const unsigned char *const *rows;   /* [count + lookahead] rows of the kernel's type, any address */
    const unsigned char *const *scales; /* [count + lookahead] the scale of each row's first column, in types whose
                                           scales lie outside of their elements; else null */
    const unsigned char *zeros;         /* 4-bit zero points, two in a byte, the lower half first; null: the default */
    const size_t *zero_at;              /* [count + lookahead] index in `zeros`, counted in zero points, of that of each
                                           row's first column */
    size_t group;                       /* columns that share a scale and a zero point, in types of groups */
    const unsigned char *const *positions; /* [count + lookahead] float32 rows, any address; null: no such term */
    unsigned char *const *out;             /* [count] float32 rows, any address; may be rows[i] or positions[i] */
    size_t count;
    size_t lookahead; /* rows behind these that the next tile will read, whose pointers are here for prefetching */
    size_t columns;
    float scale;
    bool stream;          /* non-temporal stores where the ISA has them; the caller fences */
    size_t prefetch_rows; /* prefetch distance in rows; 0: no prefetching */
    /* For float32 rows that are not streamed. Of other types, and where rows are streamed, whole rows are prefetched.
     */
    bool prefetch_whole_rows; /* not only their first lines: for rows that come from beyond L2 */
    bool narrow_moves;        /* without prefetch_whole_rows: load and store 32 bytes at once, on ISAs with longer
                                 registers */
};

/*
 * A sinusoid's rows are generated for a run of consecutive frequencies at a time, which is the state of a generator:
 * the sine and cosine of one position as doubles, turned by one position's angle from row to row. Every
 * INLAY_ANCHOR_ROWS rows that state is replaced by a new anchor, so that its error stays below bounds that are kept
 * beside it, one per column. An anchor is computed from exact phases, which takes as long as some 30 rows; or by
 * re-anchoring, which turns the anchor before it, at most INLAY_MOST_REANCHORS times in a row.
 *
 * All arrays of doubles are padded with zeros to a multiple of INLAY_PAIR_GROUP.
 */
enum { INLAY_PAIR_GROUP = 16, INLAY_ANCHOR_ROWS = 128, INLAY_MOST_REANCHORS = 15 };

/* Pairs that a generator advances together: the 48 bytes of a pair that rows need stay in L1. */
enum { INLAY_GENERATOR_PAIRS = 512 };

/* In one struct, so that the kernels reach all of it from one register. */
struct inlay_sinusoid_state {
    _Alignas(INLAY_CACHE_LINE) double sin[INLAY_GENERATOR_PAIRS];
    double cos[INLAY_GENERATOR_PAIRS];
    double sin_bound[INLAY_GENERATOR_PAIRS]; /* twice how far sin may be off until the next exact phases; positive */
    double cos_bound[INLAY_GENERATOR_PAIRS];
    double sin_step[INLAY_GENERATOR_PAIRS]; /* of one position's angle; zeros where the state is not turned */
    double cos_step[INLAY_GENERATOR_PAIRS];
    double sin_anchor[INLAY_GENERATOR_PAIRS]; /* as it was at the latest anchor, for amplitude 1 */
    double cos_anchor[INLAY_GENERATOR_PAIRS];
};

static inline size_t inlay_padded(size_t pairs)
{
    return (pairs + INLAY_PAIR_GROUP - 1) / INLAY_PAIR_GROUP * INLAY_PAIR_GROUP;
}

struct inlay_sinusoid_anchor {
    size_t pairs;
    unsigned rows;      /* INLAY_ANCHOR_ROWS; or 1 where the state is not turned */
    unsigned reanchors; /* how often the state may be re-anchored from this one */
    double amplitude;   /* factor of state and bounds */
    /*
     * The angles of the anchor's position: pi * half_turns[i], |half_turns[i]| <= 1/4, rounded to 53 significant bits,
     * plus the quarter turns whose sine and cosine are quadrant_sin[i] and quadrant_cos[i] (each 0, 1 or -1).
     */
    const double *half_turns, *quadrant_sin, *quadrant_cos;
    /* Written: all but the steps, for pairs [first, first + pairs). */
    struct inlay_sinusoid_state *state;
    size_t first;
};

/* Turns the latest anchor's state, of pairs [0, pairs), into the next one's. */
struct inlay_sinusoid_reanchor {
    size_t pairs;
    double amplitude;
    const double *sin, *cos; /* of INLAY_ANCHOR_ROWS positions' angle */
    struct inlay_sinusoid_state *state;
};

struct inlay_sinusoid_tile {
    size_t pairs, rows;
    size_t sines, cosines;              /* pairs, or pairs - 1 where an odd dim has no column for the last one */
    struct inlay_sinusoid_state *state; /* that of the first row, which is advanced by `rows` positions */
    /* Where rows go, at any address: sine i of a row is element i from sin_out on, cosine i from cos_out on; 2i where
       they are interleaved, cos_out being one element behind sin_out. */
    inlay_element_type type;
    unsigned char *sin_out, *cos_out;
    size_t out_stride_bytes;
    bool interleaved;
    bool stream; /* non-temporal stores: in every row sin_out, and cos_out where not interleaved, lie on a cache line;
                    the caller fences */
    /*
     * [rows, ceil(pairs / INLAY_PAIR_GROUP)], zeros before the call: the entries that the rounding test leaves
     * undecided are set. Bit i of a word says that sine i of that group may be rounded wrongly and has to be computed
     * exactly, bit 16 + i says so of its cosine. Bits of columns that do not exist mean nothing.
     */
    uint32_t *undecided;
    /*
     * What goes with the rows, or null: float32 rows [rows], in which the place of the tile's first sine and cosine is
     * sin_at and cos_at bytes from their begin. Tokens: what is written is token * scale + entry, the product rounded,
     * then the sum, in float32 tiles alone; what is in doubt is the entry. Next: addresses that will be read soon, and
     * are asked for meanwhile.
     */
    const unsigned char *const *tokens;
    const unsigned char *const *next;
    size_t sin_at, cos_at;
    float scale;
};

/* Where the variance is below this share of mean^2, subtracting has lost so many of its digits that it is summed anew.
 */
#define INLAY_NORM_CANCELLED (1.0 / 256)

/* Rows of floats that become LayerNorm or RMSNorm of themselves, in place or not. */
struct inlay_norm_tile {
    const unsigned char *const *rows; /* [count] float32 rows, any address */
    unsigned char *const *out;        /* [count] float32 rows, any address; may be rows[i] */
    size_t count, columns;
    bool centred;               /* LayerNorm, which takes the mean off */
    float epsilon;              /* added to the variance, or the mean square */
    const unsigned char *gamma; /* [columns] float32, any address; null: ones */
    const unsigned char *beta;  /* likewise; null: no such term */
};

/* Rows of floats that become float32, float16 or bfloat16. */
struct inlay_cast_tile {
    const unsigned char *const *rows; /* [count] float32 rows, any address */
    unsigned char *const *out;        /* [count] rows of the type, any address */
    size_t count, columns;
    inlay_element_type type;
    bool stream; /* as in inlay_embed_tile */
};

struct inlay_kernels {
    const char *name;
    /*
     * By the type of the stored rows. The stored value is decoded to a float, as inlay_element_type says; the product
     * is rounded, then the sum is rounded; no fused multiply-add. Scale 1 without positions copies all bits of floats.
     * Bit-identical to scalar, the payload of a NaN excepted.
     */
    void (*embed[INLAY_ELEMENT_TYPES])(const struct inlay_embed_tile *tile);
    /* The state within its bounds; nothing in scalar, which keeps none. */
    void (*sinusoid_anchor)(const struct inlay_sinusoid_anchor *anchor);
    void (*sinusoid_reanchor)(const struct inlay_sinusoid_reanchor *step);
    /* Every entry correctly rounded to the tile's type, or marked. Returns whether any is marked; scalar, which keeps
       no state, leaves all to the integer path. */
    bool (*sinusoid_rows)(const struct inlay_sinusoid_tile *tile);
    /*
     * Sums run in 16 lanes: lane j adds the columns j, j + 16, j + 32, ... in turn; then lane j + 8 is added to lane j,
     * and so on with 4, 2 and 1. squares = sum(x^2) / columns, mean = sum(x) / columns; variance = squares - mean^2, or
     * where that is below mean^2 * INLAY_NORM_CANCELLED, sum((x - mean)^2) / columns. factor = 1 / sqrt(variance +
     * epsilon), of RMSNorm 1 / sqrt(squares + epsilon). out = (x - mean) * factor, then * gamma, then + beta. All in
     * double, each operation rounded; then out is rounded to a float.
     */
    void (*norm)(const struct inlay_norm_tile *tile);
    /* To nearest even; NaN stays NaN (quiet); larger than the largest float16 becomes infinite. */
    void (*cast)(const struct inlay_cast_tile *tile);
    size_t lanes; /* entries that sinusoid_rows makes at once by turning a state; 0: it keeps none, and is slow */
};

extern const struct inlay_kernels inlay_kernels_scalar;
extern const struct inlay_kernels inlay_kernels_avx2;
extern const struct inlay_kernels inlay_kernels_avx512;
extern const struct inlay_kernels inlay_kernels_neon;

#endif
