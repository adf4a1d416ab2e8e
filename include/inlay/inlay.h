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
 *   A call whose output has no rows touches no pointer to data and is INLAY_OK, if its handles, shapes,
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
    INLAY_SHAPE,    /**< dim is 0, too large or odd where it must be even, or two dims that must agree do not */
    INLAY_STRIDE,   /**< stride_bytes is smaller than one row */
    INLAY_OVERFLOW, /**< the bytes of an array do not fit in the address space */
    INLAY_OVERLAP,  /**< the output overlaps an input */
    INLAY_ID,       /**< an id is negative or >= rows of its table; inlay_fault says which */
    INLAY_POSITION, /**< a position is negative, >= 2^31 or past a table of positions; a real-valued one is no number
                         or >= 2^31 in magnitude; inlay_fault tells, where taken */
    INLAY_BASE,     /**< base is not a number in [1, 1e30] */
    INLAY_OPTION, /**< a size, enum value or reserved field that this version does not know, a number outside the range
                       that its field states, or two fields that exclude each other */
    INLAY_NO_MEMORY, /**< the allocator returned null */
    INLAY_OFFSETS, /**< offsets do not begin at 0, fall, or do not end at the number of tokens; or a sequence is longer
                        than the room that it is padded to */
    INLAY_SEGMENT, /**< a segment is negative or >= rows of its table; inlay_fault says which */
} inlay_status;

/** A sentence for a status, for people; never null, also for values outside the enum. */
INLAY_API const char *inlay_status_string(inlay_status status);

/** Where the first bad id, position, segment or offset stood: written only where INLAY_ID, INLAY_POSITION,
   INLAY_SEGMENT or INLAY_OFFSETS is returned. */
typedef struct inlay_fault {
    size_t sequence; /**< index into the batch; 0 for operations without one */
    size_t token;    /**< index into the sequence, or into ids [n]; 0 for an offset */
    int64_t value;   /**< what was found there; 0 for a real-valued position */
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

/**
 * The type of stored or written elements. 0 is no type, so that a forgotten field is seen.
 *
 * Tables can be of every type: their elements are decoded in registers as they are used, never to a copy. What stands
 * below as a product or a sum is rounded to float32 each time. Outputs are of the first three.
 */
typedef enum inlay_type {
    INLAY_F32 = 1,        /**< IEEE 754 binary32 */
    INLAY_F16 = 2,        /**< IEEE 754 binary16 */
    INLAY_BF16 = 3,       /**< bfloat16, the upper half of a binary32 */
    INLAY_I8 = 4,         /**< int8 q [dim], one scale for each row: q * scale */
    INLAY_I8_INVERSE = 5, /**< the same, q * (1 / scale): CTranslate2's int8 embeddings */
    INLAY_U8_ROWWISE = 6, /**< uint8 q [dim], then float32 scale and bias in the row: q * scale + bias (FBGEMM's and
                               PyTorch's 8-bit rowwise) */
    INLAY_U4_ROWWISE = 7, /**< 4-bit q [dim], two in a byte, the lower one first, then float16 scale and bias in the
                             row: q * scale + bias (FBGEMM's n-bit rowwise) */
    INLAY_U4_GROUPED = 8, /**< 4-bit q likewise, a scale for each `group` columns: (q - zero) * scale; without zeros 8
                               (ONNX Runtime's block-quantised) */
    INLAY_Q8_0 = 9,       /**< blocks of 32 columns, each a float16 d and int8 q [32]: q * d (ggml) */
    INLAY_Q4_0 = 10,      /**< blocks of 32 columns, each a float16 d and 16 bytes, whose lower halves are the first 16
                               columns and whose upper halves the others: (q - 8) * d (ggml) */
} inlay_type;

/** One more than the largest type. */
#define INLAY_TYPES 11

/** The type of token ids. 0 is no type. */
typedef enum inlay_id_type {
    INLAY_ID_I32 = 1, /**< int32_t */
    INLAY_ID_I64 = 2, /**< int64_t */
    INLAY_ID_U8 = 3,  /**< uint8_t */
    INLAY_ID_U16 = 4, /**< uint16_t */
    INLAY_ID_I16 = 5, /**< int16_t */
    INLAY_ID_U32 = 6, /**< uint32_t */
} inlay_id_type;

/** A table [rows, dim] in the caller's memory, which must outlive its use. The view owns nothing. */
typedef struct inlay_rows {
    size_t size;         /**< sizeof(inlay_rows) */
    const void *data;    /**< [rows, dim], any address; may be null where rows is 0 */
    size_t rows;         /**< >= 0 */
    size_t dim;          /**< >= 1; a multiple of group, or of 32 in ggml's types */
    size_t stride_bytes; /**< from row to row, >= inlay_row_bytes(type, dim) */
    inlay_type type;     /**< of the elements */
    uint32_t group;      /**< INLAY_U4_GROUPED: 32, 64 or 128; else 0 */
    const void *scales;  /**< float32, any address: INLAY_I8 and INLAY_I8_INVERSE [rows], INLAY_U4_GROUPED
                              [rows, dim / group]; else null. Infinities and NaN propagate by IEEE 754 */
    const void *zeros;   /**< INLAY_U4_GROUPED: null, or 4-bit zeros [rows, dim / group], two in a byte, the lower one
                              first, rows of ceil(dim / group / 2) bytes; else null */
    size_t
        first_row; /**< a shard: the table holds rows [first_row, first_row + rows) of a vocabulary of `vocab` rows */
    size_t vocab;  /**< 0: no shard, the table is the whole vocabulary */
} inlay_rows;

/** Bytes of a stored row, scales within it included: the least stride. 0 where there is no such row. */
INLAY_API size_t inlay_row_bytes(inlay_type type, size_t dim);

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
    view.group = 0;
    view.scales = NULL;
    view.zeros = NULL;
    view.first_row = 0;
    view.vocab = 0;
    return view;
}

/**
 * Stores a float32 table [rows, dim] in the type of `to`, another view of as many rows and columns, whose data, scales
 * and zeros are written (the view's pointers to const are no promise here); they may overlap neither `from` nor each
 * other. What is between rows is left alone. Values are chosen as follows, and cost at most so much:
 *
 * - INLAY_F16, INLAY_BF16: to nearest even; infinities and NaN stay, what is too large becomes infinite. Half a unit in
 *   the last place.
 * - INLAY_I8, INLAY_I8_INVERSE: step max abs x / 127 of a row, or its inverse. Half a step.
 * - INLAY_U8_ROWWISE: bias min, step (max - min) / 255 of a row. Half a step, and the rounding of a sum.
 * - INLAY_U4_ROWWISE: bias min, step (max - min) / 15, both rounded to float16. Half a step, and what that rounding
 *   moves: up to 2^-11 of abs min and of max - min.
 * - INLAY_U4_GROUPED: step max abs x / 7 of a group; with zeros (max - min) / 15, 0 among the values. Half a step.
 * - INLAY_Q8_0: as ggml, step max abs x / 127 of a block, rounded to float16. 0.57 of a step.
 * - INLAY_Q4_0: as ggml, step max abs x / 8 of a block, rounded to float16, such that the extreme is -8. 1.01 steps.
 *
 * Float32 steps are at least 2^-126. A float16 holds no step below 2^-24, and few digits of one below 2^-14: there the
 * error is up to 8 * 2^-24 more, of INLAY_U4_ROWWISE and INLAY_Q4_0, and 64 * 2^-24 of INLAY_Q8_0. Where all is zero,
 * zero is what is read: the step is 1 (0 in ggml's types). Where all of a row is the same, its bias is read.
 *
 * @param largest_error  null, or where to write the largest difference between a value and what is read of it;
 * infinities that stay, and NaN, count 0
 * @return INLAY_SHAPE where the views differ in shape; INLAY_OPTION where `from` is no float32 table, or where an
 * integer type is to hold a value that is not finite or exceeds 2^126 in magnitude, of types with float16 scales 65504.
 *         Nothing is written then.
 */
INLAY_API inlay_status inlay_rows_store(const inlay_rows *from, const inlay_rows *to, double *largest_error);

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

/* ---- Threads -------------------------------------------------------------------------------------------------- */

/**
 * Who runs the parts of a call: a thread pool of the caller's. Functions that write rows take one, or null: then the
 * calling thread does all. Results are the same for every executor, bit by bit. examples/executors has adapters for
 * pthreadpool, OpenMP and a plain C++ pool.
 */
typedef struct inlay_executor {
    void *ctx; /**< handed to run */
    /** Calls task(arg, i) once for every i in [0, count), in any order, on any threads, and returns when all have
        returned. */
    void (*run)(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg);
    size_t threads; /**< how many calls of task run at a time, >= 1: work is cut for so many */
} inlay_executor;

/* ---- Sinusoids ------------------------------------------------------------------------------------------------ */

/** Positions end here: 0 <= position < 2^31. */
#define INLAY_POSITION_LIMIT (INT64_C(1) << 31)

/** Which columns hold the sine and cosine of frequency i, 0 <= i < ceil(dim / 2). */
typedef enum inlay_layout {
    INLAY_LAYOUT_INTERLEAVED = 1, /**< sin, cos, sin, cos, ...: columns 2i and 2i + 1 (Vaswani et al. 2017) */
    INLAY_LAYOUT_SPLIT = 2,       /**< all sines, then all cosines: columns i and ceil(dim / 2) + i (tensor2tensor) */
    INLAY_LAYOUT_SPLIT_COS_FIRST = 3, /**< all cosines, then all sines: columns ceil(dim / 2) + i and i (ggml) */
} inlay_layout;

/** The exponents e(i) of the frequencies base^-e(i), in radians per position. */
typedef enum inlay_spacing {
    INLAY_SPACING_DIM = 1,  /**< e(i) = 2i / dim (Vaswani et al. 2017) */
    INLAY_SPACING_HALF = 2, /**< e(i) = i / max(floor(dim / 2) - shift, 1): with shift 1 the last frequency of an even
                                 dim is 1 / base itself (tensor2tensor, fairseq) */
} inlay_spacing;

/** What becomes of the last column where dim is odd, and so has no partner. */
typedef enum inlay_odd {
    INLAY_ODD_FORMULA = 1, /**< one frequency more, of which only the first of sine and cosine has a column; where the
                                layout is split the first block has ceil(dim / 2) columns */
    INLAY_ODD_ZERO = 2,    /**< zeros; the other columns are those of dim - 1 columns (tensor2tensor), the frequencies
                                still those of dim */
    INLAY_ODD_WRAP = 3,    /**< the cosine of the first frequency (of dim 1, which has none: 0) once more; the other
                              columns as with zeros (Marian) */
    INLAY_ODD_ERROR = 4,   /**< an odd dim is an error, INLAY_SHAPE, as it is in frameworks that raise */
} inlay_odd;

/**
 * Whose arithmetic makes the table. Exact is the formula itself. The others are the float tables that checkpoints were
 * trained with: the framework's operations in its order and types, exp, log and pow correctly rounded, then sine and
 * cosine of the angle that results, correctly rounded to float32. (A framework's own expf may miss the correctly
 * rounded one in some columns; to match such a table take its frequencies: inv_freq with float_angles.) docs/recipes.md
 * has each formula, and how far from the exact one it lies.
 */
typedef enum inlay_recipe {
    INLAY_RECIPE_EXACT = 0,         /**< base^-e(i) for real numbers, rounded once: at the end */
    INLAY_RECIPE_TORCH_EXP = 1,     /**< PyTorch tutorials: exp(2i * (-ln(base) / dim)) */
    INLAY_RECIPE_JAX_EXP = 2,       /**< the same with the constant computed in float32 (JAX, Haiku) */
    INLAY_RECIPE_TORCH_DIV = 3,     /**< position / exp((2i / dim) * ln(base)) */
    INLAY_RECIPE_NUMPY_FP64 = 4,    /**< position / base^(2i / dim) in float64 (Keras tutorial, XLM, DistilBERT) */
    INLAY_RECIPE_KERAS_HUB = 5,     /**< (1 / base)^(2i / dim) in float32 (SinePositionEncoding) */
    INLAY_RECIPE_INV_POW = 6,       /**< 1 / base^(2i / dim) in float32 (rotary embeddings; positional-encodings) */
    INLAY_RECIPE_TENSOR2TENSOR = 7, /**< get_timing_signal_1d; also gemma.cpp */
    INLAY_RECIPE_FAIRSEQ = 8,       /**< fairseq, M2M100, Whisper, DDPM: the increment rounded from float64 */
    INLAY_RECIPE_OPENNMT_TF = 9,    /**< the same; its positions begin at 1 */
    INLAY_RECIPE_MARIAN = 10,       /**< Marian (C++) */
    INLAY_RECIPE_HF_MARIAN = 11,    /**< Marian as Hugging Face has it: float64, other frequencies, split */
    INLAY_RECIPE_DIFFUSERS = 12,    /**< get_timestep_embedding, whose downscale_freq_shift is `shift` */
    INLAY_RECIPE_GGML = 13,         /**< ggml_timestep_embedding */
    INLAY_RECIPE_MLX = 14,          /**< nn.SinusoidalPositionalEncoding: times sqrt(2 / dim) */
    INLAY_RECIPE_FLAX = 15,         /**< the examples lm1b and wmt: float64 */
    INLAY_RECIPE_MAE = 16,          /**< get_1d_sincos_pos_embed (MAE, DiT): float64 */
} inlay_recipe;

/**
 * The name of a recipe as the tool spells it: "exact", "torch-exp", ...; null for values that are none, so that
 * counting up from 0 finds all.
 */
INLAY_API const char *inlay_recipe_name(inlay_recipe recipe);

/**
 * The sinusoids of "Attention Is All You Need" (Vaswani et al. 2017, section 3.5) and their kin: sin and cos of
 * position * frequency, times amplitude. Start from inlay_sinusoid_spec_default() or inlay_sinusoid_spec_recipe().
 */
typedef struct inlay_sinusoid_spec {
    size_t size;            /**< sizeof(inlay_sinusoid_spec) */
    size_t dim;             /**< columns of a row, 1 <= dim < 2^31 */
    double base;            /**< 1 <= base <= 1e30 */
    double amplitude;       /**< factor of every entry, 2^-20 <= amplitude <= 2^10. Exact: the product of sine and
                                 amplitude is rounded once. Other recipes and float_angles: the rounded sine times
                                 the amplitude rounded to float32, rounded again */
    inlay_layout layout;    /**< which columns are sines */
    inlay_spacing spacing;  /**< the frequencies of the exact recipe; others have their own and do not look at it */
    uint32_t shift;         /**< 0 or 1: of INLAY_SPACING_HALF and INLAY_RECIPE_DIFFUSERS */
    inlay_odd odd;          /**< the last column of an odd dim */
    inlay_recipe recipe;    /**< whose arithmetic */
    uint32_t float_angles;  /**< 1: inv_freq is rounded to float32, so is the position, and so is their product, the
                                 angle: what float32 frameworks do. 0: the angle is the exact product */
    const double *inv_freq; /**< null, or frequencies [pairs] of the caller's, each in [0, 2^31] radians per position,
                                 copied; pairs is ceil(dim / 2), or floor(dim / 2) unless `odd` is
                                 INLAY_ODD_FORMULA. With INLAY_RECIPE_EXACT only; base and spacing are not looked at */
    size_t reserved;        /**< 0 */
} inlay_sinusoid_spec;

/** Exact, base 10000, interleaved, 2i / dim, an odd dim by the formula, amplitude 1. */
static inline inlay_sinusoid_spec inlay_sinusoid_spec_default(size_t dim)
{
    inlay_sinusoid_spec spec;
    spec.size = sizeof spec;
    spec.dim = dim;
    spec.base = 10000;
    spec.layout = INLAY_LAYOUT_INTERLEAVED;
    spec.spacing = INLAY_SPACING_DIM;
    spec.shift = 0;
    spec.odd = INLAY_ODD_FORMULA;
    spec.recipe = INLAY_RECIPE_EXACT;
    spec.float_angles = 0;
    spec.inv_freq = NULL;
    spec.amplitude = 1;
    spec.reserved = 0;
    return spec;
}

/**
 * A recipe as its framework has it: its layout, its odd dims, its shift and its amplitude; base 10000. Each may be
 * changed before the handle is made. `spacing` is that of the formula which the recipe approximates.
 */
INLAY_API inlay_sinusoid_spec inlay_sinusoid_spec_recipe(inlay_recipe recipe, size_t dim);

/** Prepared frequencies: immutable, shared by all threads. */
typedef struct inlay_sinusoid inlay_sinusoid;

/** Writes a new handle to *sinusoid (null where it fails). `allocator` may be null. */
INLAY_API inlay_status inlay_sinusoid_create(const inlay_sinusoid_spec *spec, const inlay_allocator *allocator,
                                             inlay_sinusoid **sinusoid);

/** Null is ignored. Layers made from it must be gone. */
INLAY_API void inlay_sinusoid_destroy(inlay_sinusoid *sinusoid);

/**
 * The rows of positions [first, first + n), 0 <= first, first + n <= 2^31.
 *
 * Exactness: every entry is the real number, rounded once to nearest even (correctly rounded), on every ISA, in every
 * type and at every position; subnormals included. Entries of a recipe other than INLAY_RECIPE_EXACT and of
 * float_angles are those of float32, in 16-bit types rounded again, as the frameworks cast them. Cost: about that of
 * storing the rows, some 0.5 us per sine and cosine on scalar; recipes and float_angles, some 10 ns per
 * entry.
 *
 * @param type              INLAY_F32, INLAY_F16 or INLAY_BF16
 * @param out               [n, dim]
 * @param out_stride_bytes  from row to row of `out`
 */
INLAY_API inlay_status inlay_sinusoid_rows(const inlay_sinusoid *sinusoid, int64_t first, size_t n, inlay_type type,
                                           void *out, size_t out_stride_bytes, const inlay_executor *executor);

/** The type of positions in a list. 0 is no type. */
typedef enum inlay_position_type {
    INLAY_POSITION_I64 = 1, /**< int64_t, in [0, 2^31) */
    INLAY_POSITION_F32 = 2, /**< float: real-valued (diffusion timesteps), of magnitude below 2^31 */
    INLAY_POSITION_F64 = 3, /**< double, likewise; recipes of float32 round it */
} inlay_position_type;

/**
 * The rows of a list of positions, in its order. Exact as inlay_sinusoid_rows() is, also for negative and for
 * fractional positions; a few ns per entry.
 *
 * @param positions  [n] of position_type, any address
 * @param out        [n, dim]
 * @param fault      null, or where to say which position was bad
 */
INLAY_API inlay_status inlay_sinusoid_at(const inlay_sinusoid *sinusoid, const void *positions,
                                         inlay_position_type position_type, size_t n, inlay_type type, void *out,
                                         size_t out_stride_bytes, const inlay_executor *executor, inlay_fault *fault);

/* ---- Rotary embeddings: tables of cosines and sines -------------------------------------------------------------- */

/**
 * How the frequencies of rotary embeddings (Su et al. 2021) are stretched beyond the lengths of training. Each is the
 * formula of Hugging Face's transformers (ROPE_INIT_FUNCTIONS); docs/rotary.md has them, and where others differ.
 */
typedef enum inlay_rotary_scaling {
    INLAY_ROTARY_DEFAULT = 1,     /**< base^(-2i/dim) */
    INLAY_ROTARY_LINEAR = 2,      /**< divided by factor: position interpolation (Chen et al. 2023) */
    INLAY_ROTARY_NTK = 3,         /**< base * factor^(dim / (dim - 2)) for base: NTK-aware */
    INLAY_ROTARY_DYNAMIC_NTK = 4, /**< NTK-aware with the factor that `length` asks for:
                                       factor * max(length, original_length) / original_length - (factor - 1) */
    INLAY_ROTARY_LLAMA3 = 5,      /**< Llama 3.1: frequencies of few rotations over original_length divided by factor,
                                       of many kept, between them a ramp over the rotations */
    INLAY_ROTARY_YARN = 6,        /**< YaRN (Peng et al. 2023): likewise with a ramp over i, as in the authors' code,
                                       and an attention factor, 0.1 ln(factor) + 1 */
    INLAY_ROTARY_LONGROPE = 7,    /**< LongRoPE (Ding et al. 2024): divided by a factor per frequency, and an attention
                                       factor, sqrt(1 + ln(factor) / ln(original_length)) */
} inlay_rotary_scaling;

/** What the frequencies follow from. Start from inlay_rotary_spec_default(). A field that a scaling does not name is
   not looked at. */
typedef struct inlay_rotary_spec {
    size_t size;                  /**< sizeof(inlay_rotary_spec) */
    size_t dim;                   /**< rotary columns of a head, even, 2 <= dim < 2^31: head size *
                                       partial_rotary_factor */
    double base;                  /**< 1 <= base <= 1e30; rope_theta. YaRN needs more than 1 */
    inlay_rotary_scaling scaling; /**< which of the formulas */
    uint32_t reserved;            /**< 0 */
    double factor;                /**< >= 1, <= 1e6: all but default. LongRoPE: longest length / original_length, of
                                       the attention factor alone */
    double original_length;       /**< >= 2, < 2^31: max_position_embeddings of training: dynamic NTK, Llama 3, YaRN,
                                       LongRoPE */
    double length;                /**< >= 0, < 2^31: tokens at hand: dynamic NTK, LongRoPE (which takes short_factors up
                                       to original_length, long_factors beyond) */
    double low_freq_factor;       /**< Llama 3: rotations over original_length up to which frequencies are divided; 1
                                       in the model. 2^-20 <= low < high <= 1e6 */
    double high_freq_factor;      /**< Llama 3: rotations from which on they are kept; 4 in the model */
    double beta_fast;             /**< YaRN: rotations over original_length from which on frequencies are kept; 32 */
    double beta_slow;             /**< YaRN: rotations up to which they are divided; 1. 2^-20 <= slow <= fast <= 1e6 */
    uint32_t truncate;           /**< YaRN: 1: the ends of the ramp are rounded outwards to integers, 0: they are not */
    uint32_t reserved_too;       /**< 0 */
    double mscale;               /**< YaRN: 0, or with mscale_all_dim the weights w in DeepSeek's quotient of attention
                                      factors 0.1 w ln(factor) + 1, each in [0, 100] */
    double mscale_all_dim;       /**< YaRN: see mscale; used where neither is 0, as Hugging Face does */
    double attention_factor;     /**< YaRN, LongRoPE: 0: by the formula, else this, 2^-20 to 2^10 */
    const double *short_factors; /**< LongRoPE: [dim / 2], each in [2^-20, 2^20] */
    const double *long_factors;  /**< LongRoPE: [dim / 2], likewise; both are needed and looked at */
} inlay_rotary_spec;

/** No scaling, base 10000, factor 1, and the other numbers as the models have them. */
static inline inlay_rotary_spec inlay_rotary_spec_default(size_t dim)
{
    inlay_rotary_spec spec;
    spec.size = sizeof spec;
    spec.dim = dim;
    spec.base = 10000;
    spec.scaling = INLAY_ROTARY_DEFAULT;
    spec.reserved = 0;
    spec.factor = 1;
    spec.original_length = 2048;
    spec.length = 0;
    spec.low_freq_factor = 1;
    spec.high_freq_factor = 4;
    spec.beta_fast = 32;
    spec.beta_slow = 1;
    spec.truncate = 1;
    spec.reserved_too = 0;
    spec.mscale = 0;
    spec.mscale_all_dim = 0;
    spec.attention_factor = 0;
    spec.short_factors = NULL;
    spec.long_factors = NULL;
    return spec;
}

/**
 * The frequencies of rotary embeddings in radians per position and the factor of their cosines and sines, each the real
 * number of its formula rounded once to double: the inv_freq and the amplitude of an inlay_sinusoid_spec. Some 3 us per
 * frequency, of LongRoPE and on a ramp 8.
 *
 * @param inv_freq          [dim / 2], aligned
 * @param attention_factor  1 but for YaRN and LongRoPE; may not lie in inv_freq
 */
INLAY_API inlay_status inlay_rotary_frequencies(const inlay_rotary_spec *spec, double *inv_freq,
                                                double *attention_factor);

/** How a rotary table spreads its dim / 2 frequencies over columns. */
typedef enum inlay_rotary_layout {
    INLAY_ROTARY_PAIRS = 1,       /**< [n, dim / 2]: one column per frequency */
    INLAY_ROTARY_HALVES = 2,      /**< [n, dim]: all frequencies, then all once more (GPT-NeoX, Llama in PyTorch) */
    INLAY_ROTARY_INTERLEAVED = 3, /**< [n, dim]: each frequency twice in a row (GPT-J, Llama as published) */
} inlay_rotary_layout;

/**
 * Cosines and sines of positions [first, first + n) apart, as rotary embeddings take them: the entries of
 * inlay_sinusoid_rows(), with its exactness. dim must be even; the sinusoid's own layout is not looked at.
 *
 * @param type              INLAY_F32, INLAY_F16 or INLAY_BF16
 * @param cos               [n, dim / 2] or [n, dim], as the layout says
 * @param sin               likewise; not over cos, but the rows of both may lie side by side within one stride, as in a
 *                          cache [n, cosines then sines]
 * @param out_stride_bytes  from row to row, of both
 */
INLAY_API inlay_status inlay_rotary_rows(const inlay_sinusoid *sinusoid, int64_t first, size_t n, inlay_type type,
                                         inlay_rotary_layout layout, void *cos, void *sin, size_t out_stride_bytes,
                                         const inlay_executor *executor);

/* ---- The plain operations, for those who compose --------------------------------------------------------------- */

/** sqrt(dim) rounded once to float32, to nearest even: the scale of Vaswani et al. 2017, section 3.4. */
INLAY_API float inlay_sqrt_dim(size_t dim);

/**
 * out[i, :] = table[ids[i], :] * scale. With scale 1 a pure copy, which keeps all bits of a NaN too.
 *
 * @param table   of any type; of a shard, ids of others write rows of -0.0
 * @param ids     [n] of id_type, each in [0, rows), or [0, vocab)
 * @param scale   any float; infinities and NaN propagate by IEEE 754
 * @param out     float32 [n, dim]
 * @param fault   null, or where to say which id was bad
 */
INLAY_API inlay_status inlay_gather(const inlay_rows *table, const void *ids, inlay_id_type id_type, size_t n,
                                    float scale, void *out, size_t out_stride_bytes, const inlay_executor *executor,
                                    inlay_fault *fault);

/**
 * out[i, :] = x[i, :] * scale. In place where x and out have the same address and stride.
 *
 * @param x    float32 [n, dim]
 * @param out  float32 [n, dim]
 */
INLAY_API inlay_status inlay_scale(const void *x, size_t x_stride_bytes, size_t n, size_t dim, float scale, void *out,
                                   size_t out_stride_bytes, const inlay_executor *executor);

/**
 * x[b, s, :] += positions[start + s, :], in place, streamed across the batch: each position row is fetched once
 * and added to every sequence while it lies in cache.
 *
 * @param x          float32 [batch, seq, dim], row (b, s) at (b * seq + s) * x_stride_bytes
 * @param positions  [rows, dim] of any type
 * @param start      0 <= start, start + seq <= rows
 * @param fault      null, or where to say which position was past the table
 */
INLAY_API inlay_status inlay_add_positions(void *x, size_t x_stride_bytes, size_t batch, size_t seq,
                                           const inlay_rows *positions, int64_t start, const inlay_executor *executor,
                                           inlay_fault *fault);

/* ---- Initialisation of tables ----------------------------------------------------------------------------------- */

/** How the elements of a new table are distributed. 0 is none. */
typedef enum inlay_random_kind {
    INLAY_RANDOM_NORMAL = 1,           /**< mean + deviation * z, z standard normal */
    INLAY_RANDOM_TRUNCATED_NORMAL = 2, /**< the same, z drawn from [low, high] alone */
    INLAY_RANDOM_UNIFORM = 3,          /**< low + (high - low) * u, u in (0, 1) */
} inlay_random_kind;

/**
 * Random rows, each element of which follows from its index, key and offset alone: a table made in parts, in any order,
 * on any machine, has the same bits. Start from inlay_random_spec_default().
 *
 * Element e = (first_row + row) * dim + column takes w, word e mod 4 of the block that Philox4x32-10 (Salmon et al.
 * 2011) makes of the counter {e / 4, offset}, two 64-bit numbers, the lower half of each first, and of `key`. Its
 * number is the quantile at u = (w + 1/2) / 2^32 of the distribution: one of 2^32, which of a standard normal reach to
 * +-6.34.
 */
typedef struct inlay_random_spec {
    size_t size;            /**< sizeof(inlay_random_spec) */
    size_t first_row;       /**< where the rows stand in their table, of which they may be a part */
    inlay_random_kind kind; /**< which distribution */
    uint32_t reserved;      /**< 0 */
    double mean;            /**< of the normal ones, before truncation. All four numbers are finite and of at most the
                                 largest float32 in magnitude, whether `kind` looks at them or not, but for what
                                 follows */
    double deviation;       /**< the standard deviation of the normal ones, before truncation; >= 0 */
    double low;       /**< <= high. Truncated: in standard deviations from the mean (-2 in Keras), <= 8, and may be
                           -infinity. Uniform: the least number */
    double high;      /**< truncated: likewise (2 in Keras), >= -8, and may be infinity. Uniform: the largest
                           number */
    uint64_t key;     /**< the seed */
    uint64_t offset;  /**< which of 2^64 independent tables of that key */
    int64_t zero_row; /**< a row of the table that is zeros, as those of padding tokens are; -1: none */
} inlay_random_spec;

/** Mean 0 and deviation 1; truncated at +-2 deviations; uniform in [0, 1]. Offset 0, no row of zeros. */
static inline inlay_random_spec inlay_random_spec_default(inlay_random_kind kind, uint64_t key)
{
    inlay_random_spec spec;
    spec.size = sizeof spec;
    spec.first_row = 0;
    spec.kind = kind;
    spec.reserved = 0;
    spec.mean = 0;
    spec.deviation = 1;
    spec.low = kind == INLAY_RANDOM_TRUNCATED_NORMAL ? -2 : 0;
    spec.high = kind == INLAY_RANDOM_TRUNCATED_NORMAL ? 2 : 1;
    spec.key = key;
    spec.offset = 0;
    spec.zero_row = -1;
    return spec;
}

/**
 * Writes random rows, the same bits on every machine. z is computed in double, within 2^-46 of its size (or of 1, where
 * it is truncated and less); mean + deviation * z in double too, and rounded once to float32. Some 20 ns an element.
 *
 * @param out           float32 [rows, dim]
 * @param stride_bytes  from row to row of `out`
 */
INLAY_API inlay_status inlay_rows_random(const inlay_random_spec *spec, void *out, size_t rows, size_t dim,
                                         size_t stride_bytes);

/* ---- The layer: gather, scale and positions in one pass --------------------------------------------------------- */

/** How outputs leave the core. */
typedef enum inlay_stores {
    INLAY_STORES_AUTOMATIC = 0, /**< past the caches where the output is larger than stream_bytes */
    INLAY_STORES_CACHED = 1,    /**< through the caches: for a consumer that reads the output at once */
    INLAY_STORES_STREAMED = 2,  /**< past the caches, by non-temporal stores where the ISA has them */
} inlay_stores;

/* What inlay_layer_spec_default() fills in, and the plain operations use. */
/* Measured with an L2 of 1 MiB: in calls of no more bytes first lines do as well as whole rows or better. */
#define INLAY_NEAR_BYTES_DEFAULT ((size_t)1 << 20)
/* What the smallest L1 data cache in common use, 32 KiB, has room for beside rows on their way through it. */
#define INLAY_BLOCK_BYTES_DEFAULT ((size_t)12 << 10)
/* What memory sends in its latency, measured: with half of it and with twice as much rows come later. */
#define INLAY_PREFETCH_BYTES_DEFAULT ((size_t)8 << 10)

/** The stream_bytes of inlay_layer_spec_default(), and of gather, scale and add_positions: as measured on CPUs of this
    kind, or what suits a slow L3 where none was measured. */
INLAY_API size_t inlay_default_stream_bytes(void);

/** Its compute_bytes likewise, which depends on the ISA in use too, and so settles it as inlay_init() does. */
INLAY_API size_t inlay_default_compute_bytes(void);

/** As many rows as inlay_layer_spec.cached_positions has by default: 4096, or what 64 MiB hold. */
#define INLAY_CACHED_POSITIONS_DEFAULT SIZE_MAX

/** What becomes of ids outside [0, vocab). */
typedef enum inlay_bad_id {
    INLAY_BAD_ID_ERROR = 0,      /**< the call is INLAY_ID and writes nothing */
    INLAY_BAD_ID_CLAMP = 1,      /**< the nearest row: 0 or vocab - 1 */
    INLAY_BAD_ID_ZERO = 2,       /**< a row of zeros */
    INLAY_BAD_ID_SUBSTITUTE = 3, /**< the row of substitute_id (that of an unknown token) */
    INLAY_BAD_ID_SKIP = 4,       /**< the output's row is left as it is */
} inlay_bad_id;

/** What rows of zeros (of padding_id and INLAY_BAD_ID_ZERO) become. */
typedef enum inlay_zero_rows {
    INLAY_ZERO_ROWS_BARE = 0,       /**< zeros in the output: no position, segment or norm */
    INLAY_ZERO_ROWS_POSITIONED = 1, /**< like any row: PyTorch's padding_idx, whose row is zeros */
} inlay_zero_rows;

/** How tokens that have no position of their own in the batch are numbered. */
typedef enum inlay_numbering {
    INLAY_NUMBERING_PLAIN = 0, /**< start + s */
    /** The n-th token (from 0) of a sequence that is not padding_id is at start + n, and padding at start - 1: fairseq,
        RoBERTa and XLM-R with start = padding_id + 1, OPT with start = 2. So left padding moves nothing. */
    INLAY_NUMBERING_PADDING_AWARE = 1,
} inlay_numbering;

/** The norm behind the sum: computed in double, in an order that is the same on every ISA, and rounded to float32 once.
   So what comes out is the exact norm of the float32 sum, but for errors of doubles, rounded. */
typedef enum inlay_norm {
    INLAY_NORM_NONE = 0,
    INLAY_NORM_LAYER = 1, /**< (x - mean) * (1 / sqrt(variance + epsilon)) * gamma + beta (Ba et al. 2016) */
    INLAY_NORM_RMS = 2,   /**< x * (1 / sqrt(mean square + epsilon)) * gamma (Zhang and Sennrich 2019) */
} inlay_norm;

/** Rows of a sequence to one: static embeddings, bags of features. */
typedef enum inlay_pooling {
    INLAY_POOLING_NONE = 0,
    INLAY_POOLING_SUM = 1,  /**< in the order of tokens; each row * (weight * scale) where the batch has weights. Rows
                                 of zeros and skipped ones take no part */
    INLAY_POOLING_MEAN = 2, /**< that sum times 1 / number of rows, rounded; zeros where there is none */
} inlay_pooling;

/**
 * What a layer is made of. Start from inlay_layer_spec_default(); a field left as it is there is absent and costs
 * nothing.
 *
 *     out = cast(dropout(norm(row * scale + position + segment)))
 *
 * each operation rounded to float32, in this order, but for segments_first and the inside of the norm; an absent term
 * is absent, not an added zero.
 */
typedef struct inlay_layer_spec {
    size_t size;              /**< sizeof(inlay_layer_spec) */
    const inlay_rows *tokens; /**< the embedding table [vocab, dim]; its data must outlive the layer. A shard writes
                                   rows of -0.0 for ids of other shards, without position, so that the sum over all
                                   shards is the whole layer, bit by bit; with norm, pooling, dropout or segments it
                                   is INLAY_OPTION */
    const inlay_sinusoid *sinusoid; /**< positions by formula, same dim, must outlive the layer; null: none. With
                                       outputs of 16 bits dim is at most 4096 */
    const inlay_rows *positions;    /**< or positions from a table [rows, dim] (learned); null: none. Not both */
    const inlay_rows *segments;     /**< a table of segments (token types) [types, dim]; null: none */
    size_t cached_positions;        /**< rows of the sinusoid computed at creation and held; 0: none. Others
                                         are computed in each call, which is cheap in long runs of positions and
                                         dear in short ones (a few us per call at dim 4096) */
    float scale;                    /**< factor of the token row (0 too is one); inlay_sqrt_dim(dim) is the usual one */
    inlay_stores stores;            /**< how the outputs of this layer leave the core */
    size_t near_bytes;         /**< where the rows of a call, in the output's type, take no more bytes than this, L2 may
                                    hold them, and their first lines are asked for ahead; else all of each */
    size_t stream_bytes;       /**< automatic stores: outputs larger than this go past the caches */
    size_t compute_bytes;      /**< one sequence alone computes position rows of a sinusoid that take more bytes
                                    than this, though they are held, as that is faster than reading them; SIZE_MAX:
                                    never */
    size_t block_bytes;        /**< of position rows that stay in L1 while the batch consumes them, one row at the
                                    least; computed ones take no more than 16 KiB */
    size_t prefetch_bytes;     /**< how far ahead token rows are asked for, in bytes of rows: one row at the least
                                    and 32 at the most, less where terms and norms follow; 0: not at all */
    int64_t padding_id;        /**< its row is zeros; negative: none */
    int64_t substitute_id;     /**< of INLAY_BAD_ID_SUBSTITUTE, in [0, vocab) */
    inlay_bad_id bad_id;       /**< ids outside [0, vocab) */
    inlay_zero_rows zero_rows; /**< rows of zeros */
    inlay_numbering numbering; /**< positions of tokens */
    uint16_t clamp_positions;  /**< 1: positions past a table take its last row; 0: they are INLAY_POSITION */
    uint16_t segments_first;   /**< 1: (row * scale + segment) + position, as BERT in Hugging Face transformers and
                                    TEI add; 0: (row * scale + position) + segment, as ONNX Runtime does; without
                                    segments it is 0 */
    inlay_norm norm;           /**< behind the sum. With outputs of 16 bits dim is at most 4096 */
    float epsilon;             /**< of the norm, finite, >= 0 */
    const void *gamma;         /**< float32 [dim] of the norm, any address; null: ones */
    const void *beta;          /**< likewise, of INLAY_NORM_LAYER; null: no such term */
    inlay_pooling pooling;     /**< a row for each sequence; dim is at most 4096, positions and segments are none */
    inlay_type out_type;       /**< INLAY_F32, INLAY_F16 or INLAY_BF16: rounded to nearest even, NaN kept */
} inlay_layer_spec;

/** Scale 1, no positions, INLAY_CACHED_POSITIONS_DEFAULT rows held where there is a sinusoid, automatic stores, bad ids
    an error, no padding, float32 outputs. */
static inline inlay_layer_spec inlay_layer_spec_default(const inlay_rows *tokens)
{
    inlay_layer_spec spec;
    spec.size = sizeof spec;
    spec.tokens = tokens;
    spec.sinusoid = NULL;
    spec.positions = NULL;
    spec.segments = NULL;
    spec.cached_positions = INLAY_CACHED_POSITIONS_DEFAULT;
    spec.scale = 1;
    spec.stores = INLAY_STORES_AUTOMATIC;
    spec.near_bytes = INLAY_NEAR_BYTES_DEFAULT;
    spec.stream_bytes = inlay_default_stream_bytes();
    spec.compute_bytes = inlay_default_compute_bytes();
    spec.block_bytes = INLAY_BLOCK_BYTES_DEFAULT;
    spec.prefetch_bytes = INLAY_PREFETCH_BYTES_DEFAULT;
    spec.padding_id = -1;
    spec.substitute_id = 0;
    spec.bad_id = INLAY_BAD_ID_ERROR;
    spec.zero_rows = INLAY_ZERO_ROWS_BARE;
    spec.numbering = INLAY_NUMBERING_PLAIN;
    spec.clamp_positions = 0;
    spec.segments_first = 0;
    spec.norm = INLAY_NORM_NONE;
    spec.epsilon = 0;
    spec.gamma = NULL;
    spec.beta = NULL;
    spec.pooling = INLAY_POOLING_NONE;
    spec.out_type = INLAY_F32;
    return spec;
}

/** Immutable, shared by all threads. It copies no table: only the first rows of a sinusoid are its own. */
typedef struct inlay_layer inlay_layer;

/** Writes a new handle to *layer (null where it fails). `allocator` may be null. */
INLAY_API inlay_status inlay_layer_create(const inlay_layer_spec *spec, const inlay_allocator *allocator,
                                          inlay_layer **layer);

/** Null is ignored. */
INLAY_API void inlay_layer_destroy(inlay_layer *layer);

/** What a forward call reads. Start from inlay_batch_i32, inlay_batch_i64 or inlay_batch_ragged. */
typedef struct inlay_batch {
    size_t size;             /**< sizeof(inlay_batch) */
    const void *ids;         /**< [sequences, length], or [length] with offsets; each in [0, vocab) or as bad_id says */
    inlay_id_type id_type;   /**< of ids */
    float dropout;           /**< the part of elements that becomes 0, in [0, 1), the rest times 1 / (1 - dropout), a
                                  float32; 0: none. A mask of key, offset and the element's index alone: token * dim +
                                  column, tokens counted as in ids; with pooling sequence * dim + column */
    uint64_t dropout_key;    /**< Philox4x32-10 (Salmon et al. 2011) */
    uint64_t dropout_offset; /**< the upper half of its counter: another one for each step */
    size_t sequences;        /**< >= 0 */
    size_t length;           /**< tokens of each sequence, >= 0; with offsets those of all sequences together */
    const int64_t *offsets;  /**< null, or [sequences + 1]: sequence b is tokens [offsets[b], offsets[b + 1]) of ids;
                                  they begin at 0, never fall and end at length */
    size_t padded_length;    /**< with offsets: 0, and the output is packed as ids are, [length, dim]; or rows of the
                                  output for each sequence, [sequences, padded_length, dim], zeros behind its end */
    int64_t start;           /**< position of the first token of each sequence */
    const int64_t *starts;   /**< null, or [sequences]: a start for each sequence instead (decoding from caches of keys
                                  and values of different lengths) */
    const void *positions;   /**< null, or a position for each token, shaped as ids, instead of any start */
    const void *segments;    /**< shaped as ids, of the layer's table of segments; null: all 0 */
    inlay_id_type position_type; /**< of positions; 0 without */
    inlay_id_type segment_type;  /**< of segments; 0 without */
    const void *weights;         /**< with pooling: null, or a float32 factor for each token, shaped as ids */
} inlay_batch;

/** int32 ids [sequences, length] at positions [start, start + length). */
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
    batch.positions = NULL;
    batch.segments = NULL;
    batch.position_type = (inlay_id_type)0;
    batch.segment_type = (inlay_id_type)0;
    batch.weights = NULL;
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

/** Packed ids [offsets[sequences]] of any type, each sequence from position `start` on; offsets [sequences + 1]. */
static inline inlay_batch inlay_batch_ragged(const void *ids, inlay_id_type id_type, const int64_t *offsets,
                                             size_t sequences, int64_t start)
{
    inlay_batch batch = inlay_batch_i32(NULL, sequences, (size_t)offsets[sequences], start);
    batch.ids = ids;
    batch.id_type = id_type;
    batch.offsets = offsets;
    return batch;
}

/**
 * out[b, s, :] = tokens[ids[b, s], :] * scale + position(start + s), and what else the layer has, in one pass.
 *
 * Positions of a sinusoid lie in [0, 2^31), those of a table in [0, rows); of tokens whose output has no position
 * none is looked at. Should another thread change what the batch points to during the call, rows come out wrong, but no
 * other memory is read or written.
 *
 * @param out               [sequences, length, dim] of out_type, row (b, s) at (b * length + s) * out_stride_bytes;
 *                          with offsets as padded_length says; with pooling [sequences, dim]
 * @param out_stride_bytes  from row to row of `out`
 * @param fault             null, or where to say which id, position, segment or offset was bad
 */
INLAY_API inlay_status inlay_forward(const inlay_layer *layer, const inlay_batch *batch, void *out,
                                     size_t out_stride_bytes, const inlay_executor *executor, inlay_fault *fault);

#ifdef __cplusplus
}
#endif

#endif
