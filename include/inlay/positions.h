/* SPDX-License-Identifier: MIT */
/**
 * @file positions.h
 * Positional encodings: correctly rounded sinusoid tables, the variants that frameworks compute (recipes), and rotary
 * tables. The conventions of inlay.h apply.
 */
#ifndef INLAY_POSITIONS_H
#define INLAY_POSITIONS_H

#include <inlay/base.h>
#include <inlay/table.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Sinusoids ------------------------------------------------------------------------------------------------ */

/** Upper bound of positions: 0 <= position < 2^31. */
#define INLAY_POSITION_LIMIT (INT64_C(1) << 31)

/** Default of cached_positions in inlay_layer_spec and inlay_rotary_spec: 4096 rows, capped at 64 MiB. */
#define INLAY_CACHED_POSITIONS_DEFAULT SIZE_MAX

/** Which columns hold the sine and cosine of frequency i, 0 <= i < ceil(dim / 2). 0 is invalid. */
typedef enum inlay_sinusoid_layout {
    INLAY_SINUSOID_LAYOUT_INTERLEAVED = 1, /**< sin, cos, sin, cos, ...: columns 2i and 2i + 1 (Vaswani et al. 2017) */
    INLAY_SINUSOID_LAYOUT_SPLIT = 2,       /**< all sines, then all cosines: columns i and ceil(dim / 2) + i
                                                (tensor2tensor) */
    INLAY_SINUSOID_LAYOUT_SPLIT_COS_FIRST = 3, /**< all cosines, then all sines (ggml) */
} inlay_sinusoid_layout;

/** The exponents e(i) of the frequencies. Frequency i is base^-e(i) radians per position. 0 is invalid. */
typedef enum inlay_sinusoid_spacing {
    INLAY_SINUSOID_SPACING_DIM = 1,  /**< e(i) = 2i / dim (Vaswani et al. 2017) */
    INLAY_SINUSOID_SPACING_HALF = 2, /**< e(i) = i / max(floor(dim / 2) - shift, 1). With shift 1 the last frequency of
                                          an even dim is exactly 1 / base (tensor2tensor, fairseq) */
} inlay_sinusoid_spacing;

/** Contents of the last column if dim is odd, so it has no partner. 0 is invalid. */
typedef enum inlay_sinusoid_odd {
    INLAY_SINUSOID_ODD_FORMULA = 1, /**< the sine of one more frequency (the cosine if cosines come first). The first
                                         block of a split layout has ceil(dim / 2) columns */
    INLAY_SINUSOID_ODD_ZERO = 2,  /**< zeros. The other columns are laid out as for dim - 1, with the frequencies of dim
                                       (tensor2tensor) */
    INLAY_SINUSOID_ODD_WRAP = 3,  /**< the cosine of the first frequency again, or 0 for dim 1, which has no
                                       frequency. The other columns are as in INLAY_SINUSOID_ODD_ZERO (Marian) */
    INLAY_SINUSOID_ODD_ERROR = 4, /**< odd dims return INLAY_ERROR_SHAPE, for frameworks that raise an exception */
} inlay_sinusoid_odd;

/**
 * The arithmetic that computes the table. INLAY_RECIPE_EXACT rounds the real values of the formula. The other recipes
 * reproduce the float tables that checkpoints were trained with: they perform a framework's operations in the same
 * order and types. exp, log and pow are correctly rounded. The sine and cosine of the resulting angle are correctly
 * rounded to float32.
 *
 * A framework's own expf may not be correctly rounded in every column. To match its table exactly, pass its frequencies
 * as inv_freq, with float_angles. docs/recipes.md has each formula and its distance from the exact one.
 */
typedef enum inlay_recipe {
    INLAY_RECIPE_EXACT = 0,         /**< base^-e(i) as a real number; each entry is rounded once */
    INLAY_RECIPE_TORCH_EXP = 1,     /**< PyTorch tutorials: exp(2i * (-ln(base) / dim)) */
    INLAY_RECIPE_JAX_EXP = 2,       /**< as TORCH_EXP, with the constant computed in float32 (JAX, Haiku) */
    INLAY_RECIPE_TORCH_DIV = 3,     /**< position / exp((2i / dim) * ln(base)) */
    INLAY_RECIPE_NUMPY_FP64 = 4,    /**< position / base^(2i / dim) in float64 (Keras tutorial, XLM, DistilBERT) */
    INLAY_RECIPE_KERAS_HUB = 5,     /**< (1 / base)^(2i / dim) in float32 (SinePositionEncoding) */
    INLAY_RECIPE_INV_POW = 6,       /**< 1 / base^(2i / dim) in float32 (rotary embeddings; positional-encodings) */
    INLAY_RECIPE_TENSOR2TENSOR = 7, /**< get_timing_signal_1d; also gemma.cpp */
    INLAY_RECIPE_FAIRSEQ = 8,       /**< fairseq, M2M100, Whisper, DDPM: the increment rounded from float64 */
    INLAY_RECIPE_OPENNMT_TF = 9,    /**< the arithmetic of FAIRSEQ; OpenNMT-tf's positions start at 1 */
    INLAY_RECIPE_MARIAN = 10,       /**< Marian (C++) */
    INLAY_RECIPE_HF_MARIAN = 11,    /**< Marian in Hugging Face: the arithmetic of NUMPY_FP64, split */
    INLAY_RECIPE_DIFFUSERS = 12,    /**< get_timestep_embedding; `shift` is its downscale_freq_shift */
    INLAY_RECIPE_GGML = 13,         /**< ggml_timestep_embedding */
    INLAY_RECIPE_MLX = 14,          /**< nn.SinusoidalPositionalEncoding; the amplitude is sqrt(2 / dim) */
    INLAY_RECIPE_FLAX = 15,         /**< Flax's examples lm1b and wmt: float64 */
    INLAY_RECIPE_MAE = 16,          /**< get_1d_sincos_pos_embed (MAE, DiT): float64 */
} inlay_recipe;

/** Returns the name of a recipe, as used by the command: "exact", "torch-exp", ...; null for an invalid value.
   Values have no gaps: to list all recipes, count from 0 until this returns null. */
INLAY_API const char *inlay_recipe_name(inlay_recipe recipe);

/** Returns the name of a framework, model or paper that uses a recipe, e.g. "Whisper", for display. Returns null
   past the last index and for an invalid recipe. A framework can have several recipes: see docs/recipes.md. */
INLAY_API const char *inlay_recipe_framework(inlay_recipe recipe, size_t index);

/**
 * The sinusoids of "Attention Is All You Need" (Vaswani et al. 2017, section 3.5) and their variants: amplitude *
 * sin(position * frequency) and amplitude * cos(position * frequency). Start from inlay_sinusoid_spec_default() or
 * inlay_sinusoid_spec_recipe().
 */
typedef struct inlay_sinusoid_spec {
    size_t size;                  /**< sizeof(inlay_sinusoid_spec) */
    size_t dim;                   /**< columns of a row, 1 <= dim < 2^31 */
    double base;                  /**< 1 <= base <= 1e30 */
    double amplitude;             /**< factor of every entry, 2^-20 <= amplitude <= 2^10. Exact recipe: amplitude *
                                       sine is rounded once. Other recipes and float_angles: the rounded sine is
                                       multiplied by the amplitude, which is first rounded to float32; the product is
                                       rounded again */
    inlay_sinusoid_layout layout; /**< which columns are sines */
    inlay_sinusoid_spacing
        spacing;            /**< frequencies of the exact recipe; ignored by other recipes, which have their own */
    uint32_t shift;         /**< 0 or 1, used by INLAY_SINUSOID_SPACING_HALF and INLAY_RECIPE_DIFFUSERS */
    inlay_sinusoid_odd odd; /**< last column of an odd dim */
    inlay_recipe recipe;    /**< arithmetic */
    uint32_t float_angles;  /**< 1: inv_freq, the position and their product, the angle, are each rounded to float32, as
                                 in float32 frameworks; requires inv_freq. 0: the angle is the exact product */
    const double *inv_freq; /**< null, or your frequencies [pairs] in radians per position, each in [0, 2^31]. Copied.
                                 `pairs` is ceil(dim / 2) if `odd` is INLAY_SINUSOID_ODD_FORMULA, else floor(dim / 2).
                                 Only for INLAY_RECIPE_EXACT; base and spacing are then ignored */
    size_t reserved;        /**< 0 */
} inlay_sinusoid_spec;

/** Returns the spec of Vaswani et al.: the exact recipe, base 10000, interleaved, e(i) = 2i / dim,
    INLAY_SINUSOID_ODD_FORMULA, amplitude 1. */
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
 * Returns the spec of a recipe: base 10000, and the framework's layout, shift, amplitude and handling of odd dims. You
 * may change any field afterwards. `spacing` is set to the spacing of the formula that the recipe approximates.
 *
 * @param recipe  if it is invalid, inlay_sinusoid_create() rejects the spec
 * @param dim     columns of a row
 */
INLAY_API inlay_sinusoid_spec inlay_sinusoid_spec_recipe(inlay_recipe recipe, size_t dim);

/** A sinusoid: its frequencies and precomputed data. It is immutable, and any number of threads may share it. */
typedef struct inlay_sinusoid inlay_sinusoid;

/**
 * Makes a sinusoid.
 *
 * @param spec       what to compute; copied, with its inv_freq
 * @param allocator  null: malloc and free
 * @param sinusoid   set to the new handle, or to null if the call fails
 * @return INLAY_OK; INLAY_ERROR_NULL; INLAY_ERROR_OPTION for an invalid enum value, amplitude, frequency or combination
 *         of fields; INLAY_ERROR_SHAPE for dim; INLAY_ERROR_BASE; INLAY_ERROR_OVERFLOW; INLAY_ERROR_NO_MEMORY
 */
INLAY_API inlay_status inlay_sinusoid_create(const inlay_sinusoid_spec *spec, const inlay_allocator *allocator,
                                             inlay_sinusoid **sinusoid);

/** Destroys a sinusoid. Null is ignored. Destroy layers made from it first. No call may be using the sinusoid. */
INLAY_API void inlay_sinusoid_destroy(inlay_sinusoid *sinusoid);

/**
 * Writes the rows of positions [first, first + n).
 *
 * Entries of the exact recipe are correctly rounded: each is the real number, rounded once to nearest even, including
 * subnormal results. This holds on every ISA, in every type and at every position. Entries of other recipes, and
 * entries with float_angles, are rounded to float32. For 16-bit types they are then rounded a second time, like a
 * framework's cast.
 *
 * The exact recipe takes about as long as storing the rows. The portable ISA takes several times as long, and the
 * scalar ISA 0.3 to 0.5 us per sine or cosine. Other recipes take 10 to 15 ns per entry.
 *
 * @param sinusoid          from inlay_sinusoid_create()
 * @param first             the first position: 0 <= first, first + n <= 2^31
 * @param n                 number of rows
 * @param type              INLAY_F32, INLAY_F16 or INLAY_BF16
 * @param out               [n, dim] of `type`
 * @param out_stride_bytes  distance between rows of `out`
 * @param executor          null, or a thread pool
 * @return INLAY_OK; INLAY_ERROR_POSITION for `first` or n; INLAY_ERROR_OVERLAP if `out` overlaps the handle; or another
 *         argument error
 */
INLAY_API inlay_status inlay_sinusoid_rows(const inlay_sinusoid *sinusoid, int64_t first, size_t n,
                                           inlay_element_type type, void *out, size_t out_stride_bytes,
                                           const inlay_executor *executor);

/** The type of a list of positions. 0 is invalid. */
typedef enum inlay_position_type {
    INLAY_POSITION_I64 = 1, /**< int64_t, with a magnitude below 2^31 */
    INLAY_POSITION_F32 = 2, /**< float, for real-valued positions (diffusion timesteps), with a magnitude below 2^31 */
    INLAY_POSITION_F64 = 3, /**< double, with a magnitude below 2^31; recipes that compute in float32 round it first */
} inlay_position_type;

/**
 * Writes the rows of a list of positions, in order. Entries are rounded as in inlay_sinusoid_rows(), also at negative
 * and fractional positions.
 *
 * Rows at integer positions take about 1 ns per entry. Other rows are computed from exact phases, in 6 to 13 ns per
 * entry. The exact fallback takes 80 to 250 ns per entry. It computes entries at positions so small that sines are
 * below 2^-100, and all entries on the scalar ISA.
 *
 * @param sinusoid          from inlay_sinusoid_create()
 * @param positions         [n] of position_type; must not overlap `out`
 * @param position_type     type of the positions
 * @param n                 number of positions and rows
 * @param type              INLAY_F32, INLAY_F16 or INLAY_BF16
 * @param out               [n, dim] of `type`
 * @param out_stride_bytes  distance between rows of `out`
 * @param executor          null, or a thread pool
 * @param fault             null, or locates the position out of range
 * @return INLAY_OK; INLAY_ERROR_POSITION with *fault; INLAY_ERROR_OVERLAP; or another argument error
 */
INLAY_API inlay_status inlay_sinusoid_at(const inlay_sinusoid *sinusoid, const void *positions,
                                         inlay_position_type position_type, size_t n, inlay_element_type type,
                                         void *out, size_t out_stride_bytes, const inlay_executor *executor,
                                         inlay_fault *fault);

/* ---- Rotary embeddings: tables of cosines and sines -------------------------------------------------------------- */

/**
 * How the frequencies of rotary embeddings (Su et al. 2021) are scaled to lengths beyond training. Each uses the
 * formula of Hugging Face's transformers (ROPE_INIT_FUNCTIONS). docs/rotary.md has the formulas and the differences
 * from other implementations. 0 is invalid.
 */
typedef enum inlay_rotary_scaling {
    INLAY_ROTARY_DEFAULT = 1,     /**< base^(-2i / dim) */
    INLAY_ROTARY_LINEAR = 2,      /**< divided by `factor`: position interpolation (Chen et al. 2023) */
    INLAY_ROTARY_NTK = 3,         /**< the base is multiplied by factor^(dim / (dim - 2)): NTK-aware */
    INLAY_ROTARY_DYNAMIC_NTK = 4, /**< NTK-aware, with a factor that depends on `length`: factor * max(length,
                                       original_length) / original_length - (factor - 1) */
    INLAY_ROTARY_LLAMA3 = 5,      /**< Llama 3.1: frequencies with few rotations over original_length are divided by
                                       `factor`, and those with many are kept; a ramp over the number of rotations
                                       connects the two */
    INLAY_ROTARY_YARN = 6,        /**< YaRN (Peng et al. 2023): same, with a ramp over i as in the authors' code, and an
                                       attention factor, 0.1 ln(factor) + 1 */
    INLAY_ROTARY_LONGROPE = 7,    /**< LongRoPE (Ding et al. 2024): each frequency is divided by its own factor; with an
                                       attention factor, sqrt(1 + ln(factor) / ln(original_length)) */
} inlay_rotary_scaling;

/** How a rotary table arranges its dim / 2 frequencies in columns, and which columns of a head make pair i. 0 is
    invalid. */
typedef enum inlay_rotary_layout {
    INLAY_ROTARY_PAIRS = 1,       /**< [n, dim / 2]: one column per frequency. For tables only */
    INLAY_ROTARY_HALVES = 2,      /**< [n, dim]: all frequencies, then all again; columns i and dim / 2 + i (GPT-NeoX,
                                       Llama in PyTorch) */
    INLAY_ROTARY_INTERLEAVED = 3, /**< [n, dim]: each frequency twice in a row; columns 2i and 2i + 1 (GPT-J, Llama as
                                       published) */
} inlay_rotary_layout;

/** The frequencies of a rotary embedding. Start from inlay_rotary_spec_default(). Fields that the scaling does not
    use are ignored. If a required field is still 0, functions return INLAY_ERROR_OPTION: models differ in these
    fields, so they have no defaults. */
typedef struct inlay_rotary_spec {
    size_t size;                  /**< sizeof(inlay_rotary_spec) */
    size_t dim;                   /**< rotary columns of a head, even, 2 <= dim < 2^31: head size *
                                       partial_rotary_factor */
    double base;                  /**< rope_theta, 1 <= base <= 1e30; YaRN needs more than 1 */
    inlay_rotary_scaling scaling; /**< formula */
    uint32_t reserved;            /**< 0 */
    double factor;           /**< 1 <= factor <= 1e6, needed by every scaling except the default. LongRoPE uses it (the
                                  longest length / original_length) only if attention_factor is 0 */
    double original_length;  /**< max_position_embeddings in training, 2 <= original_length < 2^31, needed by dynamic
                                  NTK, Llama 3, YaRN and LongRoPE */
    double length;           /**< number of tokens, 1 <= length < 2^31, needed by dynamic NTK and by LongRoPE, which
                                  uses short_factors up to original_length and long_factors beyond it */
    double low_freq_factor;  /**< Llama 3: frequencies with at most this many rotations over original_length are
                                  divided; 1 in Llama 3.1. 2^-20 <= low < high <= 1e6, both needed */
    double high_freq_factor; /**< Llama 3: frequencies with at least this many rotations are kept; 4 in Llama 3.1 */
    double beta_fast;        /**< YaRN: frequencies with at least this many rotations over original_length are kept;
                                  32 */
    double beta_slow;        /**< YaRN: frequencies with at most this many rotations are divided; 1. 2^-20 <= slow <=
                                  fast <= 1e6 */
    uint32_t truncate;       /**< YaRN: 1: the ends of the ramp are rounded outward to integers; 0: not rounded */
    uint32_t reserved2;      /**< 0 */
    double mscale;           /**< YaRN: 0; or, with mscale_all_dim, the weights w in the two attention factors 0.1 w
                                  ln(factor) + 1 whose quotient DeepSeek uses, each in [0, 100] */
    double mscale_all_dim;   /**< YaRN: see mscale; used only if both are nonzero, as in Hugging Face */
    double attention_factor; /**< YaRN, LongRoPE: 0 for the formula, or the factor itself, 2^-20 to 2^10 */
    const double *short_factors; /**< LongRoPE: [dim / 2], aligned, each in [2^-20, 2^20]. Used only during the call */
    const double *long_factors;  /**< LongRoPE: same shape and range. Both arrays are required and validated */
    /* The fields below are read only by inlay_rotary_create(). */
    const double *inv_freq;     /**< null, or your frequencies [dim / 2] in radians per position, each in [0, 2^31].
                                     Base and scaling are then ignored; attention_factor is the factor itself (0: 1) */
    size_t cached_positions;    /**< positions whose cosines and sines are computed once; 0: none */
    inlay_rotary_layout layout; /**< INLAY_ROTARY_HALVES or INLAY_ROTARY_INTERLEAVED */
    uint32_t float_angles;      /**< 1: frequencies, positions and their products are each rounded to float32, as in
                                     PyTorch models; 0: angles are exact */
    size_t axes;                /**< rows of position ids, at most INLAY_ROTARY_MAX_AXES; 0 is the same as 1. M-RoPE has
                                     several: temporal, height and width */
    const uint8_t *pair_axes;   /**< the axis of each pair, [dim / 2], each below axes. May be null with one axis */
} inlay_rotary_spec;

/** Returns a spec without scaling, with base 10000, with beta_fast, beta_slow and truncate as in YaRN's paper,
    INLAY_CACHED_POSITIONS_DEFAULT, INLAY_ROTARY_HALVES and one axis. All other numbers are 0. */
static inline inlay_rotary_spec inlay_rotary_spec_default(size_t dim)
{
    inlay_rotary_spec spec;
    spec.size = sizeof spec;
    spec.dim = dim;
    spec.base = 10000;
    spec.scaling = INLAY_ROTARY_DEFAULT;
    spec.reserved = 0;
    spec.factor = 0;
    spec.original_length = 0;
    spec.length = 0;
    spec.low_freq_factor = 0;
    spec.high_freq_factor = 0;
    spec.beta_fast = 32;
    spec.beta_slow = 1;
    spec.truncate = 1;
    spec.reserved2 = 0;
    spec.mscale = 0;
    spec.mscale_all_dim = 0;
    spec.attention_factor = 0;
    spec.short_factors = NULL;
    spec.long_factors = NULL;
    spec.inv_freq = NULL;
    spec.cached_positions = INLAY_CACHED_POSITIONS_DEFAULT;
    spec.layout = INLAY_ROTARY_HALVES;
    spec.float_angles = 0;
    spec.axes = 1;
    spec.pair_axes = NULL;
    return spec;
}

/**
 * Computes the frequencies of a rotary embedding, in radians per position, and the factor that multiplies its cosines
 * and sines. Pass them as inv_freq and amplitude of an inlay_sinusoid_spec. Each is correctly rounded to double. A
 * frequency takes 3 us, or 8 us with LongRoPE or on a ramp.
 *
 * @param spec              the scaling and its numbers
 * @param inv_freq          the frequencies, [dim / 2], aligned; must not overlap the spec or its arrays
 * @param attention_factor  set to the factor, which is 1 except for YaRN and LongRoPE; must not overlap inv_freq, the
 *                          spec or its arrays
 * @return INLAY_OK; INLAY_ERROR_NULL; INLAY_ERROR_OPTION for an invalid scaling or a number that is missing or out of
 *         range; INLAY_ERROR_SHAPE for dim; INLAY_ERROR_BASE; INLAY_ERROR_OVERFLOW; INLAY_ERROR_OVERLAP
 */
INLAY_API inlay_status inlay_rotary_frequencies(const inlay_rotary_spec *spec, double *inv_freq,
                                                double *attention_factor);

/**
 * Writes the cosines and sines that rotary embeddings need, for positions [first, first + n), to two tables. Entries
 * are the same as in inlay_sinusoid_rows().
 *
 * @param sinusoid          with an even dim; its own layout is ignored
 * @param first             the first position: 0 <= first, first + n <= 2^31
 * @param n                 number of rows
 * @param type              INLAY_F32, INLAY_F16 or INLAY_BF16
 * @param layout            the columns of both tables
 * @param cos               [n, dim / 2] or [n, dim] of `type`, depending on `layout`
 * @param sin               same shape; must not overlap `cos`. Rows of the two may alternate within one stride, as in a
 *                          cache [n, cosines then sines]
 * @param out_stride_bytes  distance between rows of `cos`, and between rows of `sin`
 * @param executor          null, or a thread pool
 * @return INLAY_OK; INLAY_ERROR_SHAPE for an odd dim; INLAY_ERROR_POSITION for `first` or n; INLAY_ERROR_OVERLAP; or
 *         another argument error
 */
INLAY_API inlay_status inlay_rotary_rows(const inlay_sinusoid *sinusoid, int64_t first, size_t n,
                                         inlay_element_type type, inlay_rotary_layout layout, void *cos, void *sin,
                                         size_t out_stride_bytes, const inlay_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
