# SPDX-License-Identifier: MIT
"""inlay.jax: the bits of a layer under jit and outside of it, gradients, donated outputs, and errors."""

import concurrent.futures
import functools
import gc
import os
import subprocess
import sys

import numpy
import pytest
from measure import resident_bytes

import inlay

jax = pytest.importorskip("jax", exc_type=ImportError)
jnp = jax.numpy

import inlay.jax  # pylint: disable=wrong-import-position

IDS = numpy.array([[3, 1, 4, 1], [5, 9, 2, 6]], numpy.int32)
RNG = numpy.random.default_rng(1)
TABLE = RNG.standard_normal((50, 12)).astype("f4")
ROWS = RNG.standard_normal((20, 12)).astype("f4")
TYPES = RNG.standard_normal((3, 12)).astype("f4")
GAMMA, BETA = RNG.standard_normal((2, 12)).astype("f4")
SEGMENTS = numpy.array([[0, 0, 1, 2], [2, 1, 1, 0]], numpy.int32)

# Options of a layer, and arguments of its call.
CASES = {
    "gather": ({}, {}),
    "scale": ({"scale": "sqrt"}, {}),
    "sinusoid": ({"scale": 3, "positions": inlay.Sinusoid(base=100.0)}, {}),
    "a recipe": ({"positions": inlay.Sinusoid(recipe="fairseq")}, {"start": 2}),
    "positions": ({"positions": ROWS}, {}),
    "a start": ({"positions": ROWS}, {"start": 7}),
    "starts": ({"positions": ROWS}, {"starts": numpy.array([7, 0])}),
    "position ids": ({"positions": ROWS}, {"position_ids": numpy.array([5, 4, 3, 19])}),
    "segments": ({"positions": ROWS, "segments": TYPES}, {"segment_ids": SEGMENTS}),
    "segments first": ({"positions": ROWS, "segments": TYPES, "segments_first": True}, {}),
    "layer norm": ({"positions": ROWS, "norm": inlay.LayerNorm(GAMMA, BETA, 1e-3)}, {}),
    "rms norm": ({"norm": inlay.RMSNorm()}, {}),
    "float16": ({"dtype": "float16"}, {}),
}


@pytest.fixture(params=["now", "jit", "pool"])
def embed(request, monkeypatch):
    """inlay.jax.embed() outside of jit, under jit, and with the output of every call from the pool."""
    if request.param == "pool":
        monkeypatch.setattr(inlay.jax, "_POOL_BYTES", 0)
    if request.param != "jit":
        return inlay.jax.embed

    def under_jit(table, ids, **arguments):
        arrays = {name: value for name, value in arguments.items() if isinstance(value, numpy.ndarray)}
        rest = {name: value for name, value in arguments.items() if name not in arrays}
        return jax.jit(lambda t, i, a: inlay.jax.embed(t, i, **a, **rest))(table, ids, arrays)

    return under_jit


@pytest.mark.parametrize("case", CASES)
def test_bits_of_a_layer(embed, case):
    options, call = CASES[case]
    expected = inlay.Layer(TABLE, **options)(IDS, **call)
    result = embed(TABLE, IDS, **options, **{name.replace("starts", "start"): value for name, value in call.items()})
    assert isinstance(result, jax.Array) and result.dtype == expected.dtype
    numpy.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bit_tables(embed, dtype):
    """The result has the type of the table. With float32, rows are unchanged bit for bit."""
    table = jnp.asarray(TABLE, dtype)
    numpy.testing.assert_array_equal(embed(table, IDS), table[IDS])
    numpy.testing.assert_array_equal(embed(table, IDS, dtype="float32"), table[IDS].astype("float32"))


@pytest.mark.parametrize("shape", [(), (1,), (5,), (0,), (2, 0), (2, 3), (2, 1, 3)])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "int16"])
def test_shapes_and_types_of_ids(embed, shape, dtype):
    ids = RNG.integers(0, 50, shape).astype(dtype)
    expected = inlay.Layer(TABLE, positions=ROWS)(ids, start=3)
    numpy.testing.assert_array_equal(embed(TABLE, ids, positions=ROWS, start=3), expected)
    numpy.testing.assert_array_equal(embed(TABLE, ids, positions=ROWS, start=numpy.array(3)), expected)


def test_threads(threads):
    """Two threads of the package in each of four Python threads."""
    table = RNG.standard_normal((100, 256)).astype("f4")
    ids = RNG.integers(0, 100, (16, 64)).astype("i4")
    call = jax.jit(inlay.jax.embed)
    threads(2)
    with concurrent.futures.ThreadPoolExecutor(4) as workers:
        results = list(workers.map(lambda i: call(table, (ids + i) % 100), range(40)))
    for i, result in enumerate(results):
        numpy.testing.assert_array_equal(result, table[(ids + i) % 100])


def test_large_outputs_come_from_the_pool(pool):
    ids = jnp.zeros((1024, 64), jnp.int32)
    result = inlay.jax.embed(TABLE, ids)
    assert result.nbytes > inlay.jax._POOL_BYTES
    assert pool.stats()["used_bytes"] >= result.nbytes
    numpy.testing.assert_array_equal(result, numpy.broadcast_to(TABLE[0], (1024, 64, 12)))
    del result
    gc.collect()
    assert pool.stats()["used_bytes"] == 0


COMPILED = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, seconds, **_: COMPILED.append(event) if "backend_compile" in event else None
)


@pytest.mark.parametrize(
    "start_of", [int, numpy.int64, jnp.int32, lambda step: numpy.full(2, step), lambda step: jnp.full(2, step)]
)
def test_steps_of_a_decoder_share_a_program(start_of):
    """Also outside of jit: start is an operand, and memory doesn't grow with the steps."""
    table, rows, ids = jnp.asarray(TABLE), jnp.asarray(RNG.standard_normal((400, 12)), "float32"), IDS[:, :1]
    for step in 1, 2:
        inlay.jax.embed(table, ids, positions=rows, start=start_of(step))
    count, resident = len(COMPILED), resident_bytes()
    for step in range(3, 303):
        result = inlay.jax.embed(table, ids, positions=rows, start=start_of(step))
    assert len(COMPILED) == count and resident_bytes() - resident < 16 << 20
    numpy.testing.assert_array_equal(result, TABLE[ids] + rows[302])


# ---- Donated outputs -------------------------------------------------------------------------------------------------


def test_donated_outputs():
    expected = numpy.asarray(inlay.jax.embed(TABLE, IDS, positions=ROWS))
    out = jnp.zeros((2, 4, 12))
    address = out.unsafe_buffer_pointer()
    call = jax.jit(lambda ids, out: inlay.jax.embed(TABLE, ids, positions=ROWS, out=out), donate_argnums=1)
    assert " copy(" not in call.lower(IDS, out).compile().as_text()
    result = call(IDS, out)
    assert out.is_deleted() and result.unsafe_buffer_pointer() == address
    numpy.testing.assert_array_equal(result, expected)
    again = inlay.jax.embed(TABLE, IDS[::-1], positions=ROWS, out=result)
    assert result.is_deleted() and again.unsafe_buffer_pointer() == address
    kept = jax.jit(lambda ids, out: inlay.jax.embed(TABLE, ids, positions=ROWS, out=out))(IDS, again)
    assert not again.is_deleted() and kept.unsafe_buffer_pointer() != address


def test_outputs_of_another_shape_or_type():
    with pytest.raises(ValueError, match=r"out is float32\[2, 12\], not float32\[2, 4, 12\]"):
        inlay.jax.embed(TABLE, IDS, out=jnp.zeros((2, 12)))
    with pytest.raises(ValueError, match=r"out is float16\[2, 4, 12\], not float32"):
        inlay.jax.embed(TABLE, IDS, out=jnp.zeros((2, 4, 12), "float16"))


# ---- Transformations -------------------------------------------------------------------------------------------------


def formula(weights, norm):
    """The layer of the gradient tests in operations of JAX."""
    x = weights["table"][IDS] * 2.0 + weights["positions"][3:7] + weights["segments"][SEGMENTS]
    if norm == "layer":
        x = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return x * weights["gamma"] + weights["beta"]
    if norm == "rms":
        return x / jnp.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * weights["gamma"]
    return x


def layer(weights, norm):
    norms = {
        None: None,
        "layer": inlay.LayerNorm(weights["gamma"], weights["beta"]),
        "rms": inlay.RMSNorm(weights["gamma"]),
    }
    tables = {name: weights[name] for name in ("positions", "segments")}
    return inlay.jax.embed(weights["table"], IDS, scale=2, start=3, segment_ids=SEGMENTS, norm=norms[norm], **tables)


def loss(run, norm):
    return lambda weights: ((run(weights, norm) - TARGET) ** 2).sum()


WEIGHTS = {"table": TABLE, "positions": ROWS, "segments": TYPES, "gamma": GAMMA, "beta": BETA}
WEIGHTS = {name: jnp.asarray(array) for name, array in WEIGHTS.items()}
TANGENTS = {name: jnp.asarray(RNG.standard_normal(array.shape), "float32") for name, array in WEIGHTS.items()}
TARGET = jnp.asarray(RNG.standard_normal((2, 4, 12)), "float32")


def linearized(run, weights, tangents):
    result, push = jax.linearize(run, weights)
    return result, push(tangents)


# Transformations of a function of weights and of its loss.
TRANSFORMATIONS = {
    "grad": lambda run, loss: jax.value_and_grad(loss)(WEIGHTS),
    "jvp": lambda run, loss: jax.jvp(run, (WEIGHTS,), (TANGENTS,)),
    "jvp of one table": lambda run, loss: jax.jvp(lambda rows: run(WEIGHTS | {"positions": rows}), (ROWS,), (2 * ROWS,)),
    "linearize": lambda run, loss: linearized(run, WEIGHTS, TANGENTS),
    "jacfwd": lambda run, loss: jax.jacfwd(run)(WEIGHTS),
    "jacrev": lambda run, loss: jax.jacrev(run)(WEIGHTS),
    "hessian": lambda run, loss: jax.hessian(lambda rows: loss(WEIGHTS | {"segments": rows}))(WEIGHTS["segments"]),
    "forward over reverse": lambda run, loss: jax.jvp(jax.grad(loss), (WEIGHTS,), (TANGENTS,)),
    "reverse over forward": lambda run, loss: jax.grad(lambda w: jax.jvp(loss, (w,), (TANGENTS,))[1])(WEIGHTS),
    "reverse over reverse": lambda run, loss: jax.grad(
        lambda w: sum(jnp.vdot(*pair) for pair in zip(jax.tree.leaves(jax.grad(loss)(w)), jax.tree.leaves(TANGENTS)))
    )(WEIGHTS),
    "checkpoint": lambda run, loss: jax.grad(jax.checkpoint(loss))(WEIGHTS),
}


@pytest.mark.parametrize("norm, jit", [(None, False), ("layer", True), ("rms", False)])
@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_derivatives(name, norm, jit, monkeypatch):
    """Derivatives of any order in both modes match the layer in operations of JAX."""
    monkeypatch.setattr(inlay.jax, "_POOL_BYTES", 0)
    transform = TRANSFORMATIONS[name]
    expected = jax.jit(lambda: transform(lambda w: formula(w, norm), loss(formula, norm)))()
    run = functools.partial(transform, lambda w: layer(w, norm), loss(layer, norm))
    result = (jax.jit(run) if jit else run)()
    jax.tree.map(lambda a, b: numpy.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3), result, expected)


def test_derivatives_of_one_array():
    """A table without a tangent gets no zeros, which would be as large as the table."""

    @jax.jit
    def run(rows):
        return jax.jvp(lambda rows: inlay.jax.embed(TABLE, IDS, positions=rows), (rows,), (rows,))

    text = run.lower(ROWS).as_text()
    assert "tensor<20x12xf32>" in text and "dense<0.000000e+00> : tensor<50x12xf32>" not in text
    assert not [line for line in text.splitlines() if "broadcast" in line and "-> tensor<50x12xf32>" in line]


@pytest.mark.parametrize("positions", [{"position_ids": IDS}, {"start": numpy.array([2, 3])}, {"start": 16}])
def test_gradients_of_positions(positions):
    """Every token adds 1 to the row of its position."""
    grad = jax.grad(lambda rows: inlay.jax.embed(TABLE, IDS, positions=rows, **positions).sum())(jnp.asarray(ROWS))
    start = numpy.asarray(positions.get("start", 0))[..., None]
    places = positions.get("position_ids", numpy.broadcast_to(start + numpy.arange(4), (2, 4)))
    numpy.testing.assert_array_equal(grad[:, 0], numpy.bincount(places.ravel(), minlength=20))


def test_gradients_with_a_sinusoid():
    """The formula has no gradient. The table has the gradient of a gather, in its own type."""
    table = jnp.asarray(TABLE, "float16")
    grad = jax.grad(lambda table: inlay.jax.embed(table, IDS, positions=inlay.Sinusoid()).sum())(table)
    assert grad.dtype == "float16"
    numpy.testing.assert_array_equal(grad[:, 0], numpy.bincount(IDS.ravel(), minlength=50))


def test_vmap():
    table = jnp.asarray(TABLE)
    result = jax.vmap(lambda ids: inlay.jax.embed(table, ids, positions=ROWS))(IDS)
    numpy.testing.assert_array_equal(result, inlay.jax.embed(TABLE, IDS, positions=ROWS))
    tables = jnp.stack([table, 2 * table])
    numpy.testing.assert_array_equal(
        jax.vmap(inlay.jax.embed)(tables, IDS), jnp.stack([table[IDS[0]], 2 * table[IDS[1]]])
    )
    grads = jax.vmap(jax.grad(lambda table, ids: inlay.jax.embed(table, ids).sum()), in_axes=(None, 0))(table, IDS)
    numpy.testing.assert_array_equal(grads[1, :, 0], numpy.bincount(IDS[1], minlength=50))


@pytest.mark.parametrize(
    "axes, arguments",
    [
        ((0, None), {"positions": ROWS, "position_ids": numpy.arange(4)}),
        ((None, 0), {"positions": ROWS, "position_ids": numpy.array([[3, 2, 1, 0], [0, 0, 5, 6]])}),
        ((0, 0), {"positions": ROWS, "position_ids": IDS}),
        ((0, None), {"positions": inlay.Sinusoid(), "position_ids": None}),
    ],
)
def test_vmap_is_one_call(axes, arguments):
    """If only ids have another dimension, the program has no loop."""
    ids = IDS if axes[0] == 0 else IDS[0]
    position_ids = arguments.pop("position_ids")

    def layer(ids, position_ids):
        return inlay.jax.embed(TABLE, ids, position_ids=position_ids, **arguments)

    mapped = jax.jit(jax.vmap(layer, in_axes=axes))
    text = mapped.lower(ids, position_ids).as_text()
    assert text.count("inlay_embed") == 1 and "while" not in text
    expected = layer(numpy.broadcast_to(ids, (2, 4)), position_ids)
    numpy.testing.assert_array_equal(mapped(ids, position_ids), expected)


def test_vmap_of_one_token():
    """Without a dimension for sequences, all tokens have position `start`."""
    result = jax.vmap(lambda token: inlay.jax.embed(TABLE, token, positions=ROWS, start=3))(IDS[0])
    numpy.testing.assert_array_equal(result, TABLE[IDS[0]] + ROWS[3])


def test_vmap_with_outputs():
    call = jax.jit(jax.vmap(lambda ids, out: inlay.jax.embed(TABLE, ids, out=out)), donate_argnums=1)
    out = jnp.zeros((2, 4, 12))
    assert "while" not in call.lower(IDS, out).as_text()
    numpy.testing.assert_array_equal(call(IDS, out), TABLE[IDS])
    shared = jax.vmap(lambda ids, out: inlay.jax.embed(TABLE, ids, out=out), in_axes=(0, None))
    numpy.testing.assert_array_equal(shared(IDS, jnp.zeros((4, 12))), TABLE[IDS])


def test_generation_with_a_traced_start():
    """One compiled program serves every position of a decoder."""
    step = jax.jit(lambda ids, start: inlay.jax.embed(TABLE, ids, positions=ROWS, start=start))
    for position in range(4):
        expected = inlay.jax.embed(TABLE, IDS, positions=ROWS)[:, position : position + 1]
        numpy.testing.assert_array_equal(step(IDS[:, position : position + 1], position), expected)
    assert step._cache_size() == 1


# ---- Several devices ---------------------------------------------------------------------------------------------------

DEVICES = """
import jax, jax.numpy as jnp, numpy, inlay, inlay.jax
from jax.sharding import NamedSharding, PartitionSpec as P
first, second = devices = jax.devices()
mesh = jax.sharding.Mesh(numpy.array(devices), ("x",))
both, cut = NamedSharding(mesh, P()), NamedSharding(mesh, P("x"))
table = numpy.random.default_rng(1).standard_normal((1000, 256)).astype("f4")
rows = table[::-1].copy()
step = jax.jit(lambda t, i, out: inlay.jax.embed(t, i, out=out), donate_argnums=2)
for count in 64, 4096:
    ids = numpy.arange(count) * 7 % 1000
    for table_place in None, first, second, both, cut:
        for ids_place in None, first, second, both, cut:
            t = jnp.asarray(table) if table_place is None else jax.device_put(table, table_place)
            i = jnp.asarray(ids) if ids_place is None else jax.device_put(ids, ids_place)
            try:
                expected = t[i]
            except ValueError as error:
                try:
                    inlay.jax.embed(t, i)
                except ValueError as same:
                    assert str(same).split()[:3] == str(error).split()[:3]
                    continue
                raise AssertionError((table_place, ids_place))
            result = inlay.jax.embed(t, i, positions=rows[:1], position_ids=0 * ids)
            assert result.devices() == expected.devices() and result.committed == expected.committed
            numpy.testing.assert_array_equal(result, table[ids] + rows[0])
            again = inlay.jax.embed(t, i, out=result)
            assert result.is_deleted() and again.devices() == expected.devices()
            numpy.testing.assert_array_equal(again, table[ids])
            under_jit = jax.jit(inlay.jax.embed)(t, i)
            assert under_jit.devices() == expected.devices()
            numpy.testing.assert_array_equal(under_jit, table[ids])
            numpy.testing.assert_array_equal(step(t, i, under_jit), table[ids])
            grad = jax.grad(lambda t: inlay.jax.embed(t, i).sum())(t)
            assert grad.devices() == t.devices() | i.devices() or table_place is None or ids_place is None
            numpy.testing.assert_array_equal(grad[:, 0], numpy.bincount(ids, minlength=1000))
            try:
                inlay.jax.embed(t, i + 1000)
            except IndexError as error:
                assert str(error) == "id 1000 at [0] is not in the table"
            else:
                raise AssertionError("no error")
with jax.default_device(second):
    assert inlay.jax.embed(table, ids).devices() == {second}
split = jax.shard_map(inlay.jax.embed, mesh=mesh, in_specs=(P(), P("x")), out_specs=P("x"))
numpy.testing.assert_array_equal(split(table, ids), table[ids])
split = jax.shard_map(inlay.jax.embed, mesh=mesh, in_specs=(P(), P("x")), out_specs=P("x"), check_vma=False)
grad = jax.grad(lambda t: split(t, ids).sum())(table)
numpy.testing.assert_array_equal(grad[:, 0], numpy.bincount(ids, minlength=1000))
"""


@pytest.mark.parametrize("option", ["XLA_FLAGS", "jax_num_cpu_devices"])
def test_several_devices(option):
    """Results of any size are on the same devices as with JAX's own lookup."""
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"} if option == "XLA_FLAGS" else {}
    script = DEVICES if flags else f"import jax; jax.config.update({option!r}, 2)\n{DEVICES}"
    subprocess.run([sys.executable, "-c", script], check=True, env=os.environ | flags, timeout=600)


enable_x64 = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("kind", [int, numpy.int64, numpy.uint8, numpy.array])
def test_types_of_a_start(embed, kind, x64):
    with enable_x64(x64):
        numpy.testing.assert_array_equal(embed(TABLE, IDS, positions=ROWS, start=kind(7)), TABLE[IDS] + ROWS[7:11])


# ---- Errors ----------------------------------------------------------------------------------------------------------

BAD = {
    "id 50 at [1, 2] is not in the table": ({}, numpy.array([[1, 2, 3], [4, 5, 50]])),
    "id -1 at [0] is not in the table": ({}, numpy.array([-1, 3])),
    "position 20 at [3] is not in the table of positions": ({"positions": ROWS, "start": 17}, numpy.arange(4)),
    "position -4 at [0] is not in the table of positions": (
        {"positions": ROWS, "position_ids": numpy.array([-4])},
        numpy.arange(1),
    ),
    "segment 3 at [0, 1] is not in the table of segments": (
        {"segments": TYPES, "segment_ids": numpy.array([[0, 3]])},
        numpy.array([[1, 1]]),
    ),
}


@pytest.mark.parametrize("text", BAD)
def test_bad_ids(text, monkeypatch):
    arguments, ids = BAD[text]
    for pool_bytes in (1 << 40, 1 << 40, 1 << 40, 0):  # JAX dispatches differently from the second call on
        monkeypatch.setattr(inlay.jax, "_POOL_BYTES", pool_bytes)
        with pytest.raises(IndexError) as caught:
            inlay.jax.embed(TABLE, ids, **arguments)
        assert str(caught.value) == text
    with pytest.raises(Exception) as caught:
        jax.jit(lambda ids: inlay.jax.embed(TABLE, ids, **arguments))(ids).block_until_ready()
    assert text in str(caught.value)


@pytest.mark.parametrize(
    "text, ids, arguments",
    [
        ("id 4294967297 at [1] is not in the table", [3, 2**32 + 1], {}),
        ("id -4294967295 is not in the table", -(2**32) + 1, {}),
        ("segment 4294967296 at [0, 0] is not in", [[1]], {"segments": TYPES, "segment_ids": [[2**32]]}),
        ("position 4294967297 at [0] is not in", [1], {"positions": ROWS, "position_ids": [2**32 + 1]}),
        ("position 4294967297 is not in", [1], {"positions": ROWS, "start": numpy.array(2**32 + 1)}),
    ],
)
def test_integers_of_64_bits(text, ids, arguments):
    """JAX would keep only the lower 32 bits, a valid row."""
    with pytest.raises(IndexError) as caught:
        inlay.jax.embed(TABLE, numpy.array(ids), **arguments)
    assert str(caught.value).startswith(text)
    largest = numpy.array([2**31 - 1, 3], "u8")
    with pytest.raises(IndexError, match=r"^id 2147483647 at \[0\] is not in the table$"):
        inlay.jax.embed(TABLE, largest)


def test_names():
    y = inlay.jax.embed(TABLE, IDS, positions=inlay.Sinusoid(), norm=inlay.RMSNorm(), dtype=jnp.float16)
    for name in "f16", "half", "<f2":
        z = inlay.jax.embed(TABLE, IDS, positions="sinusoid", norm="RMSNorm", dtype=name)
        assert z.dtype == y.dtype
        numpy.testing.assert_array_equal(y, z)


@pytest.mark.parametrize(
    "kind, text, arguments",
    [
        (TypeError, "ids has elements of type float32", {"ids": numpy.ones(3, "f4")}),
        (ValueError, "ids has 8 dimensions, more than 7", {"ids": numpy.zeros((1,) * 8, "i4")}),
        (TypeError, "dtype is float64, not float32, float16 or bfloat16", {"dtype": "float64"}),
        (ValueError, r"norm is 'l2', expected inlay.LayerNorm\(gamma, beta, eps\) or \"layer\"", {"norm": "l2"}),
        (ValueError, r"positions is 'rope', expected inlay.Sinusoid\(", {"positions": "rope"}),
        (TypeError, "table is int32, not float32, float16 or bfloat16", {"table": numpy.ones((50, 12), "i4")}),
        (ValueError, "table has 1 dimensions, expected 2", {"table": TABLE[0]}),
        (ValueError, "positions has the shape .20, 11., expected .rows, 12.", {"positions": ROWS[:, :11]}),
        (ValueError, "segments has the shape .12., expected .rows, 12.", {"segments": TYPES[0]}),
        (ValueError, "gamma does not match .dim.", {"norm": inlay.RMSNorm(GAMMA[:3])}),
        (ValueError, "segment_ids requires segments", {"segment_ids": IDS}),
        (ValueError, "position_ids requires positions", {"position_ids": IDS}),
        (ValueError, "combined with start", {"positions": ROWS, "position_ids": IDS, "start": 1}),
        (ValueError, "positions must be a table", {"positions": inlay.Sinusoid(), "position_ids": IDS}),
        (ValueError, "positions must be a table", {"positions": inlay.Sinusoid(), "start": numpy.array(1)}),
    ],
)
def test_bad_arguments(kind, text, arguments):
    with pytest.raises((kind, jax.errors.JaxRuntimeError), match=text):
        inlay.jax.embed(**{"table": TABLE, "ids": IDS, **arguments})
