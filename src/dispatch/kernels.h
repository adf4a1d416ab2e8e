/* SPDX-License-Identifier: MIT */
/*
 * struct inlay_kernels: what an ISA implements, one field per operation, with the numerical contract of each. Included
 * by the baseline code that calls the table and by <isa>/kernels.c that fill it. Kernels see pointers and counts; ids,
 * batches, policies and validation end before them.
 */
#ifndef INLAY_KERNELS_H
#define INLAY_KERNELS_H

#include <inlay/inlay.h>

#include <stdbool.h>

/* Rows that become out[i][0 .. columns) = rows[i][0 .. columns) * scale + positions[i][0 .. columns). */
struct inlay_embed_tile {
    const unsigned char *const *rows;   /* [count + following] rows of the kernel's type, any address */
    const unsigned char *const *scales; /* [count + following] the scale of the first column of each row, in types that
                                           have scales apart from their elements; else null */
    const unsigned char *const *zeros;  /* [count] likewise; null where there are none */
    size_t group;                       /* columns that share a scale, in types of groups */
    const unsigned char *const *positions; /* [count] float32 rows, any address; null: no such term */
    unsigned char *const *out;             /* [count] float32 rows, any address; may be rows[i] or positions[i] */
    size_t count;
    size_t following; /* rows that will be read next */
    size_t columns;
    float scale;
    bool stream; /* non-temporal stores where the ISA has them; the caller fences */
    /* Of float32 rows that are not streamed; those of other types, and what is streamed, asks for all of each row. */
    bool far;             /* they come from beyond L2: of those ahead not the first lines but all is asked for */
    bool narrow;          /* where they are not far: by 32 bytes at once, where registers are longer */
    size_t prefetch_rows; /* how far ahead of row i rows are asked for; 0: none is */
};

/*
 * A sinusoid's rows are generated for a run of consecutive frequencies at a time, which is the state of a generator:
 * the sine and cosine of one position as doubles, turned by one position's angle from row to row. Every
 * INLAY_ANCHOR_ROWS rows that state is made afresh (an anchor), so that its error stays below bounds that are carried
 * along, one per column: from exact phases, which takes as long as some 30 rows, or by turning the anchor before (a
 * leap), INLAY_ANCHOR_LEAPS times at the most.
 *
 * All arrays of doubles are padded with zeros to a multiple of INLAY_PAIR_GROUP.
 */
enum { INLAY_PAIR_GROUP = 16, INLAY_ANCHOR_ROWS = 128, INLAY_ANCHOR_LEAPS = 15 };

/* Pairs that a generator advances together: the 48 bytes of a pair that rows need stay in L1. */
enum { INLAY_GENERATOR_PAIRS = 512 };

/* In one struct, so that the kernels reach all of it from one register. */
struct inlay_sinusoid_state {
    _Alignas(64) double sin[INLAY_GENERATOR_PAIRS];
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
    unsigned rows;    /* INLAY_ANCHOR_ROWS; or 1 where the state is not turned */
    unsigned leaps;   /* how many may follow */
    double amplitude; /* factor of state and bounds */
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
struct inlay_sinusoid_leap {
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
     * [rows, ceil(pairs / INLAY_PAIR_GROUP)], zero before: what is in doubt is set. Bit i of a word: sine i of that
     * group may be rounded wrongly and has to be computed exactly; bit 16 + i: its cosine. Bits of columns that do not
     * exist mean nothing.
     */
    uint32_t *marks;
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
     * By the type of the stored rows. The stored value is decoded to a float, as inlay_element_type says; the product is
     * rounded, then the sum is rounded; no fused multiply-add. Scale 1 without positions copies all bits of floats.
     * Bit-identical to scalar, the payload of a NaN excepted.
     */
    void (*embed[INLAY_ELEMENT_TYPES])(const struct inlay_embed_tile *tile);
    /* The state within its bounds; nothing in scalar, which keeps none. */
    void (*sinusoid_anchor)(const struct inlay_sinusoid_anchor *anchor);
    void (*sinusoid_leap)(const struct inlay_sinusoid_leap *leap);
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
