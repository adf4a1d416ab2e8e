# SPDX-License-Identifier: MIT
"""Each recipe by its definition in docs/recipes.md: every operation in its type, exp and pow correctly rounded (from 60
decimal digits), sine and cosine of the angle in long double, rounded to float32. Shares no code with the library."""
import decimal
import fractions

import numpy

decimal.getcontext().prec = 60
BASE = 10000
LN = float(decimal.Decimal(BASE).ln())
f32 = numpy.float32
f64 = numpy.float64


def nearest_float32(number):
    """Rounds a Decimal once, to nearest even."""
    exact = fractions.Fraction(number)
    guess = f32(float(number))
    around = [numpy.nextafter(guess, f32(-numpy.inf)), guess, numpy.nextafter(guess, f32(numpy.inf))]
    return min(around, key=lambda x: (abs(fractions.Fraction(float(x)) - exact), int(x.view(numpy.uint32)) & 1))


def exp(exponents):
    """Returns exp, correctly rounded in the type of the argument."""
    exact = [decimal.Decimal(float(x)).exp() for x in exponents]
    if exponents.dtype == f32:
        return numpy.array([nearest_float32(x) for x in exact], f32)
    return numpy.array([float(x) for x in exact])


def power(base, exponents):
    """Returns base ** exponents, correctly rounded in the type of the exponents."""
    logarithm = decimal.Decimal(float(base)).ln()
    exact = [(decimal.Decimal(float(x)) * logarithm).exp() for x in exponents]
    if exponents.dtype == f32:
        return numpy.array([nearest_float32(x) for x in exact], f32)
    return numpy.array([float(x) for x in exact])


def even_columns(dim, dtype):
    return numpy.arange(0, dim, 2).astype(dtype)


def halves(dim, dtype=f32):
    return numpy.arange(dim // 2).astype(dtype)


# Each function returns the function from positions to angles, and the frequencies, or None if there are divisors
# instead. table() handles odd dims.


def times(frequencies):
    return lambda positions: positions.astype(frequencies.dtype)[:, None] * frequencies[None, :], frequencies


def over(divisors):
    return lambda positions: positions.astype(divisors.dtype)[:, None] / divisors[None, :], None


def torch_exp(dim):
    return times(exp(even_columns(dim, f32) * f32(-LN / dim)))


def jax_exp(dim):
    return times(exp(even_columns(dim, f32) * -(f32(LN) / f32(dim))))


def torch_div(dim):
    return over(exp(even_columns(dim, f32) / f32(dim) * f32(LN)))


def numpy_fp64(dim):
    return over(power(BASE, even_columns(dim, f64) / dim))


def keras_hub(dim):
    return times(power(f32(1 / BASE), even_columns(dim, f32) / f32(dim)))


def inv_pow(dim):
    even = dim + dim % 2
    return times(f32(1) / power(BASE, even_columns(even, f32) / f32(even)))


def tensor2tensor(dim):
    return times(exp(halves(dim) * -(f32(LN) / f32(max(dim // 2 - 1, 1)))))


def fairseq(dim):
    return times(exp(halves(dim) * f32(-(LN / (dim // 2 - 1)))))


def marian(dim):
    return times(exp(halves(dim) * -(f32(LN) / (f32(dim) / f32(2) - f32(1)))))


def diffusers(dim, shift=1):
    return times(exp(f32(-LN) * halves(dim) / f32(dim // 2 - shift)))


def ggml(dim):
    return diffusers(dim, 0)


def mlx(dim):
    fallen = f32(1) - halves(dim) / f32(dim // 2 - 1)
    return times(exp(fallen * f32(LN) + f32(-LN)))


def flax(dim):
    return times(exp(halves(dim, f64) * (-LN / (dim // 2 - 1))))


def mae(dim):
    return times(1 / power(BASE, halves(dim, f64) / (dim / 2)))


RECIPES = {  # name: frequencies, layout (1 interleaved, 2 split, 3 cosines first), odd-dim policy
    "torch-exp": (torch_exp, 1, "error"),
    "jax-exp": (jax_exp, 1, "error"),
    "torch-div": (torch_div, 1, "error"),
    "numpy-fp64": (numpy_fp64, 1, "formula"),
    "keras-hub": (keras_hub, 1, "formula"),
    "inv-pow": (inv_pow, 1, "formula"),
    "tensor2tensor": (tensor2tensor, 2, "zero"),
    "fairseq": (fairseq, 2, "zero"),
    "opennmt-tf": (fairseq, 2, "error"),
    "marian": (marian, 2, "wrap"),
    "hf-marian": (numpy_fp64, 2, "formula"),
    "diffusers": (diffusers, 2, "zero"),
    "ggml": (ggml, 3, "zero"),
    "mlx": (mlx, 2, "error"),
    "flax": (flax, 2, "zero"),
    "mae": (mae, 2, "error"),
}


def sinusoids(angles, layout, columns, amplitude=None):
    """Returns float32 [n, columns] of the angles [n, frequencies] in a layout."""
    angles = angles.astype(numpy.longdouble)
    sines, cosines = numpy.sin(angles).astype(f32), numpy.cos(angles).astype(f32)
    if amplitude is not None:
        sines, cosines = sines * amplitude, cosines * amplitude
    if layout == 1:
        table = numpy.stack([sines, cosines], axis=2).reshape(len(angles), -1)
    else:
        table = numpy.concatenate([sines, cosines] if layout == 2 else [cosines, sines], axis=1)
    return table[:, :columns]


def table(name, dim, positions, **options):
    """Returns float32 [positions, dim], or None if the framework raises an error."""
    recipe, layout, odd = RECIPES[name]
    if dim % 2 and odd == "error":
        return None
    angles = recipe(dim, **options)[0](positions)
    amplitude = f32((2 / dim) ** 0.5) if name == "mlx" else None
    out = sinusoids(angles, layout, dim, amplitude)
    if dim % 2 and odd == "zero":
        out = numpy.pad(out, ((0, 0), (0, 1)))
    if dim % 2 and odd == "wrap":
        out = numpy.concatenate([out, out[:, dim // 2 : dim // 2 + 1]], axis=1)
    return out


def frequencies(name, dim, **options):
    return RECIPES[name][0](dim, **options)[1]
