# SPDX-License-Identifier: MIT
"""The input layer as an operator of ONNX Runtime.

import inlay.onnx
inlay.onnx.fuse(model)                              # Gather, Mul and Add become one node
options = onnxruntime.SessionOptions()
options.register_custom_ops_library(inlay.onnx.library_path())
session = onnxruntime.InferenceSession(model.SerializeToString(), options)
"""

import collections
import dataclasses
from typing import Any, Iterator, Optional

import onnx
import onnx.numpy_helper
import onnx.shape_inference

from . import _core

__all__ = ["Fused", "fuse", "library_path"]

_DOMAIN = "inlay"
_TYPES = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)

# Dimensions of a tensor, of which those that are not known are None.
Shape = tuple[Optional[int], ...]


def library_path() -> str:
    """Returns the library that has the operators, for SessionOptions.register_custom_ops_library()."""
    return _core.__file__


@dataclasses.dataclass(frozen=True)
class Fused:
    """Nodes that fuse() replaced by one. table, ids, positions and output are names of tensors."""

    table: str
    ids: str
    scale: float
    positions: Optional[str]
    output: str

    def __str__(self) -> str:
        scale = "" if self.scale == 1 else f" * {self.scale:g}"
        positions = "" if self.positions is None else f" + {self.positions}"
        return f"{self.output} = {self.table}[{self.ids}]{scale}{positions}"


def fuse(model: onnx.ModelProto) -> list[Fused]:
    """Replaces Gather(table, ids) * scale + positions in the main graph of a model, and returns what was replaced.

    The scale must be a constant of one element, and positions a tensor [dim], [length, dim] or [1, length, dim] that is
    constant or computed; one of the two may be absent, and operands may stand in either order. The table is float32,
    float16 or bfloat16. Everything else is left as it is, and so are results that another node needs. Sums are float32,
    and rounded once.

    A bad id makes run() raise InvalidArgument that names it and its place. So do negative ids, which Gather counts from
    the end of the table, and sequences of one token where positions has more rows, which Add repeats.
    """
    graph = _Graph(model)
    fused = [found for node in list(model.graph.node) if (found := graph.fuse(node)) is not None]
    graph.remove_unused()
    if fused and all(opset.domain != _DOMAIN for opset in model.opset_import):
        model.opset_import.append(onnx.helper.make_opsetid(_DOMAIN, 1))
    return fused


class _Graph:
    """The main graph of a model, and what must be known of its tensors."""

    def __init__(self, model: onnx.ModelProto):
        self.graph = model.graph
        self.shapes: dict[str, Shape] = {}
        self.types: dict[str, int] = {}
        inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
        for value in (*inferred.input, *inferred.value_info, *inferred.output):
            self._add_value(value)
        inputs = {value.name for value in self.graph.input}
        tensors = {tensor.name: tensor for tensor in self.graph.initializer}
        for name, tensor in tensors.items():
            self.shapes[name], self.types[name] = tuple(tensor.dims), tensor.data_type
        # A graph's input that has an initializer can be another tensor in each run.
        self.constants = {name: tensor for name, tensor in tensors.items() if name not in inputs}
        for node in self.graph.node:
            if node.op_type == "Constant" and node.attribute[0].name == "value":
                tensor = node.attribute[0].t
                self.constants[node.output[0]] = tensor
                self.shapes[node.output[0]] = tuple(tensor.dims)
        for node in self.graph.node:
            if node.op_type == "Slice" and len(node.input) > 3:
                self._keep_dimensions(node)
        self.uses = collections.Counter(_names_used(self.graph))
        self.consumers = {name: node for node in self.graph.node for name in node.input}
        self.unused: set[str] = set()

    def _add_value(self, value: onnx.ValueInfoProto) -> None:
        tensor = value.type.tensor_type
        self.types[value.name] = tensor.elem_type
        if tensor.HasField("shape"):
            dims = tensor.shape.dim
            self.shapes[value.name] = tuple(d.dim_value if d.HasField("dim_value") else None for d in dims)

    def _keep_dimensions(self, node: onnx.NodeProto) -> None:
        """Adds the dimensions that a Slice leaves as they are, which ONNX forgets where the ends are computed."""
        shape, axes = self.shapes.get(node.input[0]), self.constants.get(node.input[3])
        if shape is not None and axes is not None:
            cut = {int(axis) % len(shape) for axis in onnx.numpy_helper.to_array(axes).reshape(-1)}
            self.shapes[node.output[0]] = tuple(None if axis in cut else n for axis, n in enumerate(shape))

    def fuse(self, gather: onnx.NodeProto) -> Optional[Fused]:
        """Replaces the nodes that begin with this one, if they match."""
        if not self._is_gather_of_rows(gather):
            return None
        table, ids = gather.input
        scale, positions, nodes = 1.0, None, [gather]
        factor = self._operand_of_next(nodes[-1], "Mul")
        if factor is not None and self._is_scalar(factor):
            scale = float(onnx.numpy_helper.to_array(self.constants[factor]).astype("float32").reshape(()))
            nodes.append(self.consumers[nodes[-1].output[0]])
            self.unused.add(factor)
        term = self._operand_of_next(nodes[-1], "Add")
        if term is not None and self._adds_rows(self.shapes.get(term), self.shapes[ids], self.shapes[table][1]):
            positions = term
            nodes.append(self.consumers[nodes[-1].output[0]])
        if len(nodes) == 1:
            return None
        self._replace(nodes, [table, ids] + ([] if positions is None else [positions]), scale)
        return Fused(table, ids, scale, positions, nodes[-1].output[0])

    def _is_gather_of_rows(self, node: onnx.NodeProto) -> bool:
        if (node.op_type, node.domain) != ("Gather", "") or any(attribute.i != 0 for attribute in node.attribute):
            return False
        table, ids = node.input
        shape = self.shapes.get(table, ())
        return len(shape) == 2 and shape[1] is not None and self.types.get(table) in _TYPES and ids in self.shapes

    def _operand_of_next(self, node: onnx.NodeProto, op_type: str) -> Optional[str]:
        """Returns the other operand of the node that alone uses the output, if it is of this type."""
        output = node.output[0]
        consumer = self.consumers.get(output)
        if consumer is None or self.uses[output] != 1 or (consumer.op_type, consumer.domain) != (op_type, ""):
            return None
        return consumer.input[1 if consumer.input[0] == output else 0]

    def _is_scalar(self, name: str) -> bool:
        return name in self.constants and self.shapes[name] in ((), (1,))

    @staticmethod
    def _adds_rows(term: Optional[Shape], ids: Shape, dim: int) -> bool:
        """Returns whether a term of this shape is a vector, or one row for each token of a sequence."""
        if not term or term[-1] != dim or len(term) > len(ids) + 1 or any(size != 1 for size in term[:-2]):
            return False
        rows, length = (1, *term)[-2], (1, *ids)[-1]
        return rows in (1, None) or length in (rows, None)

    def _replace(self, nodes: list[onnx.NodeProto], inputs: list[str], scale: float) -> None:
        """Puts one node in the place of the last, where all inputs are known."""
        last = nodes[-1]
        embed = onnx.helper.make_node("Embed", inputs, [last.output[0]], name=last.name, domain=_DOMAIN, scale=scale)
        for node in nodes[:-1]:
            self.graph.node.remove(node)
        last.CopyFrom(embed)

    def remove_unused(self) -> None:
        """Removes the constants that only replaced nodes used."""
        used = set(_names_used(self.graph))
        for tensor in [tensor for tensor in self.graph.initializer if tensor.name in self.unused - used]:
            self.graph.initializer.remove(tensor)
        for node in [node for node in self.graph.node if node.output[0] in self.unused - used]:
            self.graph.node.remove(node)


def _names_used(graph: onnx.GraphProto) -> Iterator[str]:
    """Yields the name of a tensor each time that a node, an output or a subgraph uses it."""
    yield from (value.name for value in graph.output)
    for node in graph.node:
        yield from node.input
        for attribute in node.attribute:
            subgraphs: list[Any] = [*attribute.graphs] + ([attribute.g] if attribute.HasField("g") else [])
            for subgraph in subgraphs:
                yield from _names_used(subgraph)
