/* SPDX-License-Identifier: MIT */
/**
 * @file inlay.h
 * inlay: the input layer of Transformers on CPUs. Token ids in, vectors ready for the first block out:
 *
 *     out[b, s, :] = table[ids[b, s], :] * scale + position(b, s)
 *
 * Conventions of every function below.
 *
 * - Shapes stand in brackets, the last dimension contiguous: [n, dim]. Sizes count elements; a name that ends in
 *   `_bytes` counts bytes. Rows lie `stride_bytes` apart, which is at least the bytes of one row and need not be a
 *   multiple of anything. **No alignment is required**, of rows, of outputs or of ids.
 * - **Everything is validated before the first write**: a function that returns anything but INLAY_OK has written
 *   nothing, neither to its output nor to its input. It never prints, aborts or touches errno.
 * - An output may not overlap an input, nor what lies between the input's rows, unless its function says so.
 *   A call without work (n, sequences or length 0) touches no pointer to data and is INLAY_OK, if its handles, shapes,
 *   strides and enum values are valid.
 * - Results are **bit-identical** on every ISA and compiler (the payload of a NaN excepted): the row times the scale is
 *   rounded, then plus the position is rounded; no fused multiply-add. The rounding mode, flush-to-zero and exception
 *   masks of the calling thread neither change a result nor are changed; its sticky exception flags are kept.
 * - Every function may be called from any number of threads at once, on shared handles too. All but the functions
 *   named create and destroy allocate nothing, take no lock, make no system call and use less than 64 KiB of stack
 *   (where compiled with optimisation); once the ISA is settled (inlay_init) they may be called in a signal handler.
 * - Structs begin with their size, so that later versions can append fields; the functions `inlay_*_default` fill it
 * in. A larger struct than this version knows is accepted if the rest is zero (a size up to 1024 is believed, and so
 * much is read; beyond, it is an error). Fields called `reserved` are zero.
 */
#ifndef INLAY_INLAY_H
#define INLAY_INLAY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INLAY_VERSION_MAJOR 0
#define INLAY_VERSION_MINOR 1
#define INLAY_VERSION_PATCH 0

#define INLAY_API __attribute__((visibility("default")))

/** The version of the library that runs, as "major.minor.patch". */
INLAY_API const char *inlay_version(void);

/* ---- Errors --------------------------------------------------------------------------------------------------- */

/** What a call came to. Zero is success. */
typedef enum inlay_status {
    INLAY_OK = 0,
    INLAY_NULL,     /**< a required pointer is null */
    INLAY_SHAPE,    /**< dim is 0 or too large, or two dims that must agree do not */
    INLAY_STRIDE,   /**< stride_bytes is smaller than one row */
    INLAY_OVERFLOW, /**< the bytes of an array do not fit in the address space */
    INLAY_OVERLAP,  /**< the output overlaps an input */
    INLAY_ID,       /**< an id is negative or >= rows of its table; inlay_fault says which */
    INLAY_POSITION, /**< a position is negative, >= 2^31 or past a table of positions; inlay_fault tells, where taken */
    INLAY_BASE,     /**< base is not a number in [1, 1e30] */
    INLAY_OPTION,   /**< a size, enum value or reserved field that this version does not know */
    INLAY_NO_MEMORY, /**< the allocator returned null */
} inlay_status;

/** A sentence for a status, for people; never null, also for values outside the enum. */
INLAY_API const char *inlay_status_string(inlay_status status);

/** Where the first bad id or position stood: written only where INLAY_ID or INLAY_POSITION is returned. */
typedef struct inlay_fault {
    size_t sequence; /**< index into the batch; 0 for operations without one */
    size_t token;    /**< index into the sequence, or into ids [n] */
    int64_t value;   /**< the id or the position found there */
} inlay_fault;

/* ---- The ISA in use ------------------------------------------------------------------------------------------- */

/**
 * Settles which kernels run, now rather than at the first call. Without INLAY_ISA in the environment these are the best
 * that CPU and operating system run; INLAY_ISA=scalar (or another name of inlay_isa_at) chooses, and is ignored where
 * it names nothing that runs here or the process is privileged (secure_getenv). The environment is read once.
 */
INLAY_API void inlay_init(void);

/** The ISA whose kernels run: "avx512", "avx2", "neon" or "scalar". */
INLAY_API const char *inlay_isa(void);

/**
 * The ISAs compiled into this library, best first; the last is always "scalar". Null past the end. `runs`, where not
 * null, tells whether that ISA runs on this CPU and operating system.
 */
INLAY_API const char *inlay_isa_at(size_t index, int *runs);

/* ---- Views: tables of the caller's ---------------------------------------------------------------------------- */

/** The type of stored or written elements. 0 is no type, so that a forgotten field is seen. */
typedef enum inlay_type {
    INLAY_F32 = 1, /**< IEEE 754 binary32 */
} inlay_type;

/** The type of token ids. 0 is no type. */
typedef enum inlay_id_type {
    INLAY_ID_I32 = 1, /**< int32_t */
    INLAY_ID_I64 = 2, /**< int64_t */
} inlay_id_type;

/** A table [rows, dim] in the caller's memory, which must outlive its use. The view owns nothing. */
typedef struct inlay_rows {
    size_t size;         /**< sizeof(inlay_rows) */
    const void *data;    /**< [rows, dim], any address; may be null where rows is 0 */
    size_t rows;         /**< >= 0 */
    size_t dim;          /**< >= 1 */
    size_t stride_bytes; /**< from row to row, >= bytes of one row */
    inlay_type type;     /**< INLAY_F32 */
    uint32_t reserved;   /**< 0 */
} inlay_rows;

/** The view of a contiguous float32 table [rows, dim]. */
static inline inlay_rows inlay_rows_f32(const void *data, size_t rows, size_t dim)
{
    inlay_rows view;
    view.size = sizeof view;
    view.data = data;
    view.rows = rows;
    view.dim = dim;
    view.stride_bytes = dim * sizeof(float);
    view.type = INLAY_F32;
    view.reserved = 0;
    return view;
}

/* ---- Memory --------------------------------------------------------------------------------------------------- */

/**
 * Where handles get their memory: used by create and destroy only, copied into the handle. A null pointer to it means
 * malloc and free; neither function may be null.
 */
typedef struct inlay_allocator {
    void *ctx;
    void *(*allocate)(void *ctx, size_t bytes); /**< aligned like malloc's; null where there is none */
    void (*release)(void *ctx, void *memory);   /**< never called with null */
} inlay_allocator;

/* ---- Sinusoids ------------------------------------------------------------------------------------------------ */

/** Positions end here: 0 <= position < 2^31. */
#define INLAY_POSITION_LIMIT (INT64_C(1) << 31)

/** Which columns hold the sine and cosine of frequency i, 0 <= i < ceil(dim / 2). */
typedef enum inlay_layout {
    INLAY_LAYOUT_INTERLEAVED = 1, /**< sin, cos, sin, cos, ...: columns 2i and 2i + 1 (Vaswani et al. 2017) */
    INLAY_LAYOUT_SPLIT = 2,       /**< all sines, then all cosines: columns i and ceil(dim / 2) + i (tensor2tensor) */
} inlay_layout;

/**
 * The sinusoids of "Attention Is All You Need" (Vaswani et al. 2017, section 3.5):
 * sin and cos of position * base^(-2i/dim). Where dim is odd the last frequency has a sine and no cosine.
 */
typedef struct inlay_sinusoid_spec {
    size_t size;         /**< sizeof(inlay_sinusoid_spec) */
    size_t dim;          /**< columns of a row, 1 <= dim < 2^31 */
    double base;         /**< 1 <= base <= 1e30 */
    inlay_layout layout; /**< which columns are sines */
    uint32_t reserved;   /**< 0 */
} inlay_sinusoid_spec;

/** Base 10000, interleaved. */
static inline inlay_sinusoid_spec inlay_sinusoid_spec_default(size_t dim)
{
    inlay_sinusoid_spec spec;
    spec.size = sizeof spec;
    spec.dim = dim;
    spec.base = 10000;
    spec.layout = INLAY_LAYOUT_INTERLEAVED;
    spec.reserved = 0;
    return spec;
}

/** Prepared frequencies, each known within 2^-225: immutable, shared by all threads. */
typedef struct inlay_sinusoid inlay_sinusoid;

/** Writes a new handle to *sinusoid (null where it fails). `allocator` may be null. */
INLAY_API inlay_status inlay_sinusoid_create(const inlay_sinusoid_spec *spec, const inlay_allocator *allocator,
                                             inlay_sinusoid **sinusoid);

/** Null is ignored. Layers made from it must be gone. */
INLAY_API void inlay_sinusoid_destroy(inlay_sinusoid *sinusoid);

/**
 * The rows of positions [first, first + n), 0 <= first, first + n <= 2^31.
 *
 * Exactness: every entry is the real number sin or cos, rounded once to nearest even (correctly rounded), on every ISA
 * and at every position. Cost: about that of storing the rows; some 0.5 us per sine and cosine on scalar.
 *
 * @param type              INLAY_F32
 * @param out               [n, dim]
 * @param out_stride_bytes  from row to row of `out`
 */
INLAY_API inlay_status inlay_sinusoid_rows(const inlay_sinusoid *sinusoid, int64_t first, size_t n, inlay_type type,
                                           void *out, size_t out_stride_bytes);

/* ---- The plain operations, for those who compose --------------------------------------------------------------- */

/** sqrt(dim) rounded once to float32, to nearest even: the scale of Vaswani et al. 2017, section 3.4. */
INLAY_API float inlay_sqrt_dim(size_t dim);

/**
 * out[i, :] = table[ids[i], :] * scale. With scale 1 a pure copy, which keeps all bits of a NaN too.
 *
 * @param ids     [n] of id_type, each in [0, rows)
 * @param scale   any float; infinities and NaN propagate by IEEE 754
 * @param out     float32 [n, dim]
 * @param fault   null, or where to say which id was bad
 */
INLAY_API inlay_status inlay_gather(const inlay_rows *table, const void *ids, inlay_id_type id_type, size_t n,
                                    float scale, void *out, size_t out_stride_bytes, inlay_fault *fault);

/**
 * out[i, :] = x[i, :] * scale. In place where x and out have the same address and stride.
 *
 * @param x    float32 [n, dim]
 * @param out  float32 [n, dim]
 */
INLAY_API inlay_status inlay_scale(const void *x, size_t x_stride_bytes, size_t n, size_t dim, float scale, void *out,
                                   size_t out_stride_bytes);

/**
 * x[b, s, :] += positions[start + s, :], in place, streamed across the batch: each position row is fetched once
 * and added to every sequence while it lies in cache.
 *
 * @param x          float32 [batch, seq, dim], row (b, s) at (b * seq + s) * x_stride_bytes
 * @param positions  float32 [rows, dim]
 * @param start      0 <= start, start + seq <= rows
 * @param fault      null, or where to say which position was past the table
 */
INLAY_API inlay_status inlay_add_positions(void *x, size_t x_stride_bytes, size_t batch, size_t seq,
                                           const inlay_rows *positions, int64_t start, inlay_fault *fault);

/* ---- The layer: gather, scale and positions in one pass --------------------------------------------------------- */

/** How outputs leave the core. */
typedef enum inlay_stores {
    INLAY_STORES_AUTOMATIC = 0, /**< past the caches where the output is larger than 8 MiB */
    INLAY_STORES_CACHED = 1,    /**< through the caches: for a consumer that reads the output at once */
    INLAY_STORES_STREAMED = 2,  /**< past the caches, by non-temporal stores where the ISA has them */
} inlay_stores;

/** As many rows as inlay_layer_spec.cached_positions has by default: 4096, or what 64 MiB hold. */
#define INLAY_CACHED_POSITIONS_DEFAULT SIZE_MAX

/** What a layer is made of. Start from inlay_layer_spec_default(). */
typedef struct inlay_layer_spec {
    size_t size;                    /**< sizeof(inlay_layer_spec) */
    const inlay_rows *tokens;       /**< the embedding table [vocab, dim]; its data must outlive the layer */
    const inlay_sinusoid *sinusoid; /**< positions by formula, same dim, must outlive the layer; null: none */
    const inlay_rows *positions;    /**< or positions from a table [rows, dim] (learned); null: none. Not both */
    size_t cached_positions;        /**< rows of the sinusoid computed at creation and held; 0: none. Others
                                         are computed in each call, which is cheap in long runs of positions and
                                         dear in short ones (a few us per call at dim 4096) */
    float scale;                    /**< factor of the token row (0 too is one); inlay_sqrt_dim(dim) is the usual one */
    inlay_stores stores;            /**< how the outputs of this layer leave the core */
} inlay_layer_spec;

/** Scale 1, no positions, INLAY_CACHED_POSITIONS_DEFAULT rows held where there is a sinusoid, automatic stores. */
static inline inlay_layer_spec inlay_layer_spec_default(const inlay_rows *tokens)
{
    inlay_layer_spec spec;
    spec.size = sizeof spec;
    spec.tokens = tokens;
    spec.sinusoid = NULL;
    spec.positions = NULL;
    spec.cached_positions = INLAY_CACHED_POSITIONS_DEFAULT;
    spec.scale = 1;
    spec.stores = INLAY_STORES_AUTOMATIC;
    return spec;
}

/** Immutable, shared by all threads. It copies no table: only the first rows of a sinusoid are its own. */
typedef struct inlay_layer inlay_layer;

/** Writes a new handle to *layer (null where it fails). `allocator` may be null. */
INLAY_API inlay_status inlay_layer_create(const inlay_layer_spec *spec, const inlay_allocator *allocator,
                                          inlay_layer **layer);

/** Null is ignored. */
INLAY_API void inlay_layer_destroy(inlay_layer *layer);

/** What a forward call reads. Start from inlay_batch_i32 or inlay_batch_i64, or fill it in. */
typedef struct inlay_batch {
    size_t size;           /**< sizeof(inlay_batch) */
    const void *ids;       /**< [sequences, length], each in [0, vocab) */
    inlay_id_type id_type; /**< INLAY_ID_I32 or INLAY_ID_I64 */
    uint32_t reserved;     /**< 0 */
    size_t sequences;      /**< >= 0 */
    size_t length;         /**< tokens of each sequence, >= 0 */
    int64_t start;         /**< position of the first token of each sequence */
} inlay_batch;

/** int32 ids [sequences, length] at positions [start, start + length). */
static inline inlay_batch inlay_batch_i32(const int32_t *ids, size_t sequences, size_t length, int64_t start)
{
    inlay_batch batch;
    batch.size = sizeof batch;
    batch.ids = ids;
    batch.id_type = INLAY_ID_I32;
    batch.reserved = 0;
    batch.sequences = sequences;
    batch.length = length;
    batch.start = start;
    return batch;
}

/** int64 ids [sequences, length] at positions [start, start + length). */
static inline inlay_batch inlay_batch_i64(const int64_t *ids, size_t sequences, size_t length, int64_t start)
{
    inlay_batch batch = inlay_batch_i32(NULL, sequences, length, start);
    batch.ids = ids;
    batch.id_type = INLAY_ID_I64;
    return batch;
}

/**
 * out[b, s, :] = tokens[ids[b, s], :] * scale + position(start + s), in one pass.
 *
 * Positions of a sinusoid lie in [0, 2^31), those of a table in [0, rows); without positions `start` is not looked at.
 * Should another thread change the ids during the call, rows come out wrong, but no other memory is read.
 *
 * @param out               float32 [sequences, length, dim], row (b, s) at (b * length + s) * out_stride_bytes
 * @param out_stride_bytes  from row to row of `out`
 * @param fault             null, or where to say which id or position was bad
 */
INLAY_API inlay_status inlay_forward(const inlay_layer *layer, const inlay_batch *batch, void *out,
                                     size_t out_stride_bytes, inlay_fault *fault);

#ifdef __cplusplus
}
#endif

#endif
