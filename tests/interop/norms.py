#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the errors of LayerNorm and RMSNorm against long double, in inlay and in other frameworks.

    norms.py [--rows N]      default: 13,200 rows of 768 columns, 10^7 elements, per distribution

The error of an element y is in ULP of max(|beta|, |y - beta|), so a sum that cancels isn't counted. Fails if inlay's
exceed ULPS. The table is in docs/testing.md.
"""
import argparse
import sys

import jax
import numpy
import onnx
import onnxruntime
import torch

import inlay
from compared import ULPS, finish, report

COLUMNS, EPSILON = 768, 1e-12
STANDARD_DEVIATION = 0.05
MEANS = (0, 3, 1000, 1e5)  # in standard deviations
CHUNK = 600  # rows whose long doubles are in memory at once


def of_onnx_runtime(gamma, beta):
    """Returns ONNX Runtime's LayerNormalization."""
    names = ["x", "gamma", "beta"]
    node = onnx.helper.make_node("LayerNormalization", names, ["y"], epsilon=EPSILON)
    shapes = [["rows", COLUMNS], [COLUMNS], [COLUMNS]]
    values = [onnx.helper.make_tensor_value_info(of, onnx.TensorProto.FLOAT, shape) for of, shape in zip(names, shapes)]
    result = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, shapes[0])
    graph = onnx.helper.make_graph([node], "norm", values, [result])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return lambda rows: session.run(None, {"x": rows, "gamma": gamma, "beta": beta})[0]


def of_jax(gamma, beta):
    """Returns a compiled LayerNorm as in Flax."""

    def normalize(rows):
        mean = rows.mean(-1, keepdims=True)
        variance = jax.numpy.maximum((rows * rows).mean(-1, keepdims=True) - mean * mean, 0)
        return (rows - mean) * (jax.lax.rsqrt(variance + EPSILON) * gamma) + beta

    compiled = jax.jit(normalize)
    return lambda rows: numpy.asarray(compiled(rows))


def of_torch(gamma, beta):
    parameters = torch.from_numpy(gamma), torch.from_numpy(beta)
    normalize = torch.nn.functional.layer_norm
    return lambda rows: normalize(torch.from_numpy(rows), (COLUMNS,), *parameters, EPSILON).numpy()


def of_inlay(norm):
    ids = numpy.arange(CHUNK, dtype=numpy.int32)
    return lambda rows: inlay.Layer(rows, norm=norm)(ids[: len(rows)])


def exact(rows, gamma, beta, centered):
    """Returns the norm in long double."""
    rows = rows.astype(numpy.longdouble)
    if centered:
        rows -= rows.mean(-1, keepdims=True)
    variance = (rows * rows).mean(-1, keepdims=True)
    return rows / numpy.sqrt(variance + numpy.longdouble(numpy.float32(EPSILON))) * gamma + beta


def errors(result, truth, beta):
    """Returns the errors of elements, in ULP."""
    unit = numpy.spacing(numpy.maximum(numpy.abs(beta), numpy.abs(truth - beta)).astype(numpy.float32))
    return (numpy.abs(result - truth) / unit).astype(numpy.float64)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=13200)
    rows = parser.parse_args().rows
    rng = numpy.random.default_rng(45)
    gamma = rng.normal(1, 0.1, COLUMNS).astype(numpy.float32)
    beta = rng.normal(0, 0.1, COLUMNS).astype(numpy.float32)
    zeros = numpy.zeros(COLUMNS, numpy.float32)
    layer = {
        "inlay": of_inlay(inlay.LayerNorm(gamma, beta, EPSILON)),
        "PyTorch": of_torch(gamma, beta),
        "ONNX Runtime": of_onnx_runtime(gamma, beta),
        "JAX": of_jax(gamma, beta),
    }
    norms = {"LayerNorm": (layer, beta), "RMSNorm": ({"inlay": of_inlay(inlay.RMSNorm(gamma, EPSILON))}, zeros)}
    for mean in MEANS:
        found = {(norm, name): [] for norm, (functions, _) in norms.items() for name in functions}
        for first in range(0, rows, CHUNK):
            shape = (min(CHUNK, rows - first), COLUMNS)
            drawn = (rng.standard_normal(shape) + mean) * STANDARD_DEVIATION
            drawn = drawn.astype(numpy.float32)
            for norm, (functions, shift) in norms.items():
                truth = exact(drawn, gamma, shift, norm == "LayerNorm")
                for name, function in functions.items():
                    each = errors(function(drawn), truth, shift)
                    found[norm, name].append((each.max(), each.mean() * len(each)))
        for (norm, name), each in found.items():
            worst, average = max(worst for worst, _ in each), sum(total for _, total in each) / rows
            holds = name != "inlay" or worst <= ULPS
            report(f"{norm}, mean {mean:g} sd, {name}", f"max {worst:.3g} ULP, mean {average:.2g}", holds)
    sys.exit(finish())


if __name__ == "__main__":
    main()
