# SPDX-License-Identifier: MIT
"""inlay.onnx: which nodes are fused and which are not, the results of ONNX Runtime before and after, and errors."""

import concurrent.futures

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
    """A model of the input `ids`, whose constants are initializers."""
    kind = helper.np_dtype_to_tensor_dtype(constants["table"].dtype)
    graph = helper.make_graph(
        nodes,
        "layer",
        [helper.make_tensor_value_info("ids", id_type, ids)],
        [helper.make_tensor_value_info(name, kind, None) for name in outputs],
        [numpy_helper.from_array(numpy.asarray(array), name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def run(model, ids, with_inlay=True):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if with_inlay:
        options.register_custom_ops_library(inlay.onnx.library_path())
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"ids": ids})


def check(model, ids, count=1):
    """Fuses a model, whose results must not change, and returns what was replaced."""
    expected = run(model, ids, with_inlay=False)
    fused = inlay.onnx.fuse(model)
    assert len(fused) == count
    assert [n.op_type for n in model.graph.node].count("Embed") == count
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
    """Sums of float16 are rounded once, unlike those of ONNX Runtime."""
    constants = {"table": TABLE.astype(dtype), "scale": numpy.array([2], dtype), "positions": ROWS.astype(dtype)}
    nodes = [GATHER, node("Mul", "x scale", "z"), node("Add", "z positions", "y")]
    model = model_of(nodes, constants, id_type=helper.np_dtype_to_tensor_dtype(numpy.dtype(id_type)))
    assert len(inlay.onnx.fuse(model)) == 1
    (result,) = run(model, IDS.astype(id_type))
    layer = inlay.Layer(constants["table"], scale=2, positions=constants["positions"], dtype=dtype)
    numpy.testing.assert_array_equal(result, layer(IDS))


def test_bfloat16():
    """NumPy does not know the type, so the graph widens it; the upper halves of float32 are its bits."""
    table = (TABLE.view("u4") & 0xFFFF0000).view("f4")
    nodes = [GATHER, node("Mul", "x scale", "z"), node("Cast", "z", "y", to=TensorProto.FLOAT)]
    model = model_of(nodes, {"table": table, **SCALE})
    for tensor in model.graph.initializer:
        halves = (numpy_helper.to_array(tensor).view("u4") >> 16).astype("u2")
        tensor.CopyFrom(helper.make_tensor(tensor.name, TensorProto.BFLOAT16, tensor.dims, halves.tobytes(), raw=True))
    (fused,) = inlay.onnx.fuse(model)
    layer = inlay.Layer(inlay.quantize(table, "bfloat16"), scale=fused.scale)
    (result,) = run(model, IDS)
    numpy.testing.assert_allclose(result, layer(IDS), rtol=2**-8)
    assert (result.view("u4") & 0xFFFF == 0).all()


def test_constants_that_are_nodes():
    constant = node("Constant", "", "scale", value=numpy_helper.from_array(numpy.float32(3.5)))
    model = model_of([constant, GATHER, node("Mul", "x scale", "y")], {"table": TABLE})
    check(model, IDS)
    assert [n.op_type for n in model.graph.node] == ["Embed"]


def test_rows_cut_from_a_longer_table():
    """As modules export that cut their positions to the length of the sequence."""
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


MUL = node("Mul", "x scale", "y")
LEFT_ALONE = {
    "a gather alone": ([node("Gather", "table ids", "y")], {}, {}),
    "another axis": ([node("Gather", "table ids", "x", axis=1), MUL], SCALE, {}),
    "a result that is an output": ([GATHER, MUL], SCALE, {"outputs": ("y", "x")}),
    "a result that is used twice": ([GATHER, MUL, node("Neg", "x", "w")], SCALE, {"outputs": ("y", "w")}),
    "a square": ([GATHER, node("Mul", "x x", "y")], {}, {}),
    "a factor for each column": ([GATHER, MUL], {"scale": ROWS[0]}, {}),
    "a factor that adds dimensions": ([GATHER, MUL], {"scale": numpy.ones((1, 1, 1, 1), "f4")}, {}),
    "a factor that is computed": ([node("Neg", "minus", "scale"), GATHER, MUL], {"minus": numpy.float32(-2)}, {}),
    "positions that add dimensions": (
        [GATHER, node("Add", "x positions", "y")],
        {"positions": ROWS[None, None]},
        {},
    ),
    "one row for each sequence": ([GATHER, node("Add", "x positions", "y")], {"positions": ROWS[:2, None]}, {}),
    "one position, repeated": (
        [GATHER, node("Add", "x positions", "y")],
        POSITIONS,
        {"ids": ("batch", 1)},
    ),
    "a table of float64": ([GATHER, MUL], {"table": TABLE.astype("f8"), "scale": numpy.float64(2)}, {}),
}


@pytest.mark.parametrize("case", LEFT_ALONE)
def test_left_alone(case):
    nodes, constants, options = LEFT_ALONE[case]
    model = model_of(nodes, {"table": TABLE, **constants}, **options)
    before = model.SerializeToString()
    expected = run(model, IDS[:, :1] if "ids" in options else IDS % 12, with_inlay=False)
    assert inlay.onnx.fuse(model) == [] and model.SerializeToString() == before and expected


def test_a_subgraph_that_needs_a_result():
    branch = helper.make_graph(
        [node("Identity", "x", "out")], "branch", [], [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)]
    )
    choice = node("If", "yes", "w", then_branch=branch, else_branch=branch)
    model = model_of([GATHER, MUL, choice], {"table": TABLE, **SCALE, "yes": numpy.array(True)}, outputs=("y", "w"))
    assert inlay.onnx.fuse(model) == []


def test_an_initializer_that_runs_may_replace():
    model = model_of([GATHER, MUL], {"table": TABLE, **SCALE})
    model.graph.input.append(helper.make_tensor_value_info("scale", TensorProto.FLOAT, []))
    assert inlay.onnx.fuse(model) == []


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
        ([[1, 2, 3, 4], [1, -1, 2, 3]], r"id -1 at \[1, 1\] is not in the table"),
        ([[1, 2, 3]], "positions has 4 rows, and a sequence has 3 tokens"),
    ],
)
def test_bad_ids(ids, text):
    errors = onnxruntime.capi.onnxruntime_pybind11_state
    with pytest.raises(errors.InvalidArgument, match=text):
        run(fused_model(), numpy.array(ids))


def test_too_many_dimensions():
    model = model_of([GATHER, MUL], {"table": TABLE, **SCALE}, ids=[None] * 8)
    assert inlay.onnx.fuse(model)
    with pytest.raises(onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument, match="more dimensions than inlay"):
        run(model, numpy.zeros((1,) * 8, "i8"))


def test_nodes_without_a_scale():
    """fuse() always writes the attribute; a model that somebody wrote must have it too."""
    model = fused_model()
    del model.graph.node[0].attribute[:]
    with pytest.raises(Exception, match="scale"):
        run(model, IDS)


def test_threads(threads):
    """One session in four threads of Python, with two of the package."""
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
