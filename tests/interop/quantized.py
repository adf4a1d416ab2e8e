#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares token tables of quantized checkpoints with the packages that wrote them, bit by bit.

Run by `./dev interop`. compressed-tensors, nvidia-modelopt and MLX quantize 100,000 rows in each of their formats and
dequantize them. The same tensors are saved with their config.json, opened as a model, and gathered.
"""
import importlib
import json
import pathlib
import sys
import tempfile
import types
import unittest.mock

import numpy
import torch
from safetensors.torch import save_file

import inlay
from compared import compare, finish

ROWS, DIM = 100_000, 128
TOKENS = "model.embed_tokens."


def check(folder, what, tensors, config, theirs):
    """Saves tensors of the token table with a configuration, and compares its rows with `theirs`. A configuration of
    ModelOpt with a producer goes to a second file."""
    save_file({TOKENS + name: tensor.contiguous() for name, tensor in tensors.items()}, folder / "model.safetensors")
    model = {"model_type": "llama", "hidden_size": theirs.shape[1], "vocab_size": ROWS}
    producer = folder / "hf_quant_config.json"
    producer.unlink(missing_ok=True)
    if "producer" in config:
        producer.write_text(json.dumps(config), encoding="utf-8")
    else:
        model["quantization_config"] = config
    (folder / "config.json").write_text(json.dumps(model, default=str), encoding="utf-8")
    with inlay.open(folder) as file:
        file.layer()
        table = file.table(TOKENS + ("weight_packed" if "weight_packed" in tensors else "weight"))
        # A 16-bit output of a layer is this float, rounded once.
        ours = inlay.Layer(table)(torch.arange(table.rows)).to(theirs.dtype)
    compare(f"{what}: {table.type}", ours, theirs)


# ---- compressed-tensors ----------------------------------------------------------------------------------------------


def compressed_cases():
    """Yields columns, format, bits, type, strategy, columns of a group, whether it is symmetric, and the type of scales.

    With 102 columns, the last word of a row is padded."""
    floats = torch.bfloat16, torch.float32, torch.float16
    for dtype in floats:
        yield DIM, "float-quantized", 8, "float", "channel", None, True, dtype
        yield DIM, "float-quantized", 8, "float", "tensor", None, True, dtype
        for symmetric in True, False:
            for strategy, group in ("channel", None), ("tensor", None), ("group", 16), ("group", 32):
                yield DIM, "int-quantized", 8, "int", strategy, group, symmetric, dtype
            for bits in 4, 8:
                for strategy, group in ("channel", None), ("tensor", None), ("group", 16), ("group", 32):
                    yield DIM, "pack-quantized", bits, "int", strategy, group, symmetric, dtype
                for strategy in "channel", "tensor":
                    yield 102, "pack-quantized", bits, "int", strategy, None, symmetric, dtype


def quantized_weight(generator, columns, bits, kind, strategy, group, symmetric, dtype):
    """Returns random weights with scales and zero points that reach over most of the numbers of the format."""
    groups = columns // group if group else 1
    shape = (1,) if strategy == "tensor" else (ROWS, groups)
    weight = torch.randn(ROWS, columns, generator=generator)
    largest = 448 if kind == "float" else 2 ** (bits - 1) - 1
    scale = ((1 + torch.rand(shape, generator=generator)) * 3 / largest).to(dtype)
    half = 2 ** (bits - 1)
    zero = torch.randint(-half, half, shape, generator=generator, dtype=torch.int32).to(torch.int8)
    zero = zero.clamp(-half // 4, half // 4)
    return {"weight": weight.to(dtype), "weight_scale": scale, **({} if symmetric else {"weight_zero_point": zero})}


def compare_compressed(folder, generator):
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import QuantizationArgs, QuantizationConfig, QuantizationScheme

    for columns, form, bits, kind, strategy, group, symmetric, dtype in compressed_cases():
        weights = QuantizationArgs(num_bits=bits, type=kind, strategy=strategy, group_size=group, symmetric=symmetric)
        scheme = QuantizationScheme(targets=["Embedding"], weights=weights, format=form)
        compressor = BaseCompressor.get_value_from_registry(form)
        state = quantized_weight(generator, columns, bits, kind, strategy, group, symmetric, dtype)
        compressed = compressor.compress(state, scheme)
        theirs = compressor.decompress(dict(compressed), scheme)["weight"]
        # Where groups share a scale the product in its type comes as float32, which loses nothing when it is rounded.
        theirs = theirs.to(dtype)
        config = QuantizationConfig(config_groups={"group_0": scheme}, format=form).model_dump(mode="json")
        of_group = f" of {group}" if group else ""
        of_columns = f", {columns} columns" if columns != DIM else ""
        what = f"{form} {bits}, {strategy}{of_group}{of_columns}, {'' if symmetric else 'a'}symmetric, {str(dtype)[6:]}"
        check(folder, what, compressed, {"quant_method": "compressed-tensors", **config}, theirs)


# ---- ModelOpt --------------------------------------------------------------------------------------------------------


def modelopt_tensors():
    """Returns the modules of ModelOpt's quantized tensors. Their packages would import much more."""
    import modelopt

    root, quantization = pathlib.Path(modelopt.__path__[0], "torch"), "modelopt.torch.quantization"
    for name in "", ".quantization", ".quantization.qtensor", ".quantization.backends", ".quantization.utils":
        package = types.ModuleType("modelopt.torch" + name)
        package.__path__ = [str(root.joinpath(*name.split(".")))]
        sys.modules[package.__name__] = package
    for name in "quantization.config", "utils", "utils.network", "utils.serialization":
        sys.modules["modelopt.torch." + name] = unittest.mock.MagicMock()
    utils = importlib.import_module(quantization + ".utils.core_utils")
    vars(sys.modules[quantization + ".utils"]).update(vars(utils))
    return [importlib.import_module(f"{quantization}.qtensor.{name}_tensor") for name in ("fp8", "nvfp4")]


def modelopt_configs(algorithm, **sizes):
    """Yields the two configurations of ModelOpt: in config.json, or only in hf_quant_config.json (older checkpoints)."""
    yield "", {"quant_method": "modelopt", "quant_algo": algorithm}
    quantization = {"quant_algo": algorithm, "kv_cache_quant_algo": None, **sizes, "exclude_modules": ["lm_head"]}
    yield ", hf_quant_config.json", {"producer": {"name": "modelopt", "version": "0.33.0"}, "quantization": quantization}


def compare_modelopt(folder, generator):
    fp8, nvfp4 = modelopt_tensors()
    weight = torch.randn(ROWS, DIM, generator=generator) * torch.exp2(torch.randint(-6, 7, (ROWS, 1), generator=generator))
    made, scale = fp8.FP8QTensor.quantize(weight)
    theirs = made.dequantize(torch.float32, scale=scale)
    tensors = {"weight": made._quantized_data, "weight_scale": scale.reshape(()), "input_scale": torch.ones(())}
    for where, config in modelopt_configs("FP8"):
        check(folder, f"ModelOpt FP8, float32{where}", tensors, config, theirs)
    made, scale, double_scale = nvfp4.NVFP4QTensor.quantize(weight.clone(), 16)
    tensors = {"weight": made._quantized_data, "weight_scale": scale, "weight_scale_2": double_scale.reshape(())}
    for dtype in torch.float32, torch.bfloat16, torch.float16:
        theirs = made.dequantize(dtype, scale=scale, double_scale=double_scale, block_sizes={-1: 16})
        for where, config in modelopt_configs("NVFP4", group_size=16):
            check(folder, f"ModelOpt NVFP4, {str(dtype)[6:]}{where}", tensors, config, theirs)


# ---- MLX -------------------------------------------------------------------------------------------------------------


def compare_mlx(folder, generator):
    """MLX multiplies and adds in the type of the scales. inlay's arithmetic is that of float32 scales."""
    import mlx.core as mx

    weight = mx.array((torch.randn(ROWS, DIM, generator=generator) * 0.05).numpy())
    for bits in 2, 3, 4, 5, 6, 8:
        for group in 32, 64, 128:
            for dtype in torch.float32, torch.float16, torch.bfloat16:
                name = str(dtype)[6:]
                rows, *pair = mx.quantize(weight.astype(getattr(mx, name)), group, bits)
                pair = [numbers.astype(mx.float32) for numbers in pair]  # exact
                scales, biases = (torch.from_numpy(numpy.array(numbers)) for numbers in pair)
                theirs = torch.from_numpy(numpy.array(mx.dequantize(rows, *pair, group, bits)))
                tensors = {"weight": torch.from_numpy(numpy.array(rows)), "scales": scales.to(dtype),
                           "biases": biases.to(dtype)}
                check(folder, f"MLX {bits}, group of {group}, {name}", tensors, {"group_size": group, "bits": bits}, theirs)


def main():
    generator = torch.Generator().manual_seed(1)
    with tempfile.TemporaryDirectory(prefix="inlay-quantized-") as folder:
        compare_modelopt(pathlib.Path(folder), generator)
        compare_compressed(pathlib.Path(folder), generator)
        compare_mlx(pathlib.Path(folder), generator)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
