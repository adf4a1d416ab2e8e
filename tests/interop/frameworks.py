# SPDX-License-Identifier: MIT
"""The tables of frameworks, computed with the frameworks' operations on this CPU. Each function repeats a few
operations of the file and function in its comment.

Every function takes (dim, rows) and returns (frequencies or None, float32 [rows, dim]); the first row is the first
position of that framework.
"""
import ctypes
import math

import jax.numpy as jnp
import numpy
import torch

LN = math.log(10000.0)


def interleave(sines, cosines, dim):
    """Does the same as assignments to [:, 0::2] and [:, 1::2], including errors for odd dims."""
    out = numpy.zeros((len(sines), dim), numpy.float32)
    out[:, 0::2] = sines
    out[:, 1::2] = cosines
    return out


# ---- PyTorch


def torch_exp(dim, rows):
    """PyTorch's tutorial "Language Modeling with nn.Transformer", PositionalEncoding."""
    frequencies = torch.exp(torch.arange(0, dim, 2).float() * (-LN / dim))
    angles = torch.arange(rows).float().unsqueeze(1) * frequencies
    return frequencies, interleave(torch.sin(angles), torch.cos(angles), dim)


def torch_div(dim, rows):
    """Same, with divisors instead of frequencies."""
    divisors = torch.exp(torch.arange(0, dim, 2) / dim * LN)
    angles = torch.arange(rows).float().unsqueeze(1) / divisors
    return None, interleave(torch.sin(angles), torch.cos(angles), dim)


def inv_pow(dim, rows):
    """tatp22/multidim-positional-encoding, PositionalEncoding1D; the frequencies as in transformers'
    modeling_rope_utils.py, _compute_default_rope_parameters."""
    even = math.ceil(dim / 2) * 2
    frequencies = 1.0 / (10000 ** (torch.arange(0, even, 2).float() / even))
    angles = torch.einsum("i,j->ij", torch.arange(rows).float(), frequencies)
    return frequencies, interleave(angles.sin(), angles.cos(), even)[:, :dim]


def keras_hub_torch(dim, rows):
    """keras-hub, sine_position_encoding.py, SinePositionEncoding.call, on Keras' torch backend."""
    exponents = (2 * (torch.arange(dim) // 2)).float() / torch.tensor(float(dim))
    frequencies = torch.pow(torch.tensor(1 / 10000), exponents)
    angles = torch.arange(rows).float().unsqueeze(1) * frequencies
    odd = (torch.arange(dim) % 2).float()
    return frequencies[::2], (torch.sin(angles) * (1 - odd) + torch.cos(angles) * odd).numpy()


def fairseq(dim, rows):
    """fairseq, sinusoidal_positional_embedding.py, get_embedding without a padding index; M2M100 in transformers."""
    half = dim // 2
    frequencies = torch.exp(torch.arange(half).float() * -(LN / (half - 1)))
    angles = torch.arange(rows).float().unsqueeze(1) * frequencies
    out = torch.cat([torch.sin(angles), torch.cos(angles)], dim=1)
    return frequencies, torch.nn.functional.pad(out, (0, dim % 2)).numpy()


def whisper(dim, rows):
    """openai/whisper, model.py, sinusoids: an int64 range times a float64 scalar of NumPy."""
    if dim % 2:
        raise ValueError("odd")
    frequencies = torch.exp(-(numpy.log(10000) / (dim // 2 - 1)) * torch.arange(dim // 2))
    angles = torch.arange(rows).unsqueeze(1) * frequencies
    return frequencies, torch.cat([torch.sin(angles), torch.cos(angles)], dim=1).numpy()


def diffusers(dim, rows, shift=1):
    """diffusers, embeddings.py, get_timestep_embedding; for timesteps if `rows` is an array."""
    timesteps = torch.from_numpy(rows) if isinstance(rows, numpy.ndarray) else torch.arange(rows)
    exponents = -LN * torch.arange(dim // 2, dtype=torch.float32)
    frequencies = torch.exp(exponents / (dim // 2 - shift))
    angles = timesteps.float().unsqueeze(1) * frequencies
    out = torch.cat([torch.sin(angles), torch.cos(angles)], dim=1)
    return frequencies, torch.nn.functional.pad(out, (0, dim % 2)).numpy()


# ---- JAX


def jax_exp(dim, rows):
    """dm-haiku's transformer tutorial: the constant is a float32 scalar of JAX."""
    frequencies = jnp.exp(jnp.arange(0, dim, 2) * -(jnp.log(10000.0) / dim))
    angles = jnp.arange(rows)[:, None] * frequencies
    return frequencies, interleave(jnp.sin(angles), jnp.cos(angles), dim)


def keras_hub_jax(dim, rows):
    """keras-hub, SinePositionEncoding.call, on Keras' JAX backend."""
    exponents = (2 * (jnp.arange(dim) // 2)).astype(jnp.float32) / jnp.float32(dim)
    frequencies = jnp.power(jnp.float32(1 / 10000), exponents)
    angles = jnp.arange(rows).astype(jnp.float32)[:, None] * frequencies
    odd = (jnp.arange(dim) % 2).astype(jnp.float32)
    return frequencies[::2], jnp.sin(angles) * (1 - odd) + jnp.cos(angles) * odd


# ---- NumPy in float64


def numpy_fp64(dim, rows):
    """transformers, modeling_xlm.py and modeling_distilbert.py, create_sinusoidal_embeddings; the Keras tutorial, part
    2, which leaves the last column of an odd dim 0."""
    divisors = numpy.power(10000, 2 * (numpy.arange(dim) // 2) / dim)
    angles = numpy.arange(rows)[:, None] / divisors
    return None, interleave(numpy.sin(angles[:, 0::2]), numpy.cos(angles[:, 1::2]), dim)


def hf_marian(dim, rows):
    """transformers, modeling_marian.py, MarianSinusoidalPositionalEmbedding: the same columns, split."""
    out = numpy_fp64(dim, rows)[1]
    return None, numpy.concatenate([out[:, 0::2], out[:, 1::2]], axis=1)


def flax(dim, rows):
    """flax, examples/wmt/models.py and lm1b, sinusoidal_init."""
    half = dim // 2
    frequencies = numpy.exp(numpy.arange(half) * (-numpy.log(10000.0 / 1.0) / (half - 1)))
    angles = numpy.arange(rows)[:, None] * frequencies
    out = numpy.zeros((rows, dim), numpy.float32)
    out[:, :half] = numpy.sin(angles)
    out[:, half : 2 * half] = numpy.cos(angles)
    return frequencies, out


def mae(dim, rows):
    """facebookresearch/mae, util/pos_embed.py, get_1d_sincos_pos_embed_from_grid, as released; DiT, diffusers."""
    if dim % 2:
        raise ValueError("odd")
    exponents = numpy.arange(dim // 2, dtype=numpy.float64) / (dim / 2.0)
    frequencies = 1.0 / 10000**exponents
    angles = numpy.outer(numpy.arange(rows, dtype=numpy.float32), frequencies)
    return frequencies, numpy.concatenate([numpy.sin(angles), numpy.cos(angles)], axis=1).astype(numpy.float32)


# ---- NumPy in float32, for frameworks that are not installed


def split_of(frequencies, dim, first, rows):
    angles = numpy.arange(first, first + rows).astype(numpy.float32)[:, None] * frequencies
    out = numpy.concatenate([numpy.sin(angles), numpy.cos(angles)], axis=1)
    return numpy.pad(out, ((0, 0), (0, dim % 2)))


def tensor2tensor(dim, rows):
    """tensor2tensor, common_attention.py, get_timing_signal_1d; gemma.cpp, AddAbsolutePositionalEmbeddings."""
    increment = numpy.float32(LN) / numpy.maximum(numpy.float32(dim // 2) - 1, numpy.float32(1))
    frequencies = numpy.exp(numpy.arange(dim // 2).astype(numpy.float32) * -increment)
    return frequencies, split_of(frequencies, dim, 0, rows)


def opennmt_tf(dim, rows):
    """OpenNMT-tf, layers/position.py, SinusoidalPositionEncoder: positions from 1."""
    if dim % 2:
        raise ValueError("odd")
    increment = numpy.float32(-(LN / (dim / 2 - 1)))
    frequencies = numpy.exp(numpy.arange(dim // 2).astype(numpy.float32) * increment)
    return frequencies, split_of(frequencies, dim, 1, rows)


def mlx(dim, rows):
    """mlx, nn/layers/positional_encoding.py, SinusoidalPositionalEncoding with its defaults; for an odd dim it has one
    column less."""
    if dim % 2:
        raise ValueError("odd")
    fallen = 1 - numpy.arange(dim // 2).astype(numpy.float32) / numpy.float32(dim // 2 - 1)
    low, high = math.log(0.0001), math.log(1)
    frequencies = numpy.exp(fallen * numpy.float32(high - low) + numpy.float32(low))
    return frequencies, split_of(frequencies, dim, 0, rows) * numpy.float32((2 / dim) ** 0.5)


# ---- the C library's expf, sinf and cosf, for frameworks in C and C++

libm = ctypes.CDLL("libm.so.6")


def by_libm(name):
    function = getattr(libm, name)
    function.restype, function.argtypes = ctypes.c_float, [ctypes.c_float]
    elementwise = numpy.frompyfunc(function, 1, 1)
    return lambda x: elementwise(x).astype(numpy.float32)


expf, sinf, cosf = by_libm("expf"), by_libm("sinf"), by_libm("cosf")


def marian(dim, rows):
    """marian-dev, tensors/cpu/tensor_operators.cpp, SinusoidalPositionEmbeddings."""
    timescales = numpy.float32(dim) / 2
    increment = numpy.float32(LN) / (timescales - numpy.float32(1))
    columns = numpy.arange(dim)
    frequencies = expf((columns % int(timescales)).astype(numpy.float32) * -increment)
    angles = numpy.arange(rows).astype(numpy.float32)[:, None] * frequencies
    out = cosf(angles)
    out[:, : int(timescales)] = sinf(angles[:, : int(timescales)])
    return frequencies[: int(timescales)], out


def ggml(dim, rows):
    """ggml, ggml-cpu/ops.cpp, ggml_compute_forward_timestep_embedding_f32."""
    half = dim // 2
    frequencies = expf(-numpy.float32(LN) * numpy.arange(half).astype(numpy.float32) / numpy.float32(half))
    angles = numpy.arange(rows).astype(numpy.float32)[:, None] * frequencies
    return frequencies, numpy.pad(numpy.concatenate([cosf(angles), sinf(angles)], axis=1), ((0, 0), (0, dim % 2)))
