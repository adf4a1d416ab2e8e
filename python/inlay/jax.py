# SPDX-License-Identifier: MIT
"""The input layer as a function of JAX on CPUs: under jit, vmap and grad, and with a donated output.

import inlay.jax
y = inlay.jax.embed(table, ids, scale="sqrt", positions=inlay.Sinusoid())
"""

import contextlib
import dataclasses
import functools
from typing import Any, Union

import jax
import jax.numpy as jnp
import numpy

from . import _core
from .norms import NORMS, LayerNorm, RMSNorm, norm_of
from .positions import Sinusoid, sinusoid_of

__all__ = ["embed"]

_TARGET = "inlay_embed"
jax.ffi.register_ffi_target(_TARGET, _core.xla_handler(), platform="cpu")

# The operands in the order of xla.c, and the norms in the order of enum inlay_norm.
_OPERANDS = ("table", "positions", "segments", "ids", "position_ids", "segment_ids", "gamma", "beta", "start")
_NORMS = ("none", "layer", "rms")
_TYPES = ("float32", "float16", "bfloat16")

# For outputs of this size, new pages take longer than bypassing XLA's allocator.
_POOL_BYTES = 2 << 20

Arrays = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class _Options:
    """The arguments of a call that aren't arrays. JAX compiles a program for each combination."""

    scale: float
    norm: str
    epsilon: float
    segments_first: bool
    dtype: numpy.dtype


def embed(
    table: Any,
    ids: Any,
    *,
    scale: Union[float, str] = 1.0,
    positions: Any = None,
    start: Any = 0,
    position_ids: Any = None,
    segments: Any = None,
    segment_ids: Any = None,
    segments_first: bool = False,
    norm: Union[LayerNorm, RMSNorm, str, None] = None,
    dtype: Any = None,
    out: Any = None,
) -> jax.Array:
    """Returns cast(norm(table[ids] * scale + position + segment)), [*ids.shape, dim].

    table is [vocab, dim] of float32, float16 or bfloat16. dtype defaults to its type. scale is a number, or "sqrt" for
    the square root of dim. positions is a table [rows, dim] or an inlay.Sinusoid(), which becomes a constant. The last
    dimension of ids runs along a sequence. `start` is the position of its first token: an int, or an array with one
    start per sequence. position_ids gives the position of each id instead. Either array requires a table of positions.
    segments is a table of token types, and segment_ids gives the type of each token, 0 by default. The arrays of a norm
    are float32.

    Gradients of table, positions, segments, gamma and beta are supported. `out` is an array with the shape and type of
    the result. The result takes over its memory: always outside of jit, and under jit if it is donated.

    A bad id raises IndexError with the id and its index. Under jit, JAX turns it into jax.errors.JaxRuntimeError.
    """
    table, ids = _array(table), _integers(ids, "id {} is not in the table")
    if not jnp.issubdtype(ids.dtype, jnp.integer):
        raise TypeError(f"ids has elements of type {ids.dtype}, not of an integer type")
    if ids.ndim > 7:
        raise ValueError(f"ids has {ids.ndim} dimensions, more than 7")
    if table.ndim != 2:
        raise ValueError(f"table has {table.ndim} dimensions, expected 2")
    if segment_ids is not None and segments is None:
        raise ValueError("segment_ids requires segments")
    dim, norm = table.shape[1], norm_of(norm, _NORMS[1:])
    positions = sinusoid_of(positions) if isinstance(positions, str) else positions
    weights = {"table": table, "segments": segments} | {name: getattr(norm, name, None) for name in ("gamma", "beta")}
    constants = {"ids": ids}
    if segment_ids is not None:
        segment_ids = _integers(segment_ids, "segment {} is not in the table of segments")
        constants["segment_ids"] = jnp.broadcast_to(segment_ids, ids.shape)
    _add_positions(weights, constants, positions, start, position_ids)
    weights, constants = _given(weights), _given(constants)
    for name in ("positions", "segments"):
        if name in weights and (weights[name].ndim, weights[name].shape[-1]) != (2, dim):
            raise ValueError(f"{name} has the shape {list(weights[name].shape)}, expected [rows, {dim}]")
    options = _Options(
        scale=float(numpy.float32(dim**0.5 if scale == "sqrt" else scale)),
        norm="none" if norm is None else norm.kind,
        epsilon=0.0 if norm is None else norm.eps,
        segments_first=segments_first,
        dtype=_type_of(table.dtype if dtype is None else dtype),
    )
    if options.dtype.name not in _TYPES:
        raise TypeError(f"{'table' if dtype is None else 'dtype'} is {options.dtype}, not float32, float16 or bfloat16")
    if out is not None and (out.shape, out.dtype) != (ids.shape + (dim,), options.dtype):
        raise ValueError(f"out is {out.dtype}{list(out.shape)}, not {options.dtype}{[*ids.shape, dim]}")
    run = _embed if _is_traced(weights, constants, out) else _run_now
    return run(options, weights, constants, out)


def _type_of(dtype: Any) -> numpy.dtype:
    if isinstance(dtype, str):
        with contextlib.suppress(TypeError):
            return numpy.dtype(_core.dtype_name(dtype))  # NumPy reads "f16" as float128
    return numpy.dtype(dtype)


def _add_positions(weights: Arrays, constants: Arrays, positions: Any, start: Any, position_ids: Any) -> None:
    """Adds the arrays of positions to a call. `start` is an array, since each number would compile a new program."""
    shape = constants["ids"].shape
    fixed = isinstance(start, (int, numpy.integer))
    if position_ids is not None and (positions is None or not fixed or start != 0):
        raise ValueError("position_ids requires positions, and can't be combined with start")
    if not isinstance(positions, Sinusoid):
        weights["positions"] = positions
    elif fixed and position_ids is None:
        length = shape[-1] if shape else 1
        constants["positions"] = _sinusoid_rows(positions, int(start), length, weights["table"].shape[1])
        return
    else:
        raise ValueError("positions must be a table, such as inlay.sinusoid(numpy.arange(rows), dim), for this call")
    message = "position {} is not in the table of positions"
    if position_ids is not None:
        constants["position_ids"] = jnp.broadcast_to(_integers(position_ids, message), shape)
    elif not fixed:
        start = _integers(start, message)
        start = start[..., None] + jnp.arange(shape[-1]) if shape else start
        constants["position_ids"] = jnp.broadcast_to(start, shape)
    elif start != 0:
        constants["start"] = _integers(numpy.int64(start), message)


def _given(arrays: Arrays) -> Arrays:
    return {name: _array(array) for name, array in arrays.items() if array is not None}


def _array(array: Any) -> jax.Array:
    # jnp.asarray() takes longer than a small call, even for JAX arrays.
    return array if isinstance(array, jax.Array) else jnp.asarray(array)


def _integers(array: Any, message: str) -> jax.Array:
    """Returns a JAX array. Raises IndexError for an integer that JAX would truncate to 32 bits."""
    if isinstance(array, jax.Array):
        return array
    array = numpy.asarray(array)
    if array.dtype.kind in "iu" and array.dtype.itemsize > 4 and not jax.config.jax_enable_x64:
        outside = numpy.argwhere((array < -(2**31)) | (array >= 2**31))
        if len(outside):
            place = tuple(outside[0].tolist())
            raise IndexError(message.format(f"{array[place]} at {list(place)}" if place else array[place]))
    return jnp.asarray(array)


@functools.lru_cache(maxsize=8)
def _sinusoid_rows(sinusoid: Sinusoid, start: int, length: int, dim: int) -> numpy.ndarray:
    return _core.sinusoid_rows(sinusoid.formula(dim), numpy.arange(start, start + length), "float32", None)


def _result(options: _Options, weights: Arrays, constants: Arrays) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(constants["ids"].shape + weights["table"].shape[1:], options.dtype)


def _is_traced(*arrays: Any) -> bool:
    return any(isinstance(array, jax.core.Tracer) for array in jax.tree.leaves(arrays))


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _embed(options: _Options, weights: Arrays, constants: Arrays, out: Any) -> jax.Array:
    run = _call if _is_traced(weights, constants, out) else _run_now
    return run(options, weights, constants, out)


def _run_now(options: _Options, weights: Arrays, constants: Arrays, out: Any) -> jax.Array:
    """Runs a call outside of jit. Large new outputs come from the pool, which is faster.

    DLPack puts outputs on the first device, so with several devices XLA allocates them.
    """
    result = _result(options, weights, constants)
    large = result.size * result.dtype.itemsize >= _POOL_BYTES
    if out is None and large and jax.device_count("cpu") == 1:
        return _call_layer(options, weights, constants)
    try:
        return _compiled_call(options, weights, constants, out).block_until_ready()
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        parts = str(error).split(": ")  # code, message; with several devices, another part comes between them
        if parts[0] != "OUT_OF_RANGE":
            raise
        raise IndexError(parts[-1]) from None


def _call(options: _Options, weights: Arrays, constants: Arrays, out: Any = None) -> jax.Array:
    """Calls the C handler, once for all elements of vmap if possible."""
    handler = functools.partial(_call_handler, options)
    call = jax.custom_batching.custom_vmap(handler)

    @call.def_vmap
    def _(size: int, batched: Any, weights: Arrays, constants: Arrays, out: Any) -> tuple[jax.Array, bool]:
        ids_ndim = constants["ids"].ndim - batched[1]["ids"]
        tables = (batched[0], batched[1].get("positions", False))
        if any(jax.tree.leaves(tables)) or ids_ndim == 0 or batched[2] is False:
            axes = jax.tree.map(lambda is_batched: 0 if is_batched else None, batched)
            return jax.vmap(handler, in_axes=axes, axis_size=size)(weights, constants, out), True
        # ids gets another dimension of sequences. All of them have the same positions and start.
        spread = {
            name: jnp.broadcast_to(array, (size, *array.shape)) if name.endswith("ids") and not is_batched else array
            for (name, array), is_batched in zip(constants.items(), (batched[1][name] for name in constants))
        }
        return _call(options, weights, spread, out), True

    return call(weights, constants, out)


def _call_handler(options: _Options, weights: Arrays, constants: Arrays, out: Any) -> jax.Array:
    arrays = weights | constants
    operands = [name for name in _OPERANDS if name in arrays]
    call = jax.ffi.ffi_call(
        _TARGET,
        _result(options, weights, constants),
        vmap_method="sequential",
        input_output_aliases=None if out is None else {len(operands): 0},
    )
    return call(
        *(arrays[name] for name in operands),
        *(() if out is None else (out,)),
        operands=numpy.array([_OPERANDS.index(name) for name in operands], numpy.int32),
        scale=numpy.float32(options.scale),
        norm=numpy.int32(_NORMS.index(options.norm)),
        epsilon=numpy.float32(options.epsilon),
        segments_first=numpy.int32(options.segments_first),
    )


_compiled_call = jax.jit(_call, static_argnums=0, donate_argnums=3)


def _call_layer(options: _Options, weights: Arrays, constants: Arrays) -> jax.Array:
    """Calls a Layer, which allocates its output from the pool."""
    arrays = jax.block_until_ready(weights | constants)
    norm = None
    if options.norm != "none":
        parameters = {name: arrays[name] for name in ("gamma", "beta") if name in arrays}
        norm = NORMS[options.norm](**parameters, eps=options.epsilon)
    tables = {name: arrays.get(name) for name in ("positions", "segments")}
    flags = {"segments_first": options.segments_first, "dtype": options.dtype, "self_tuning": False}
    layer = _core.Layer(arrays["table"], scale=options.scale, norm=norm, **tables, **flags)
    positions, segments = arrays.get("position_ids"), arrays.get("segment_ids")
    return layer(arrays["ids"], start=arrays.get("start"), position_ids=positions, segment_ids=segments)


# ---- Derivatives -----------------------------------------------------------------------------------------------------


def _formula(options: _Options, constants: Arrays, weights: Arrays) -> jax.Array:
    """Computes the layer with JAX operations, for its derivatives."""
    arrays = {name: array.astype(jnp.float32) for name, array in weights.items()} | constants
    x = arrays["table"][arrays["ids"]] * options.scale
    if "positions" in arrays:
        length = x.shape[-2] if x.ndim > 1 else 1
        rows = arrays["positions"][arrays.get("position_ids", arrays.get("start", 0) + jnp.arange(length))]
        x = x + (rows if "position_ids" in arrays or x.ndim > 1 else rows[0])
    if "segments" in arrays:
        x = x + arrays["segments"][arrays.get("segment_ids", 0)]
    if options.norm == "layer":
        x = x - x.mean(-1, keepdims=True)
    if options.norm != "none":
        x = x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + options.epsilon) * arrays.get("gamma", 1.0)
        x = x + arrays.get("beta", 0.0)
    return x.astype(options.dtype)


@functools.partial(jax.jit, static_argnums=0)
def _push_forward(options: _Options, weights: Arrays, constants: Arrays, tangents: Arrays) -> jax.Array:
    # Without checkpoint(), a gradient would store the intermediate results of the norm.
    run = jax.checkpoint(lambda moved: _formula(options, constants, weights | moved))
    return jax.jvp(run, ({name: weights[name] for name in tangents},), (tangents,))[1]


def _jvp(options: _Options, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[jax.Array, jax.Array]:
    zero = jax.custom_derivatives.SymbolicZero
    moved = {name: tangent for name, tangent in tangents[0].items() if not isinstance(tangent, zero)}
    return _embed(options, *primals), _push_forward(options, *primals[:2], moved)


_embed.defjvp(_jvp, symbolic_zeros=True)
