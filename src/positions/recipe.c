/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of each framework, operation by operation: a cast to float is a rounding to binary32, double
 * arithmetic that of Python and NumPy. exp, log and pow are correctly rounded, which a framework's own need not be.
 * docs/recipes.md has the sources.
 */
#include "positions/recipe.h"

#include "base/fixed.h"
#include "base/rounding.h"

#include <string.h>

/* ---- exp, log and pow, correctly rounded: from the fixed-point ones, by integers ----------------------------------
 */

static float float_of(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

static float exp_f32(float x)
{
    int exponent;
    struct inlay_fixed y = inlay_fixed_of(x);
    struct inlay_fixed power = inlay_fixed_exp(&y, x < 0, &exponent);
    return float_of(inlay_round(&power, exponent, false, inlay_format_of(INLAY_F32)));
}

static double exp_f64(double x)
{
    int exponent;
    struct inlay_fixed y = inlay_fixed_of(x);
    struct inlay_fixed power = inlay_fixed_exp(&y, x < 0, &exponent);
    return inlay_round_f64(&power, exponent, false);
}

static double log_f64(double x)
{
    struct inlay_fixed logarithm = inlay_fixed_ln(x);
    return inlay_round_f64(&logarithm, 0, x < 1);
}

/* Of a float, as logf and jnp.log see their argument. */
static float log_f32(float x)
{
    struct inlay_fixed logarithm = inlay_fixed_ln(x);
    return float_of(inlay_round(&logarithm, 0, x < 1, inlay_format_of(INLAY_F32)));
}

/* x^y for y >= 0, as a number in (1/2, 1] and a power of two. */
static struct inlay_fixed power_of(double x, double y, int *exponent)
{
    struct inlay_fixed logarithm = inlay_fixed_ln(x), factor = inlay_fixed_of(y);
    struct inlay_fixed product = inlay_fixed_mul(&logarithm, &factor);
    return inlay_fixed_exp(&product, x < 1, exponent);
}

static float pow_f32(float x, float y)
{
    int exponent;
    struct inlay_fixed power = power_of(x, y, &exponent);
    return float_of(inlay_round(&power, exponent, false, inlay_format_of(INLAY_F32)));
}

static double pow_f64(double x, double y)
{
    int exponent;
    struct inlay_fixed power = power_of(x, y, &exponent);
    return inlay_round_f64(&power, exponent, false);
}

/* ---- Angles -------------------------------------------------------------------------------------------------------
 */

static void multiply_f32(const double *factors, size_t n, double position, double *angles)
{
    for (size_t i = 0; i < n; i++)
        angles[i] = (float)position * (float)factors[i];
}

static void divide_f32(const double *factors, size_t n, double position, double *angles)
{
    for (size_t i = 0; i < n; i++)
        angles[i] = (float)position / (float)factors[i];
}

static void multiply_f64(const double *factors, size_t n, double position, double *angles)
{
    for (size_t i = 0; i < n; i++)
        angles[i] = position * factors[i];
}

static void divide_f64(const double *factors, size_t n, double position, double *angles)
{
    for (size_t i = 0; i < n; i++)
        angles[i] = position / factors[i];
}

/* ---- Frequencies and divisors -------------------------------------------------------------------------------------
 */

/* floor(dim / 2) - shift, at least 1: where frameworks would divide by zero. */
static double intervals(const inlay_sinusoid_spec *spec, double shift)
{
    double half = (double)(spec->dim / 2) - shift;
    return half > 1 ? half : 1;
}

/* exp(2i * c) */
static void exponentials_of_even(float c, size_t pairs, double *factors)
{
    for (size_t i = 0; i < pairs; i++)
        factors[i] = exp_f32((float)(2 * i) * c);
}

static void prepare_torch_exp(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    exponentials_of_even((float)(-log_f64(spec->base) / (double)spec->dim), pairs, factors);
}

static void prepare_jax_exp(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    exponentials_of_even(-(log_f32((float)spec->base) / (float)spec->dim), pairs, factors);
}

static void prepare_torch_div(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    float logarithm = (float)log_f64(spec->base);
    for (size_t i = 0; i < pairs; i++)
        factors[i] = exp_f32((float)(2 * i) / (float)spec->dim * logarithm);
}

static void prepare_numpy_fp64(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    for (size_t i = 0; i < pairs; i++)
        factors[i] = pow_f64(spec->base, (double)(2 * i) / (double)spec->dim);
}

static void prepare_keras_hub(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    float smallest = (float)(1 / spec->base);
    for (size_t i = 0; i < pairs; i++)
        factors[i] = pow_f32(smallest, (float)(2 * i) / (float)spec->dim);
}

/* An odd dim is made even first. */
static void prepare_inv_pow(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    float dim = (float)(spec->dim + spec->dim % 2);
    for (size_t i = 0; i < pairs; i++)
        factors[i] = 1 / pow_f32((float)spec->base, (float)(2 * i) / dim);
}

/* exp(i * -increment) */
static void exponentials(float increment, size_t pairs, double *factors)
{
    for (size_t i = 0; i < pairs; i++)
        factors[i] = exp_f32((float)i * -increment);
}

static void prepare_tensor2tensor(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    exponentials((float)log_f64(spec->base) / (float)intervals(spec, 1), pairs, factors);
}

static void prepare_fairseq(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    exponentials((float)(log_f64(spec->base) / intervals(spec, 1)), pairs, factors);
}

/* Half of an odd dim is not rounded down here. */
static void prepare_marian(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    float scales = (float)spec->dim / 2 - 1;
    exponentials(log_f32((float)spec->base) / (scales > 0 ? scales : 1), pairs, factors);
}

static void prepare_diffusers(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    float logarithm = (float)-log_f64(spec->base);
    for (size_t i = 0; i < pairs; i++)
        factors[i] = exp_f32(logarithm * (float)i / (float)intervals(spec, spec->shift));
}

static void prepare_ggml(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    float logarithm = -log_f32((float)spec->base);
    for (size_t i = 0; i < pairs; i++)
        factors[i] = exp_f32(logarithm * (float)i / (float)intervals(spec, 0));
}

/* From 1 / base to 1, in the order of falling frequencies. */
static void prepare_mlx(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    double lowest = log_f64(1 / spec->base);
    for (size_t i = 0; i < pairs; i++) {
        float rest = 1 - (float)i / (float)intervals(spec, 1);
        factors[i] = exp_f32(rest * (float)(0 - lowest) + (float)lowest);
    }
}

static void prepare_flax(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    double step = -log_f64(spec->base) / intervals(spec, 1);
    for (size_t i = 0; i < pairs; i++)
        factors[i] = exp_f64((double)i * step);
}

static void prepare_mae(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    for (size_t i = 0; i < pairs; i++)
        factors[i] = 1 / pow_f64(spec->base, (double)i / ((double)spec->dim / 2));
}

static void prepare_given(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    for (size_t i = 0; i < pairs; i++)
        factors[i] = (float)spec->inv_freq[i];
}

/* ---- The table of recipes -----------------------------------------------------------------------------------------
 */

/* A recipe with the layout, the odd dims and the shift of its framework. */
struct recipe {
    const char *name;
    inlay_sinusoid_layout layout;
    inlay_sinusoid_odd odd;
    inlay_sinusoid_spacing spacing;
    uint32_t shift;
    struct inlay_angles angles;
};

static const struct recipe recipes[] = {
    [INLAY_RECIPE_EXACT] = {"exact", INLAY_SINUSOID_LAYOUT_INTERLEAVED, INLAY_SINUSOID_ODD_FORMULA, INLAY_SINUSOID_SPACING_DIM, 0, {NULL, NULL}},
    [INLAY_RECIPE_TORCH_EXP] = {"torch-exp",
                                INLAY_SINUSOID_LAYOUT_INTERLEAVED,
                                INLAY_SINUSOID_ODD_ERROR,
                                INLAY_SINUSOID_SPACING_DIM,
                                0,
                                {prepare_torch_exp, multiply_f32}},
    [INLAY_RECIPE_JAX_EXP] =
        {"jax-exp", INLAY_SINUSOID_LAYOUT_INTERLEAVED, INLAY_SINUSOID_ODD_ERROR, INLAY_SINUSOID_SPACING_DIM, 0, {prepare_jax_exp, multiply_f32}},
    [INLAY_RECIPE_TORCH_DIV] =
        {"torch-div", INLAY_SINUSOID_LAYOUT_INTERLEAVED, INLAY_SINUSOID_ODD_ERROR, INLAY_SINUSOID_SPACING_DIM, 0, {prepare_torch_div, divide_f32}},
    [INLAY_RECIPE_NUMPY_FP64] = {"numpy-fp64",
                                 INLAY_SINUSOID_LAYOUT_INTERLEAVED,
                                 INLAY_SINUSOID_ODD_FORMULA,
                                 INLAY_SINUSOID_SPACING_DIM,
                                 0,
                                 {prepare_numpy_fp64, divide_f64}},
    [INLAY_RECIPE_KERAS_HUB] = {"keras-hub",
                                INLAY_SINUSOID_LAYOUT_INTERLEAVED,
                                INLAY_SINUSOID_ODD_FORMULA,
                                INLAY_SINUSOID_SPACING_DIM,
                                0,
                                {prepare_keras_hub, multiply_f32}},
    [INLAY_RECIPE_INV_POW] =
        {"inv-pow", INLAY_SINUSOID_LAYOUT_INTERLEAVED, INLAY_SINUSOID_ODD_FORMULA, INLAY_SINUSOID_SPACING_DIM, 0, {prepare_inv_pow, multiply_f32}},
    [INLAY_RECIPE_TENSOR2TENSOR] = {"tensor2tensor",
                                    INLAY_SINUSOID_LAYOUT_SPLIT,
                                    INLAY_SINUSOID_ODD_ZERO,
                                    INLAY_SINUSOID_SPACING_HALF,
                                    1,
                                    {prepare_tensor2tensor, multiply_f32}},
    [INLAY_RECIPE_FAIRSEQ] =
        {"fairseq", INLAY_SINUSOID_LAYOUT_SPLIT, INLAY_SINUSOID_ODD_ZERO, INLAY_SINUSOID_SPACING_HALF, 1, {prepare_fairseq, multiply_f32}},
    [INLAY_RECIPE_OPENNMT_TF] =
        {"opennmt-tf", INLAY_SINUSOID_LAYOUT_SPLIT, INLAY_SINUSOID_ODD_ERROR, INLAY_SINUSOID_SPACING_HALF, 1, {prepare_fairseq, multiply_f32}},
    [INLAY_RECIPE_MARIAN] =
        {"marian", INLAY_SINUSOID_LAYOUT_SPLIT, INLAY_SINUSOID_ODD_WRAP, INLAY_SINUSOID_SPACING_HALF, 1, {prepare_marian, multiply_f32}},
    [INLAY_RECIPE_HF_MARIAN] =
        {"hf-marian", INLAY_SINUSOID_LAYOUT_SPLIT, INLAY_SINUSOID_ODD_FORMULA, INLAY_SINUSOID_SPACING_DIM, 0, {prepare_numpy_fp64, divide_f64}},
    [INLAY_RECIPE_DIFFUSERS] =
        {"diffusers", INLAY_SINUSOID_LAYOUT_SPLIT, INLAY_SINUSOID_ODD_ZERO, INLAY_SINUSOID_SPACING_HALF, 1, {prepare_diffusers, multiply_f32}},
    [INLAY_RECIPE_GGML] =
        {"ggml", INLAY_SINUSOID_LAYOUT_SPLIT_COS_FIRST, INLAY_SINUSOID_ODD_ZERO, INLAY_SINUSOID_SPACING_HALF, 0, {prepare_ggml, multiply_f32}},
    [INLAY_RECIPE_MLX] =
        {"mlx", INLAY_SINUSOID_LAYOUT_SPLIT, INLAY_SINUSOID_ODD_ERROR, INLAY_SINUSOID_SPACING_HALF, 1, {prepare_mlx, multiply_f32}},
    [INLAY_RECIPE_FLAX] =
        {"flax", INLAY_SINUSOID_LAYOUT_SPLIT, INLAY_SINUSOID_ODD_ZERO, INLAY_SINUSOID_SPACING_HALF, 1, {prepare_flax, multiply_f64}},
    [INLAY_RECIPE_MAE] =
        {"mae", INLAY_SINUSOID_LAYOUT_SPLIT, INLAY_SINUSOID_ODD_ERROR, INLAY_SINUSOID_SPACING_DIM, 0, {prepare_mae, multiply_f64}},
};

enum { RECIPES = sizeof recipes / sizeof *recipes };

const char *inlay_recipe_name(inlay_recipe recipe)
{
    return (unsigned)recipe < RECIPES ? recipes[recipe].name : NULL;
}

/* sqrt(2 / dim), what MLX multiplies by. */
static double square_root_of_two_over(size_t dim)
{
    struct inlay_fixed two = inlay_fixed_integer(2), divisor = inlay_fixed_integer(dim);
    struct inlay_fixed quotient = inlay_fixed_quotient(&two, &divisor);
    struct inlay_fixed root = inlay_fixed_sqrt(&quotient);
    return inlay_round_f64(&root, 0, false);
}

inlay_sinusoid_spec inlay_sinusoid_spec_recipe(inlay_recipe recipe, size_t dim)
{
    inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(dim);
    spec.recipe = recipe; /* one that is none is refused where the handle is made */
    if ((unsigned)recipe >= RECIPES)
        return spec;
    spec.layout = recipes[recipe].layout;
    spec.spacing = recipes[recipe].spacing;
    spec.shift = recipes[recipe].shift;
    spec.odd = recipes[recipe].odd;
    if (recipe == INLAY_RECIPE_MLX && dim > 0)
        spec.amplitude = square_root_of_two_over(dim);
    return spec;
}

const struct inlay_angles *inlay_angles_of(const inlay_sinusoid_spec *spec)
{
    static const struct inlay_angles given = {prepare_given, multiply_f32};
    if (spec->recipe != INLAY_RECIPE_EXACT)
        return &recipes[spec->recipe].angles;
    return spec->float_angles ? &given : NULL;
}
