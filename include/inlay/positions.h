/* SPDX-License-Identifier: MIT */
/**
 * @file positions.h
 * Positional encodings: exact sinusoid tables, the recipes of frameworks, and rotary tables. The conventions of inlay.h
 * hold.
 */
#ifndef INLAY_POSITIONS_H
#define INLAY_POSITIONS_H

#include <inlay/base.h>
#include <inlay/table.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Sinusoids ------------------------------------------------------------------------------------------------ */

/** Positions end here: 0 <= position < 2^31. */
#define INLAY_POSITION_LIMIT (INT64_C(1) << 31)

/** Which columns hold the sine and cosine of frequency i, 0 <= i < ceil(dim / 2). */
typedef enum inlay_sinusoid_layout {
    INLAY_SINUSOID_LAYOUT_INTERLEAVED = 1, /**< sin, cos, sin, cos, ...: columns 2i and 2i + 1 (Vaswani et al. 2017) */
    INLAY_SINUSOID_LAYOUT_SPLIT =
        2, /**< all sines, then all cosines: columns i and ceil(dim / 2) + i (tensor2tensor) */
    INLAY_SINUSOID_LAYOUT_SPLIT_COS_FIRST =
        3, /**< all cosines, then all sines: columns ceil(dim / 2) + i and i (ggml) */
} inlay_sinusoid_layout;

/** The exponents e(i) of the frequencies base^-e(i), in radians per position. */
typedef enum inlay_sinusoid_spacing {
    INLAY_SINUSOID_SPACING_DIM = 1,  /**< e(i) = 2i / dim (Vaswani et al. 2017) */
    INLAY_SINUSOID_SPACING_HALF = 2, /**< e(i) = i / max(floor(dim / 2) - shift, 1): with shift 1 the last frequency of
                                 an even dim is 1 / base itself (tensor2tensor, fairseq) */
} inlay_sinusoid_spacing;

/** What becomes of the last column where dim is odd, and so has no partner. */
typedef enum inlay_sinusoid_odd {
    INLAY_SINUSOID_ODD_FORMULA = 1, /**< one frequency more, of which only the first of sine and cosine has a column;
                                where the layout is split the first block has ceil(dim / 2) columns */
    INLAY_SINUSOID_ODD_ZERO = 2,    /**< zeros; the other columns are those of dim - 1 columns (tensor2tensor), the
                                frequencies    still those of dim */
    INLAY_SINUSOID_ODD_WRAP = 3,    /**< the cosine of the first frequency (of dim 1, which has none: 0) once more; the
                              other    columns as with zeros (Marian) */
    INLAY_SINUSOID_ODD_ERROR = 4,   /**< an odd dim is an error, INLAY_ERROR_SHAPE, as it is in frameworks that raise */
} inlay_sinusoid_odd;

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
    size_t size;                  /**< sizeof(inlay_sinusoid_spec) */
    size_t dim;                   /**< columns of a row, 1 <= dim < 2^31 */
    double base;                  /**< 1 <= base <= 1e30 */
    double amplitude;             /**< factor of every entry, 2^-20 <= amplitude <= 2^10. Exact: the product of sine and
                                       amplitude is rounded once. Other recipes and float_angles: the rounded sine times
                                       the amplitude rounded to float32, rounded again */
    inlay_sinusoid_layout layout; /**< which columns are sines */
    inlay_sinusoid_spacing
        spacing;            /**< the frequencies of the exact recipe; others have their own and do not look at it */
    uint32_t shift;         /**< 0 or 1: of INLAY_SINUSOID_SPACING_HALF and INLAY_RECIPE_DIFFUSERS */
    inlay_sinusoid_odd odd; /**< the last column of an odd dim */
    inlay_recipe recipe;    /**< whose arithmetic */
    uint32_t float_angles;  /**< 1: inv_freq is rounded to float32, so is the position, and so is their product, the
                                 angle: what float32 frameworks do. 0: the angle is the exact product */
    const double
        *inv_freq;   /**< null, or frequencies [pairs] of the caller's, each in [0, 2^31] radians per position,
                          copied; pairs is ceil(dim / 2), or floor(dim / 2) unless `odd` is
                          INLAY_SINUSOID_ODD_FORMULA. With INLAY_RECIPE_EXACT only; base and spacing are not looked at */
    size_t reserved; /**< 0 */
} inlay_sinusoid_spec;

/** Exact, base 10000, interleaved, 2i / dim, an odd dim by the formula, amplitude 1. */
static inline inlay_sinusoid_spec inlay_sinusoid_spec_default(size_t dim)
{
    inlay_sinusoid_spec spec;
    spec.size = sizeof spec;
    spec.dim = dim;
    spec.base = 10000;
    spec.layout = INLAY_SINUSOID_LAYOUT_INTERLEAVED;
    spec.spacing = INLAY_SINUSOID_SPACING_DIM;
    spec.shift = 0;
    spec.odd = INLAY_SINUSOID_ODD_FORMULA;
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
INLAY_API inlay_status inlay_sinusoid_rows(const inlay_sinusoid *sinusoid, int64_t first, size_t n,
                                           inlay_element_type type, void *out, size_t out_stride_bytes,
                                           const inlay_executor *executor);

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
                                         inlay_position_type position_type, size_t n, inlay_element_type type,
                                         void *out, size_t out_stride_bytes, const inlay_executor *executor,
                                         inlay_fault *fault);

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
INLAY_API inlay_status inlay_rotary_rows(const inlay_sinusoid *sinusoid, int64_t first, size_t n,
                                         inlay_element_type type, inlay_rotary_layout layout, void *cos, void *sin,
                                         size_t out_stride_bytes, const inlay_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
