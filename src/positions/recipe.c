/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of each framework, operation by operation. A cast to float rounds to binary32; double arithmetic is
 * that of Python and NumPy. exp, log and pow are correctly rounded; a framework's may not be. docs/recipes.md names the
 * sources.
 */
#include "positions/recipe.h"

#include "base/fixed.h"
#include "base/rounding.h"

/* ---- exp, log and pow, computed in fixed point and correctly rounded -------------------------------------------- */

static double rounded(struct inlay_fixed x, int exponent, bool negative, enum inlay_precision precision)
{
    return precision == INLAY_SINGLE ? inlay_round_f32(x, exponent, negative) : inlay_round_f64(x, exponent, negative);
}

static double exp_of(double x, enum inlay_precision precision)
{
    int exponent;
    struct inlay_fixed power = inlay_fixed_exp(inlay_fixed_of(x), x < 0, &exponent);
    return rounded(power, exponent, false, precision);
}

static double log_of(double x, enum inlay_precision precision)
{
    return rounded(inlay_fixed_ln(x), 0, x < 1, precision);
}

/* Returns x^y for y >= 0. */
static double pow_of(double x, double y, enum inlay_precision precision)
{
    int exponent;
    struct inlay_fixed product = inlay_fixed_mul(inlay_fixed_ln(x), inlay_fixed_of(y));
    struct inlay_fixed power = inlay_fixed_exp(product, x < 1, &exponent);
    return rounded(power, exponent, false, precision);
}

void inlay_angles_compute(const struct inlay_angles *arithmetic, const double *factors, size_t n, double position,
                          double *angles)
{
    float narrow = (float)position;
    for (size_t i = 0; i < n; i++)
        if (arithmetic->precision == INLAY_DOUBLE)
            angles[i] = arithmetic->divides ? position / factors[i] : position * factors[i];
        else
            angles[i] = arithmetic->divides ? narrow / (float)factors[i] : narrow * (float)factors[i];
}

/* ---- Frequencies and divisors ----------------------------------------------------------------------------------- */

/* Returns floor(dim / 2) - shift, but at least 1 if frameworks would divide by zero. */
static double intervals(const inlay_sinusoid_spec *spec, double shift)
{
    double half = (double)(spec->dim / 2) - shift;
    return half > 1 ? half : 1;
}

/* Returns the logarithm for factor_of(): of a float, like logf and jnp.log, or of a double, like Python and NumPy. */
static double log_of_base(const inlay_sinusoid_spec *spec)
{
    const inlay_recipe recipe = spec->recipe;
    if (recipe == INLAY_RECIPE_JAX_EXP || recipe == INLAY_RECIPE_MARIAN || recipe == INLAY_RECIPE_GGML)
        return log_of((float)spec->base, INLAY_SINGLE);
    return log_of(recipe == INLAY_RECIPE_MLX ? 1 / spec->base : spec->base, INLAY_DOUBLE);
}

/* Returns the frequency of pair i, or the divisor of positions, by the framework's formula. */
static double factor_of(const inlay_sinusoid_spec *spec, double log, size_t i)
{
    const float log_f32 = (float)log, dim_f32 = (float)spec->dim, twice_f32 = (float)(2 * i), i_f32 = (float)i;
    const float scales = dim_f32 / 2 - 1; /* Marian: half of an odd dim is not rounded down */
    const float even_dim = (float)(spec->dim + spec->dim % 2), between = (float)intervals(spec, 1);
    const double dim = (double)spec->dim, twice = (double)(2 * i);
    switch (spec->recipe) {
    case INLAY_RECIPE_TORCH_EXP:
        return exp_of(twice_f32 * (float)(-log / dim), INLAY_SINGLE);
    case INLAY_RECIPE_JAX_EXP:
        return exp_of(twice_f32 * (-log_f32 / dim_f32), INLAY_SINGLE);
    case INLAY_RECIPE_TORCH_DIV:
        return exp_of(twice_f32 / dim_f32 * log_f32, INLAY_SINGLE);
    case INLAY_RECIPE_NUMPY_FP64:
    case INLAY_RECIPE_HF_MARIAN:
        return pow_of(spec->base, twice / dim, INLAY_DOUBLE);
    case INLAY_RECIPE_KERAS_HUB:
        return pow_of((float)(1 / spec->base), twice_f32 / dim_f32, INLAY_SINGLE);
    case INLAY_RECIPE_INV_POW:
        return 1 / (float)pow_of((float)spec->base, twice_f32 / even_dim, INLAY_SINGLE);
    case INLAY_RECIPE_TENSOR2TENSOR:
        return exp_of(i_f32 * (-log_f32 / between), INLAY_SINGLE);
    case INLAY_RECIPE_FAIRSEQ:
    case INLAY_RECIPE_OPENNMT_TF:
        return exp_of(i_f32 * (float)(-log / intervals(spec, 1)), INLAY_SINGLE);
    case INLAY_RECIPE_MARIAN:
        return exp_of(i_f32 * (-log_f32 / (scales > 0 ? scales : 1)), INLAY_SINGLE);
    case INLAY_RECIPE_DIFFUSERS:
        return exp_of(-log_f32 * i_f32 / (float)intervals(spec, spec->shift), INLAY_SINGLE);
    case INLAY_RECIPE_GGML:
        return exp_of(-log_f32 * i_f32 / (float)intervals(spec, 0), INLAY_SINGLE);
    case INLAY_RECIPE_MLX: /* exponents rise from ln(1 / base) to 0; here they are in the order of falling frequencies
                            */
        return exp_of((1 - i_f32 / between) * (float)(0 - log) + log_f32, INLAY_SINGLE);
    case INLAY_RECIPE_FLAX:
        return exp_of((double)i * (-log / intervals(spec, 1)), INLAY_DOUBLE);
    case INLAY_RECIPE_MAE:
        return 1 / pow_of(spec->base, (double)i / (dim / 2), INLAY_DOUBLE);
    case INLAY_RECIPE_EXACT:
        break;
    }
    return 0;
}

/* Not inlined, even by link-time optimization: its arithmetic must stay within its caller's guarded environment. */
__attribute__((noinline)) void inlay_angles_prepare(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    const bool given = spec->inv_freq != NULL;
    const double log = given ? 0 : log_of_base(spec);
    for (size_t i = 0; i < pairs; i++)
        factors[i] = given ? (float)spec->inv_freq[i] : factor_of(spec, log, i);
}

/* ---- The tables: one entry per arithmetic of angles, then one preset per name ----------------------------------- */

static const struct inlay_angles in_single = {INLAY_SINGLE, false}, divided_in_single = {INLAY_SINGLE, true};
static const struct inlay_angles in_double = {INLAY_DOUBLE, false}, divided_in_double = {INLAY_DOUBLE, true};

/* The columns of a recipe, and the spacing of the exact formula that it approximates. */
struct columns {
    inlay_sinusoid_layout layout;
    inlay_sinusoid_spacing spacing;
    uint32_t shift;
};

static const struct columns interleaved_by_dim = {INLAY_SINUSOID_LAYOUT_INTERLEAVED, INLAY_SINUSOID_SPACING_DIM, 0};
static const struct columns split_by_dim = {INLAY_SINUSOID_LAYOUT_SPLIT, INLAY_SINUSOID_SPACING_DIM, 0};
static const struct columns split_by_half = {INLAY_SINUSOID_LAYOUT_SPLIT, INLAY_SINUSOID_SPACING_HALF, 1};
static const struct columns cos_first_by_half = {INLAY_SINUSOID_LAYOUT_SPLIT_COS_FIRST, INLAY_SINUSOID_SPACING_HALF, 0};

static const struct recipe {
    const char *name;
    const struct inlay_angles *angles; /* null: the exact formula */
    const struct columns *columns;
    inlay_sinusoid_odd odd;
    bool unit_norm; /* the amplitude is sqrt(2 / dim): rows have norm 1 */
} recipes[] = {
    [INLAY_RECIPE_EXACT] = {"exact", NULL, &interleaved_by_dim, INLAY_SINUSOID_ODD_FORMULA, false},
    [INLAY_RECIPE_TORCH_EXP] = {"torch-exp", &in_single, &interleaved_by_dim, INLAY_SINUSOID_ODD_ERROR, false},
    [INLAY_RECIPE_JAX_EXP] = {"jax-exp", &in_single, &interleaved_by_dim, INLAY_SINUSOID_ODD_ERROR, false},
    [INLAY_RECIPE_TORCH_DIV] = {"torch-div", &divided_in_single, &interleaved_by_dim, INLAY_SINUSOID_ODD_ERROR, false},
    [INLAY_RECIPE_NUMPY_FP64] = {"numpy-fp64", &divided_in_double, &interleaved_by_dim, INLAY_SINUSOID_ODD_FORMULA,
                                 false},
    [INLAY_RECIPE_KERAS_HUB] = {"keras-hub", &in_single, &interleaved_by_dim, INLAY_SINUSOID_ODD_FORMULA, false},
    [INLAY_RECIPE_INV_POW] = {"inv-pow", &in_single, &interleaved_by_dim, INLAY_SINUSOID_ODD_FORMULA, false},
    [INLAY_RECIPE_TENSOR2TENSOR] = {"tensor2tensor", &in_single, &split_by_half, INLAY_SINUSOID_ODD_ZERO, false},
    [INLAY_RECIPE_FAIRSEQ] = {"fairseq", &in_single, &split_by_half, INLAY_SINUSOID_ODD_ZERO, false},
    [INLAY_RECIPE_OPENNMT_TF] = {"opennmt-tf", &in_single, &split_by_half, INLAY_SINUSOID_ODD_ERROR, false},
    [INLAY_RECIPE_MARIAN] = {"marian", &in_single, &split_by_half, INLAY_SINUSOID_ODD_WRAP, false},
    [INLAY_RECIPE_HF_MARIAN] = {"hf-marian", &divided_in_double, &split_by_dim, INLAY_SINUSOID_ODD_FORMULA, false},
    [INLAY_RECIPE_DIFFUSERS] = {"diffusers", &in_single, &split_by_half, INLAY_SINUSOID_ODD_ZERO, false},
    [INLAY_RECIPE_GGML] = {"ggml", &in_single, &cos_first_by_half, INLAY_SINUSOID_ODD_ZERO, false},
    [INLAY_RECIPE_MLX] = {"mlx", &in_single, &split_by_half, INLAY_SINUSOID_ODD_ERROR, true},
    [INLAY_RECIPE_FLAX] = {"flax", &in_double, &split_by_half, INLAY_SINUSOID_ODD_ZERO, false},
    [INLAY_RECIPE_MAE] = {"mae", &in_double, &split_by_dim, INLAY_SINUSOID_ODD_ERROR, false},
};

enum { RECIPES = sizeof recipes / sizeof *recipes };

/* Users of each recipe, null-terminated; docs/recipes.md has the sources. */
static const char *const frameworks[RECIPES][8] = {
    [INLAY_RECIPE_EXACT] = {"Vaswani et al."},
    [INLAY_RECIPE_TORCH_EXP] = {"PyTorch tutorials", "The Annotated Transformer", "OpenNMT-py"},
    [INLAY_RECIPE_JAX_EXP] = {"JAX", "Haiku"},
    [INLAY_RECIPE_TORCH_DIV] = {"PyTorch notebooks"},
    [INLAY_RECIPE_NUMPY_FP64] = {"XLM", "DistilBERT", "Flaubert", "Keras tutorials"},
    [INLAY_RECIPE_KERAS_HUB] = {"KerasHub", "KerasNLP"},
    [INLAY_RECIPE_INV_POW] = {"positional-encodings", "rotary embeddings"},
    [INLAY_RECIPE_TENSOR2TENSOR] = {"tensor2tensor", "gemma.cpp", "CTranslate2 from position 1"},
    [INLAY_RECIPE_FAIRSEQ] = {"fairseq", "M2M100", "NLLB", "FSMT", "Speech2Text", "Whisper", "DDPM"},
    [INLAY_RECIPE_OPENNMT_TF] = {"OpenNMT-tf from position 1"},
    [INLAY_RECIPE_MARIAN] = {"Marian"},
    [INLAY_RECIPE_HF_MARIAN] = {"Marian in transformers", "Marian in CTranslate2"},
    [INLAY_RECIPE_DIFFUSERS] = {"diffusers", "Stable Diffusion", "GLIDE"},
    [INLAY_RECIPE_GGML] = {"ggml", "stable-diffusion.cpp"},
    [INLAY_RECIPE_MLX] = {"MLX"},
    [INLAY_RECIPE_FLAX] = {"Flax examples"},
    [INLAY_RECIPE_MAE] = {"MAE", "DiT patches", "TensorFlow tutorial"},
};

const char *inlay_recipe_name(inlay_recipe recipe)
{
    return (unsigned)recipe < RECIPES ? recipes[recipe].name : NULL;
}

const char *inlay_recipe_framework(inlay_recipe recipe, size_t index)
{
    const size_t most = sizeof *frameworks / sizeof **frameworks;
    return (unsigned)recipe < RECIPES && index < most ? frameworks[recipe][index] : NULL;
}

static double sqrt_of_two_over(size_t dim)
{
    struct inlay_fixed quotient = inlay_fixed_quotient(inlay_fixed_integer(2), inlay_fixed_integer(dim));
    return inlay_round_f64(inlay_fixed_sqrt(quotient), 0, false);
}

inlay_sinusoid_spec inlay_sinusoid_spec_recipe(inlay_recipe recipe, size_t dim)
{
    inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(dim);
    spec.recipe = recipe; /* inlay_sinusoid_create() rejects invalid values */
    if ((unsigned)recipe >= RECIPES)
        return spec;
    const struct recipe *preset = &recipes[recipe];
    spec.layout = preset->columns->layout;
    spec.spacing = preset->columns->spacing;
    spec.shift = preset->columns->shift;
    spec.odd = preset->odd;
    if (preset->unit_norm && dim > 0)
        spec.amplitude = sqrt_of_two_over(dim);
    return spec;
}

const struct inlay_angles *inlay_angles_of(const inlay_sinusoid_spec *spec)
{
    return spec->float_angles ? &in_single : recipes[spec->recipe].angles;
}
