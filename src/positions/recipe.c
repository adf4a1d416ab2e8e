/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of each framework, operation by operation. A cast to float is a rounding to binary32; double
 * arithmetic is that of Python and NumPy. exp, log and pow are correctly rounded, which those of a framework need not
 * be. docs/recipes.md names the sources.
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

/* Returns the logarithm of the base rounded to a float, as logf and jnp.log compute it. */
static float log_of_float(const inlay_sinusoid_spec *spec)
{
    return (float)log_of((float)spec->base, INLAY_SINGLE);
}

/* Returns floor(dim / 2) - shift, but at least 1 where frameworks would divide by zero. */
static double intervals(const inlay_sinusoid_spec *spec, double shift)
{
    double half = (double)(spec->dim / 2) - shift;
    return half > 1 ? half : 1;
}

/* Writes exp((step * i) * constant). */
static void exponentials(size_t step, float constant, size_t pairs, double *factors)
{
    for (size_t i = 0; i < pairs; i++)
        factors[i] = exp_of((float)(step * i) * constant, INLAY_SINGLE);
}

/* Writes exp((numerator * i) / divisor). */
static void exponentials_of_quotients(float numerator, float divisor, size_t pairs, double *factors)
{
    for (size_t i = 0; i < pairs; i++)
        factors[i] = exp_of(numerator * (float)i / divisor, INLAY_SINGLE);
}

static void prepare_torch_exp(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    exponentials(2, (float)(-log_of(spec->base, INLAY_DOUBLE) / (double)spec->dim), pairs, factors);
}

static void prepare_jax_exp(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    exponentials(2, -log_of_float(spec) / (float)spec->dim, pairs, factors);
}

static void prepare_torch_div(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    float logarithm = (float)log_of(spec->base, INLAY_DOUBLE);
    for (size_t i = 0; i < pairs; i++)
        factors[i] = exp_of((float)(2 * i) / (float)spec->dim * logarithm, INLAY_SINGLE);
}

static void prepare_numpy_fp64(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    for (size_t i = 0; i < pairs; i++)
        factors[i] = pow_of(spec->base, (double)(2 * i) / (double)spec->dim, INLAY_DOUBLE);
}

static void prepare_keras_hub(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    float smallest = (float)(1 / spec->base);
    for (size_t i = 0; i < pairs; i++)
        factors[i] = pow_of(smallest, (float)(2 * i) / (float)spec->dim, INLAY_SINGLE);
}

/* An odd dim is rounded up to an even one first. */
static void prepare_inv_pow(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    float dim = (float)(spec->dim + spec->dim % 2);
    for (size_t i = 0; i < pairs; i++)
        factors[i] = 1 / (float)pow_of((float)spec->base, (float)(2 * i) / dim, INLAY_SINGLE);
}

static void prepare_tensor2tensor(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    exponentials(1, (float)-log_of(spec->base, INLAY_DOUBLE) / (float)intervals(spec, 1), pairs, factors);
}

static void prepare_fairseq(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    exponentials(1, (float)(-log_of(spec->base, INLAY_DOUBLE) / intervals(spec, 1)), pairs, factors);
}

/* Half of an odd dim is not rounded down here. */
static void prepare_marian(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    float scales = (float)spec->dim / 2 - 1;
    exponentials(1, -log_of_float(spec) / (scales > 0 ? scales : 1), pairs, factors);
}

static void prepare_diffusers(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    float logarithm = (float)log_of(spec->base, INLAY_DOUBLE);
    exponentials_of_quotients(-logarithm, (float)intervals(spec, spec->shift), pairs, factors);
}

static void prepare_ggml(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    exponentials_of_quotients(-log_of_float(spec), (float)intervals(spec, 0), pairs, factors);
}

/* The exponents rise from ln(1 / base) to 0; here they are in the order of falling frequencies. */
static void prepare_mlx(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    double lowest = log_of(1 / spec->base, INLAY_DOUBLE);
    for (size_t i = 0; i < pairs; i++) {
        float rest = 1 - (float)i / (float)intervals(spec, 1);
        factors[i] = exp_of(rest * (float)(0 - lowest) + (float)lowest, INLAY_SINGLE);
    }
}

static void prepare_flax(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    double step = -log_of(spec->base, INLAY_DOUBLE) / intervals(spec, 1);
    for (size_t i = 0; i < pairs; i++)
        factors[i] = exp_of((double)i * step, INLAY_DOUBLE);
}

static void prepare_mae(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    for (size_t i = 0; i < pairs; i++)
        factors[i] = 1 / pow_of(spec->base, (double)i / ((double)spec->dim / 2), INLAY_DOUBLE);
}

static void prepare_given(const inlay_sinusoid_spec *spec, size_t pairs, double *factors)
{
    for (size_t i = 0; i < pairs; i++)
        factors[i] = (float)spec->inv_freq[i];
}

/* ---- The tables: one entry per arithmetic, then one preset per name --------------------------------------------- */

static const struct inlay_angles torch_exp = {prepare_torch_exp, INLAY_SINGLE, false};
static const struct inlay_angles jax_exp = {prepare_jax_exp, INLAY_SINGLE, false};
static const struct inlay_angles torch_div = {prepare_torch_div, INLAY_SINGLE, true};
static const struct inlay_angles numpy_fp64 = {prepare_numpy_fp64, INLAY_DOUBLE, true};
static const struct inlay_angles keras_hub = {prepare_keras_hub, INLAY_SINGLE, false};
static const struct inlay_angles inv_pow = {prepare_inv_pow, INLAY_SINGLE, false};
static const struct inlay_angles tensor2tensor = {prepare_tensor2tensor, INLAY_SINGLE, false};
static const struct inlay_angles fairseq = {prepare_fairseq, INLAY_SINGLE, false};
static const struct inlay_angles marian = {prepare_marian, INLAY_SINGLE, false};
static const struct inlay_angles diffusers = {prepare_diffusers, INLAY_SINGLE, false};
static const struct inlay_angles ggml = {prepare_ggml, INLAY_SINGLE, false};
static const struct inlay_angles mlx = {prepare_mlx, INLAY_SINGLE, false};
static const struct inlay_angles flax = {prepare_flax, INLAY_DOUBLE, false};
static const struct inlay_angles mae = {prepare_mae, INLAY_DOUBLE, false};
static const struct inlay_angles given = {prepare_given, INLAY_SINGLE, false};

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
    bool unit_norm; /* the amplitude is sqrt(2 / dim), so that rows have norm 1 */
} recipes[] = {
    [INLAY_RECIPE_EXACT] = {"exact", NULL, &interleaved_by_dim, INLAY_SINUSOID_ODD_FORMULA, false},
    [INLAY_RECIPE_TORCH_EXP] = {"torch-exp", &torch_exp, &interleaved_by_dim, INLAY_SINUSOID_ODD_ERROR, false},
    [INLAY_RECIPE_JAX_EXP] = {"jax-exp", &jax_exp, &interleaved_by_dim, INLAY_SINUSOID_ODD_ERROR, false},
    [INLAY_RECIPE_TORCH_DIV] = {"torch-div", &torch_div, &interleaved_by_dim, INLAY_SINUSOID_ODD_ERROR, false},
    [INLAY_RECIPE_NUMPY_FP64] = {"numpy-fp64", &numpy_fp64, &interleaved_by_dim, INLAY_SINUSOID_ODD_FORMULA, false},
    [INLAY_RECIPE_KERAS_HUB] = {"keras-hub", &keras_hub, &interleaved_by_dim, INLAY_SINUSOID_ODD_FORMULA, false},
    [INLAY_RECIPE_INV_POW] = {"inv-pow", &inv_pow, &interleaved_by_dim, INLAY_SINUSOID_ODD_FORMULA, false},
    [INLAY_RECIPE_TENSOR2TENSOR] = {"tensor2tensor", &tensor2tensor, &split_by_half, INLAY_SINUSOID_ODD_ZERO, false},
    [INLAY_RECIPE_FAIRSEQ] = {"fairseq", &fairseq, &split_by_half, INLAY_SINUSOID_ODD_ZERO, false},
    [INLAY_RECIPE_OPENNMT_TF] = {"opennmt-tf", &fairseq, &split_by_half, INLAY_SINUSOID_ODD_ERROR, false},
    [INLAY_RECIPE_MARIAN] = {"marian", &marian, &split_by_half, INLAY_SINUSOID_ODD_WRAP, false},
    [INLAY_RECIPE_HF_MARIAN] = {"hf-marian", &numpy_fp64, &split_by_dim, INLAY_SINUSOID_ODD_FORMULA, false},
    [INLAY_RECIPE_DIFFUSERS] = {"diffusers", &diffusers, &split_by_half, INLAY_SINUSOID_ODD_ZERO, false},
    [INLAY_RECIPE_GGML] = {"ggml", &ggml, &cos_first_by_half, INLAY_SINUSOID_ODD_ZERO, false},
    [INLAY_RECIPE_MLX] = {"mlx", &mlx, &split_by_half, INLAY_SINUSOID_ODD_ERROR, true},
    [INLAY_RECIPE_FLAX] = {"flax", &flax, &split_by_half, INLAY_SINUSOID_ODD_ZERO, false},
    [INLAY_RECIPE_MAE] = {"mae", &mae, &split_by_dim, INLAY_SINUSOID_ODD_ERROR, false},
};

enum { RECIPES = sizeof recipes / sizeof *recipes };

const char *inlay_recipe_name(inlay_recipe recipe)
{
    return (unsigned)recipe < RECIPES ? recipes[recipe].name : NULL;
}

static double sqrt_of_two_over(size_t dim)
{
    struct inlay_fixed quotient = inlay_fixed_quotient(inlay_fixed_integer(2), inlay_fixed_integer(dim));
    return inlay_round_f64(inlay_fixed_sqrt(quotient), 0, false);
}

inlay_sinusoid_spec inlay_sinusoid_spec_recipe(inlay_recipe recipe, size_t dim)
{
    inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(dim);
    spec.recipe = recipe; /* inlay_sinusoid_create() refuses a value that is no recipe */
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
    return spec->float_angles ? &given : recipes[spec->recipe].angles;
}
