/* SPDX-License-Identifier: MIT */
/**
 * @file layer.h
 * The input layer: layers made from tables, batches of ids, the forward call, and the backward call for training. If
 * you compose your own layer, use the separate operations gather, scale and add_positions. The conventions of inlay.h
 * apply.
 */
#ifndef INLAY_LAYER_H
#define INLAY_LAYER_H

#include <inlay/base.h>
#include <inlay/positions.h>
#include <inlay/table.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The layer -------------------------------------------------------------------------------------------------- */

/** How outputs are stored. AUTOMATIC picks cached or streamed stores, to minimize the time of a call plus one read of
    its output. For outputs of 4 MiB and more, the layer times both kinds. Until it has their times, and for smaller
    outputs, it streams outputs larger than inlay_tuning.stream_bytes. With pooling, an output counts as if it had a row
    per token. */
typedef enum inlay_stores {
    INLAY_STORES_AUTOMATIC = 0, /**< chosen per call */
    INLAY_STORES_CACHED = 1,    /**< through the caches; best if the output is read right away */
    INLAY_STORES_STREAMED = 2,  /**< non-temporal stores, which bypass the caches, if the ISA has them */
} inlay_stores;

/** Token mapping entry of an id without a row, as in pruned tables of FBGEMM and PyTorch. */
#define INLAY_NO_ROW (-1)

/** The out-of-vocabulary policy: how ids outside [0, vocab) are handled, and ids whose token mapping is INLAY_NO_ROW.
   With a token mapping, vocab is token_mapping_length. Otherwise it is the table's `vocab` for a shard, and its number
   of rows for a whole table. */
typedef enum inlay_bad_id {
    INLAY_BAD_ID_ERROR = 0,      /**< the call returns INLAY_ERROR_ID and writes nothing */
    INLAY_BAD_ID_CLAMP = 1,      /**< uses the nearest id, 0 or vocab - 1; like ERROR if vocab is 0. Invalid if
                                    the token mapping contains INLAY_NO_ROW */
    INLAY_BAD_ID_ZERO = 2,       /**< uses a row of zeros */
    INLAY_BAD_ID_SUBSTITUTE = 3, /**< uses the row of substitute_id, e.g. the unknown token */
    INLAY_BAD_ID_SKIP = 4,       /**< leaves the output row unchanged */
} inlay_bad_id;

/** How zero rows are handled. padding_id has a zero row, and so do bad ids with INLAY_BAD_ID_ZERO. */
typedef enum inlay_zero_rows {
    INLAY_ZERO_ROWS_BARE = 0,       /**< the output row is zeros; no position, segment or norm is applied */
    INLAY_ZERO_ROWS_POSITIONED = 1, /**< like any other row: positions and the other terms are applied */
    INLAY_ZERO_ROWS_TABLE = 2,      /**< like POSITIONED, but padding_id uses its row of the table, as with PyTorch's
                                       padding_idx at inference; padding_id then affects only positions */
} inlay_zero_rows;

/** How tokens without explicit position ids get their positions. */
typedef enum inlay_position_mode {
    INLAY_POSITION_MODE_SEQUENTIAL = 0, /**< token s of a sequence has position start + s */
    /** Counts only tokens other than padding_id, from 0 in each sequence: token n has position start + n. Every
       padding_id has position start - 1. So left padding shifts no positions. Set start to padding_id + 1 for fairseq,
       RoBERTa and XLM-R, and to 2 for OPT. */
    INLAY_POSITION_MODE_PADDING_AWARE = 1,
} inlay_position_mode;

/** The norm after the sum. Its statistics are computed in double. The factor, e.g. 1 / sqrt(variance + epsilon), is
   applied in float32, or in double if it is outside [2^-100, 2^100]. The order of operations is the same on every ISA.
   A result y has an error of at most 4 ULP of max(|beta|, |y - beta|). */
typedef enum inlay_norm {
    INLAY_NORM_NONE = 0,  /**< no norm */
    INLAY_NORM_LAYER = 1, /**< (x - mean) * (1 / sqrt(variance + epsilon)) * gamma + beta (Ba et al. 2016) */
    INLAY_NORM_RMS = 2,   /**< x * (1 / sqrt(mean square + epsilon)) * gamma (Zhang and Sennrich 2019) */
    INLAY_NORM_L2 = 3,    /**< x * (1 / max(sqrt(sum of squares), epsilon)) * gamma: unit rows. Use epsilon 1e-12 for
                               PyTorch's F.normalize and sentence-transformers' Normalize, 1e-32 for model2vec. A row of
                               zeros stays zero, or becomes NaN with epsilon 0, as with NumPy. NaN stays NaN */
} inlay_norm;

/** How the rows of a sequence are reduced to one row, e.g. for static embeddings and bags of features. Zero rows and
   skipped rows are left out. */
typedef enum inlay_pooling {
    INLAY_POOLING_NONE = 0, /**< one row per token */
    INLAY_POOLING_SUM = 1,  /**< sum of row * factor, in token order. The factor is token weight * batch weight * scale,
                                 multiplied from left to right; absent weights are omitted */
    INLAY_POOLING_MEAN = 2, /**< the sum above, divided by the number of rows, as in NumPy and PyTorch. The mean of no
                                 rows is zeros */
} inlay_pooling;

/** Prefetch strategies: which part of later rows to prefetch, and when. All give the same bits. Which is fastest
    depends on the CPU, the row size, the page size and the ids. So a layer times them in its own calls and keeps the
    fastest (see inlay_layer_spec.self_tuning). */
typedef enum inlay_prefetch {
    INLAY_PREFETCH_AUTOMATIC = 0,       /**< a default for the CPU family, the shape and the output */
    INLAY_PREFETCH_NONE = 1,            /**< nothing */
    INLAY_PREFETCH_LINES = 2,           /**< the first 4 cache lines of each of 16 rows, to L1, before any is read */
    INLAY_PREFETCH_L1_LINE_AHEAD_2 = 3, /**< for each line written, the same line of the row 2 rows ahead, to L1 */
    INLAY_PREFETCH_L2_LINE_AHEAD_2 = 4, /**< like L1_LINE_AHEAD_2, but to L2 */
    INLAY_PREFETCH_L2_LINE_AHEAD_8 = 5, /**< like L2_LINE_AHEAD_2, but 8 rows ahead */
    INLAY_PREFETCH_L2_ROW_AHEAD_16 = 6, /**< before reading row i, the whole row i + 16, to L2 */
    INLAY_PREFETCH_L2_BLOCKS = 7,       /**< blocks of up to 64 whole rows, one block ahead, to L2. Replaces the
                                             four AHEAD strategies for kernels that can't prefetch, e.g. scalar ones */
} inlay_prefetch;

/** Memory settings of a layer. They affect speed, never results. A layer made with a tuning keeps it, without
    self-tuning. A call that can't use the prefetch strategy uses a similar one. Calls are split into *parts*; each runs
    on one thread. */
typedef struct inlay_tuning {
    size_t size;             /**< sizeof(inlay_tuning) */
    size_t stream_bytes;     /**< for INLAY_STORES_AUTOMATIC: larger outputs use non-temporal stores */
    size_t compute_bytes;    /**< for float32 tables: sequences that share no position rows with others of their part
                                  compute theirs, even if they are cached, if these take more bytes than this.
                                  SIZE_MAX: cached rows are always read */
    size_t block_bytes;      /**< size of a block of position rows. A block stays in L1 while every sequence uses it. It
                                  has at least one row. Blocks of computed rows are capped at 16 KiB */
    inlay_prefetch prefetch; /**< strategy for calls with more than one token id */
    uint32_t reserved;       /**< 0 */
} inlay_tuning;

/**
 * Returns the tuning of layers made without one. compute_bytes depends on the CPU: SIZE_MAX without FMA, otherwise the
 * best value measured for its family, or a compromise if the family wasn't measured. The other fields are the same on
 * every CPU. Measured choices of self-tuning override stream_bytes and prefetch, and also compute_bytes if positions
 * are cached. Selects the ISA as inlay_init() does.
 */
INLAY_API inlay_tuning inlay_tuning_default(void);

/** CPU information used for tuning. */
typedef struct inlay_cpu_info {
    size_t size;          /**< sizeof(inlay_cpu_info) */
    const char *measured; /**< the measured CPU family, e.g. "AMD Zen 4", a static string; null if this CPU's family was
                               not measured */
    size_t l1_bytes;      /**< L1 data cache of a core, as reported by x86-64 CPUs; 0 if the CPU reports none, and
                               always 0 on other architectures */
    size_t l2_bytes;      /**< L2 cache of a core, or 0 as above. If the output fits in L2, most float32 tables are
                               prefetched less */
    size_t l3_bytes;      /**< L3 cache, or 0 as above. Not used for tuning, since virtual machines report arbitrary
                               sizes */
    char cpu[48];         /**< the CPU's own name, in ASCII; empty if it reports none */
} inlay_cpu_info;

/** Returns the CPU information used for tuning. */
INLAY_API inlay_cpu_info inlay_cpu_info_detect(void);

/** Self-tuning: a layer times parts of its own calls to choose a prefetch strategy, and to choose between cached and
    computed positions. It times whole calls to choose stores. */
typedef enum inlay_self_tuning {
    INLAY_SELF_TUNING_ON = 0,  /**< on, unless the layer has a tuning or the environment has INLAY_SELF_TUNING=off */
    INLAY_SELF_TUNING_OFF = 1, /**< off: the initial settings are kept */
} inlay_self_tuning;

enum {
    INLAY_TUNING_CALL_CLASSES = 6,   /**< 0 to 2: outputs of 256 KiB-2 MiB, 2-16 MiB, and 16 MiB and more. 3 to 5: the
                                          same sizes, for calls that run sequences one by one and can compute
                                          sinusoids */
    INLAY_TUNING_OUTPUT_CLASSES = 8, /**< outputs of 4-8 MiB, 8-16 MiB, ..., 256-512 MiB, and 512 MiB and more */
};

/**
 * The state of self-tuning, per class of calls. It contains no pointers, so you may save it to a file and pass it to a
 * layer with the same table on the same machine.
 */
typedef struct inlay_tuning_state {
    size_t size;                                 /**< sizeof(inlay_tuning_state) */
    uint32_t samples[INLAY_TUNING_CALL_CLASSES]; /**< number of timed parts; 0: none yet */
    uint8_t prefetch[INLAY_TUNING_CALL_CLASSES]; /**< the fastest inlay_prefetch */
    uint8_t computes[INLAY_TUNING_CALL_CLASSES]; /**< 1: positions are computed even if they are cached */
    uint8_t stores[INLAY_TUNING_OUTPUT_CLASSES]; /**< the chosen inlay_stores; 0: none yet. Non-temporal only if a call
                                                      plus one read of its output is then 3% faster */
    uint8_t reserved[4];                         /**< 0 */
} inlay_tuning_state;

/**
 * The terms of a layer. Start from inlay_layer_spec_default() and set the terms that you need; unused terms cost
 * nothing.
 *
 *     out = cast(dropout(norm(row * scale + position + segment)))
 *
 * Operations run in this order, and each result is rounded to float32. segments_first swaps the two sums. inlay_norm
 * describes how a norm is rounded. Omitted terms are skipped, not added as zeros.
 *
 * The layer keeps pointers to the sinusoid, to the arrays of all tables (data, scales, zeros, extents), and to gamma,
 * beta, the token mapping and the token weights. They must outlive the layer; arrays need no alignment. Everything else
 * is copied.
 *
 * - Shards: for ids of other shards, the layer writes rows of -0.0 and adds no positions. The outputs of all shards
 *   then add up to the output of the whole layer, bit for bit. A shard with norm, pooling, dropout or segments is
 *   rejected with INLAY_ERROR_OPTION.
 * - Sinusoids: inlay_layer_create() computes the first cached_positions rows. Calls compute later rows as needed. In a
 *   run of consecutive positions, the first row takes about 7 ns per entry; the others are cheap. A layer has a
 *   sinusoid or learned positions, not both.
 * - Limits: dim is at most 4096 with pooling. It is also at most 4096 if outputs are 16-bit and the layer has a
 *   sinusoid or a norm. A layer with pooling can't have positions or segments.
 * - Token mapping: id i uses row token_mapping[i] of the table (for a shard, of the full vocabulary), as in model2vec.
 *   Valid ids are then [0, token_mapping_length). padding_id and substitute_id are ids before the mapping.
 *   inlay_layer_create() validates all entries. An entry changed later to a value out of range counts as row 0.
 * - Pruned tables: ids mapped to INLAY_NO_ROW follow bad_id. padding_id may map to it unless zero_rows is
 *   INLAY_ZERO_ROWS_TABLE; substitute_id may not. If no entry is INLAY_NO_ROW at creation, entries set to it later
 * count as row 0. Mean pooling divides by the number of rows summed; FBGEMM divides by the bag length, pruned ids
 * included.
 * - Token weights: with pooling, the row of each id is multiplied by the id's weight, as in model2vec. If bad_id
 *   replaces an id, the weight of the new id is used. Mean pooling still divides by the number of rows, not by the sum
 *   of weights.
 */
typedef struct inlay_layer_spec {
    size_t size;                       /**< sizeof(inlay_layer_spec) */
    const inlay_table *tokens;         /**< token table, [vocab, dim] */
    const inlay_sinusoid *sinusoid;    /**< positions by formula, of the same dim; null: none */
    const inlay_table *positions;      /**< learned positions, [rows, dim]; null: none */
    const inlay_table *segments;       /**< token-type (segment) embeddings, [types, dim]; null: none */
    const inlay_tuning *tuning;        /**< fixed settings; null: inlay_tuning_default() and self-tuning */
    size_t cached_positions;           /**< rows of the sinusoid to compute once; 0: none */
    float scale;                       /**< factor of the token row; can be 0; usually 1 or inlay_sqrt_dim(dim) */
    inlay_stores stores;               /**< how outputs are stored */
    int64_t padding_id;                /**< id with a zero row, see inlay_zero_rows; negative: none */
    int64_t substitute_id;             /**< for INLAY_BAD_ID_SUBSTITUTE, in [0, vocab) */
    inlay_bad_id bad_id;               /**< out-of-vocabulary policy */
    inlay_zero_rows zero_rows;         /**< how zero rows are handled */
    inlay_position_mode position_mode; /**< how tokens get their positions */
    uint16_t clamp_positions;          /**< 1: positions past the learned table use its last row; 0: the call
                                            returns INLAY_ERROR_POSITION */
    uint16_t segments_first;           /**< 1: (row * scale + segment) + position, as in transformers; 0: (row * scale +
                                            position) + segment, as in ONNX Runtime. Must be 0 without segments */
    inlay_norm norm;                   /**< the norm after the sum */
    float epsilon;                     /**< epsilon of the norm; finite, >= 0 */
    const void *gamma;                 /**< gamma of the norm, float32 [dim]; null: ones. Read in every call */
    const void *beta;                  /**< beta of INLAY_NORM_LAYER, float32 [dim]; null: none. Read in every call */
    inlay_pooling pooling;             /**< one row per sequence instead of one per token */
    inlay_element_type out_type;      /**< INLAY_F32, INLAY_F16 or INLAY_BF16: rounded to nearest even; NaN stays NaN */
    const void *token_mapping;        /**< null, or [token_mapping_length] of token_mapping_type; rows or
                                           INLAY_NO_ROW */
    size_t token_mapping_length;      /**< >= 1 with a mapping, else 0 */
    const void *token_weights;        /**< null, or float32 [token_weights_length] */
    size_t token_weights_length;      /**< with token weights: vocab, as defined at inlay_bad_id; else 0 */
    inlay_id_type token_mapping_type; /**< of the mapping; 0 without one */
    inlay_self_tuning self_tuning;    /**< self-tuning on or off */
    const inlay_tuning_state *tuning_state; /**< initial state of self-tuning; null: none */
} inlay_layer_spec;

/** Returns a spec with scale 1, no positions, INLAY_CACHED_POSITIONS_DEFAULT, automatic stores, INLAY_BAD_ID_ERROR,
    no padding and float32 outputs. Calls no function of the library. */
static inline inlay_layer_spec inlay_layer_spec_default(const inlay_table *tokens)
{
    inlay_layer_spec spec;
    spec.size = sizeof spec;
    spec.tokens = tokens;
    spec.sinusoid = NULL;
    spec.positions = NULL;
    spec.segments = NULL;
    spec.tuning = NULL;
    spec.cached_positions = INLAY_CACHED_POSITIONS_DEFAULT;
    spec.scale = 1;
    spec.stores = INLAY_STORES_AUTOMATIC;
    spec.padding_id = -1;
    spec.substitute_id = 0;
    spec.bad_id = INLAY_BAD_ID_ERROR;
    spec.zero_rows = INLAY_ZERO_ROWS_BARE;
    spec.position_mode = INLAY_POSITION_MODE_SEQUENTIAL;
    spec.clamp_positions = 0;
    spec.segments_first = 0;
    spec.norm = INLAY_NORM_NONE;
    spec.epsilon = 0;
    spec.gamma = NULL;
    spec.beta = NULL;
    spec.pooling = INLAY_POOLING_NONE;
    spec.out_type = INLAY_F32;
    spec.token_mapping = NULL;
    spec.token_mapping_length = 0;
    spec.token_weights = NULL;
    spec.token_weights_length = 0;
    spec.token_mapping_type = (inlay_id_type)0;
    spec.self_tuning = INLAY_SELF_TUNING_ON;
    spec.tuning_state = NULL;
    return spec;
}

/** A layer. Any number of threads may share it. It copies no table. It owns only its copy of the spec, the cached
    rows of a sinusoid, and the state of self-tuning, which doesn't affect results. */
typedef struct inlay_layer inlay_layer;

/**
 * Makes a layer.
 *
 * @param spec       the terms; inlay_layer_spec lists the pointers that must outlive the layer
 * @param allocator  null: malloc and free
 * @param layer      set to the new handle, or to null if the call fails
 * @return INLAY_OK; INLAY_ERROR_NULL, _OPTION, _SHAPE, _STRIDE or _OVERFLOW for an argument or a field of `spec`
 *         (inlay_layer_spec_check() names the field); INLAY_ERROR_ID if a value of the token mapping is out of range;
 *         INLAY_ERROR_NO_MEMORY
 */
INLAY_API inlay_status inlay_layer_create(const inlay_layer_spec *spec, const inlay_allocator *allocator,
                                          inlay_layer **layer);

/**
 * Checks a spec like inlay_layer_create(), and names the invalid field. Allocates nothing.
 *
 * @param spec   the terms of the layer
 * @param fault  set to the invalid field and the reason; with INLAY_ERROR_ID, `token` is the index in the token mapping
 * @return as inlay_layer_create(), except INLAY_ERROR_NO_MEMORY
 */
INLAY_API inlay_status inlay_layer_spec_check(const inlay_layer_spec *spec, inlay_fault *fault);

/** Destroys a layer. Null is ignored. No call may be using the layer. */
INLAY_API void inlay_layer_destroy(inlay_layer *layer);

/** Reads the current state of self-tuning. Returns INLAY_OK; INLAY_ERROR_NULL; INLAY_ERROR_OPTION for an unknown
    size. */
INLAY_API inlay_status inlay_layer_tuning_state(const inlay_layer *layer, inlay_tuning_state *state);

/* ---- The batch -------------------------------------------------------------------------------------------------- */

/** A value of inlay_batch.length for ragged batches: the total length is read from offsets[sequences]. */
#define INLAY_LENGTH_FROM_OFFSETS SIZE_MAX

/**
 * The input of a forward call. Start from inlay_batch_i32(), inlay_batch_i64() or inlay_batch_ragged(). Its pointers
 * are used only during the call; arrays of ids need no alignment.
 *
 * - Offsets: sequence b has tokens [offsets[b], offsets[b + 1]). Offsets start at 0, never decrease and end at the
 *   number of tokens. The output is packed, [tokens, dim]. With padded_length it is [sequences, padded_length, dim],
 *   with zeros after the last token of each sequence.
 * - Positions: position_ids override starts, and starts override start. Use starts to decode with key-value caches of
 *   different lengths.
 * - Dropout: each element becomes 0 with probability `dropout`; the others are multiplied by 1 / (1 - dropout), rounded
 *   to float32. The mask is Philox4x32-10 (Salmon et al. 2011) of key, offset and element index. The index is token *
 *   dim + column, where token is the index in ids; with pooling, it is sequence * dim + column. Use a different offset
 *   for each training step.
 */
typedef struct inlay_batch {
    size_t size;                    /**< sizeof(inlay_batch) */
    const void *ids;                /**< token ids, [sequences, length], or [length] with offsets */
    inlay_id_type id_type;          /**< of ids */
    float dropout;                  /**< probability that an element becomes 0, in [0, 1); 0: no dropout */
    uint64_t dropout_key;           /**< the seed */
    uint64_t dropout_offset;        /**< upper half of the counter */
    size_t sequences;               /**< number of sequences, >= 0 */
    size_t length;                  /**< tokens per sequence, >= 0; with offsets, the total number of tokens or
                                         INLAY_LENGTH_FROM_OFFSETS */
    const int64_t *offsets;         /**< null, or [sequences + 1] */
    size_t padded_length;           /**< with offsets: output rows per sequence; 0: a packed output */
    int64_t start;                  /**< position of the first token of each sequence */
    const int64_t *starts;          /**< null, or [sequences]: a start per sequence */
    const void *position_ids;       /**< null, or positions in the shape of ids */
    const void *segment_ids;        /**< token-type (segment) ids in the shape of ids; null: all 0 */
    inlay_id_type position_id_type; /**< of position_ids; 0 without them */
    inlay_id_type segment_id_type;  /**< of segment_ids; 0 without them */
    const void *weights;            /**< with pooling: null, or a float32 factor per token, in the shape of ids */
} inlay_batch;

/** Returns a batch of int32 ids [sequences, length] at positions [start, start + length). */
static inline inlay_batch inlay_batch_i32(const int32_t *ids, size_t sequences, size_t length, int64_t start)
{
    inlay_batch batch;
    batch.size = sizeof batch;
    batch.ids = ids;
    batch.id_type = INLAY_ID_I32;
    batch.dropout = 0;
    batch.dropout_key = 0;
    batch.dropout_offset = 0;
    batch.sequences = sequences;
    batch.length = length;
    batch.offsets = NULL;
    batch.padded_length = 0;
    batch.start = start;
    batch.starts = NULL;
    batch.position_ids = NULL;
    batch.segment_ids = NULL;
    batch.position_id_type = (inlay_id_type)0;
    batch.segment_id_type = (inlay_id_type)0;
    batch.weights = NULL;
    return batch;
}

/** Returns a batch of int64 ids [sequences, length] at positions [start, start + length). */
static inline inlay_batch inlay_batch_i64(const int64_t *ids, size_t sequences, size_t length, int64_t start)
{
    inlay_batch batch = inlay_batch_i32(NULL, sequences, length, start);
    batch.ids = ids;
    batch.id_type = INLAY_ID_I64;
    return batch;
}

/** Returns a batch of packed ids [offsets[sequences]] of any type, with offsets [sequences + 1]. Each sequence starts
   at position `start`. Reads neither array. */
static inline inlay_batch inlay_batch_ragged(const void *ids, inlay_id_type id_type, const int64_t *offsets,
                                             size_t sequences, int64_t start)
{
    inlay_batch batch = inlay_batch_i32(NULL, sequences, INLAY_LENGTH_FROM_OFFSETS, start);
    batch.ids = ids;
    batch.id_type = id_type;
    batch.offsets = offsets;
    return batch;
}

/* ---- Forward ---------------------------------------------------------------------------------------------------- */

/**
 * Computes out[b, s, :] = cast(dropout(norm(tokens[ids[b, s], :] * scale + position + segment))) in one pass.
 *
 * Valid positions are [0, 2^31) for a sinusoid and [0, rows) for a learned table. Positions of skipped tokens and of
 * bare zero rows are not used and not checked.
 *
 * If another thread changes the arrays of the batch during the call, output rows may be wrong, but nothing is read or
 * written out of bounds. The exception is the last offset of a batch with INLAY_LENGTH_FROM_OFFSETS. It must not
 * change, because it gives the size of other arrays.
 *
 * @param layer             from inlay_layer_create()
 * @param batch             ids and the other arrays of the batch; they must not overlap `out`
 * @param out               [sequences, length, dim] of out_type, row (b, s) at (b * length + s) * out_stride_bytes;
 *                          with offsets, see padded_length; with pooling [sequences, dim]
 * @param out_stride_bytes  distance between rows of `out`, at least the bytes of one row
 * @param executor          null, or a thread pool
 * @param fault             null, or receives the bad argument and the location of the bad element
 * @return INLAY_OK; INLAY_ERROR_NULL, _OPTION, _SHAPE, _STRIDE, _OVERFLOW or _OVERLAP for an argument; INLAY_ERROR_ID,
 *         _POSITION, _SEGMENT or _OFFSETS for an element of an array
 */
INLAY_API inlay_status inlay_forward(const inlay_layer *layer, const inlay_batch *batch, void *out,
                                     size_t out_stride_bytes, const inlay_executor *executor, inlay_fault *fault);

/** A size that is large enough for any text from inlay_forward_explain(). */
#define INLAY_PLAN_TEXT_BYTES 2048

/**
 * Describes how inlay_forward() would run a call, without running it: ISA, route, source of positions, post-ops,
 * stores, prefetch and parts. Each is a line, most with a reason. The text is meant for people and can change between
 * versions. Arguments are validated as in inlay_forward().
 *
 * @param layer             from inlay_layer_create()
 * @param batch             as for inlay_forward()
 * @param out               the output that the call would write; not accessed
 * @param out_stride_bytes  distance between rows of `out`
 * @param executor          null, or the thread pool of the call
 * @param fault             null, or receives the bad argument and the location of the bad element
 * @param text              set to a null-terminated string, truncated if it is too long. Overlap with other arguments
 *                          is not checked
 * @param text_bytes        size of `text`, >= 1
 * @return as inlay_forward(); INLAY_ERROR_NULL if `text` is null; INLAY_ERROR_SHAPE if `text_bytes` is 0. `text` is
 *         written only with INLAY_OK
 */
INLAY_API inlay_status inlay_forward_explain(const inlay_layer *layer, const inlay_batch *batch, const void *out,
                                             size_t out_stride_bytes, const inlay_executor *executor,
                                             inlay_fault *fault, char *text, size_t text_bytes);

/* ---- Backward --------------------------------------------------------------------------------------------------- */

/** Float32 arrays that inlay_backward() adds gradients to. Each has one row for every row of its table. For a
    shard, these are only the rows that it holds. Start from inlay_gradients_none(). */
typedef struct inlay_gradients {
    size_t size;                   /**< sizeof(inlay_gradients) */
    void *tokens;                  /**< of the token table, [rows, dim]; null: not computed */
    void *positions;               /**< of learned positions, [rows, dim]; null: not computed */
    void *segments;                /**< of segments, [types, dim]; null: not computed */
    size_t tokens_stride_bytes;    /**< distance between rows of `tokens` */
    size_t positions_stride_bytes; /**< distance between rows of `positions` */
    size_t segments_stride_bytes;  /**< distance between rows of `segments` */
} inlay_gradients;

/** Returns gradients with null pointers and the strides of contiguous rows of `dim` columns. Set the pointers of the
    gradients that you need. */
static inline inlay_gradients inlay_gradients_none(size_t dim)
{
    inlay_gradients gradients;
    gradients.size = sizeof gradients;
    gradients.tokens = NULL;
    gradients.positions = NULL;
    gradients.segments = NULL;
    gradients.tokens_stride_bytes = dim * sizeof(float);
    gradients.positions_stride_bytes = dim * sizeof(float);
    gradients.segments_stride_bytes = dim * sizeof(float);
    return gradients;
}

/**
 * Adds to the gradients of the tables, given the gradient g of each sum row * scale + position + segment. For each
 * token, in the order of ids, adds g * scale to the gradient of its token row, and g to the gradients of its position
 * row and its segment row. The product is rounded, then the sum. Results are bit-identical for every executor.
 *
 * A token contributes to a table only if inlay_forward() uses a row of that table for it. Skipped tokens and bare zero
 * rows contribute nothing. With INLAY_ZERO_ROWS_POSITIONED, padding and bad ids with INLAY_BAD_ID_ZERO add nothing to
 * the gradient of the token table.
 *
 * With pooling, each token adds the gradient of its sequence's output row times the factor defined at
 * INLAY_POOLING_SUM. For the mean, this factor is divided by the number of rows. No gradient of weights is computed.
 *
 * Differentiate the norm and dropout yourself before this call. One way to get the dropout mask is a forward call on a
 * table of ones. This call is split among threads by columns, usually 64 or more for each.
 *
 * @param layer             a layer with float32 outputs; the contents of its tables are not read
 * @param batch             the batch of the forward call; its arrays must not overlap any gradient
 * @param out_gradient      float32, in the shape of the output of inlay_forward(). Rows after the last token of a
 *                          padded sequence are not read. Must not overlap arrays of the layer or the batch
 * @param out_stride_bytes  distance between rows of `out_gradient`
 * @param gradients         the arrays to add to. They must not overlap each other, any array that is read, or the
 *                          arrays of the layer
 * @param executor          null, or a thread pool
 * @param fault             null, or receives the bad argument and the location of the bad element
 * @return as inlay_forward(); INLAY_ERROR_OPTION also if `gradients` has an array for a table that the layer doesn't
 *         have, or if the outputs of the layer are not float32
 */
INLAY_API inlay_status inlay_backward(const inlay_layer *layer, const inlay_batch *batch, const void *out_gradient,
                                      size_t out_stride_bytes, const inlay_gradients *gradients,
                                      const inlay_executor *executor, inlay_fault *fault);

/* ---- Separate operations ---------------------------------------------------------------------------------------- */

/** Returns sqrt(dim), rounded once to float32 to nearest even: the scale of Vaswani et al. 2017, section 3.4. */
INLAY_API float inlay_sqrt_dim(size_t dim);

/**
 * Computes out[i, :] = table[ids[i], :] * scale. With scale 1, float32 rows are copied bit for bit, including NaN
 * payloads.
 *
 * @param table             of any element type; if it is a shard, ids of other shards give rows of -0.0
 * @param ids               [n] of id_type, each in [0, rows), or in [0, vocab) for a shard
 * @param id_type           of ids
 * @param n                 number of ids, and of rows of `out`
 * @param scale             any float; infinities and NaN propagate by IEEE 754
 * @param out               float32 [n, dim]; must not overlap the table, ids or the struct `table`
 * @param out_stride_bytes  distance between rows of `out`
 * @param executor          null, or a thread pool
 * @param fault             null, or receives the bad argument and the location of the bad id
 * @return INLAY_OK; INLAY_ERROR_ID with *fault; or an argument error
 */
INLAY_API inlay_status inlay_gather(const inlay_table *table, const void *ids, inlay_id_type id_type, size_t n,
                                    float scale, void *out, size_t out_stride_bytes, const inlay_executor *executor,
                                    inlay_fault *fault);

/**
 * Computes out[i, :] = x[i, :] * scale.
 *
 * @param x                 float32 [n, dim]
 * @param x_stride_bytes    distance between rows of `x`
 * @param n                 number of rows
 * @param dim               columns of a row, >= 1
 * @param scale             any float; infinities and NaN propagate by IEEE 754
 * @param out               float32 [n, dim]; either `x` itself with the same stride, or an array that doesn't overlap
 *                          it
 * @param out_stride_bytes  distance between rows of `out`
 * @param executor          null, or a thread pool
 * @return INLAY_OK, or an argument error
 */
INLAY_API inlay_status inlay_scale(const void *x, size_t x_stride_bytes, size_t n, size_t dim, float scale, void *out,
                                   size_t out_stride_bytes, const inlay_executor *executor);

/**
 * Computes x[b, s, :] += positions[start + s, :] in place. Each part adds one block of position rows to all its
 * sequences, while the block is in cache, before it reads the next block.
 *
 * @param x               float32 [batch, seq, dim], row (b, s) at (b * seq + s) * x_stride_bytes; must not overlap the
 *                        table or the struct `positions`
 * @param x_stride_bytes  distance between rows of `x`
 * @param batch           number of sequences, >= 0
 * @param seq             rows per sequence, >= 0
 * @param positions       [rows, dim] of any element type; a shard is rejected with INLAY_ERROR_OPTION
 * @param start           the first position: 0 <= start, start + seq <= rows
 * @param executor        null, or a thread pool
 * @param fault           null, or receives the bad argument and the location of the position past the table
 * @return INLAY_OK; INLAY_ERROR_POSITION with *fault; or an argument error
 */
INLAY_API inlay_status inlay_add_positions(void *x, size_t x_stride_bytes, size_t batch, size_t seq,
                                           const inlay_table *positions, int64_t start, const inlay_executor *executor,
                                           inlay_fault *fault);

#ifdef __cplusplus
}
#endif

#endif
