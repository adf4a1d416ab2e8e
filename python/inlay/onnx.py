# SPDX-License-Identifier: MIT
"""The input layer as an operator of ONNX Runtime.

import inlay.onnx
inlay.onnx.fuse(model)                              # the nodes of the input layer become one
options = onnxruntime.SessionOptions()
options.register_custom_ops_library(inlay.onnx.library_path())
session = onnxruntime.InferenceSession(model.SerializeToString(), options)
"""

import collections
import dataclasses
import itertools
import math
from typing import Any, Iterator, Optional

import numpy
import onnx
import onnx.helper
import onnx.numpy_helper
import onnx.shape_inference

from . import _core

__all__ = ["Fused", "Fusion", "Skipped", "fuse", "library_path"]

_DOMAIN = "inlay"
_TYPE = onnx.TensorProto
# The operator for each output type: ONNX Runtime derives the type from the operator's name.
_OPERATORS = {_TYPE.FLOAT: "Embed", _TYPE.FLOAT16: "EmbedFloat16", _TYPE.BFLOAT16: "EmbedBFloat16"}
_FLOATS = (*_OPERATORS, _TYPE.DOUBLE)
# The operator's inputs in order. The first two are required.
_INPUTS = "table ids positions position_ids segments segment_ids gamma beta scales zeros".split()
# Tables of GatherBlockQuantized, by their type and bits: bits to flip in each byte to make values unsigned, and whether
# zero points are packed across rows. Without zero points, the zero is 0 for uint4, else half of the range (after
# flipping).
_QUANTIZED = {
    (_TYPE.UINT8, 4): (0, False),
    (_TYPE.UINT8, 8): (0, False),
    (_TYPE.UINT4, 4): (0, True),
    (_TYPE.INT4, 4): (0x88, True),
}
# Types of tables in groups, as numbered by the operator's attribute group_type.
_GROUP_TYPES = ("u4_grouped", "u4_grouped_flat", "u8_grouped")

# LayerNorm as one node, and as the nodes that exporters without the operator write. Strings are tensors. Add and Mul
# match operands in either order. "two" is a constant 2 and "epsilon" any constant.
_CENTERED = ("Sub", "x", ("ReduceMean", "x"))
_ROOT = ("Sqrt", ("Add", ("ReduceMean", ("Pow", _CENTERED, "two")), "epsilon"))
_ROOT_OF_PRODUCT = ("Sqrt", ("Add", ("ReduceMean", ("Mul", _CENTERED, _CENTERED)), "epsilon"))
_NORMS = (
    ("LayerNormalization", "x", "gamma", "beta"),
    ("LayerNormalization", "x", "gamma"),
    ("Add", ("Mul", ("Div", _CENTERED, _ROOT), "gamma"), "beta"),
    ("Add", ("Mul", ("Div", _CENTERED, _ROOT_OF_PRODUCT), "gamma"), "beta"),
    ("Add", ("Mul", ("Mul", _CENTERED, ("Reciprocal", _ROOT_OF_PRODUCT)), "gamma"), "beta"),
)
_TOO_WIDE = "has 16-bit results of a norm of more than 4096 columns"
_COMMUTATIVE = ("Add", "Mul")
# Nodes between an input of the graph and the ids of a lookup.
_OF_IDS = ("Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze")

# Dimensions of a tensor: numbers, names, or None if unknown.
Shape = tuple[Any, ...]


def library_path() -> str:
    """Returns the path of the operator library for SessionOptions.register_custom_ops_library()."""
    return _core.__file__


@dataclasses.dataclass(frozen=True)
class Fused:
    """A layer that fuse() replaced with one node: the names of its tensors, the number of nodes, and why the layer
    ended.
    """

    table: str
    ids: str
    scale: float = 1.0
    positions: Optional[str] = None
    output: str = ""
    position_ids: Optional[str] = None
    segments: Optional[str] = None
    segment_ids: Optional[str] = None
    gamma: Optional[str] = None
    nodes: int = dataclasses.field(default=1, compare=False)
    end: str = dataclasses.field(default="", compare=False)

    def __str__(self) -> str:
        text = f"{self.table}[{self.ids}]" + ("" if self.scale == 1 else f" * {self.scale:g}")
        for table, ids in ((self.positions, self.position_ids), (self.segments, self.segment_ids)):
            text += "" if table is None else f" + {table}" if ids is None else f" + {table}[{ids}]"
        return f"{self.output} = " + (text if self.gamma is None else f"LayerNorm({text})")


@dataclasses.dataclass(frozen=True)
class Skipped:
    """A lookup that fuse() did not replace. The reason names the node that stopped it."""

    node: str
    table: str
    reason: str

    def __str__(self) -> str:
        return f"{self.node} of {self.table} is skipped: {self.reason}"


class Fusion(list[Fused]):
    """The layers that fuse() replaced; `skipped` lists the lookups that it did not."""

    skipped: list[Skipped]


def fuse(model: onnx.ModelProto) -> Fusion:
    """Replaces the input layers in the main graph of a model. Returns the layers, and the lookups that it skipped.

    An input layer starts with a Gather or GatherBlockQuantized along axis 0 of a table. It continues with Mul by a
    constant of one element; Add of one or two terms; LayerNormalization, or its parts as nodes; Cast between these. A
    term is a lookup in another table, or a tensor [dim], [length, dim] or [1, length, dim], constant or computed.
    Tables are float32, float16 or bfloat16. A Gather alone is replaced if its ids are an input of the graph. All other
    nodes stay, as do results that they use. Sums are float32, norms are computed in float64, and the output is rounded
    once.

    Negative ids count from the end of the table, like in Gather. run() raises InvalidArgument for a bad id, with the id
    and its index. It does the same for sequences of one token if positions has more rows, which Add would broadcast.
    """
    graph, fusion, skipped = _Graph(model), Fusion(), []
    for node in sorted(filter(graph.is_lookup, model.graph.node), key=graph.order):
        if node.output[0] not in graph.replaced:
            try:
                fusion.append(graph.fuse(node))
            except _Stop as stop:
                skipped.append((node, str(stop)))
    fusion.skipped = [Skipped(_name(n), n.input[0], reason) for n, reason in skipped if n.output[0] not in graph.replaced]
    graph.apply()
    if fusion and all(opset.domain != _DOMAIN for opset in model.opset_import):
        model.opset_import.append(onnx.helper.make_opsetid(_DOMAIN, 1))
    return fusion


class _Stop(Exception):
    """The reason why a layer ends."""


def _stop_if(condition: bool, node: onnx.NodeProto, reason: str) -> None:
    if condition:
        raise _Stop(f"{_name(node)} {reason}")


def _name(node: onnx.NodeProto) -> str:
    return f"{node.op_type} {node.name or node.output[0]}"


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    return {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}


def _repeats_to(size: Any, other: Any) -> bool:
    """Returns True if a dimension may be 1 or equal to the other, so that broadcasting doesn't repeat the other."""
    return size in (1, other) or other != 1 and not (isinstance(size, int) and isinstance(other, int))


@dataclasses.dataclass
class _Layer:
    """An input layer up to the last node that was followed."""

    output: str
    type: int
    ids: Shape
    dim: int
    nodes: list[onnx.NodeProto]
    inputs: dict[str, str]
    attributes: dict[str, Any] = dataclasses.field(default_factory=dict)
    terms: list[tuple[str, Optional[str]]] = dataclasses.field(default_factory=list)


class _Graph:
    """The main graph of a model, with the shapes, types and uses of its tensors."""

    def __init__(self, model: onnx.ModelProto):
        self.graph = model.graph
        self.shapes: dict[str, Shape] = {}
        self.types: dict[str, int] = {}
        inferred = onnx.shape_inference.infer_shapes(_without_data(model), data_prop=True).graph
        for value in (*inferred.input, *inferred.value_info, *inferred.output):
            self._add_value(value)
        self.inputs = {value.name for value in self.graph.input}
        tensors = {tensor.name: tensor for tensor in self.graph.initializer}
        for node in self.graph.node:
            if node.op_type == "Constant" and node.attribute[0].name == "value":
                tensors[node.output[0]] = node.attribute[0].t
        for name, tensor in tensors.items():
            self.shapes[name], self.types[name] = tuple(tensor.dims), tensor.data_type
        # An input with an initializer isn't constant: a run can replace it.
        self.constants = {name: tensor for name, tensor in tensors.items() if name not in self.inputs}
        self.uses = collections.Counter(_names_used(self.graph))
        self.names = set(_names(self.graph))
        self.made: dict[tuple[str, Shape], str] = {}  # new constants by requested name and shape
        self.producers = {name: node for node in self.graph.node for name in node.output}
        self.consumers = collections.defaultdict(list)
        for node in self.graph.node:
            if node.op_type == "Slice" and len(node.input) > 3:
                self._keep_dimensions(node)
            for name in dict.fromkeys(node.input):
                self.consumers[name].append(node)
        self.norms = dict(filter(None, map(self._find_norm, self.graph.node)))
        self.replaced: dict[str, list[onnx.NodeProto]] = {}  # replacements of a node by its first output
        self.unused: set[str] = set()

    def _add_value(self, value: onnx.ValueInfoProto) -> None:
        tensor = value.type.tensor_type
        self.types[value.name] = tensor.elem_type
        if tensor.HasField("shape"):
            dims = tensor.shape.dim
            self.shapes[value.name] = tuple(d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in dims)

    def _keep_dimensions(self, node: onnx.NodeProto) -> None:
        """Adds the dimensions that a Slice keeps. ONNX drops them if the ends are computed."""
        shape, axes = self.shapes.get(node.input[0]), self.constants.get(node.input[3])
        if shape is not None and axes is not None and axes.data_location != _TYPE.EXTERNAL:
            cut = {int(axis) % len(shape) for axis in onnx.numpy_helper.to_array(axes).reshape(-1)}
            self.shapes[node.output[0]] = tuple(None if axis in cut else n for axis, n in enumerate(shape))

    # ---- Norms

    def _find_norm(self, node: onnx.NodeProto) -> Optional[tuple[str, tuple[dict, dict[str, str]]]]:
        """Returns the input of the norm that ends at a node, and the norm's nodes and tensors."""
        for pattern in _NORMS if node.op_type in ("LayerNormalization", "Add") else ():
            for nodes, found in self._matches(pattern, node.output[0], {}, {}):
                return found["x"], (nodes, found)
        return None

    def _matches(self, pattern: Any, name: str, nodes: dict, found: dict[str, str]) -> Iterator[tuple[dict, dict]]:
        """Yields each match of a pattern: nodes by their output, and names of tensors."""
        if isinstance(pattern, str):
            if found.get(pattern, name) == name:
                yield nodes, {**found, pattern: name}
            return
        node = self.producers.get(name)
        if node is None or (node.op_type, node.domain) != (pattern[0], ""):
            return
        names = node.input[:1] if node.op_type == "ReduceMean" else node.input  # since opset 18, axes are an input
        for order in (names, names[::-1]) if node.op_type in _COMMUTATIVE else (names,):
            ways = [({**nodes, name: node}, found)] if len(order) == len(pattern) - 1 else []
            for part, operand in zip(pattern[1:], order):
                ways = [deeper for way in ways for deeper in self._matches(part, operand, *way)]
            yield from ways

    # ---- Where layers begin

    def is_lookup(self, node: onnx.NodeProto) -> bool:
        """Returns True if a node gathers rows of a table of any type."""
        if (node.domain, node.op_type) not in _LOOKUPS:
            return False
        options, shape = _attributes(node), self.shapes.get(node.input[0], ())
        types = _FLOATS if node.op_type == "Gather" else {kind for kind, _ in _QUANTIZED}
        rows = options.get("axis", options.get("gather_axis", 0)) == 0
        return rows and len(shape) == 2 and isinstance(shape[0], int) and self.types.get(node.input[0]) in types

    def order(self, node: onnx.NodeProto) -> tuple[int, bool, int]:
        """Returns a sort key: lookups of tokens before those of positions, their terms.

        Ids of tokens aren't broadcast and are an input of the graph. Their table usually has the most rows.
        """
        dimensions = sum(size != 1 for size in self.shapes.get(node.input[1]) or ())
        return -dimensions, not self._is_input(node.input[1]), -self.shapes[node.input[0]][0]

    def _is_input(self, name: str) -> bool:
        """Returns True if a tensor has the values of an input of the graph."""
        while (node := self.producers.get(name)) is not None and node.op_type in _OF_IDS:
            name = node.input[0]
        return name in self.inputs

    def fuse(self, node: onnx.NodeProto) -> Fused:
        """Replaces the layer that starts with this lookup, or raises _Stop."""
        shape = self.shapes.get(node.input[1])
        _stop_if(shape is None, node, f"has ids {node.input[1]} of unknown shape")
        _stop_if(len(shape) > 7, node, f"has ids of {len(shape)} dimensions, more than 7")
        layer = _LOOKUPS[node.domain, node.op_type](self, node, shape)
        try:
            while True:
                self._follow(layer)
        except _Stop as stop:
            if len(layer.nodes) == 1 and node.op_type == "Gather" and not self._is_input(node.input[1]):
                raise
            return self._replace(layer, str(stop))

    def _gather(self, node: onnx.NodeProto, ids: Shape) -> _Layer:
        table, kind = node.input[0], self.types[node.input[0]]
        dim = self.shapes[table][1]
        _stop_if(kind not in _OPERATORS, node, "is of float64")
        _stop_if(not isinstance(dim, int), node, "has a table of unknown dim")
        return _Layer(node.output[0], kind, ids, dim, [node], {"table": table, "ids": node.input[1]})

    def _gather_quantized(self, node: onnx.NodeProto, ids: Shape) -> _Layer:
        names = {name: tensor for name, tensor in zip(("table", "ids", "scales", "zeros"), node.input) if tensor}
        options, kind = _attributes(node), self.types[node.input[0]]
        block, axis, bits = options.get("block_size", 128), options.get("quantize_axis", 1), options.get("bits", 4)
        computed = [tensor for name, tensor in names.items() if name != "ids" and tensor not in self.constants]
        _stop_if(bool(computed), node, f"has {', '.join(computed)}, which are no constants")
        _stop_if((kind, bits) not in _QUANTIZED, node, f"has groups of {bits} bits, not 4 or 8")
        flip, flat = _QUANTIZED[kind, bits]
        rows, columns = self.shapes[node.input[0]]
        dim = 8 // bits * columns if kind == _TYPE.UINT8 else columns
        # The largest group of tables that divides a block. The last group of a row may be shorter, like its block.
        group = next((group for group in (128, 64, 32, 16) if block % group == 0), None)
        other = group is None or block <= 0 or axis not in (1, -1)
        _stop_if(other, node, "has groups that are not multiples of 16 columns")
        _stop_if(dim * bits % 8 != 0, node, "has groups in rows that share bytes")
        count = -(-dim // block)
        shapes = {"scales": (rows, count), "zeros": (rows, -(-count * bits // 8) if kind == _TYPE.UINT8 else count)}
        for name, tensor in names.items():
            wrong = name in shapes and self.shapes[tensor] != shapes[name]
            wrong |= name == "zeros" and self.types[tensor] != kind
            _stop_if(wrong, node, f"has {tensor} of another type or shape than blocks of {block} columns need")
        blocks = None if block == group else numpy.arange(0, dim, group) // block
        inputs = {"ids": names["ids"], "table": self._as_bytes(names["table"], flip, (rows, dim * bits // 8))}
        inputs["scales"] = self._as_float(names["scales"], blocks)
        if "zeros" in names and blocks is None:
            inputs["zeros"] = self._as_bytes(names["zeros"], flip, (-1,))
        elif "zeros" in names:
            inputs["zeros"] = self._zeros_of_blocks(names["zeros"], flip, rows, bits, flat, blocks)
        self.unused.update(names.values())
        flat = flat and (flip == 0 or "zeros" in names)
        name = "u8_grouped" if bits == 8 else "u4_grouped_flat" if flat else "u4_grouped"
        attributes = {"group": group, "group_type": _GROUP_TYPES.index(name)}
        return _Layer(node.output[0], self.types[names["scales"]], ids, dim, [node], inputs, attributes)

    def _as_bytes(self, name: str, flip: int, shape: tuple[int, ...]) -> str:
        """Returns a constant of integers as bytes with some bits flipped."""
        return self._add((self._array_of_bytes(name) ^ flip).reshape(shape), f"{name}_bytes")

    def _array_of_bytes(self, name: str) -> numpy.ndarray:
        tensor = self._loaded(name)
        return numpy.frombuffer(tensor.raw_data or bytes(tensor.int32_data), "u1")

    def _zeros_of_blocks(self, name: str, flip: int, rows: int, bits: int, flat: bool, blocks: numpy.ndarray) -> str:
        """Returns zero points of blocks as bytes of those of groups."""
        count = blocks[-1] + 1
        zeros = self._array_of_bytes(name) ^ flip
        if bits == 4:
            zeros = numpy.stack([zeros & 15, zeros >> 4], -1).reshape((-1,) if flat else (rows, -1))
            zeros = zeros[: rows * count] if flat else zeros[:, :count]
        zeros = zeros.reshape(rows, count)[:, blocks]
        if bits == 4:
            zeros = zeros.reshape(1, -1) if flat else zeros
            zeros = numpy.pad(zeros, ((0, 0), (0, zeros.shape[1] % 2)))
            zeros = zeros[:, ::2] | zeros[:, 1::2] << 4
        return self._add(zeros.reshape(-1), f"{name}_bytes")

    def _as_float(self, name: str, columns: Optional[numpy.ndarray] = None) -> str:
        """Returns a constant as float32, the type of gamma, beta and scales; of these columns, if given."""
        tensor = self.constants[name]
        self.unused.add(name)
        if tensor.data_type == _TYPE.FLOAT and columns is None:
            return name
        array = self._array(name) if columns is None else self._array(name)[:, columns]
        return self._add(array.astype("f4"), f"{name}_float")

    def _loaded(self, name: str) -> onnx.TensorProto:
        """Returns a constant with its data, or raises _Stop if onnx.load() left it in another file."""
        tensor = self.constants[name]
        if tensor.data_location == _TYPE.EXTERNAL:
            raise _Stop(f"{name} is in another file, which was not loaded")
        return tensor

    def _array(self, name: str) -> numpy.ndarray:
        return onnx.numpy_helper.to_array(self._loaded(name))

    def _add(self, array: numpy.ndarray, name: str) -> str:
        """Adds a constant, once, and returns its name."""
        key = name, array.shape
        if key not in self.made:
            self.made[key] = name = self._unused_name(name)
            self.constants[name] = onnx.numpy_helper.from_array(array, name)
            self.graph.initializer.append(self.constants[name])
            self.unused.add(name)
        return self.made[key]

    def _unused_name(self, name: str) -> str:
        """Returns a name that the graph doesn't have yet: this one, or with a number appended."""
        numbered = (f"{name}_{i}" for i in itertools.count(1))
        name = next(new for new in itertools.chain([name], numbered) if new not in self.names)
        self.names.add(name)
        return name

    # ---- The nodes that follow

    def _follow(self, layer: _Layer) -> None:
        """Takes the next nodes into the layer, or raises _Stop."""
        consumers = [node for node in self.consumers[layer.output] if not self._is_shape(node, layer)]
        used = self.uses[layer.output] - len(self.consumers[layer.output]) + len(consumers)
        norm = self.norms.get(layer.output)
        if norm is not None and used == _uses_inside(norm[0])[layer.output] and "gamma" not in layer.inputs:
            self._norm(layer, *norm)
            return
        if used != 1 or len(consumers) != 1:
            raise _Stop(f"{layer.output} is {self._use(layer.output, consumers)}")
        (node,) = consumers
        step = _STEPS.get(node.op_type) if node.domain == "" else None
        _stop_if(step is None, node, "is no part of an input layer")
        step(self, layer, node)
        layer.nodes.append(node)
        layer.output = node.output[0]

    def _use(self, name: str, consumers: list[onnx.NodeProto]) -> str:
        """Describes the use of a result that doesn't have exactly one consumer."""
        if any(value.name == name for value in self.graph.output):
            return "an output of the graph"
        if self.uses[name] > sum(list(node.input).count(name) for node in self.consumers[name]):
            return "used in a subgraph"
        if len(consumers) == 1:
            return f"used twice by {_name(consumers[0])}"
        consumers = consumers or self.consumers[name]  # only Shape nodes
        names = ", ".join(map(_name, consumers[:3])) or "nothing"
        return f"used by {names}" + (" and others" if len(consumers) > 3 else "")

    @staticmethod
    def _is_shape(node: onnx.NodeProto, layer: _Layer) -> bool:
        """Returns True if a node is the shape of a result: all of it, or only dimensions that the ids have too."""
        if node.op_type != "Shape":
            return False
        options = _attributes(node)
        return not options or options.get("start", 0) >= 0 and 0 <= options.get("end", -1) <= len(layer.ids)

    def _shape(self, node: onnx.NodeProto, layer: _Layer) -> list[onnx.NodeProto]:
        """Returns the replacement of a Shape: the shape of the ids, then dim."""
        ids, output = layer.inputs["ids"], node.output[0]
        if node.attribute:
            return [onnx.helper.make_node("Shape", [ids], [output], name=node.name, **_attributes(node))]
        dim = self._add(numpy.array([layer.dim]), f"{output}_dim")
        name = self._unused_name(f"{output}_ids")
        shape = onnx.helper.make_node("Shape", [ids], [name], name=name)
        return [shape, onnx.helper.make_node("Concat", [name, dim], [output], name=node.name, axis=0)]

    def _cast(self, layer: _Layer, node: onnx.NodeProto) -> None:
        kind = _attributes(node)["to"]
        _stop_if(kind not in _OPERATORS, node, "is to another type than float32, float16 and bfloat16")
        _stop_if("gamma" in layer.inputs and self._is_too_wide(kind, layer.dim), node, _TOO_WIDE)
        layer.type = kind

    @staticmethod
    def _is_too_wide(kind: int, dim: int) -> bool:
        """Returns True if the operator can't normalize rows of this type and size."""
        return kind != _TYPE.FLOAT and dim > 4096

    def _scale(self, layer: _Layer, node: onnx.NodeProto) -> None:
        factor = node.input[1 if node.input[0] == layer.output else 0]
        _stop_if("gamma" in layer.inputs, node, "follows a norm")
        _stop_if(bool(layer.terms), node, "follows a sum")
        _stop_if("scale" in layer.attributes, node, "is the second scale")
        _stop_if(not self._is_scalar(factor), node, f"is by {factor}, which is no constant of one element")
        layer.attributes["scale"] = self._number(factor)
        self.unused.add(factor)

    def _is_scalar(self, name: str) -> bool:
        return name in self.constants and self.shapes[name] in ((), (1,))

    def _number(self, name: str) -> float:
        return float(self._array(name).astype("float32").reshape(()))

    def _term(self, layer: _Layer, node: onnx.NodeProto) -> None:
        """Adds the other operand of an Add as a term: a lookup in another table, or a tensor."""
        term = node.input[1 if node.input[0] == layer.output else 0]
        _stop_if("gamma" in layer.inputs, node, "follows a norm")
        _stop_if(len(layer.terms) == 2, node, "is the third sum")
        lookup, casts = self.producers.get(term), []
        while lookup is not None and self._is_cast_to_float(lookup) and self.uses[lookup.output[0]] == 1:
            casts.append(lookup)
            lookup = self.producers.get(lookup.input[0])
        if lookup is not None and self._is_lookup_by(lookup, layer):
            layer.terms.append((lookup.input[0], lookup.input[1]))
            layer.nodes += [lookup, *casts]
            return
        _stop_if(any(ids is None for _, ids in layer.terms), node, "is the second sum with a tensor that is no lookup")
        fits = self.types.get(term) in _OPERATORS and self._adds_rows(self.shapes.get(term), layer)
        _stop_if(not fits, node, f"is of {term}, which is not known to be [dim] or [length, dim]")
        layer.terms.append((term, None))

    @staticmethod
    def _is_cast_to_float(node: onnx.NodeProto) -> bool:
        return node.op_type == "Cast" and _attributes(node)["to"] in _OPERATORS

    def _is_lookup_by(self, node: onnx.NodeProto, layer: _Layer) -> bool:
        """Returns True if a term is a lookup by ids that have the shape of the layer's ids or broadcast to it."""
        if not self.is_lookup(node) or self.uses[node.output[0]] != 1 or node.output[0] in self.replaced:
            return False
        table, ids = node.input[0], self.shapes.get(node.input[1])
        if self.types[table] not in _OPERATORS or self.shapes[table][1] != layer.dim:
            return False
        if ids is None or len(ids) > len(layer.ids):
            return False
        return all(_repeats_to(a, b) for a, b in zip(ids[::-1], layer.ids[::-1]))

    @staticmethod
    def _adds_rows(term: Optional[Shape], layer: _Layer) -> bool:
        """Returns True if a term of this shape is a vector, or one row for each token of a sequence."""
        if not term or term[-1] != layer.dim or len(term) > len(layer.ids) + 1 or any(size != 1 for size in term[:-2]):
            return False
        return _repeats_to((1, *term)[-2], (1, *layer.ids)[-1])

    def _norm(self, layer: _Layer, nodes: dict[str, onnx.NodeProto], found: dict[str, str]) -> None:
        last = next(iter(nodes.values()))
        vectors = {name: found[name] for name in ("gamma", "beta") if found.get(name)}
        numbers = [found[name] for name in ("epsilon", "two") if name in found]
        _stop_if(self._is_too_wide(layer.type, layer.dim), last, _TOO_WIDE)
        inside = _uses_inside(nodes)
        results = {name for node in nodes.values() for name in node.output if name} - {last.output[0]}
        needed = any(self.uses[name] != inside[name] for name in results)
        _stop_if(needed, last, "is a norm with results inside that are needed elsewhere")
        whole = all(self._is_along_last(node, len(layer.ids)) for node in nodes.values())
        _stop_if(not whole, last, "is a norm along other axes than the last")
        fits = all(name in self.constants and self.shapes[name] == (layer.dim,) for name in vectors.values())
        fits = fits and all(map(self._is_scalar, numbers)) and ("two" not in found or self._number(found["two"]) == 2)
        _stop_if(not fits, last, "is a norm with other operands than constants [dim]")
        epsilon = self._number(found["epsilon"]) if numbers else _attributes(last).get("epsilon", 1e-5)
        _stop_if(not 0 <= epsilon < math.inf, last, f"is a norm with epsilon {epsilon}")
        vectors = {name: self._as_float(tensor) for name, tensor in vectors.items()}
        layer.attributes |= {"layer_norm": 1, "epsilon": epsilon}
        layer.inputs |= vectors
        self.unused.update(numbers)
        layer.nodes += reversed(nodes.values())
        layer.output = last.output[0]

    def _is_along_last(self, node: onnx.NodeProto, last: int) -> bool:
        options = _attributes(node)
        if node.op_type == "LayerNormalization":
            return options.get("axis", -1) in (-1, last)
        if node.op_type != "ReduceMean":
            return True
        axes = options.get("axes")
        if len(node.input) > 1 and node.input[1] in self.constants:
            axes = self._array(node.input[1]).reshape(-1).tolist()
        return axes in ([-1], [last]) and options.get("keepdims", 1) == 1

    # ---- Changes

    def _replace(self, layer: _Layer, end: str) -> Fused:
        """Replaces the last node, where all inputs are known, and removes the others."""
        last, before, names = layer.nodes[-1], [], {}
        # Of two terms, the segments are the smaller table. A tensor is always positions.
        rows = [math.inf if ids is None else self.shapes[table][0] for table, ids in layer.terms]
        segments = rows.index(min(rows)) if len(rows) == 2 else None
        for i, (table, ids) in enumerate(layer.terms):
            kind = "segment" if i == segments else "position"
            names |= {f"{kind}s": table, f"{kind}_ids": ids}
            if ids is not None and (self.shapes[ids] != layer.ids or None in layer.ids):
                ids = self._expand(ids, layer.inputs["ids"], f"{layer.output}_{kind}", before)
            layer.inputs |= {f"{kind}s": table, f"{kind}_ids": ids or ""}
        given = [layer.inputs.get(name, "") for name in _INPUTS]
        while not given[-1]:
            given.pop()
        attributes = {"scale": 1.0, "layer_norm": 0, "segments_first": int(segments == 0), "group": 0, "group_type": 0}
        attributes |= {"epsilon": 0.0} | layer.attributes
        embed = onnx.helper.make_node(
            _OPERATORS[layer.type], given, [layer.output], name=last.name, domain=_DOMAIN, **attributes
        )
        for name in [node.output[0] for node in layer.nodes[:-1]]:
            shapes = [node for node in self.consumers[name] if self._is_shape(node, layer)]
            self.replaced |= {name: []} | {node.output[0]: self._shape(node, layer) for node in shapes}
        self.replaced[last.output[0]] = [*before, embed]
        table, ids = layer.nodes[0].input[:2]
        names |= {"gamma": layer.inputs.get("gamma"), "scale": attributes["scale"]}
        return Fused(table, ids, output=layer.output, nodes=len(layer.nodes), end=end, **names)

    def _expand(self, ids: str, like: str, name: str, nodes: list[onnx.NodeProto]) -> str:
        """Adds nodes that broadcast ids to all sequences. Returns the name of the result."""
        shape, repeated = self._unused_name(f"{name}_shape"), self._unused_name(f"{name}_ids")
        nodes.append(onnx.helper.make_node("Shape", [like], [shape], name=shape))
        nodes.append(onnx.helper.make_node("Expand", [ids, shape], [repeated], name=repeated))
        return repeated

    def apply(self) -> None:
        """Replaces nodes in the graph, and removes constants that only those used."""
        if self.replaced:
            nodes = [new for node in self.graph.node for new in self.replaced.get(node.output[0], [node])]
            del self.graph.node[:]
            self.graph.node.extend(nodes)
        unused = self.unused - set(_names_used(self.graph))
        for tensor in [tensor for tensor in self.graph.initializer if tensor.name in unused]:
            self.graph.initializer.remove(tensor)
        for node in [node for node in self.graph.node if node.output[0] in unused]:
            self.graph.node.remove(node)


# Methods for the first node of a layer, and for the nodes that follow.
_LOOKUPS = {
    ("", "Gather"): _Graph._gather,
    ("com.microsoft", "GatherBlockQuantized"): _Graph._gather_quantized,
}
_STEPS = {"Cast": _Graph._cast, "Mul": _Graph._scale, "Add": _Graph._term}


def _uses_inside(nodes: dict[str, onnx.NodeProto]) -> collections.Counter:
    """Counts how often nodes use each tensor."""
    return collections.Counter(name for node in nodes.values() for name in node.input)


def _names_used(graph: onnx.GraphProto) -> Iterator[str]:
    """Yields the name of a tensor for each use by a node, an output or a subgraph."""
    for inner in _graphs(graph):
        yield from (value.name for value in inner.output)
        yield from (name for node in inner.node for name in node.input)


def _names(graph: onnx.GraphProto) -> Iterator[str]:
    """Yields the names of all tensors and nodes of a graph and its subgraphs."""
    for inner in _graphs(graph):
        yield from (tensor.name for tensor in (*inner.input, *inner.output, *inner.initializer))
        yield from (tensor.values.name for tensor in inner.sparse_initializer)
        yield from (name for node in inner.node for name in (node.name, *node.input, *node.output))


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """Yields a graph and all its subgraphs."""
    yield graph
    for attribute in (attribute for node in graph.node for attribute in node.attribute):
        for inner in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else ())):
            yield from _graphs(inner)


def _without_data(model: onnx.ModelProto) -> onnx.ModelProto:
    """Returns a copy for shape inference, which is limited to 2 GiB and requires imports of all domains."""
    graph = model.graph
    bare = onnx.helper.make_graph(
        graph.node, "bare", graph.input, graph.output, map(_outline, graph.initializer), value_info=graph.value_info
    )
    domains = {node.domain for inner in _graphs(bare) for node in inner.node}
    for inner in _graphs(bare):
        constants = (attribute.t for node in inner.node for attribute in node.attribute if attribute.HasField("t"))
        for tensor in (*inner.initializer, *constants):
            tensor.CopyFrom(_outline(tensor))
    missing = domains - {opset.domain for opset in model.opset_import}
    opsets = [*model.opset_import, *(onnx.helper.make_opsetid(domain, 1) for domain in missing)]
    return onnx.helper.make_model(bare, opset_imports=opsets, functions=model.functions, ir_version=model.ir_version)


def _outline(tensor: onnx.TensorProto) -> onnx.TensorProto:
    """Returns a tensor without its data, unless it is as small as a shape."""
    if math.prod(tensor.dims) <= 64:
        return tensor
    location = _TYPE.EXTERNAL
    return _TYPE(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims, data_location=location)
