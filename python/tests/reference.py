# SPDX-License-Identifier: MIT
"""The layer in NumPy, by its definition: every operation rounded to float32, norms in float64."""

import numpy

f32 = numpy.float32


def sinusoid(positions, dim, base=10000.0):
    """Sinusoids in extended precision, good to 1e-7 at positions below 10^5."""
    positions = numpy.asarray(positions, numpy.longdouble)[..., None]
    pair = numpy.arange(dim) // 2
    frequency = numpy.power(numpy.longdouble(base), -2 * pair.astype(numpy.longdouble) / dim)
    angle = positions * frequency
    return numpy.where(numpy.arange(dim) % 2 == 0, numpy.sin(angle), numpy.cos(angle)).astype(f32)


def embed(table, ids, scale=1.0, positions=None, segments=None, segments_first=False):
    rows = table.astype(f32)[ids] * f32(scale)
    terms = [positions, segments][:: -1 if segments_first else 1]
    for term in terms:
        if term is not None:
            rows = rows + term
    return rows


def layer_norm(x, gamma, beta, eps):
    x = x.astype(numpy.float64)
    centered = x - x.mean(-1, keepdims=True)
    y = centered / numpy.sqrt((centered**2).mean(-1, keepdims=True) + eps)
    return (y * gamma.astype(numpy.float64) + beta).astype(f32)


def rms_norm(x, gamma, eps):
    x = x.astype(numpy.float64)
    return (x / numpy.sqrt((x**2).mean(-1, keepdims=True) + eps) * gamma).astype(f32)


def rotate(x, positions, inv_freq, layout="halves", inverse=False, attention=1.0):
    """Rotates [..., length, heads, columns] in extended precision. positions are [..., length], or [..., length, pairs]."""
    x, dim = numpy.asarray(x, numpy.longdouble), 2 * len(inv_freq)
    positions = numpy.asarray(positions, numpy.longdouble)
    positions = positions[..., None] if positions.ndim == x.ndim - 2 else positions
    angle = (positions * numpy.asarray(inv_freq, numpy.longdouble))[..., None, :]
    cos, sin = attention * numpy.cos(angle), attention * numpy.sin(-angle if inverse else angle)
    halves = layout == "halves"
    first = slice(0, dim // 2) if halves else slice(0, dim, 2)
    second = slice(dim // 2, dim) if halves else slice(1, dim, 2)
    y = x.copy()
    y[..., first] = x[..., first] * cos - x[..., second] * sin
    y[..., second] = x[..., second] * cos + x[..., first] * sin
    return y


def philox(counter, key):
    """Four words of Philox4x32-10 (Salmon et al. 2011)."""
    c, k = [int(word) for word in counter], [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        p0, p1 = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k[1], p0 & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def dropout(x, p, seed, step):
    """Inverted dropout of [tokens, dim]. The index of each element determines the mask."""
    flat = x.reshape(-1).copy()
    factor = f32(1 / (1 - float(f32(p))))
    threshold = round(float(f32(p)) * 2**32)
    for block in range(0, flat.size, 4):
        number = block // 4
        words = philox((number & 0xFFFFFFFF, number >> 32, step & 0xFFFFFFFF, step >> 32), seed)
        for i, word in enumerate(words[: flat.size - block]):
            flat[block + i] = flat[block + i] * factor if word >= threshold else 0
    return flat.reshape(x.shape)
