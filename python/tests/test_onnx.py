# SPDX-License-Identifier: MIT
"""inlay.onnx: fused and other nodes, results of ONNX Runtime before and after, and errors."""

import collections
import concurrent.futures
import itertools

import numpy
import pytest

import inlay

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

import inlay.onnx  # pylint: disable=wrong-import-position

from onnx import TensorProto, helper, numpy_helper  # pylint: disable=wrong-import-position,wrong-import-order

RNG = numpy.random.default_rng(2)
TABLE = RNG.standard_normal((50, 12)).astype("f4")
ROWS = RNG.standard_normal((4, 12)).astype("f4")
IDS = numpy.array([[3, 1, 4, 1], [5, 9, 2, 6]])


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs.split(), [output], name=output, **attributes)


def model_of(nodes, constants, ids=("batch", "length"), outputs=("y",), id_type=TensorProto.INT64):
    """A model with input `ids` and constants as initializers."""
    kind = helper.np_dtype_to_tensor_dtype(constants["table"].dtype)
    graph = helper.make_graph(
        nodes,
        "layer",
        [helper.make_tensor_value_info("ids", id_type, ids)],
        [helper.make_tensor_value_info(name, kind, None) for name in outputs],
        [numpy_helper.from_array(numpy.asarray(array), name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def run(model, ids, with_inlay=True, optimized=True):
    options = onnxruntime.SessionOptions()
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    if with_inlay:
        options.register_custom_ops_library(inlay.onnx.library_path())
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, ids if isinstance(ids, dict) else {"ids": ids})


def check(model, ids, count=1):
    """Fuses a model, checks that its results don't change, and returns the fused layers."""
    expected = run(model, ids, with_inlay=False)
    fused = inlay.onnx.fuse(model)
    assert len(fused) == count
    assert sum(n.domain == "inlay" for n in model.graph.node) == count
    for a, b in zip(run(model, ids), expected, strict=True):
        numpy.testing.assert_array_equal(a, b)
    return fused


SCALE = {"scale": numpy.float32(3.5)}
POSITIONS = {"positions": ROWS}
GATHER = node("Gather", "table ids", "x")


@pytest.mark.parametrize("add", ["z positions", "positions z"])
@pytest.mark.parametrize("multiply", ["x scale", "scale x"])
def test_gather_scale_add(multiply, add):
    model = model_of(
        [GATHER, node("Mul", multiply, "z"), node("Add", add, "y")], {"table": TABLE, **SCALE, **POSITIONS}
    )
    (fused,) = check(model, IDS)
    assert fused == inlay.onnx.Fused("table", "ids", 3.5, "positions", "y")
    assert str(fused) == "y = table[ids] * 3.5 + positions"
    assert [tensor.name for tensor in model.graph.initializer] == ["table", "positions"]
    assert len(model.graph.node) == 1 and inlay.onnx.fuse(model) == []


def test_without_scale_or_positions():
    (fused,) = check(model_of([GATHER, node("Mul", "x scale", "y")], {"table": TABLE, **SCALE}), IDS)
    assert str(fused) == "y = table[ids] * 3.5"
    (fused,) = check(model_of([GATHER, node("Add", "x positions", "y")], {"table": TABLE, **POSITIONS}), IDS)
    assert str(fused) == "y = table[ids] + positions"


@pytest.mark.parametrize("shape", [(12,), (1, 12), (4, 12), (1, 4, 12), (1, 1, 12)])
def test_shapes_of_positions(shape):
    positions = RNG.standard_normal(shape).astype("f4")
    model = model_of([GATHER, node("Add", "x positions", "y")], {"table": TABLE, "positions": positions})
    check(model, IDS)


@pytest.mark.parametrize("ids", [numpy.array(7), numpy.arange(4), numpy.arange(8).reshape(1, 2, 4), IDS[:0]])
def test_shapes_of_ids(ids):
    positions = ROWS[0] if ids.ndim == 0 else ROWS
    nodes = [GATHER, node("Mul", "x scale", "z"), node("Add", "z positions", "y")]
    shape = [None] * ids.ndim
    check(model_of(nodes, {"table": TABLE, **SCALE, "positions": positions}, shape), ids)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("id_type", ["int32", "int64"])
def test_types(dtype, id_type):
    """Sums of float16 are rounded once, unlike in ONNX Runtime."""
    constants = {"table": TABLE.astype(dtype), "scale": numpy.array([2], dtype), "positions": ROWS.astype(dtype)}
    nodes = [GATHER, node("Mul", "x scale", "z"), node("Add", "z positions", "y")]
    model = model_of(nodes, constants, id_type=helper.np_dtype_to_tensor_dtype(numpy.dtype(id_type)))
    assert len(inlay.onnx.fuse(model)) == 1
    (result,) = run(model, IDS.astype(id_type))
    layer = inlay.Layer(constants["table"], scale=2, positions=constants["positions"], dtype=dtype)
    numpy.testing.assert_array_equal(result, layer(IDS))


def test_bfloat16():
    """NumPy doesn't have the type, so the graph widens the result. The node does too: nothing is rounded."""
    table = (TABLE.view("u4") & 0xFFFF0000).view("f4")
    nodes = [GATHER, node("Mul", "x scale", "z"), node("Cast", "z", "y", to=TensorProto.FLOAT)]
    model = model_of(nodes, {"table": table, **SCALE})
    for tensor in model.graph.initializer:
        halves = (numpy_helper.to_array(tensor).view("u4") >> 16).astype("u2")
        tensor.CopyFrom(helper.make_tensor(tensor.name, TensorProto.BFLOAT16, tensor.dims, halves.tobytes(), raw=True))
    (fused,) = inlay.onnx.fuse(model)
    layer = inlay.Layer(inlay.quantize(table, "bfloat16"), scale=fused.scale)
    (result,) = run(model, IDS)
    numpy.testing.assert_array_equal(result, layer(IDS))


def test_constants_that_are_nodes():
    constant = node("Constant", "", "scale", value=numpy_helper.from_array(numpy.float32(3.5)))
    model = model_of([constant, GATHER, node("Mul", "x scale", "y")], {"table": TABLE})
    check(model, IDS)
    assert [n.op_type for n in model.graph.node] == ["Embed"]


def test_rows_cut_from_a_longer_table():
    """An export of a module that slices its positions to the length of the sequence."""
    constants = {"table": TABLE, **SCALE, "all": RNG.standard_normal((1, 30, 12)).astype("f4")}
    constants |= {"zero": numpy.array([0]), "axis": numpy.array([1])}
    nodes = [
        node("Shape", "ids", "shape"),
        node("Gather", "shape axis", "length"),
        node("Slice", "all zero length axis", "positions"),
        GATHER,
        node("Mul", "x scale", "z"),
        node("Add", "z positions", "y"),
    ]
    for ids in (IDS, IDS[:, :3], IDS[:, :1]):
        (fused,) = check(model_of(nodes, constants), ids)
        assert fused.positions == "positions"


def test_a_shared_constant_stays():
    nodes = [GATHER, node("Mul", "x scale", "y"), node("Mul", "scale scale", "w")]
    check(model_of(nodes, {"table": TABLE, **SCALE}, outputs=("y", "w")), IDS)


def test_two_layers():
    nodes = [
        GATHER,
        node("Mul", "x scale", "y"),
        node("Gather", "table ids", "v"),
        node("Add", "v positions", "w"),
    ]
    check(model_of(nodes, {"table": TABLE, **SCALE, **POSITIONS}, outputs=("y", "w")), IDS, count=2)


MUL, ADD = node("Mul", "x scale", "y"), node("Add", "x positions", "y")
# Nodes and constants, options of the model, and the end of the layer. Only the first node is replaced.
ENDED = {
    "a gather alone": ([node("Gather", "table ids", "y")], {}, {}, "y is an output of the graph"),
    "a result that is an output": ([GATHER, MUL], SCALE, {"outputs": ("y", "x")}, "x is an output of the graph"),
    "a result that is used twice": (
        [GATHER, MUL, node("Neg", "x", "w")],
        SCALE,
        {"outputs": ("y", "w")},
        "x is used by Mul y, Neg w",
    ),
    "a result that nothing uses": ([node("Neg", "scale", "y"), GATHER], SCALE, {}, "x is used by nothing"),
    "a result whose shape alone is used": (
        [GATHER, node("Shape", "x", "s"), node("Cast", "s", "y", to=TensorProto.FLOAT)],
        {},
        {},
        "x is used by Shape s",
    ),
    "a result that is used often": (
        [GATHER, *(node("Neg", "x", name) for name in "abcd"), node("Sum", "a b c d", "y")],
        {},
        {},
        "x is used by Neg a, Neg b, Neg c and others",
    ),
    "a square": ([GATHER, node("Mul", "x x", "y")], {}, {}, "x is used twice by Mul y"),
    "another node": ([GATHER, node("Neg", "x", "y")], {}, {}, "Neg y is no part of an input layer"),
    "a factor for each column": ([GATHER, MUL], {"scale": ROWS[0]}, {}, "Mul y is by scale, which is no constant of"),
    "a factor that adds dimensions": ([GATHER, MUL], {"scale": numpy.ones((1, 1, 1, 1), "f4")}, {}, "Mul y is by scale,"),
    "a factor that is computed": (
        [node("Neg", "minus", "scale"), GATHER, MUL],
        {"minus": numpy.float32(-2)},
        {},
        "Mul y is by scale, which is no constant of one element",
    ),
    "positions that add dimensions": ([GATHER, ADD], {"positions": ROWS[None, None]}, {}, "Add y is of positions,"),
    "one row for each sequence": ([GATHER, ADD], {"positions": ROWS[:2, None]}, {}, "Add y is of positions,"),
    "one position, repeated": ([GATHER, ADD], POSITIONS, {"ids": ("batch", 1)}, "Add y is of positions,"),
    "a cast to integers": (
        [GATHER, node("Cast", "x", "i", to=TensorProto.INT32), node("Cast", "i", "y", to=TensorProto.FLOAT)],
        {},
        {},
        "Cast i is to another type than float32",
    ),
}


@pytest.mark.parametrize("case", ENDED)
def test_what_ends_a_layer(case):
    nodes, constants, options, end = ENDED[case]
    model = model_of(nodes, {"table": TABLE, **constants}, **options)
    (fused,) = check(model, IDS[:, :1] if "ids" in options else IDS)
    assert fused.nodes == 1 and fused.end.startswith(end)
    assert fused.output == next(n.output[0] for n in nodes if n.op_type == "Gather")


FIRST = {"scale": [node("Mul", "x scale", "z")], "sum": [node("Add", "x positions", "z")]}
FIRST["norm"] = [node("LayerNormalization", "x row", "z")]
FIRST["sums"] = [node("Add", "x positions", "u"), node("Gather", "positions ids", "p"), node("Add", "u p", "z")]
REASONS = {
    ("scale", "Mul"): "Mul y is the second scale",
    ("sum", "Mul"): "Mul y follows a sum",
    ("norm", "Mul"): "Mul y follows a norm",
    ("norm", "Add"): "Add y follows a norm",
    ("sums", "Add"): "Add y is the third sum",
}


@pytest.mark.parametrize("first, last", REASONS)
def test_what_may_not_follow(first, last):
    nodes = [GATHER, *FIRST[first], node(last, f"z {'scale' if last == 'Mul' else 'row'}", "y")]
    (fused,) = inlay.onnx.fuse(model_of(nodes, {"table": TABLE, **SCALE, **POSITIONS, "row": ROWS[0]}))
    assert fused.end == REASONS[first, last]


SKIPPED = {
    "another axis": ([node("Gather", "table ids", "x", axis=1), MUL], SCALE, None),
    "a table of float64": ([GATHER, MUL], {"table": TABLE.astype("f8"), "scale": numpy.float64(2)}, "is of float64"),
    "ids that are computed": (
        [node("Neg", "ids", "n"), node("Neg", "n", "m"), node("Gather", "table m", "x"), node("Neg", "x", "y")],
        {},
        "Neg y is no part of an input layer",
    ),
}


@pytest.mark.parametrize("case", SKIPPED)
def test_skipped(case):
    nodes, constants, reason = SKIPPED[case]
    model = model_of(nodes, {"table": TABLE, **constants})
    before = model.SerializeToString()
    fusion = inlay.onnx.fuse(model)
    assert fusion == [] and model.SerializeToString() == before
    assert [(one.node, one.table) for one in fusion.skipped] == [("Gather x", "table")] * (reason is not None)
    assert reason is None or reason in str(fusion.skipped[0])


def test_a_gather_of_another_domain():
    """It may be anything."""
    other = node("Gather", "table ids", "x")
    other.domain = "somebody"
    assert inlay.onnx.fuse(model_of([other, MUL], {"table": TABLE, **SCALE})).skipped == []


@pytest.mark.parametrize("epsilon", [-1e-3, numpy.inf])
def test_a_norm_that_is_not_computed(epsilon):
    model = model_of([GATHER, node("LayerNormalization", "x gamma", "y", epsilon=epsilon)], CONSTANTS)
    (fused,) = inlay.onnx.fuse(model)
    assert fused.output == "x" and "epsilon" in fused.end


@pytest.mark.parametrize("inside", [False, True])
def test_domains_without_an_opset_import(inside):
    """ONNX Runtime runs such nodes, here and in subgraphs."""
    gelu = node("Gelu", "x", "w")
    gelu.domain = "com.microsoft"
    last = [gelu, node("Neg", "w", "y")]
    if inside:
        out = [helper.make_tensor_value_info("w", TensorProto.FLOAT, None)]
        branch = helper.make_graph([gelu], "branch", [], out)
        last = [node("If", "yes", "y", then_branch=branch, else_branch=branch)]
    model = model_of([GATHER, *last], {"table": TABLE, "yes": numpy.array(True)})
    check(model, IDS)
    assert [opset.domain for opset in model.opset_import] == ["", "inlay"]


def test_models_of_any_size(monkeypatch):
    """ONNX infers shapes only up to 2 GiB. Data in initializers, Constant nodes and subgraphs can be larger."""
    sizes, infer_shapes = [], onnx.shape_inference.infer_shapes
    monkeypatch.setattr(
        onnx.shape_inference,
        "infer_shapes",
        lambda model, **options: infer_shapes(sizes.append(model.ByteSize()) or model, **options),
    )
    large = RNG.standard_normal((5000, 12)).astype("f4")
    constant = node("Constant", "", "large", value=numpy_helper.from_array(large))
    out = [helper.make_tensor_value_info("w", TensorProto.FLOAT, None)]
    nodes = [node("Gather", "inner ids", "v"), node("Gather", "large ids", "u"), node("Add", "u v", "w")]
    branch = helper.make_graph(nodes, "branch", [], out, [numpy_helper.from_array(large, "inner")])
    choice = node("If", "yes", "z", then_branch=branch, else_branch=branch)
    nodes = [constant, GATHER, choice, node("Add", "x z", "y")]
    check(model_of(nodes, {"table": large, "yes": numpy.array(True)}), IDS)
    assert len(sizes) == 1 and sizes[0] < 10000


def test_a_table_of_unknown_dim():
    model = model_of([node("Gather", "given ids", "y")], {"table": TABLE})
    model.graph.input.append(helper.make_tensor_value_info("given", TensorProto.FLOAT, (50, "dim")))
    assert inlay.onnx.fuse(model).skipped[0].reason == "Gather y has a table of unknown dim"


def test_a_subgraph_that_needs_a_result():
    branch = helper.make_graph(
        [node("Identity", "x", "out")], "branch", [], [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)]
    )
    choice = node("If", "yes", "w", then_branch=branch, else_branch=branch)
    model = model_of([GATHER, MUL, choice], {"table": TABLE, **SCALE, "yes": numpy.array(True)}, outputs=("y", "w"))
    (fused,) = check(model, IDS)
    assert fused.output == "x" and fused.end == "x is used in a subgraph"


def test_an_initializer_that_runs_may_replace():
    model = model_of([GATHER, MUL], {"table": TABLE, **SCALE})
    model.graph.input.append(helper.make_tensor_value_info("scale", TensorProto.FLOAT, []))
    (fused,) = inlay.onnx.fuse(model)
    assert fused.end == "Mul y is by scale, which is no constant of one element"


# ---- Two and three tables, norms and casts ---------------------------------------------------------------------------

SEGMENTS = RNG.standard_normal((3, 12)).astype("f4")
GAMMA, BETA = RNG.standard_normal((2, 12)).astype("f4")
PLACES = numpy.array([[2, 0, 3, 1]])
KINDS = numpy.array([[0, 1, 2, 2], [1, 1, 0, 2]])
BERT = {"table": TABLE, "positions": ROWS, "segments": SEGMENTS, "places": PLACES, "kinds": KINDS, "beta": BETA}
TERMS = [GATHER, node("Gather", "positions places", "p"), node("Gather", "segments kinds", "s")]
NORMS = {
    "one node": [node("LayerNormalization", "z gamma beta", "y", epsilon=1e-3)],
    "without beta": [node("LayerNormalization", "z gamma", "y", axis=2, epsilon=1e-3)],
    "Pow and Div": [
        node("ReduceMean", "z", "mean", axes=[-1]),
        node("Sub", "z mean", "centered"),
        node("Pow", "centered two", "squares"),
        node("ReduceMean", "squares", "variance", axes=[2]),
        node("Add", "epsilon variance", "sum"),
        node("Sqrt", "sum", "root"),
        node("Div", "centered root", "normed"),
        node("Mul", "gamma normed", "scaled"),
        node("Add", "scaled beta", "y"),
    ],
    "Mul and Reciprocal": [
        node("ReduceMean", "z", "mean", axes=[-1]),
        node("Sub", "z mean", "centered"),
        node("Mul", "centered centered", "squares"),
        node("ReduceMean", "squares", "variance", axes=[-1]),
        node("Add", "variance epsilon", "sum"),
        node("Sqrt", "sum", "root"),
        node("Reciprocal", "root", "inverse"),
        node("Mul", "inverse centered", "normed"),
        node("Mul", "normed gamma", "scaled"),
        node("Add", "beta scaled", "y"),
    ],
}
CONSTANTS = {**BERT, "gamma": GAMMA, "two": numpy.float32(2), "epsilon": numpy.float32(1e-3)}


def near(model, ids, count=1):
    """Fuses a model with norms. Their results are rounded differently; ONNX Runtime replaces norm nodes too."""
    expected = run(model, ids, with_inlay=False, optimized=False)
    fused = inlay.onnx.fuse(model)
    assert len(fused) == count
    for a, b in zip(run(model, ids, optimized=False), expected, strict=True):
        numpy.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    return fused


@pytest.mark.parametrize("sums", [("x p", "u s"), ("s x", "p u")])
@pytest.mark.parametrize("norm", NORMS)
def test_bert(sums, norm):
    """All sequences share positions. Sums keep the order of the graph."""
    nodes = [*TERMS, node("Add", sums[0], "u"), node("Add", sums[1], "z"), *NORMS[norm]]
    names = {name for n in nodes for name in n.input}
    (fused,) = near(model := model_of(nodes, {name: CONSTANTS[name] for name in names & CONSTANTS.keys()}), IDS)
    assert str(fused) == "y = LayerNorm(table[ids] + positions[places] + segments[kinds])"
    assert fused.nodes == 5 + len(NORMS[norm]) and fused.end == "y is an output of the graph"
    assert [n.op_type for n in model.graph.node] == ["Shape", "Expand"] * 2 + ["Embed"]
    assert {tensor.name for tensor in model.graph.initializer} == names & CONSTANTS.keys() - {"two", "epsilon"}


@pytest.mark.parametrize("sums", [("x p", "u s"), ("x s", "u p")])
def test_order_of_sums(sums):
    nodes = [*TERMS, node("Add", sums[0], "u"), node("Add", sums[1], "y")]
    check(model_of(nodes, BERT), IDS)


# Position ids shared by all sequences, and their source.
PLACES_OF = {
    "a constant": ("places", {"places": numpy.arange(4)[None]}, ()),
    "one dimension": ("places", {"places": numpy.arange(4)}, ()),
    "an input": ("places", {}, [1, "length"]),
    "an input of one dimension": ("places", {}, ["length"]),
    "an input that is computed on": ("more", {"one": numpy.array(1)}, [1, "length"]),
}


@pytest.mark.parametrize("place", PLACES_OF)
@pytest.mark.parametrize("add", ["x p", "p x"])
@pytest.mark.parametrize("kind", ["f4", "f2"])
def test_more_positions_than_tokens(place, add, kind):
    """Positions are a term even if their table has more rows, since only token ids are [batch, length]."""
    name, constants, shape = PLACES_OF[place]
    positions = RNG.standard_normal((70, 12)).astype("f4").astype(kind)
    nodes = [node("Gather", f"positions {name}", "h"), node("Cast", "h", "p", to=TensorProto.FLOAT), GATHER]
    nodes = [node("Add", "places one", "more")] * (name == "more") + nodes + [node("Add", add, "y")]
    model = model_of(nodes, {"table": TABLE, "positions": positions, **constants})
    feeds = {"ids": IDS}
    if shape:
        model.graph.input.append(helper.make_tensor_value_info("places", TensorProto.INT64, shape))
        feeds["places"] = numpy.arange(4).reshape((1, 4)[-len(shape) :])
    (fused,) = check(model, feeds)
    assert (fused.table, fused.positions, fused.position_ids, fused.nodes) == ("table", "positions", name, 4)


def test_ids_that_may_be_of_one_sequence():
    """A lookup by ids of a batch isn't a term of a lookup by ids of one sequence."""
    nodes = [TERMS[1], node("Gather", "table ids", "x"), node("Neg", "x", "w"), node("Add", "p w", "y")]
    model = model_of(nodes, {"table": TABLE, "positions": ROWS, "places": PLACES})
    fusion = inlay.onnx.fuse(model)
    assert [fused.output for fused in fusion] == ["x"] and [one.node for one in fusion.skipped] == ["Gather p"]
    graph = inlay.onnx._Graph(model_of(nodes, {"table": TABLE, "positions": ROWS, "places": PLACES}))
    layer = graph._gather(nodes[0], (1, 4))
    assert not graph._is_lookup_by(graph.producers["x"], layer)


def test_a_lookup_that_was_replaced_before():
    """It is a term like other tensors."""
    rows = RNG.standard_normal((70, 12)).astype("f4")
    nodes = [node("Gather", "positions places", "p"), node("Neg", "ids", "n"), node("Neg", "n", "m")]
    nodes += [node("Gather", "table m", "x"), node("Add", "x p", "y")]
    model = model_of(nodes, {"table": TABLE, "positions": rows}, ids=(1, "length"))
    model.graph.input.append(helper.make_tensor_value_info("places", TensorProto.INT64, ("length",)))
    fusion = check(model, {"ids": IDS[:1], "places": numpy.arange(4)}, count=2)
    assert list(map(str, fusion)) == ["p = positions[places]", "y = table[m] + p"]


@pytest.mark.parametrize("rows", [ROWS, ROWS[0]])
def test_a_lookup_and_a_tensor(rows):
    for sums in (("x s", "u positions"), ("x positions", "u s")):
        nodes = [GATHER, TERMS[2], node("Add", sums[0], "u"), node("Add", sums[1], "y")]
        (fused,) = check(model_of(nodes, BERT | {"positions": rows}), IDS)
        assert str(fused) == "y = table[ids] + positions + segments[kinds]"


@pytest.mark.parametrize("options", [{}, {"start": 1, "end": 2}])
def test_shapes_of_results_inside(options):
    """Exporters take the length from a result. It equals the length of the ids."""
    one = {"one": numpy.array([1]), "zero": numpy.array([0]), "axis": numpy.array([1]), "all": numpy.arange(9)[None]}
    nodes = [
        GATHER,
        node("Shape", "x", "shape", **options),
        node("Gather", f"shape {'zero' if options else 'one'}", "length"),
        node("Slice", "all zero length axis", "places"),
        TERMS[1],
        node("Add", "x p", "y"),
    ]
    rows = RNG.standard_normal((9, 12)).astype("f4")
    constants = BERT | {"positions": rows} | one
    del constants["places"]
    for ids in (IDS, IDS[:, :1]):
        (fused,) = check(model := model_of(nodes, constants), ids)
        assert fused.nodes == 3 and fused.position_ids == "places" and "x" not in model.graph.node[-1].input
    left = model_of([GATHER, node("Shape", "x", "y", start=2), node("Neg", "x", "w")], BERT, outputs=("w",))
    (fused,) = inlay.onnx.fuse(left)
    assert fused.end == "x is used by Shape y, Neg w"
    shape = node("Shape", "x", "s", start=-2, end=2)  # counts dimensions from the end of the result, not of ids
    nodes = [GATHER, shape, MUL, node("Expand", "row s", "w")]
    (fused,) = check(model_of(nodes, BERT | SCALE | {"row": numpy.ones(1, "f4")}, outputs=("y", "w")), IDS)
    assert fused.output == "x"


BROKEN_NORMS = {
    "another exponent": ("Pow and Div", {"two": numpy.float32(4)}, {}, "other operands"),
    "another axis": ("one node", {"gamma": ROWS, "beta": ROWS}, {"axis": 1}, "along other axes"),
    "a result inside that is an output": (
        "Pow and Div",
        {},
        {"outputs": ("y", "variance")},
        "results inside that are needed",
    ),
    "means along another axis": ("Pow and Div", {}, {"axes": [1]}, "along other axes"),
}


@pytest.mark.parametrize("case", BROKEN_NORMS)
def test_norms_that_are_skipped(case):
    norm, constants, options, reason = BROKEN_NORMS[case]
    nodes = [*TERMS, node("Add", "x p", "z")] + [onnx.NodeProto.FromString(n.SerializeToString()) for n in NORMS[norm]]
    for n in nodes[-len(NORMS[norm]) :]:
        for attribute in n.attribute:
            if attribute.name in options:
                value = options[attribute.name]
                attribute.CopyFrom(helper.make_attribute(attribute.name, value))
        if "axis" in options:
            n.attribute.append(helper.make_attribute("axis", options["axis"]))
    model = model_of(nodes, CONSTANTS | constants, outputs=options.get("outputs", ("y",)))
    (fused,) = near(model, IDS)
    assert fused.output == "z" and reason in fused.end


def test_casts():
    """A float16 table and its positions are widened before the sum, and the result is narrowed."""
    constants = {**CONSTANTS, "table": TABLE.astype("f2"), "positions": ROWS.astype("f2"), "h": numpy.float32(3)}
    nodes = [
        GATHER,
        node("Cast", "x", "w", to=TensorProto.FLOAT),
        TERMS[1],
        node("Cast", "p", "q", to=TensorProto.FLOAT),
        node("Mul", "w h", "m"),
        node("Add", "m q", "u"),
        node("Cast", "u", "y", to=TensorProto.FLOAT16),
    ]
    (fused,) = check(model := model_of(nodes, constants), IDS)
    assert fused.nodes == 7 and model.graph.node[-1].op_type == "EmbedFloat16"
    wide = model_of([GATHER, node("Cast", "x", "z", to=TensorProto.FLOAT), NORMS["one node"][0]], constants)
    wide.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    near(wide, IDS)
    assert [n.op_type for n in wide.graph.node] == ["Embed"]


@pytest.mark.parametrize("kind", [TensorProto.INT64, TensorProto.BOOL])
def test_casts_of_a_term_that_truncate(kind):
    casts = [node("Cast", "p", "i", to=kind), node("Cast", "i", "q", to=TensorProto.FLOAT)]
    nodes = [GATHER, TERMS[1], *casts, node("Add", "x q", "y")]
    (fused,) = check(model_of(nodes, BERT | {"positions": 9 * ROWS}), IDS)
    assert str(fused) == "y = table[ids] + q"


def test_wide_norms():
    """Norms with 16-bit results support at most 4096 columns."""
    table, gamma = RNG.standard_normal((5, 4100)).astype("f4"), RNG.standard_normal(4100).astype("f4")
    norm, cast = node("LayerNormalization", "x gamma", "y"), node("Cast", "y", "z", to=TensorProto.FLOAT16)
    (fused,) = inlay.onnx.fuse(model_of([GATHER, norm, cast], {"table": table, "gamma": gamma}, outputs="z"))
    assert fused.output == "y" and fused.end == "Cast z has 16-bit results of a norm of more than 4096 columns"
    half = {"table": table.astype("f2"), "gamma": gamma.astype("f2")}
    (fused,) = inlay.onnx.fuse(model_of([GATHER, norm], half))
    assert fused.output == "x" and "LayerNormalization y has 16-bit results" in fused.end
    narrow = {"table": TABLE.astype("f2"), "gamma": GAMMA.astype("f2")}
    model = model_of([GATHER, norm], narrow)
    (fused,) = inlay.onnx.fuse(model)
    layer = inlay.Layer(narrow["table"], norm=inlay.LayerNorm(gamma=narrow["gamma"].astype("f4")), dtype="float16")
    numpy.testing.assert_array_equal(run(model, IDS)[0], layer(IDS))


# ---- Names -----------------------------------------------------------------------------------------------------------

NEW_NAMES = ["s_dim", "s_ids", "y_position_shape", "y_position_ids", "gamma_float", "table_bytes", "scales_float"]


@pytest.mark.parametrize("inside", [False, True])
def test_names_that_are_taken(inside):
    """Names used by other tensors of the graph or a subgraph, where a name must not shadow an outer one."""
    nodes = [
        node("GatherBlockQuantized", "table ids scales", "x", block_size=32),
        node("Shape", "x", "s"),
        node("Gather", "positions places", "p"),
        node("Add", "x p", "z"),
        node("LayerNormalization", "z gamma", "y"),
        node("Cast", "y", "v", to=TensorProto.FLOAT),
    ]
    nodes[0].domain = "com.microsoft"
    taken = [node("Identity", "one", name) for name in NEW_NAMES]
    total = node("Sum", " ".join(NEW_NAMES), "w")
    if inside:
        out = [helper.make_tensor_value_info("w_inside", TensorProto.FLOAT, None)]
        branch = helper.make_graph([*taken, node("Sum", " ".join(NEW_NAMES), "w_inside")], "branch", [], out)
        taken, total = [], node("If", "yes", "w", then_branch=branch, else_branch=branch)
    arrays = {"table": RNG.integers(0, 256, (50, 16), "u1"), "scales": RNG.random((50, 1)).astype("f2")}
    arrays |= {"positions": RNG.random((9, 32)).astype("f2"), "gamma": RNG.random(32).astype("f2"), "places": PLACES}
    arrays |= {"one": numpy.ones(3, "f4"), "yes": numpy.array(True)}
    model = model_of([*taken, total, *nodes], arrays, outputs=("v", "w", "s"))
    for value in model.graph.output:
        value.type.tensor_type.elem_type = TensorProto.INT64 if value.name == "s" else TensorProto.FLOAT
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    (fused,) = inlay.onnx.fuse(model)
    assert fused.output == "v" and fused.nodes == 5
    embed = next(n for n in model.graph.node if n.domain == "inlay")
    assert {"table_bytes_1", "scales_float_1", "gamma_float_1"} <= set(embed.input)
    result, ones, shape = run(model, IDS)
    assert result.shape == (2, 4, 32) and shape.tolist() == [2, 4, 32] and (ones == 7).all()


def test_constants_that_two_layers_share():
    arrays = {"table": RNG.integers(0, 256, (50, 16), "u1"), "scales": RNG.random((50, 1)).astype("f2")}
    nodes = [node("GatherBlockQuantized", "table ids scales", name, block_size=32) for name in "yz"]
    for gather in nodes:
        gather.domain = "com.microsoft"
    model = model_of(nodes, arrays, outputs="yz")
    for value in model.graph.output:
        value.type.tensor_type.elem_type = TensorProto.FLOAT16
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    check(model, IDS, count=2)
    assert [tensor.name for tensor in model.graph.initializer] == ["table_bytes", "scales_float"]


# ---- Tables in groups ------------------------------------------------------------------------------------------------


ERRORS = onnxruntime.capi.onnxruntime_pybind11_state
BITS = {"uint8": (4, 8), "uint4": (4,), "int4": (4,)}


def blocks_of(kind, bits, group, dim, zeros, scales_type, axis):
    """A model with only GatherBlockQuantized. Rows end in a partial group if dim isn't a multiple of it."""
    number = {"uint8": TensorProto.UINT8, "uint4": TensorProto.UINT4, "int4": TensorProto.INT4}[kind]
    packed = 8 // bits if kind == "uint8" else 1

    def integers(name, rows, columns):
        columns = -(-columns // packed)
        data = RNG.integers(0, 256, rows * columns if kind == "uint8" else -(-rows * columns // 2), "u1")
        return helper.make_tensor(name, number, (rows, columns), data.tobytes(), raw=True)

    groups = (5, -(-dim // group)) if axis == 1 else (-(-5 // group), dim)
    tensors = [integers("table", 5, dim), numpy_helper.from_array(RNG.random(groups).astype(scales_type), "scales")]
    tensors += [integers("zeros", *groups)] * zeros
    names = " ".join(["table ids scales", *["zeros"] * zeros])
    options = {"block_size": group, "gather_axis": 0, "quantize_axis": axis} | ({"bits": bits} if bits != 4 else {})
    graph = helper.make_graph(
        [helper.make_node("GatherBlockQuantized", names.split(), ["y"], domain="com.microsoft", **options)],
        "blocks",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ("batch", "length"))],
        [helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(numpy.dtype(scales_type)), None)],
        tensors,
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@pytest.mark.parametrize("kind", BITS)
def test_gather_block_quantized_of_every_shape(kind):
    """Models that ONNX Runtime can run keep their bits, or are skipped with a reason."""
    counts = collections.Counter()
    ids = numpy.array([[1, 4, -1, 0, -5]])
    for bits, group, dim, zeros, scales_type, axis in itertools.product(
        BITS[kind], (16, 32, 64, 128, 256), (33, 48, 64, 96, 256, 576), (False, True), ("f4", "f2"), (1, 0)
    ):
        model = blocks_of(kind, bits, group, dim, zeros, scales_type, axis)
        before = model.SerializeToString()
        try:
            (expected,) = run(model, ids)
        except (ERRORS.InvalidGraph, ERRORS.Fail):  # not all versions of ONNX Runtime have all kinds
            continue
        fusion = inlay.onnx.fuse(model)
        counts["fused"] += len(fusion)
        if fusion:
            numpy.testing.assert_array_equal(run(model, ids)[0], expected)
        else:
            assert "groups" in fusion.skipped[0].reason and model.SerializeToString() == before
    assert counts["fused"] >= 60  # of 120 with 4 bits, and as many with 8: all in new versions of ONNX Runtime


@pytest.mark.parametrize("name, shape", [("scales", (50, 2)), ("scales", (50,)), ("zeros", (51,))])
def test_groups_that_do_not_fit(name, shape):
    """Inconsistent arrays in a handwritten model. The operator never reads out of bounds."""
    arrays = {"table": numpy.zeros((50, 48), "u1"), "scales": numpy.ones((50, 3), "f4")}
    arrays["zeros"] = numpy.zeros((50, 2), "u1")
    arrays[name] = numpy.zeros(shape, arrays[name].dtype)
    embed = helper.make_node("Embed", ["table", "ids", *[""] * 6, "scales", "zeros"], ["y"], domain="inlay")
    options = {"scale": 1.0, "epsilon": 0.0, "layer_norm": 0, "segments_first": 0, "group": 32, "group_type": 0}
    embed.attribute.extend(helper.make_attribute(key, value) for key, value in options.items())
    model = model_of([embed], arrays)
    model.opset_import.append(helper.make_opsetid("inlay", 1))
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    with pytest.raises(Exception, match="scales or zeros does not match the groups of the table"):
        run(model, IDS)


@pytest.mark.parametrize(
    "attribute, computed, reason",
    [
        ({"block_size": 24}, "", "not multiples of 16 columns"),
        ({"block_size": 96, "quantize_axis": 0}, "", "not multiples of 16 columns"),
        ({"bits": 2}, "", "has groups of 2 bits"),
        ({}, "scales", "has scales, which"),
    ],
)
def test_gather_block_quantized_that_is_skipped(attribute, computed, reason):
    constants = {"table": RNG.integers(0, 256, (50, 32), "u1"), "given": RNG.random((50, 1)).astype("f4")}
    nodes = [
        node("Neg" if computed else "Identity", "given", "scales"),
        node("GatherBlockQuantized", "table ids scales", "y", **{"block_size": 64, **attribute}),
    ]
    nodes[1].domain = "com.microsoft"
    if not computed:
        constants["scales"] = constants.pop("given")
        del nodes[0]
    model = model_of(nodes, constants)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    fusion = inlay.onnx.fuse(model)
    assert fusion == [] and reason in fusion.skipped[0].reason and "GatherBlockQuantized y" in fusion.skipped[0].reason


@pytest.mark.parametrize(
    "change",
    [
        {"block_size": -256},
        {"block_size": 0},
        {"scales": numpy.ones((50, 9), "f4")},
        {"scales": numpy.ones((50, 2), "f4")},
        {"scales": numpy.ones(50, "f4")},
        {"scales": numpy.ones((49, 3), "f4")},
        {"zeros": numpy.ones((50, 3), "u1")},
        {"zeros": numpy.ones((50, 2), "i4")},
        {"zeros": numpy.ones((51, 2), "u1")},
    ],
    ids=str,
)
def test_gather_block_quantized_that_is_invalid(change):
    """Models that ONNX Runtime rejects stay as they are."""
    arrays = {"table": numpy.zeros((50, 288), "u1"), "scales": numpy.ones((50, 3), "f4")}
    arrays["zeros"] = numpy.zeros((50, 2), "u1")
    arrays.update({name: array for name, array in change.items() if name in arrays})
    gather = node("GatherBlockQuantized", "table ids scales zeros", "y", block_size=change.get("block_size", 256))
    gather.domain = "com.microsoft"
    model = model_of([gather], arrays)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    before = model.SerializeToString()
    fusion = inlay.onnx.fuse(model)
    assert fusion == [] and model.SerializeToString() == before and "y" in fusion.skipped[0].reason


# ---- Constants in files that are not loaded --------------------------------------------------------------------------


def unload(model, *names):
    """Marks constants as external data, as after onnx.load(..., load_external_data=False)."""
    for tensor in model.graph.initializer:
        if tensor.name in names:
            onnx.external_data_helper.set_external_data(tensor, "weights", length=len(tensor.raw_data))
            tensor.ClearField("raw_data")


@pytest.mark.parametrize("name", ["table", "scales", "zeros"])
def test_groups_that_are_not_loaded(name):
    arrays = {"table": numpy.zeros((50, 16), "u1"), "zeros": numpy.zeros((50, 1), "u1")}
    arrays["scales"] = numpy.ones((50, 1), "f2")
    gather = node("GatherBlockQuantized", "table ids scales zeros", "x", block_size=32)
    gather.domain = "com.microsoft"
    model = model_of([gather, node("Neg", "x", "y")], arrays)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    unload(model, name)
    before = model.SerializeToString()
    fusion = inlay.onnx.fuse(model)
    assert fusion == [] and model.SerializeToString() == before
    assert fusion.skipped[0].reason == f"{name} is in another file, which was not loaded"


@pytest.mark.parametrize("name", ["scale", "gamma", "epsilon"])
def test_numbers_that_are_not_loaded(name):
    """A layer ends before a constant that must be read. float32 tables and vectors needn't be."""
    norm = NORMS["Pow and Div"]
    nodes = [GATHER, node("Mul", "x scale", "z"), *norm]
    constants = {**CONSTANTS, **SCALE, "table": TABLE.astype("f2"), "beta": BETA.astype("f2")}
    constants |= {key: numpy.asarray(constants[key], "f2") for key in ("gamma", "two", "epsilon", "scale")}
    model = model_of(nodes, {key: constants[key] for key in ("table", "gamma", "beta", "two", "epsilon", "scale")})
    unload(model, "table", name)
    (fused,) = inlay.onnx.fuse(model)
    assert fused.end == f"{name} is in another file, which was not loaded"
    assert fused.output == ("x" if name == "scale" else "z") and fused.gamma is None
    embed = next(n for n in model.graph.node if n.domain == "inlay")
    assert {"layer_norm": 0, "epsilon": 0.0}.items() <= inlay.onnx._attributes(embed).items()
    assert [tensor.name for tensor in model.graph.initializer if "_float" in tensor.name] == []
    model = model_of([GATHER, node("Add", "x p", "z"), TERMS[1], NORMS["one node"][0]], CONSTANTS)
    unload(model, "table", "positions", "gamma", "beta")
    (fused,) = inlay.onnx.fuse(model)
    assert fused.gamma == "gamma"


def test_axes_that_are_not_loaded():
    constants = {"table": TABLE, "all": ROWS[None], "zero": numpy.array([0]), "axis": numpy.array([1])}
    nodes = [node("Slice", "all zero axis axis", "positions"), GATHER, node("Add", "x positions", "y")]
    model = model_of(nodes, constants)
    unload(model, "axis")
    (fused,) = inlay.onnx.fuse(model)
    assert fused.nodes == 1


# ---- Errors ----------------------------------------------------------------------------------------------------------


def fused_model():
    nodes = [GATHER, node("Mul", "x scale", "z"), node("Add", "z positions", "y")]
    model = model_of(nodes, {"table": TABLE, **SCALE, **POSITIONS})
    assert inlay.onnx.fuse(model)
    return model


@pytest.mark.parametrize(
    "ids, text",
    [
        ([[1, 2, 3, 50]], r"id 50 at \[0, 3\] is not in the table"),
        ([[1, 2, 3, 4], [1, -51, 2, -1]], r"id -51 at \[1, 1\] is not in the table"),
        ([[1, -2, 3, 50]], r"id 50 at \[0, 3\] is not in the table"),
        ([[1, 2, 3]], "positions has 4 rows, and a sequence has 3 tokens"),
    ],
)
def test_bad_ids(ids, text):
    with pytest.raises(ERRORS.InvalidArgument, match=text):
        run(fused_model(), numpy.array(ids))


@pytest.mark.parametrize("kind", ["int32", "int64"])
@pytest.mark.parametrize("negative", ["ids", "places", "kinds"])
def test_negative_ids(negative, kind):
    """They count from the end of each table, like in Gather."""
    feeds = {"ids": IDS, "places": PLACES + 0 * IDS, "kinds": KINDS}
    feeds[negative] = feeds[negative] - {"ids": 50, "places": 4, "kinds": 3}[negative] * (IDS % 2)
    assert feeds[negative].min() < 0 <= feeds[negative].max()
    nodes = [*TERMS, node("Add", "x p", "u"), node("Add", "u s", "y")]
    number = helper.np_dtype_to_tensor_dtype(numpy.dtype(kind))
    tables = {name: BERT[name] for name in ("table", "positions", "segments")}
    model = model_of(nodes, tables, id_type=number)
    for name in ("places", "kinds"):
        model.graph.input.append(helper.make_tensor_value_info(name, number, ("batch", "length")))
    check(model, {name: ids.astype(kind) for name, ids in feeds.items()})


def test_too_many_dimensions():
    model = model_of([GATHER, MUL], {"table": TABLE, **SCALE}, ids=[None] * 8)
    assert inlay.onnx.fuse(model).skipped[0].reason == "Gather x has ids of 8 dimensions, more than 7"
    embed = helper.make_node("Embed", ["table", "ids"], ["y"], domain="inlay", scale=1.0, epsilon=0.0)
    embed.attribute.extend(helper.make_attribute(n, 0) for n in ("layer_norm", "segments_first", "group", "group_type"))
    model = model_of([embed], {"table": TABLE}, ids=[None] * 8)
    model.opset_import.append(helper.make_opsetid("inlay", 1))
    with pytest.raises(ERRORS.InvalidArgument, match="more dimensions than inlay"):
        run(model, numpy.zeros((1,) * 8, "i8"))


def test_nodes_without_a_scale():
    """fuse() always writes the attribute. A handwritten model must have it too."""
    model = fused_model()
    del model.graph.node[0].attribute[:]
    with pytest.raises(Exception, match="scale"):
        run(model, IDS)


def test_threads(threads):
    """One session in four Python threads, with two threads of the package."""
    table = RNG.standard_normal((100, 256)).astype("f4")
    model = model_of([GATHER, node("Mul", "x scale", "y")], {"table": table, "scale": numpy.float32(2)})
    inlay.onnx.fuse(model)
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(inlay.onnx.library_path())
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    ids = RNG.integers(0, 100, (16, 64))
    threads(2)
    with concurrent.futures.ThreadPoolExecutor(4) as workers:
        results = list(workers.map(lambda i: session.run(None, {"ids": (ids + i) % 100})[0], range(40)))
    for i, result in enumerate(results):
        numpy.testing.assert_array_equal(result, 2 * table[(ids + i) % 100])
