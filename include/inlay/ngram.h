/* SPDX-License-Identifier: MIT */
/**
 * @file ngram.h
 * Hashed n-gram embeddings: each token uses rows of large tables, selected by hashes of its id and the ids before it.
 * The same code runs all models with hashed n-grams; only the data in their specs differs. docs/ngrams.md has the specs
 * of models and an example. The conventions of inlay.h apply.
 *
 * Token t of a sequence has id i_t. The ids before it come from the same call, and before those from the history of its
 * sequence. Slot s, from 0 to length - 1, holds the id i_(t-s). Slot s is *blocked* if the id of any slot s' <= s
 *
 * - is missing, because the sequence starts later;
 * - is one of `masks`; or
 * - is one of `resets`, unless it is the token itself (s' = 0).
 *
 * So all slots older than a blocked slot are blocked. Column c of a token uses this row of its table:
 *
 *     w_s   = pad if slot s is blocked, else token_map[i_(t-s)]
 *     S_c   = mix over s < length_c of (w_s * multipliers[vector_c][s] mod 2^64), by XOR or by addition mod 2^64
 *     r_c   = S_c, as an int64, modulo modulus_c: in [0, modulus_c) even if S_c is negative, like Python's %
 *     row_c = offset_c + r_c
 */
#ifndef INLAY_NGRAM_H
#define INLAY_NGRAM_H

#include <inlay/base.h>
#include <inlay/layer.h>
#include <inlay/table.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The hash --------------------------------------------------------------------------------------------------- */

/** How the products in the hash of an n-gram are combined into one number. 0 is invalid. */
typedef enum inlay_ngram_mix {
    INLAY_NGRAM_MIX_XOR = 1, /**< exclusive or */
    INLAY_NGRAM_MIX_ADD = 2, /**< addition modulo 2^64 */
} inlay_ngram_mix;

/** Maximum number of ids in an n-gram. */
#define INLAY_NGRAM_MAX_LENGTH 16

/** Maximum number of columns of an n-gram handle. */
#define INLAY_NGRAM_MAX_COLUMNS 1024

/** A column: one row lookup per token. */
typedef struct inlay_ngram_column {
    uint32_t length;  /**< number of ids in its n-gram, in [1, inlay_ngram_spec.length] */
    uint32_t vector;  /**< index of its multiplier vector, < inlay_ngram_spec.vectors */
    uint32_t modulus; /**< in [1, 2^32 - 1] */
    uint32_t table;   /**< index of its table in inlay_ngram_lookup.tables; not used by inlay_ngram_ids() */
    uint64_t offset;  /**< added to the remainder; offset + modulus <= 2^63 */
} inlay_ngram_column;

/** The hash and columns of an n-gram handle. Start from inlay_ngram_spec_default(). */
typedef struct inlay_ngram_spec {
    size_t size;           /**< sizeof(inlay_ngram_spec) */
    size_t vocab;          /**< token ids are in [0, vocab); 1 to 2^31 */
    uint32_t length;       /**< number of ids N in the longest n-gram: 1 to INLAY_NGRAM_MAX_LENGTH. A history has N -
                                1 ids */
    inlay_ngram_mix mix;   /**< how products are combined */
    uint32_t pad;          /**< the number that replaces blocked slots; not mapped by token_map */
    uint32_t zero_is_none; /**< 1: a remainder of 0 means no row: the row id is -1 and zeros are gathered; 0: it is
                                an ordinary row */
    const uint32_t *token_map; /**< [vocab], a number for each id; null: the id itself. Not copied: it must outlive the
                                    handle */
    const int64_t *resets;     /**< [reset_count], ids in [0, vocab), e.g. end of text. For tokens after a reset, its
                                    slot and older ones are blocked. Copied; may be null if there are none */
    const int64_t *masks;      /**< [mask_count], ids in [0, vocab), e.g. images. For a mask itself and the tokens after
                                    it, its slot and older ones are blocked. Copied; may be null if there are none */
    size_t reset_count;        /**< number of resets, >= 0 */
    size_t mask_count;         /**< number of masks, >= 0 */
    const int64_t *multipliers; /**< [vectors, length], starting with the multiplier of the token itself. Copied */
    size_t vectors;             /**< number of multiplier vectors, 1 to INLAY_NGRAM_MAX_COLUMNS */
    const inlay_ngram_column *columns; /**< [column_count]. Copied */
    size_t column_count;               /**< number of columns, 1 to INLAY_NGRAM_MAX_COLUMNS */
} inlay_ngram_spec;

/** Returns a spec with pad 0, no token map, no resets and no masks. Set multipliers and columns. */
static inline inlay_ngram_spec inlay_ngram_spec_default(size_t vocab, uint32_t length, inlay_ngram_mix mix)
{
    inlay_ngram_spec spec;
    spec.size = sizeof spec;
    spec.vocab = vocab;
    spec.length = length;
    spec.mix = mix;
    spec.pad = 0;
    spec.zero_is_none = 0;
    spec.token_map = NULL;
    spec.resets = NULL;
    spec.masks = NULL;
    spec.reset_count = 0;
    spec.mask_count = 0;
    spec.multipliers = NULL;
    spec.vectors = 0;
    spec.columns = NULL;
    spec.column_count = 0;
    return spec;
}

/** A prepared n-gram hash. It is immutable, and any number of threads may share it. */
typedef struct inlay_ngram inlay_ngram;

/**
 * Makes an n-gram handle. One handle can hold the columns of several layers of a model. Each layer then uses its own
 * range of columns.
 *
 * @param spec       what to compute; copied, except the token map
 * @param allocator  null: malloc and free
 * @param ngram      set to the new handle, or to null if the call fails
 * @return INLAY_OK; INLAY_ERROR_NULL if a required array is missing; INLAY_ERROR_OPTION if a field is out of its
 *         documented range; INLAY_ERROR_OVERFLOW; INLAY_ERROR_NO_MEMORY
 */
INLAY_API inlay_status inlay_ngram_create(const inlay_ngram_spec *spec, const inlay_allocator *allocator,
                                          inlay_ngram **ngram);

/** Destroys an n-gram handle. Null is ignored. No call may be using the handle. */
INLAY_API void inlay_ngram_destroy(inlay_ngram *ngram);

/* ---- The batch -------------------------------------------------------------------------------------------------- */

/** Token ids and the ids before them. Start from inlay_ngram_batch_i32(), inlay_ngram_batch_i64() or
    inlay_ngram_batch_ragged(), then set the history. Its pointers are used only during the call. */
typedef struct inlay_ngram_batch {
    size_t size;            /**< sizeof(inlay_ngram_batch) */
    const void *ids;        /**< token ids, [sequences, length], or [length] with offsets; each in [0, vocab) */
    inlay_id_type id_type;  /**< of ids and history */
    uint32_t reserved;      /**< 0 */
    size_t sequences;       /**< number of sequences, >= 0 */
    size_t length;          /**< tokens per sequence, >= 0; with offsets, total number of tokens or
                                 INLAY_LENGTH_FROM_OFFSETS */
    const int64_t *offsets; /**< null, or [sequences + 1]: sequence b has tokens [offsets[b], offsets[b + 1]) of ids.
                                 Offsets start at 0, never decrease and end at the number of tokens */
    const void *history;    /**< null: every sequence starts in this call. Otherwise [sequences, N - 1] of id_type:
                                 the ids before the first token of each sequence, oldest first. A shorter history is
                                 at the end of its row; the start of the row is then not read */
    const uint32_t *history_lengths; /**< with history: null if every history has N - 1 ids; else [sequences], each
                                          <= N - 1. A history with fewer ids begins with the first id of its sequence */
} inlay_ngram_batch;

/** Returns a batch of int32 ids [sequences, length] without history. */
static inline inlay_ngram_batch inlay_ngram_batch_i32(const int32_t *ids, size_t sequences, size_t length)
{
    inlay_ngram_batch batch;
    batch.size = sizeof batch;
    batch.ids = ids;
    batch.id_type = INLAY_ID_I32;
    batch.reserved = 0;
    batch.sequences = sequences;
    batch.length = length;
    batch.offsets = NULL;
    batch.history = NULL;
    batch.history_lengths = NULL;
    return batch;
}

/** Returns a batch of int64 ids [sequences, length] without history. */
static inline inlay_ngram_batch inlay_ngram_batch_i64(const int64_t *ids, size_t sequences, size_t length)
{
    inlay_ngram_batch batch = inlay_ngram_batch_i32(NULL, sequences, length);
    batch.ids = ids;
    batch.id_type = INLAY_ID_I64;
    return batch;
}

/** Returns a batch of packed ids [offsets[sequences]] of any type, with offsets [sequences + 1], without history. Reads
    neither array. */
static inline inlay_ngram_batch inlay_ngram_batch_ragged(const void *ids, inlay_id_type id_type, const int64_t *offsets,
                                                         size_t sequences)
{
    inlay_ngram_batch batch = inlay_ngram_batch_i32(NULL, sequences, INLAY_LENGTH_FROM_OFFSETS);
    batch.ids = ids;
    batch.id_type = id_type;
    batch.offsets = offsets;
    return batch;
}

/* ---- Row ids ---------------------------------------------------------------------------------------------------- */

/** A value for numbers of columns: all columns from the first one on. */
#define INLAY_NGRAM_ALL_COLUMNS SIZE_MAX

/**
 * Writes the row ids row_c of every token, for callers that gather the rows themselves.
 *
 * If another thread changes the arrays of the batch or the token map during the call, row ids may be wrong. Each is
 * still in [offset, offset + modulus) of its column, or -1, and nothing is read or written out of bounds. The exception
 * is the last offset of a batch with INLAY_LENGTH_FROM_OFFSETS, as in inlay_forward().
 *
 * @param ngram             from inlay_ngram_create()
 * @param batch             ids and history; its arrays and the token map must not overlap `out`
 * @param first_column      the first column, < column_count
 * @param columns           number of columns, >= 1, or INLAY_NGRAM_ALL_COLUMNS
 * @param out_type          INLAY_ID_I32 or INLAY_ID_I64
 * @param out               [tokens, columns] of out_type; -1 means no row. Tokens are in the order of ids
 * @param out_stride_bytes  distance between rows of `out`
 * @param executor          null, or a thread pool
 * @param fault             null, or locates the bad id or offset
 * @return INLAY_OK; INLAY_ERROR_NULL, _OPTION, _STRIDE, _OVERFLOW or _OVERLAP for an argument, _OPTION also if row ids
 *         of a column may not fit in out_type; INLAY_ERROR_OFFSETS, _HISTORY or _ID with *fault
 */
INLAY_API inlay_status inlay_ngram_ids(const inlay_ngram *ngram, const inlay_ngram_batch *batch, size_t first_column,
                                       size_t columns, inlay_id_type out_type, void *out, size_t out_stride_bytes,
                                       const inlay_executor *executor, inlay_fault *fault);

/* ---- Forward ---------------------------------------------------------------------------------------------------- */

/** How the rows of a token are combined. 0 is invalid. */
typedef enum inlay_ngram_combine {
    INLAY_NGRAM_CONCAT = 1, /**< written one after the other */
    INLAY_NGRAM_SUM = 2,    /**< added in column order, in float32. Missing rows are skipped, so -0 stays -0. If all
                                 rows are missing, the sum is 0 */
} inlay_ngram_combine;

/** The tables of an n-gram handle and how to combine their rows. Start from inlay_ngram_lookup_default(). Its pointers
    are used only during the call. */
typedef struct inlay_ngram_lookup {
    size_t size;                      /**< sizeof(inlay_ngram_lookup) */
    const inlay_table *const *tables; /**< [table_count], with any element types and the same dim; no shards. Tables
                                           that no column of the call uses may be null */
    size_t table_count;               /**< number of tables */
    size_t first_column;              /**< the first column to gather, < column_count */
    size_t columns;                   /**< number of columns, >= 1, or INLAY_NGRAM_ALL_COLUMNS */
    const inlay_tuning *tuning;       /**< the call uses its prefetch (INLAY_PREFETCH_L2_BLOCKS if automatic) and
                                           stream_bytes; null: inlay_tuning_default() */
    float scale;                      /**< factor of every row, 0 included */
    inlay_ngram_combine combine;      /**< how the rows of a token are combined */
    inlay_element_type out_type;      /**< INLAY_F32, INLAY_F16 or INLAY_BF16: rounded once to nearest even; NaN
                                           stays NaN. If the tables have this type and scale is 1, INLAY_NGRAM_CONCAT
                                           copies rows bit for bit */
    inlay_stores stores;              /**< how outputs are stored */
    size_t column_stride_bytes;       /**< INLAY_NGRAM_CONCAT: distance between the rows of a token; 0: contiguous
                                           rows. INLAY_NGRAM_SUM: 0 */
} inlay_ngram_lookup;

/** Returns a lookup of all columns, with scale 1, INLAY_NGRAM_CONCAT, float32 outputs, automatic stores and
    contiguous rows per token. */
static inline inlay_ngram_lookup inlay_ngram_lookup_default(const inlay_table *const *tables, size_t table_count)
{
    inlay_ngram_lookup lookup;
    lookup.size = sizeof lookup;
    lookup.tables = tables;
    lookup.table_count = table_count;
    lookup.first_column = 0;
    lookup.columns = INLAY_NGRAM_ALL_COLUMNS;
    lookup.tuning = NULL;
    lookup.scale = 1;
    lookup.combine = INLAY_NGRAM_CONCAT;
    lookup.out_type = INLAY_F32;
    lookup.stores = INLAY_STORES_AUTOMATIC;
    lookup.column_stride_bytes = 0;
    return lookup;
}

/**
 * Hashes the n-grams of every token and gathers their rows in one pass:
 *
 *     CONCAT: out[t, c, :] = cast(table_c[row_c, :] * scale)
 *     SUM:    out[t, :]    = cast(sum over c of table_c[row_c, :] * scale)
 *
 * Each product is rounded to float32, then each sum. If there is no row, zeros are written.
 *
 * With CONCAT, row c of token t is at t * token_stride_bytes + c * column_stride_bytes. The output is [tokens, columns,
 * dim] if the rows of a token fit in token_stride_bytes, and [columns, tokens, dim] if a column of all tokens fits in
 * column_stride_bytes. With any other strides, output rows could overlap, so the call returns INLAY_ERROR_STRIDE.
 *
 * If another thread changes the arrays of the batch or the token map during the call, the guarantees of
 * inlay_ngram_ids() apply.
 *
 * @param ngram               from inlay_ngram_create()
 * @param batch               ids and history; its arrays and the token map must not overlap `out`
 * @param lookup              tables, columns and output type. For each of its columns, a table has at least offset +
 *                            modulus rows. The tables, their views and the array of views must not overlap `out`
 * @param out                 rows of dim elements of out_type. Tokens are in the order of ids
 * @param token_stride_bytes  distance between the first rows of two tokens
 * @param executor            null, or a thread pool
 * @param fault               null, or locates the bad id or offset
 * @return INLAY_OK; INLAY_ERROR_NULL, _OPTION, _SHAPE, _STRIDE, _OVERFLOW or _OVERLAP for an argument, _SHAPE also if
 *         the dims of tables differ or a table has too few rows; INLAY_ERROR_OFFSETS, _HISTORY or _ID with *fault
 */
INLAY_API inlay_status inlay_ngram_forward(const inlay_ngram *ngram, const inlay_ngram_batch *batch,
                                           const inlay_ngram_lookup *lookup, void *out, size_t token_stride_bytes,
                                           const inlay_executor *executor, inlay_fault *fault);

/* ---- History ---------------------------------------------------------------------------------------------------- */

/**
 * Writes the histories for the next call, after accepted[b] tokens of sequence b. To get the new history, append the
 * first accepted[b] ids of the sequence to its history and keep the last N - 1 ids. Histories hold token ids and don't
 * depend on columns, so one history serves all layers. To roll back in speculative decoding, accept fewer tokens than
 * were computed.
 *
 * @param ngram        from inlay_ngram_create()
 * @param batch        ids and history of the previous call
 * @param accepted     null: all tokens of each sequence. Otherwise [sequences], each in [0, tokens of the sequence]
 * @param out          [sequences, N - 1] of the batch's id_type: either batch->history itself, or an array that doesn't
 *                     overlap it. Each history is at the end of its row, after zeros
 * @param out_lengths  [sequences], lengths of the histories: either batch->history_lengths itself, or an array that
 *                     doesn't overlap it. May be null if the batch has a history but no history_lengths, so all lengths
 *                     are N - 1
 * @param fault        null, or locates the bad id, offset, length or number of accepted tokens
 * @return INLAY_OK; INLAY_ERROR_NULL, _OPTION, _OVERFLOW or _OVERLAP for an argument; INLAY_ERROR_OFFSETS, _HISTORY
 *         or _ID with *fault
 */
INLAY_API inlay_status inlay_ngram_history(const inlay_ngram *ngram, const inlay_ngram_batch *batch,
                                           const int64_t *accepted, void *out, uint32_t *out_lengths,
                                           inlay_fault *fault);

#ifdef __cplusplus
}
#endif

#endif
