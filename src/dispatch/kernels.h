/* SPDX-License-Identifier: MIT */
/*
 * struct inlay_kernels: what an ISA implements, one field per operation, with the numerical contract of each. Kernels
 * see pointers and counts. They know nothing of ids, batches, policies and validation, which baseline code has resolved
 * before it calls them.
 */
#pragma once

#include "base/line.h"

#include <inlay/inlay.h>

#include <stdbool.h>

/* A tile of rows: out[i][0 .. columns) = rows[i][0 .. columns) * scale + positions[i][0 .. columns). */
struct inlay_embed_tile {
    inlay_element_type type;               /* of the elements of `rows` */
    inlay_element_type out_type;           /* of those of `out`: INLAY_F32, INLAY_F16 or INLAY_BF16 */
    const unsigned char *const *rows;      /* [count] rows, at any address */
    const unsigned char *const *scales;    /* [count] the scale of each row's first column, for types whose
                                              scales lie outside of their elements; else null */
    const unsigned char *const *zeros;     /* [count] for each row an array of 4-bit zero points, two in a byte, the
                                              lower half first; null: those of the type's default */
    const size_t *zero_at;                 /* [count] the index in zeros[i], counted in zero points, of that
                                              of each row's first column; not read if `zeros` is null */
    size_t group;                          /* columns that share a scale and a zero point, for types of groups */
    const unsigned char *const *positions; /* [count] float32 rows, at any address; null: no such term */
    unsigned char *const *out;        /* [count] rows, at any address; float32 ones may be rows[i] or positions[i], and
                                         16-bit ones that are not streamed may be float32 rows[i] */
    const unsigned char *const *next; /* [count] rows of as many columns: next[i] is prefetched before or while row i is
                                         written; null: none */
    bool beside, near;                /* of next[i], one line beside each line that is written, else all before row i;
                                         to L1, else to L2 */
    size_t count;                     /* rows that this call writes */
    size_t columns;                   /* whole blocks, of types whose rows are made of blocks (inlay_row_formats) */
    float scale;
    bool stream;       /* use non-temporal stores, if the ISA has them; the caller fences */
    bool narrow_moves; /* move 32 bytes at once where float32 rows are not streamed, on ISAs with longer registers */
};

/*
 * Rows of a sinusoid are generated for some consecutive frequencies at a time. The state of such a generator is the
 * sine and cosine of one position as doubles, turned by one position's angle from row to row. Every INLAY_ANCHOR_ROWS
 * rows a new anchor replaces the state, so that its error stays below bounds that are kept beside it, one per column.
 * An anchor comes from exact phases, which takes as long as some 30 rows; or from re-anchoring, which turns the anchor
 * before it, at most INLAY_MOST_REANCHORS times in a row.
 *
 * All arrays of doubles are padded with zeros to a multiple of INLAY_PAIR_GROUP.
 */
enum { INLAY_PAIR_GROUP = 16, INLAY_ANCHOR_ROWS = 128, INLAY_MOST_REANCHORS = 15 };

/* Pairs of columns that a generator advances together. Rows need 48 bytes of state per pair, all of which fit in L1. */
enum { INLAY_GENERATOR_PAIRS = 512 };

/* One struct holds all arrays, so that kernels address them from one register. */
struct inlay_sinusoid_state {
    _Alignas(INLAY_CACHE_LINE) double sin[INLAY_GENERATOR_PAIRS];
    double cos[INLAY_GENERATOR_PAIRS];
    double sin_bound[INLAY_GENERATOR_PAIRS]; /* twice a bound of sin's error until the next exact phases; > 0 */
    double cos_bound[INLAY_GENERATOR_PAIRS];
    double sin_step[INLAY_GENERATOR_PAIRS]; /* of one position's angle; zeros if the state is never turned */
    double cos_step[INLAY_GENERATOR_PAIRS];
    double sin_anchor[INLAY_GENERATOR_PAIRS]; /* the latest anchor, for amplitude 1 */
    double cos_anchor[INLAY_GENERATOR_PAIRS];
};

/* Returns the length of an array that holds one number per pair. */
static inline size_t inlay_padded(size_t pairs)
{
    return (pairs + INLAY_PAIR_GROUP - 1) / INLAY_PAIR_GROUP * INLAY_PAIR_GROUP;
}

/* Sets the state of pairs [first, first + pairs), all but its steps, from exact phases. */
struct inlay_sinusoid_anchor {
    size_t pairs;
    unsigned rows;      /* INLAY_ANCHOR_ROWS, or 1 if the state is never turned */
    unsigned reanchors; /* how often the state may be re-anchored from this one */
    double amplitude;   /* the factor of state and bounds */
    /*
     * The angles of the anchor's position: pi * half_turns[i], |half_turns[i]| <= 1/4, rounded to 53 significant bits,
     * plus the quarter turns whose sine and cosine are quadrant_sin[i] and quadrant_cos[i] (each 0, 1 or -1).
     */
    const double *half_turns, *quadrant_sin, *quadrant_cos;
    struct inlay_sinusoid_state *state;
    size_t first;
};

/* Turns the latest anchor of pairs [0, pairs) into the next one, and sets the state to that. */
struct inlay_sinusoid_reanchor {
    size_t pairs;
    double amplitude;
    const double *sin, *cos; /* of the angle of INLAY_ANCHOR_ROWS positions */
    struct inlay_sinusoid_state *state;
};

/* Rows of consecutive positions, turned from a state, or of any positions, each computed by itself. */
struct inlay_sinusoid_tile {
    size_t pairs, rows;
    size_t sines, cosines;              /* pairs, or pairs - 1 if an odd dim has no column for the last one */
    struct inlay_sinusoid_state *state; /* of the first row; the kernel advances it by `rows` positions */
    /*
     * Null, or the position [rows] of each row, a whole number, |position| < 2^31; the state is not used then. The
     * angle of a pair is position * (turns_high + turns_low) quarter turns, which are known modulo 4.
     */
    const double *positions;
    const double *turns_high, *turns_low;
    double amplitude; /* the factor of these entries */
    /* Where rows go, at any address. Sine i of a row is element i from sin_out on, and cosine i is element i from
       cos_out on. If they are interleaved both are element 2i, and cos_out is one element behind sin_out. */
    inlay_element_type type;
    unsigned char *sin_out, *cos_out;
    size_t out_stride_bytes;
    bool interleaved;
    bool stream; /* use non-temporal stores: in every row sin_out, and cos_out if not interleaved, lie on a cache line;
                    the caller fences; has no effect on rows that are computed each by itself */
    /*
     * [rows, ceil(pairs / INLAY_PAIR_GROUP)], zeros before the call: the entries that the rounding test leaves
     * undecided are set. Bit i of a word says that sine i of that group may be rounded wrongly and has to be computed
     * exactly, bit 16 + i says so of its cosine. Bits of columns that do not exist mean nothing.
     */
    uint32_t *undecided;
    /*
     * Null, or float32 rows [rows] whose columns sin_at and cos_at bytes from their begin belong to the tile's first
     * sine and cosine. With `tokens`, for float32 tiles alone, the kernel writes token * scale + entry, the product
     * rounded, then the sum; the rounding test is of the entry. Rows in `next` are prefetched, a line beside each
     * line that is written, to L1 if `near`, else to L2.
     */
    const unsigned char *const *tokens;
    const unsigned char *const *next;
    size_t sin_at, cos_at;
    float scale;
    bool near;
};

/* Below this share of mean^2 too many digits of the variance have cancelled, and it is summed again. */
#define INLAY_NORM_CANCELLED (1.0 / 256)

/* Rows of floats to normalise, in place or not. */
struct inlay_norm_tile {
    const unsigned char *const *rows; /* [count] float32 rows, at any address */
    unsigned char *const *out;        /* [count] float32 rows, at any address; may be rows[i] */
    size_t count, columns;
    inlay_norm norm;            /* not INLAY_NORM_NONE */
    float epsilon;              /* of LayerNorm added to the variance, of RMSNorm to the mean square; of the L2 norm the
                                   least length that a row is divided by */
    const unsigned char *gamma; /* [columns] float32, at any address; null: ones */
    const unsigned char *beta;  /* likewise; null: no such term */
};

/*
 * Hashed n-grams. SIMD kernels take tokens as lanes: places can be read, and rows written, up to a multiple of
 * INLAY_NGRAM_LANES tokens.
 */
enum { INLAY_NGRAM_TOKENS = 64, INLAY_NGRAM_LANES = 8 };

/* Moduli in [LEAST, LIMIT) are reduced in lanes, others one by one. simd/ngram.h says why. */
#define INLAY_NGRAM_LANES_LEAST (UINT32_C(1) << 13)
#define INLAY_NGRAM_LANES_LIMIT (UINT32_C(1) << 31)

/* Tokens to hash for some columns. */
struct inlay_ngram_tile {
    const uint32_t *const *places;     /* [length] arrays [tokens]: place s of each token; the pad if blocked */
    const uint64_t *multipliers;       /* [vectors, length] */
    const inlay_ngram_column *columns; /* [count] */
    const double *inverses;            /* [count] 1 / modulus, rounded to nearest */
    size_t tokens, length, count;      /* tokens <= INLAY_NGRAM_TOKENS */
    bool adds;                         /* else exclusive or */
    uint64_t *rows;                    /* [count, rows_stride], of which `tokens` are results */
    size_t rows_stride;                /* a multiple of INLAY_NGRAM_LANES, >= tokens */
};

struct inlay_kernels {
    const char *name;
    /*
     * Each element is dequantised to a float, as inlay_element_type says. The product is rounded, then the sum is
     * rounded; there is no fused multiply-add. Then a 16-bit output is rounded to nearest even: a NaN stays a NaN and
     * becomes quiet, and values beyond the largest float16 become infinite. Scale 1 without positions copies all bits
     * from floats to floats and between 16-bit elements of one type. Results have the same bits as scalar's, but for
     * the sign and the payload of a NaN.
     */
    void (*embed)(const struct inlay_embed_tile *tile);
    /* These two keep the state within its bounds. Scalar, which has no state, lacks them. */
    void (*sinusoid_anchor)(const struct inlay_sinusoid_anchor *anchor);
    void (*sinusoid_reanchor)(const struct inlay_sinusoid_reanchor *step);
    /* Rounds each entry correctly to the tile's type, or reports it as undecided. Returns whether any is undecided.
       Scalar reports all, so that the integer path computes them. */
    bool (*sinusoid_rows)(const struct inlay_sinusoid_tile *tile);
    /*
     * Sums run in 16 lanes: lane j adds the columns j, j + 16, j + 32, ... in turn; then lane j + 8 is added to lane j,
     * and so on with 4, 2 and 1. squares = sum(x^2) / columns, mean = sum(x) / columns; variance = squares - mean^2, or
     * where that is below mean^2 * INLAY_NORM_CANCELLED, sum((x - mean)^2) / columns. factor = 1 / sqrt(variance +
     * epsilon), of RMSNorm 1 / sqrt(squares + epsilon). The L2 norm does not divide the sum: length = sqrt(sum(x^2)),
     * or epsilon where that is larger, and factor = 1 / length; a NaN stays. mean is 0 but of LayerNorm. out = (x -
     * mean) * factor, then * gamma, then + beta. All operations are in double and rounded one by one; then out is
     * rounded to a float.
     */
    void (*norm)(const struct inlay_norm_tile *tile);
    /* Writes row ids: rows[c][t] = offset + the remainder of the sum, as ngram.h defines both. */
    void (*ngram_rows)(const struct inlay_ngram_tile *tile);
    size_t lanes; /* entries that sinusoid_rows computes at once by turning a state; 0: it has no state, and is slow */
    bool fma;     /* it does so with fused multiply-add, without which it takes several times as long */
    bool streams; /* it has non-temporal stores: without them `stream` of a tile is of no use */
    bool prefetches; /* it prefetches the rows in `next` of a tile */
};

/* Returns a tile that copies `columns` floats of each row; callers set what else they have. */
static inline struct inlay_embed_tile inlay_floats_tile(const unsigned char *const *rows, unsigned char *const *out,
                                                        size_t count, size_t columns)
{
    return (struct inlay_embed_tile){.type = INLAY_F32,
                                     .out_type = INLAY_F32,
                                     .rows = rows,
                                     .out = out,
                                     .count = count,
                                     .columns = columns,
                                     .scale = 1};
}

/* Embeds one float32 row: row * scale, plus a position unless that is null. `out` may be the row. */
static inline void inlay_embed_floats(const struct inlay_kernels *kernels, const unsigned char *row,
                                      const unsigned char *position, unsigned char *out, inlay_element_type out_type,
                                      size_t columns, float scale, bool stream)
{
    struct inlay_embed_tile tile = inlay_floats_tile(&row, &out, 1, columns);
    tile.out_type = out_type;
    tile.positions = position != NULL ? &position : NULL;
    tile.scale = scale;
    tile.stream = stream;
    kernels->embed(&tile);
}

extern const struct inlay_kernels inlay_kernels_scalar;
extern const struct inlay_kernels inlay_kernels_avx2;
extern const struct inlay_kernels inlay_kernels_avx512;
extern const struct inlay_kernels inlay_kernels_neon;
extern const struct inlay_kernels inlay_kernels_portable;
