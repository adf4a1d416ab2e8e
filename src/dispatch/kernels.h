/* SPDX-License-Identifier: MIT */
/*
 * struct inlay_kernels: the interface of an ISA, one function per operation, with its numerical contract. Kernels get
 * pointers and counts. Baseline code handles ids, batches, policies and validation before it calls them.
 */
#pragma once

#include "base/line.h"

#include <inlay/inlay.h>

#include <stdbool.h>

/* The sums of a row's values and of their squares, as `norm` of struct inlay_kernels defines them. */
struct inlay_row_sums {
    double values, squares;
};

/* A tile of rows: out[i][0 .. columns) = rows[i][0 .. columns) * scale + positions[i][0 .. columns) +
   segments[i][0 .. columns). */
struct inlay_embed_tile {
    inlay_element_type type;               /* of `rows` */
    inlay_element_type out_type;           /* of `out`: INLAY_F32, INLAY_F16 or INLAY_BF16 */
    const unsigned char *const *rows;      /* [count] */
    const unsigned char *const *scales;    /* [count], the scale of each row's first column, for types with separate
                                              arrays of scales; else null */
    const unsigned char *const *zeros;     /* [count], each row's array of zero points (4-bit ones are packed, the lower
                                              half first); null: the type's default */
    const size_t *zero_at;                 /* [count], index in zeros[i] of the zero point of each row's first column;
                                              not read if `zeros` is null */
    size_t group;                          /* columns per scale and zero point, for grouped types */
    const unsigned char *const *positions; /* [count], float32; null: no such term */
    const unsigned char *const *segments; /* [count], float32, added last; null: none. Only with positions, float32 rows
                                             and float32 outputs */
    unsigned char *const *out;        /* [count]. float32 rows may be rows[i] or positions[i]; 16-bit rows that aren't
                                         streamed may be float32 rows[i] */
    const unsigned char *const *next; /* [count], rows with the same number of columns: next[i] is prefetched before or
                                         while row i is written; null: none */
    bool by_line, near;               /* prefetch a line of next[i] per line written, else all of it before row i; to
                                        L1, else to L2 */
    struct inlay_row_sums *sums;      /* [count], set to the sums of out[i], if the kernel can; null: none. Only with
                                         float32 rows and outputs that aren't streamed */
    bool squares_only;                /* sums[i].values aren't used */
    size_t count;                     /* number of rows to write */
    size_t columns;                   /* a multiple of the block, for types with blocks (inlay_row_formats) */
    float scale;
    bool stream;           /* use non-temporal stores, if the ISA has them; the caller fences */
    bool narrow_transfers; /* move 32 bytes at a time if float32 rows aren't streamed, on ISAs with wider registers */
};

/*
 * A generator computes rows of a sinusoid, for a range of consecutive frequencies at a time. Its state is the sine and
 * cosine of one position as doubles; each row turns it by one position's angle. Every INLAY_ANCHOR_ROWS rows, a new
 * anchor replaces the state, which keeps its error below per-column bounds. An anchor is computed from exact phases,
 * which takes as long as about 30 rows, or by re-anchoring, which turns the previous anchor, at most
 * INLAY_MAX_REANCHORS times in a row.
 *
 * All arrays of doubles are padded with zeros to a multiple of INLAY_PAIR_GROUP.
 */
enum { INLAY_PAIR_GROUP = 16, INLAY_ANCHOR_ROWS = 128, INLAY_MAX_REANCHORS = 15 };

/* Pairs of columns that a generator advances together. They need 48 bytes of state each, which fit in L1. */
enum { INLAY_GENERATOR_PAIRS = 512 };

/* A single struct, so kernels can address all arrays from one register. */
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

/* Returns the length of an array with one number per pair. */
static inline size_t inlay_padded(size_t pairs)
{
    return (pairs + INLAY_PAIR_GROUP - 1) / INLAY_PAIR_GROUP * INLAY_PAIR_GROUP;
}

/* Sets the state of pairs [first, first + pairs), except the steps, from exact phases. */
struct inlay_sinusoid_anchor {
    size_t pairs;
    unsigned rows;      /* INLAY_ANCHOR_ROWS, or 1 if the state is never turned */
    unsigned reanchors; /* number of times that the state may be re-anchored from this one */
    double amplitude;   /* factor of state and bounds */
    /*
     * The angles of the anchor's position: pi * half_turns[i], |half_turns[i]| <= 1/4, rounded to 53 significant bits,
     * plus the quarter turns whose sine and cosine are quadrant_sin[i] and quadrant_cos[i] (each 0, 1 or -1).
     */
    const double *half_turns, *quadrant_sin, *quadrant_cos;
    struct inlay_sinusoid_state *state;
    size_t first;
};

/* Turns the latest anchor of pairs [0, pairs) into the next one, and sets the state to it. */
struct inlay_sinusoid_reanchor {
    size_t pairs;
    double amplitude;
    const double *sin, *cos; /* of the angle of INLAY_ANCHOR_ROWS positions */
    struct inlay_sinusoid_state *state;
};

/* Rows of consecutive positions, turned from a state, or of arbitrary positions, each computed separately. */
struct inlay_sinusoid_tile {
    size_t pairs, rows;
    size_t sines, cosines;              /* pairs, or pairs - 1 if an odd dim has no column for the last one */
    struct inlay_sinusoid_state *state; /* of the first row; the kernel advances it by `rows` positions */
    /*
     * Null, or the position [rows] of each row, an integer, |position| < 2^31; the state is then unused. The angle of a
     * pair is position * (turns_high + turns_low) quarter turns, modulo 4.
     */
    const double *positions;
    const double *turns_high, *turns_low;
    double amplitude; /* the factor of these entries */
    /* Destinations. Sine i of a row is element i from sin_out on, and cosine i is element i from cos_out on. If they
       are interleaved, both are element 2i, and cos_out is one element after sin_out. */
    inlay_element_type type;
    unsigned char *sin_out, *cos_out;
    size_t out_stride_bytes;
    bool interleaved;
    bool stream; /* use non-temporal stores: in every row sin_out, and cos_out if not interleaved, begin a cache line;
                    the caller fences; has no effect on rows that are computed each by itself */
    /*
     * [rows, ceil(pairs / INLAY_PAIR_GROUP)], zeros before the call. Bits are set for entries that the rounding test
     * leaves undecided, which must be computed exactly: bit i of a word for sine i of its group, bit 16 + i for cosine
     * i. Bits of nonexistent columns are meaningless.
     */
    uint32_t *undecided;
    /*
     * Null, or float32 rows [rows]; the columns sin_at and cos_at bytes from their start belong to the tile's first
     * sine and cosine. With `tokens`, for float32 tiles only, the kernel writes token * scale + entry: the product is
     * rounded, then the sum. The rounding test applies to the entry. Rows in `next` are prefetched, a line per line
     * written, to L1 if `near`, else to L2.
     */
    const unsigned char *const *tokens;
    const unsigned char *const *next;
    size_t sin_at, cos_at;
    float scale;
    bool near;
};

/* If variance / mean^2 is below this, too many digits were canceled, and the variance is summed again. */
#define INLAY_NORM_CANCELED (1.0 / 256)

/* A norm is applied in float if its factor is in this range, which keeps all digits and can't overflow. */
#define INLAY_NORM_MIN_FACTOR 0x1p-100
#define INLAY_NORM_MAX_FACTOR 0x1p100

/* Norms are fastest in multiples of this many rows. */
enum { INLAY_NORM_ROWS = 4 };

/* Rows of floats to normalize, in place or not. */
struct inlay_norm_tile {
    const unsigned char *const *rows;  /* [count], float32 */
    unsigned char *const *out;         /* [count], float32; may be rows[i] */
    const struct inlay_row_sums *sums; /* [count], of the rows; null: the kernel computes them */
    size_t count, columns;
    inlay_norm norm;            /* not INLAY_NORM_NONE */
    float epsilon;              /* LayerNorm: added to the variance; RMSNorm: added to the mean square; L2 norm: minimum
                                   length to divide by */
    const unsigned char *gamma; /* [columns], float32; null: ones */
    const unsigned char *beta;  /* [columns], float32; null: no such term */
    bool stream; /* use non-temporal stores, if the ISA has them: out[i] is then on a cache line; the caller fences */
};

/* The heads of one tensor: head h of token t is at in + t * in_token_bytes + h * in_head_bytes, and its output is
   placed the same way. The output is the input, with the same strides, or doesn't overlap it. */
struct inlay_rotary_heads {
    inlay_element_type type; /* INLAY_F32, INLAY_F16 or INLAY_BF16 */
    size_t heads;
    size_t columns; /* of a head, >= 2 * pairs */
    const unsigned char *in;
    size_t in_token_bytes, in_head_bytes;
    unsigned char *out;
    size_t out_token_bytes, out_head_bytes;
};

/* Tokens whose heads are rotated. */
struct inlay_rotary_tile {
    const unsigned char *const *angles; /* [tokens], float32: cosines [pairs], then sines [pairs] */
    size_t tokens, pairs;               /* 1 <= pairs <= INLAY_ROTARY_MAX_DIM / 2 */
    const struct inlay_rotary_heads *tensors;
    size_t count;     /* of tensors */
    bool interleaved; /* pair i is columns 2i and 2i + 1, else columns i and pairs + i */
    bool inverse;     /* rotates by the negative angles */
};

/*
 * Hashed n-grams. SIMD kernels use one lane per token: up to a multiple of INLAY_NGRAM_LANES tokens, places must be
 * readable and rows writable.
 */
enum { INLAY_NGRAM_TOKENS = 64, INLAY_NGRAM_LANES = 8 };

/* Moduli in [MIN, LIMIT) are reduced in lanes, others one by one. See simd/ngram.h. */
#define INLAY_NGRAM_MIN_LANES (UINT32_C(1) << 13)
#define INLAY_NGRAM_LANES_LIMIT (UINT32_C(1) << 31)

/* Tokens to hash for some columns. */
struct inlay_ngram_tile {
    const uint32_t *const *places;     /* [length] arrays [tokens]: place s of each token, or the pad if blocked */
    const uint64_t *multipliers;       /* [vectors, length] */
    const inlay_ngram_column *columns; /* [count] */
    const double *inverses;            /* [count] 1 / modulus, rounded to nearest */
    size_t tokens, length, count;      /* tokens <= INLAY_NGRAM_TOKENS */
    bool adds;                         /* else exclusive or */
    uint64_t *rows;                    /* [count, rows_stride]; the first `tokens` of each row are results */
    size_t rows_stride;                /* a multiple of INLAY_NGRAM_LANES, >= tokens */
};

struct inlay_kernels {
    const char *name;
    /*
     * Gathers rows: elements are dequantized to floats as defined by inlay_element_type. The product is rounded, then
     * the sum, without fused multiply-add. 16-bit outputs are then rounded to nearest even: a NaN becomes a quiet NaN,
     * and values beyond the largest float16 become infinite. With scale 1 and no positions, float to float and 16-bit
     * elements to the same type are copied bit by bit. Results match scalar's bits, except the sign and payload of NaN.
     */
    void (*embed)(const struct inlay_embed_tile *tile);
    /* These two keep the state within its bounds. Null in scalar, which has no state. */
    void (*sinusoid_anchor)(const struct inlay_sinusoid_anchor *anchor);
    void (*sinusoid_reanchor)(const struct inlay_sinusoid_reanchor *step);
    /* Rounds each entry correctly to the tile's type, or reports it as undecided. Returns true if any is undecided.
       Scalar reports all, so the integer path computes them. */
    bool (*sinusoid_rows)(const struct inlay_sinusoid_tile *tile);
    /*
     * Sums use 16 lanes: lane j adds columns j, j + 16, j + 32, ... in order; then lane j + 8 is added to lane j, and
     * so on with 4, 2 and 1.
     *
     * squares = sum(x^2) / columns, mean = sum(x) / columns. variance = squares - mean^2, or if that is below mean^2 *
     * INLAY_NORM_CANCELED, sum((x - mean)^2) / columns. LayerNorm: factor = 1 / sqrt(variance + epsilon). RMSNorm:
     * factor = 1 / sqrt(squares + epsilon). L2 norm: factor = 1 / length, with length = sqrt(sum(x^2)), or epsilon if
     * that is larger; NaN is kept.
     *
     * Statistics are in double, each operation rounded. Rows are normalized in float, each operation rounded, with the
     * mean as a pair of floats: high = (float)mean, low = (float)(mean - high).
     *
     *     out = ((x - high) - low) * (float)factor, then * gamma, then + beta
     *
     * Only LayerNorm subtracts. If the factor is not in [INLAY_NORM_MIN_FACTOR, INLAY_NORM_MAX_FACTOR], the row is
     * normalized in double, out = (x - mean) * factor, then * gamma, then + beta, and rounded to float at the end.
     */
    void (*norm)(const struct inlay_norm_tile *tile);
    /* Writes row ids: rows[c][t] = offset + the remainder of the sum, both as defined in ngram.h. */
    void (*ngram_rows)(const struct inlay_ngram_tile *tile);
    /*
     * Rotates pairs (x, y) of columns: x' = x * cos - y * sin, y' = y * cos + x * sin, or with -sin for the inverse.
     * Elements are converted to float, each product and sum is rounded, and 16-bit results are rounded as by `embed`.
     * Columns from 2 * pairs on are copied bit by bit.
     */
    void (*rotate)(const struct inlay_rotary_tile *tile);
    size_t lanes;    /* entries per step of sinusoid_rows, by turning a state; 0: no state, and slow */
    bool fma;        /* it uses fused multiply-add, without which it takes several times as long */
    bool streams;    /* the ISA has non-temporal stores; otherwise `stream` of a tile has no effect */
    bool prefetches; /* it prefetches the rows in `next` of a tile */
    bool sums;       /* embed sets the sums of a tile; otherwise `sums` of a tile has no effect */
};

/* Returns a tile that copies `columns` floats of each row; callers set the other fields. */
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

/* Writes one float32 row: row * scale, plus a position unless it is null. `out` may be the row. */
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
