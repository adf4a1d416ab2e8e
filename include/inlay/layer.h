/* SPDX-License-Identifier: MIT */
/**
 * @file layer.h
 * The input layer: a layer from a table, a batch from ids, forward, and backward for training. The plain operations
 * gather, scale and add_positions follow, for callers that compose their own layer. The conventions of inlay.h hold.
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

/** How outputs are stored. */
typedef enum inlay_stores {
    INLAY_STORES_AUTOMATIC = 0, /**< the faster ones for a call and one read of its output: a layer times both for
                                     outputs of 4 MiB and more. Until then, and for all other outputs: non-temporal if
                                     the output is larger than inlay_tuning.stream_bytes */
    INLAY_STORES_CACHED = 1,    /**< through the caches: for a consumer that reads the output at once */
    INLAY_STORES_STREAMED = 2,  /**< by non-temporal stores, which bypass the caches, if the ISA has them */
} inlay_stores;

/** The out-of-vocabulary policy: how ids outside [0, vocab) are treated. vocab is token_mapping_length of a layer with
   a mapping, else the vocab of a shard, else the rows of the table. */
typedef enum inlay_bad_id {
    INLAY_BAD_ID_ERROR = 0,      /**< the call returns INLAY_ERROR_ID and writes nothing */
    INLAY_BAD_ID_CLAMP = 1,      /**< they take row 0 or vocab - 1, the nearest; as ERROR if vocab is 0 */
    INLAY_BAD_ID_ZERO = 2,       /**< they take a row of zeros */
    INLAY_BAD_ID_SUBSTITUTE = 3, /**< they take the row of substitute_id, for example the unknown token */
    INLAY_BAD_ID_SKIP = 4,       /**< their rows of the output are left unchanged */
} inlay_bad_id;

/** How tokens whose row is zeros are treated: those of INLAY_BAD_ID_ZERO, and padding_id except with _OWN. */
typedef enum inlay_zero_rows {
    INLAY_ZERO_ROWS_BARE = 0,       /**< zeros in the output: no position, segment or norm is applied */
    INLAY_ZERO_ROWS_POSITIONED = 1, /**< they are treated like any other row: positions and terms are added */
    INLAY_ZERO_ROWS_OWN = 2,        /**< likewise, and padding_id takes its own row of the table, as PyTorch's
                                         padding_idx does at inference: it affects positions alone */
} inlay_zero_rows;

/** How tokens without an explicit position id get their position. */
typedef enum inlay_position_mode {
    INLAY_POSITION_MODE_SEQUENTIAL = 0, /**< token s of a sequence has position start + s */
    /** Padding-aware positions: the n-th token (from 0) of a sequence that is not padding_id has position start + n,
       and padding has start - 1. So left padding moves no position. fairseq, RoBERTa and XLM-R with start = padding_id
       + 1; OPT with start = 2. */
    INLAY_POSITION_MODE_PADDING_AWARE = 1,
} inlay_position_mode;

/** The norm after the sum. It is computed in double, in an order that is the same on every ISA, and rounded to float32
    once. */
typedef enum inlay_norm {
    INLAY_NORM_NONE = 0,  /**< no norm */
    INLAY_NORM_LAYER = 1, /**< (x - mean) * (1 / sqrt(variance + epsilon)) * gamma + beta (Ba et al. 2016) */
    INLAY_NORM_RMS = 2,   /**< x * (1 / sqrt(mean square + epsilon)) * gamma (Zhang and Sennrich 2019) */
    INLAY_NORM_L2 = 3,    /**< x * (1 / max(sqrt(sum of squares), epsilon)) * gamma: rows of length 1. epsilon 1e-12 is
                               PyTorch's F.normalize and sentence-transformers' Normalize, 1e-32 model2vec. A row of
                               zeros stays zeros, and with epsilon 0 becomes NaN as with NumPy. NaN stays NaN */
} inlay_norm;

/** How the rows of a sequence become one row: static embeddings, bags of features. Rows of zeros and skipped rows are
   not counted. */
typedef enum inlay_pooling {
    INLAY_POOLING_NONE = 0, /**< one row for each token */
    INLAY_POOLING_SUM = 1,  /**< the sum in the order of tokens, of row * factor. The factor is token weight * batch
                               weight * scale, rounded from left to right; weights that are absent are left out */
    INLAY_POOLING_MEAN = 2, /**< that sum divided by the number of rows, which is rounded to float32 first; zeros if
                               there is no row. NumPy's and PyTorch's mean of the same sum */
} inlay_pooling;

/** The prefetch strategies: which part of its later rows a call prefetches, and when. All give the same bits. The CPU,
   the rows, the pages and the ids decide which one is fastest, so a layer times them on parts of its own calls
   and keeps the fastest (inlay_layer_spec.learning). */
typedef enum inlay_prefetch {
    INLAY_PREFETCH_AUTOMATIC = 0, /**< what loses least on CPUs of this kind */
    INLAY_PREFETCH_NONE = 1,      /**< nothing */
    INLAY_PREFETCH_LINES = 2,     /**< the first 4 lines of 16 rows, to L1, before they are read */
    INLAY_PREFETCH_L1_BESIDE_2 =
        3, /**< beside each line that is written, the same line of the row 2 rows later, to L1 */
    INLAY_PREFETCH_L2_BESIDE_2 = 4, /**< the same to L2 */
    INLAY_PREFETCH_L2_BESIDE_8 = 5, /**< the same of the row 8 rows later */
    INLAY_PREFETCH_L2_ROWS_16 = 6,  /**< before each row, all of the row 16 rows later, to L2 */
    INLAY_PREFETCH_L2_BLOCKS = 7,   /**< whole rows, to L2, in blocks of up to 64, before the block before is read. It
                                         replaces the four strategies above it where outputs have 16 bits or rows are
                                         summed up in L1 */
} inlay_prefetch;

/** How a layer moves memory, where the caller decides. It changes the speed of a layer and never a result; a layer that
    is given one obeys it and learns nothing. */
typedef struct inlay_tuning {
    size_t size;             /**< sizeof(inlay_tuning) */
    size_t stream_bytes;     /**< INLAY_STORES_AUTOMATIC: larger outputs are written by non-temporal stores */
    size_t compute_bytes;    /**< a sequence that shares its sinusoids with no other of its part computes them if they
                                  take more bytes than this, even if they are cached; SIZE_MAX: never */
    size_t block_bytes;      /**< position rows that stay in L1 while the batch consumes them, at least one row; rows
                                  that are computed take at most 16 KiB. inlay_add_positions() has a size of its own */
    inlay_prefetch prefetch; /**< the strategy of calls with ids of more than one token */
    uint32_t reserved;       /**< 0 */
} inlay_tuning;

/**
 * Returns the tuning that layers without one of their own begin with: the best one measured on CPUs of this kind, or
 * the one that loses least on all CPUs that were measured. Layers then learn stream_bytes and prefetch, and
 * compute_bytes where positions are cached. Chooses the ISA as inlay_init() does.
 */
INLAY_API inlay_tuning inlay_tuning_default(void);

/** What is known of this CPU. */
typedef struct inlay_tuning_source {
    size_t size;          /**< sizeof(inlay_tuning_source) */
    const char *measured; /**< the kind of CPU that was measured, such as "AMD Zen 4", a constant; null: not
                               this one */
    size_t l1_bytes;      /**< data cache of a core, as an x86-64 CPU reports it; 0: no report, as on all others */
    size_t l2_bytes;      /**< likewise. Calls whose rows L2 holds prefetch less */
    size_t l3_bytes;      /**< likewise. It decides nothing, since virtual machines report any size */
    char cpu[48];         /**< the name that the CPU gives itself, in ASCII; empty: none */
} inlay_tuning_source;

/** Returns what is known of this CPU. */
INLAY_API inlay_tuning_source inlay_tuning_default_source(void);

/** Whether a layer times its own calls: parts of them to choose a strategy and the source of positions that are cached,
    whole ones to choose stores. */
typedef enum inlay_learning {
    INLAY_LEARNING_ON = 0,  /**< unless it has a tuning, or INLAY_LEARNING is "off" in the environment */
    INLAY_LEARNING_OFF = 1, /**< it keeps what it begins with */
} inlay_learning;

enum {
    INLAY_LEARNT_CLASSES = 6, /**< calls of 256 KiB to 2 MiB, to 16 MiB, and more; then the same of layers with
                                 sinusoids where sequences do not share position rows */
    INLAY_LEARNT_SIZES = 8,   /**< outputs of 4 to 8 MiB, to 16 MiB, ..., and of 512 MiB and more */
};

/**
 * What a layer has learnt, for each class of calls. It has no pointers, so it may be kept in a file and given to a
 * layer of the same table on the same machine.
 */
typedef struct inlay_learnt {
    size_t size;                            /**< sizeof(inlay_learnt) */
    uint32_t samples[INLAY_LEARNT_CLASSES]; /**< parts of calls that were timed; 0: none yet */
    uint8_t prefetch[INLAY_LEARNT_CLASSES]; /**< the inlay_prefetch that was fastest */
    uint8_t computes[INLAY_LEARNT_CLASSES]; /**< 1: positions are computed even if they are cached */
    uint8_t stores[INLAY_LEARNT_SIZES];     /**< the inlay_stores: non-temporal if a call and one read of its output are
                                               3 % faster with them; 0: not known yet */
    uint8_t reserved[4];                    /**< 0 */
} inlay_learnt;

/** The value of inlay_layer_spec.cached_positions that stands for 4096 rows, or as many as 64 MiB hold. */
#define INLAY_CACHED_POSITIONS_DEFAULT SIZE_MAX

/**
 * What a layer computes. Start from inlay_layer_spec_default(); a term whose field is left as it is there is absent and
 * costs nothing.
 *
 *     out = cast(dropout(norm(row * scale + position + segment)))
 *
 * Each operation is rounded to float32, in this order, except for segments_first and the inside of the norm. An absent
 * term is absent, not an added zero.
 */
typedef struct inlay_layer_spec {
    size_t size;                    /**< sizeof(inlay_layer_spec) */
    const inlay_table *tokens;      /**< the embedding table [vocab, dim], whose data must outlive the layer. For ids of
                                         other shards, a layer of a shard writes rows of -0.0 without position. So the sum
                                         over all shards is the whole layer bit by bit. Norm, pooling, dropout and
                                         segments of a shard are INLAY_ERROR_OPTION */
    const inlay_sinusoid *sinusoid; /**< positions by formula, of the same dim, which must outlive the layer; null:
                                       none. With 16-bit outputs dim is at most 4096 */
    const inlay_table *positions;   /**< learned positions [rows, dim]; null: none. The data must outlive the layer. Not
                                       together with a sinusoid */
    const inlay_table *segments;    /**< token-type (segment) embeddings [types, dim]; null: none. The data must outlive
                                       the layer */
    const inlay_tuning *tuning;     /**< copied by inlay_layer_create() and obeyed; null: inlay_tuning_default(), from
                                         which the layer learns */
    size_t cached_positions;   /**< rows of the sinusoid that inlay_layer_create() computes and keeps; 0: none. Later
                                    positions are computed in each call: at little cost in long runs of consecutive
                                    positions, at about 7 ns per entry for the first row of each run */
    float scale;               /**< factor of the token row, 0 included; inlay_sqrt_dim(dim) is the usual one */
    inlay_stores stores;       /**< how outputs are stored */
    int64_t padding_id;        /**< the token whose row is zeros, but for INLAY_ZERO_ROWS_OWN; negative: none */
    int64_t substitute_id;     /**< of INLAY_BAD_ID_SUBSTITUTE, in [0, vocab) */
    inlay_bad_id bad_id;       /**< the out-of-vocabulary policy */
    inlay_zero_rows zero_rows; /**< what becomes of rows of zeros */
    inlay_position_mode position_mode; /**< how tokens get their position */
    uint16_t clamp_positions;          /**< 1: positions past the learned table take its last row; 0: they are
                                            INLAY_ERROR_POSITION */
    uint16_t segments_first;           /**< 1: (row * scale + segment) + position, the order of BERT in Hugging Face
                                            transformers and TEI; 0: (row * scale + position) + segment, that of ONNX Runtime.
                                            0 without segments */
    inlay_norm norm;                   /**< the norm after the sum. With 16-bit outputs dim is at most 4096 */
    float epsilon;                     /**< of the norm, finite, >= 0 */
    const void *gamma;                 /**< float32 [dim] of the norm, at any address; null: ones. Not copied: it must
                                            outlive the layer, and each call reads it */
    const void *beta;                  /**< float32 [dim] of INLAY_NORM_LAYER, at any address; null: no such term. Not
                                            copied, like gamma */
    inlay_pooling pooling;             /**< one row per sequence; dim is at most 4096, without positions and segments */
    inlay_element_type out_type; /**< INLAY_F32, INLAY_F16 or INLAY_BF16: rounded to nearest even; NaN stays NaN */
    const void *token_mapping;   /**< null: id i takes row i. Else [token_mapping_length] of token_mapping_type, at any
                                      address: id i takes row token_mapping[i] of the table (of a shard, of its
                                      vocabulary), and ids lie in [0, token_mapping_length). model2vec's mapping. It is
                                      the caller's and must outlive the layer. inlay_layer_create() reads all of it, and
                                      a value that is no row is INLAY_ERROR_ID; if it is changed to one later, it stands
                                      for row 0. padding_id and substitute_id are ids before the mapping */
    size_t token_mapping_length; /**< >= 1 with a mapping, else 0 */
    const void *token_weights;   /**< with pooling: null, or float32 [token_weights_length] at any address, a factor for
                                      each id. It multiplies the row of that id in every sequence. If a policy replaced
                                      an id, the factor is that of the new id. Mean pooling divides by the number of
                                      rows, not by the sum of weights. model2vec's weights. Must outlive the layer */
    size_t token_weights_length; /**< with token weights the number of ids, vocab of inlay_bad_id; else 0 */
    inlay_id_type token_mapping_type; /**< of the mapping; 0 without one */
    inlay_learning learning;          /**< whether the layer times its own calls */
    const inlay_learnt *learnt;       /**< what it begins with, copied by inlay_layer_create(); null: nothing */
} inlay_layer_spec;

/** Returns a spec with scale 1, no positions, INLAY_CACHED_POSITIONS_DEFAULT, automatic stores, bad ids an error, no
    padding and float32 outputs. Calls no function of the library. */
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
    spec.learning = INLAY_LEARNING_ON;
    spec.learnt = NULL;
    return spec;
}

/** A layer, shared by all threads. It copies no table; only the cached rows of a sinusoid are its own, and what it
    learns of its speed, which changes no result. */
typedef struct inlay_layer inlay_layer;

/**
 * Makes a layer.
 *
 * @param spec       what the layer computes. It is copied, with its views, its tuning and `learnt`. Not copied, and to
 *                   outlive the layer: the sinusoid, the data and extents of tables, gamma, beta, the token mapping and
 *                   token weights
 * @param allocator  null: malloc and free
 * @param layer      where to write the new handle; null is written if the call fails
 * @return INLAY_OK; INLAY_ERROR_NULL, _OPTION, _SHAPE, _STRIDE or _OVERFLOW for a field of `spec`; INLAY_ERROR_ID if a
 *         value of the token mapping is no row; INLAY_ERROR_NO_MEMORY
 */
INLAY_API inlay_status inlay_layer_create(const inlay_layer_spec *spec, const inlay_allocator *allocator,
                                          inlay_layer **layer);

/** Destroys a layer. Null is ignored. No call may be using it. */
INLAY_API void inlay_layer_destroy(inlay_layer *layer);

/** Writes what a layer has learnt so far. @return INLAY_OK; INLAY_ERROR_NULL; INLAY_ERROR_OPTION for an unknown size */
INLAY_API inlay_status inlay_layer_learnt(const inlay_layer *layer, inlay_learnt *learnt);

/* ---- The batch -------------------------------------------------------------------------------------------------- */

/** The value of inlay_batch.length of a ragged batch that stands for offsets[sequences]. */
#define INLAY_LENGTH_FROM_OFFSETS SIZE_MAX

/** What a forward call reads. Start from inlay_batch_i32(), inlay_batch_i64() or inlay_batch_ragged(). Nothing keeps
    its pointers after the call. */
typedef struct inlay_batch {
    size_t size;              /**< sizeof(inlay_batch) */
    const void *ids;          /**< token ids [sequences, length], or [length] with offsets, at any address; each in
                                   [0, vocab) or treated as inlay_layer_spec.bad_id says */
    inlay_id_type id_type;    /**< of ids */
    float dropout;            /**< fraction of elements to set to 0, in [0, 1); the others are multiplied by the float32
                                   1 / (1 - dropout). 0: no dropout. The mask is a function of key, offset and element
                                   index alone: token * dim + column, with tokens counted as in ids; with pooling
                                   sequence * dim + column */
    uint64_t dropout_key;     /**< the seed of Philox4x32-10 (Salmon et al. 2011) */
    uint64_t dropout_offset;  /**< the upper half of its counter: a different one for each training step */
    size_t sequences;         /**< number of sequences, >= 0 */
    size_t length;            /**< tokens of each sequence, >= 0; with offsets, tokens of all sequences together, or
                                   INLAY_LENGTH_FROM_OFFSETS */
    const int64_t *offsets;   /**< null, or [sequences + 1]: sequence b has tokens [offsets[b], offsets[b + 1]) of ids.
                                   Offsets begin at 0, never decrease and end at the number of tokens */
    size_t padded_length;     /**< with offsets: 0 for a packed output [tokens, dim], or the rows of the output for each
                                   sequence, [sequences, padded_length, dim], with zeros after its last token */
    int64_t start;            /**< position of the first token of each sequence */
    const int64_t *starts;    /**< null, or [sequences]: a start for each sequence instead, for decoding with key-value
                                   caches of different lengths */
    const void *position_ids; /**< null, or explicit position ids, one per token, shaped as ids, instead of any start */
    const void *segment_ids;  /**< token-type (segment) ids, shaped as ids; null: all 0 */
    inlay_id_type position_id_type; /**< of position_ids; 0 without them */
    inlay_id_type segment_id_type;  /**< of segment_ids; 0 without them */
    const void *weights;            /**< with pooling: null, or a float32 factor per token, shaped as ids */
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

/** Returns a batch of packed ids [offsets[sequences]] of any type, with offsets [sequences + 1] and each sequence from
    position `start` on. Reads neither array. */
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
 * Positions of a sinusoid lie in [0, 2^31), those of a learned table in [0, rows). Positions of tokens whose output has
 * none (skipped tokens, bare rows of zeros) are not checked. If another thread changes the arrays of the batch during
 * the call, rows of the output are wrong, but no other memory is read or written. The last offset of a batch with
 * INLAY_LENGTH_FROM_OFFSETS is the exception: it is the size of other arrays and must not change.
 *
 * @param layer             from inlay_layer_create()
 * @param batch             ids and what belongs to them; its arrays must not overlap `out`
 * @param out               [sequences, length, dim] of out_type at any address, row (b, s) at
 *                          (b * length + s) * out_stride_bytes; with offsets as padded_length says; with pooling
 *                          [sequences, dim]
 * @param out_stride_bytes  distance between rows of `out`, at least the bytes of one row
 * @param executor          null, or a thread pool that runs the parts of the call
 * @param fault             null, or where to write which id, position, segment id or offset is bad
 * @return INLAY_OK; INLAY_ERROR_NULL, _OPTION, _SHAPE, _STRIDE, _OVERFLOW or _OVERLAP for an argument; INLAY_ERROR_ID,
 *         _POSITION, _SEGMENT or _OFFSETS with *fault
 */
INLAY_API inlay_status inlay_forward(const inlay_layer *layer, const inlay_batch *batch, void *out,
                                     size_t out_stride_bytes, const inlay_executor *executor, inlay_fault *fault);

/** A buffer of this size holds every text of inlay_forward_explain(). */
#define INLAY_PLAN_TEXT_BYTES 2048

/**
 * Writes the plan of a forward call as text instead of running it: the route, where positions come from, post-ops,
 * stores, prefetch and parts, one per line and each with its reason. The text is for people and changes between
 * versions. All arguments are validated as by inlay_forward().
 *
 * @param layer             from inlay_layer_create()
 * @param batch             as for inlay_forward()
 * @param out               the output that the call would write; it is not touched
 * @param out_stride_bytes  distance between rows of `out`
 * @param executor          null, or the thread pool that would run the parts of the call
 * @param fault             null, or where to write which id, position, segment id or offset is bad
 * @param text              where to write the text, which ends with a null character and is cut if it is too long
 * @param text_bytes        size of `text`, >= 1
 * @return as inlay_forward(), INLAY_ERROR_NULL if `text` is null, INLAY_ERROR_SHAPE if `text_bytes` is 0; `text` is
 *         written only with INLAY_OK. That it overlaps no other argument is not checked
 */
INLAY_API inlay_status inlay_forward_explain(const inlay_layer *layer, const inlay_batch *batch, const void *out,
                                             size_t out_stride_bytes, const inlay_executor *executor,
                                             inlay_fault *fault, char *text, size_t text_bytes);

/* ---- Backward --------------------------------------------------------------------------------------------------- */

/** The gradients that inlay_backward() adds to: a float32 array for each table of a layer. It has as many rows as the
    table (a shard: as many as that holds). Start from inlay_gradients_none(). */
typedef struct inlay_gradients {
    size_t size;                   /**< sizeof(inlay_gradients) */
    void *tokens;                  /**< [rows, dim] of the table of tokens; null: not wanted */
    void *positions;               /**< [rows, dim] of learned positions; null: not wanted */
    void *segments;                /**< [types, dim] of segments; null: not wanted */
    size_t tokens_stride_bytes;    /**< distance between rows of `tokens` */
    size_t positions_stride_bytes; /**< distance between rows of `positions` */
    size_t segments_stride_bytes;  /**< distance between rows of `segments` */
} inlay_gradients;

/** Returns gradients that are not wanted, with the strides of contiguous rows of `dim` columns. Set the pointers of
    those that are. */
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
 * Adds the gradient of the sum row * scale + position + segment to the gradients of the tables. Each token, in the
 * order of ids, adds gradient * scale to the row that its id takes, and the gradient itself to the rows of its position
 * and its segment. The product is rounded, then the sum, so that the result has the same bits for every executor.
 *
 * A table gets no gradient from tokens for which forward did not read it. Tokens whose output row is bare zeros or
 * skipped add to no table. Padding and ZERO with INLAY_ZERO_ROWS_POSITIONED add nothing to the table of tokens. With
 * pooling each pooled row gets the gradient of its sequence's row, times the factor of inlay_pooling; mean pooling
 * divides that factor by the number of rows. Weights get no gradient.
 *
 * The caller differentiates norm and dropout before this call. Dropout's mask can come from a forward call on a table
 * of ones, for example. Columns are divided among threads, 64 or more for each.
 *
 * @param layer             of float32 outputs; the contents of its tables are not read
 * @param batch             that of the forward call; its arrays must not overlap any gradient
 * @param out_gradient      float32, shaped as the output of inlay_forward(); rows of padded sequences past their last
 *                          token are not read. Must overlap no array of the layer and of the batch
 * @param out_stride_bytes  distance between rows of `out_gradient`
 * @param gradients         the arrays to add to, at any address. They must overlap neither each other nor any array
 *                          that is read, nor the arrays of the layer
 * @param executor          null, or a thread pool that runs the parts of the call
 * @param fault             null, or where to write which id, position, segment id or offset is bad
 * @return as inlay_forward(); INLAY_ERROR_OPTION also if a table of `gradients` is wanted that the layer does not have,
 *         or if its outputs are not float32
 */
INLAY_API inlay_status inlay_backward(const inlay_layer *layer, const inlay_batch *batch, const void *out_gradient,
                                      size_t out_stride_bytes, const inlay_gradients *gradients,
                                      const inlay_executor *executor, inlay_fault *fault);

/* ---- The plain operations --------------------------------------------------------------------------------------- */

/** Returns sqrt(dim), rounded once to float32 to nearest even: the scale of Vaswani et al. 2017, section 3.4. */
INLAY_API float inlay_sqrt_dim(size_t dim);

/**
 * Computes out[i, :] = table[ids[i], :] * scale. With scale 1 a float32 row is copied with all bits, those of a NaN
 * too.
 *
 * @param table             of any element type; of a shard, ids of other shards write rows of -0.0
 * @param ids               [n] of id_type, at any address, each in [0, rows), or in [0, vocab) for a shard
 * @param id_type           of ids
 * @param n                 number of ids, and of rows of `out`
 * @param scale             any float; infinities and NaN propagate by IEEE 754
 * @param out               float32 [n, dim]; must overlap neither the table, nor ids, nor the struct `table`
 * @param out_stride_bytes  distance between rows of `out`
 * @param executor          null, or a thread pool that runs the parts of the call
 * @param fault             null, or where to write which id is bad
 * @return INLAY_OK; INLAY_ERROR_ID with *fault; the status of another argument
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
 * @param out               float32 [n, dim]; `x` itself with the same stride, or without overlap
 * @param out_stride_bytes  distance between rows of `out`
 * @param executor          null, or a thread pool that runs the parts of the call
 * @return INLAY_OK, or the status of an argument
 */
INLAY_API inlay_status inlay_scale(const void *x, size_t x_stride_bytes, size_t n, size_t dim, float scale, void *out,
                                   size_t out_stride_bytes, const inlay_executor *executor);

/**
 * Computes x[b, s, :] += positions[start + s, :] in place. Each float32 position row is read once and added to every
 * sequence while it lies in cache.
 *
 * @param x               float32 [batch, seq, dim], row (b, s) at (b * seq + s) * x_stride_bytes; must overlap
 *                        neither the table nor the struct `positions`
 * @param x_stride_bytes  distance between rows of `x`
 * @param batch           number of sequences, >= 0
 * @param seq             rows of each sequence, >= 0
 * @param positions       [rows, dim] of any element type; a shard is INLAY_ERROR_OPTION
 * @param start           the first position: 0 <= start, start + seq <= rows
 * @param executor        null, or a thread pool that runs the parts of the call
 * @param fault           null, or where to write which position is past the table
 * @return INLAY_OK; INLAY_ERROR_POSITION with *fault; the status of another argument
 */
INLAY_API inlay_status inlay_add_positions(void *x, size_t x_stride_bytes, size_t batch, size_t seq,
                                           const inlay_table *positions, int64_t start, const inlay_executor *executor,
                                           inlay_fault *fault);

#ifdef __cplusplus
}
#endif

#endif
