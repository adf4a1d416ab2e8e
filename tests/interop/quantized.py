#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares token tables of quantized checkpoints with the packages that wrote them.

    quantized.py LIBRARY FILE_LIBRARY FOLDER

Runs in the virtual environment that `./dev interop` makes. compressed-tensors and nvidia-modelopt quantize 100,000 rows in
each of their formats and dequantize them again. The same tensors are saved in FOLDER with the config.json that belongs to
them, opened by libinlay-file.so as the input layer of a model, and gathered. Bits must agree, in the type in which the
package computes. The exit status is 1 if any differ, with a line "BROKEN ..." for each.
"""
import ctypes
import importlib
import json
import pathlib
import sys
import types
import unittest.mock

import numpy
import torch
from safetensors.torch import save_file

from formats import ID_I64, OK, Table, broken

ROWS, DIM = 100_000, 128
ELEMENTS = {torch.float32: 1, torch.float16: 2, torch.bfloat16: 3}
TOKENS = "model.embed_tokens."


class Error(ctypes.Structure):
    """inlay_file_error."""

    _fields_ = [
        ("status", ctypes.c_uint),
        ("system_error", ctypes.c_int),
        ("name", ctypes.c_char * 128),
        ("message", ctypes.c_char * 384),
    ]


class FileTable(ctypes.Structure):
    """inlay_file_table."""

    _fields_ = [("view", Table), ("scale", ctypes.c_float), ("reserved", ctypes.c_uint32)]


class Libraries:
    def __init__(self, core, file):
        self.core, self.file = ctypes.CDLL(core), ctypes.CDLL(file)
        self.core.inlay_element_type_name.restype = ctypes.c_char_p
        for name in "inlay_file_close", "inlay_file_layer_destroy":
            getattr(self.file, name).argtypes = [ctypes.c_void_p]

    def read(self, folder, name, dtype):
        """Returns the rows of the token table of a checkpoint in a type, and the name of the table's type."""
        file, layer, error, table = ctypes.c_void_p(), ctypes.c_void_p(), Error(), FileTable()

        def demand(status):
            if status != OK:
                raise RuntimeError(f"{folder}: {error.message.decode()}")

        demand(self.file.inlay_file_open(str(folder).encode(), None, ctypes.byref(file), ctypes.byref(error)))
        demand(self.file.inlay_file_layer_create(file, None, ctypes.byref(layer), ctypes.byref(error)))
        self.file.inlay_file_layer_destroy(layer)
        demand(self.file.inlay_file_get_table(file, name.encode(), ctypes.byref(table), ctypes.byref(error)))
        view = table.view
        ids = numpy.arange(view.rows, dtype=numpy.int64)
        out = torch.empty(view.rows, view.dim, dtype=torch.float32)
        demand(
            self.core.inlay_gather(
                ctypes.byref(view),
                ctypes.c_void_p(ids.ctypes.data),
                ID_I64,
                ctypes.c_size_t(view.rows),
                ctypes.c_float(table.scale),
                ctypes.c_void_p(out.data_ptr()),
                ctypes.c_size_t(view.dim * 4),
                None,
                None,
            )
        )
        self.file.inlay_file_close(file)
        # A 16-bit output of a layer is this float, rounded once.
        return out.to(dtype), self.core.inlay_element_type_name(view.type, 0).decode()


def compare(what, kind, ours, theirs):
    integers = torch.int32 if ours.dtype == torch.float32 else torch.int16
    differ = ours.view(integers) != theirs.contiguous().view(integers)
    count = int(differ.sum())
    print(f"{what:<58}{kind:<12}{ours.shape[0]:>8} rows{count:>6} differ")
    if ours.shape != (ROWS, DIM):
        broken.append(f"{what}: rows of shape {tuple(ours.shape)}")
    if count:
        where = tuple(differ.nonzero()[0].tolist())
        broken.append(f"{what}: {count} differ, the first at {where}: {ours[where]} and {theirs[where]}")


def check(libraries, folder, what, tensors, config, theirs):
    """Saves tensors of the token table, whose rows are `theirs`, and compares what is read. A configuration of ModelOpt
    with a producer is a file of its own beside config.json."""
    save_file({TOKENS + name: tensor.contiguous() for name, tensor in tensors.items()}, folder / "model.safetensors")
    model, beside = {"model_type": "llama", "hidden_size": DIM, "vocab_size": ROWS}, folder / "hf_quant_config.json"
    beside.unlink(missing_ok=True)
    if "producer" in config:
        beside.write_text(json.dumps(config), encoding="utf-8")
    else:
        model["quantization_config"] = config
    (folder / "config.json").write_text(json.dumps(model, default=str), encoding="utf-8")
    name = TOKENS + ("weight_packed" if "weight_packed" in tensors else "weight")
    ours, kind = libraries.read(folder, name, theirs.dtype)
    compare(what, kind, ours, theirs)


# ---- compressed-tensors ----------------------------------------------------------------------------------------------


def compressed_cases():
    """Yields format, bits, type, strategy, columns of a group, whether it is symmetric, and the type of scales."""
    floats = torch.bfloat16, torch.float32, torch.float16
    for dtype in floats:
        yield "float-quantized", 8, "float", "channel", None, True, dtype
        yield "float-quantized", 8, "float", "tensor", None, True, dtype
        for symmetric in True, False:
            for strategy, group in ("channel", None), ("tensor", None), ("group", 32), ("group", 64):
                yield "int-quantized", 8, "int", strategy, group, symmetric, dtype
            for bits in 4, 8:
                for strategy, group in ("channel", None), ("tensor", None), ("group", 32), ("group", 64):
                    yield "pack-quantized", bits, "int", strategy, group, symmetric, dtype


def quantized_weight(generator, bits, kind, strategy, group, symmetric, dtype):
    """Returns random weights with scales and zero points that reach over most of the numbers of the format."""
    groups = DIM // group if group else 1
    shape = (1,) if strategy == "tensor" else (ROWS, groups)
    weight = torch.randn(ROWS, DIM, generator=generator)
    largest = 448 if kind == "float" else 2 ** (bits - 1) - 1
    scale = ((1 + torch.rand(shape, generator=generator)) * 3 / largest).to(dtype)
    half = 2 ** (bits - 1)
    zero = torch.randint(-half, half, shape, generator=generator, dtype=torch.int32).to(torch.int8)
    zero = zero.clamp(-half // 4, half // 4)
    return {"weight": weight.to(dtype), "weight_scale": scale, **({} if symmetric else {"weight_zero_point": zero})}


def compare_compressed(libraries, folder, generator):
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import QuantizationArgs, QuantizationConfig, QuantizationScheme

    for form, bits, kind, strategy, group, symmetric, dtype in compressed_cases():
        weights = QuantizationArgs(num_bits=bits, type=kind, strategy=strategy, group_size=group, symmetric=symmetric)
        scheme = QuantizationScheme(targets=["Embedding"], weights=weights, format=form)
        compressor = BaseCompressor.get_value_from_registry(form)
        state = quantized_weight(generator, bits, kind, strategy, group, symmetric, dtype)
        compressed = compressor.compress(state, scheme)
        theirs = compressor.decompress(dict(compressed), scheme)["weight"]
        # Where groups share a scale the product in its type comes as float32, which loses nothing when it is rounded.
        theirs = theirs.to(dtype)
        config = QuantizationConfig(config_groups={"group_0": scheme}, format=form).model_dump(mode="json")
        of_group = f" of {group}" if group else ""
        what = f"{form} {bits}, {strategy}{of_group}, {'' if symmetric else 'a'}symmetric, {str(dtype)[6:]}"
        check(libraries, folder, what, compressed, {"quant_method": "compressed-tensors", **config}, theirs)


# ---- ModelOpt --------------------------------------------------------------------------------------------------------


def modelopt_tensors():
    """Returns the modules of ModelOpt's quantized tensors, without the packages around them, which would import much
    that these do not need."""
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
    """Yields where ModelOpt says what it did, and how: in config.json, or in hf_quant_config.json alone, as older
    checkpoints have it."""
    yield "", {"quant_method": "modelopt", "quant_algo": algorithm}
    quantization = {"quant_algo": algorithm, "kv_cache_quant_algo": None, **sizes, "exclude_modules": ["lm_head"]}
    yield ", hf_quant_config.json", {"producer": {"name": "modelopt", "version": "0.33.0"}, "quantization": quantization}


def compare_modelopt(libraries, folder, generator):
    fp8, nvfp4 = modelopt_tensors()
    weight = torch.randn(ROWS, DIM, generator=generator) * torch.exp2(torch.randint(-6, 7, (ROWS, 1), generator=generator))
    made, scale = fp8.FP8QTensor.quantize(weight)
    theirs = made.dequantize(torch.float32, scale=scale)
    tensors = {"weight": made._quantized_data, "weight_scale": scale.reshape(()), "input_scale": torch.ones(())}
    for where, config in modelopt_configs("FP8"):
        check(libraries, folder, f"ModelOpt FP8, float32{where}", tensors, config, theirs)
    made, scale, double_scale = nvfp4.NVFP4QTensor.quantize(weight.clone(), 16)
    tensors = {"weight": made._quantized_data, "weight_scale": scale, "weight_scale_2": double_scale.reshape(())}
    for dtype in torch.float32, torch.bfloat16, torch.float16:
        theirs = made.dequantize(dtype, scale=scale, double_scale=double_scale, block_sizes={-1: 16})
        for where, config in modelopt_configs("NVFP4", group_size=16):
            check(libraries, folder, f"ModelOpt NVFP4, {str(dtype)[6:]}{where}", tensors, config, theirs)


def main():
    libraries, folder = Libraries(*sys.argv[1:3]), pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(1)
    compare_modelopt(libraries, folder, generator)
    compare_compressed(libraries, folder, generator)
    for line in broken:
        print("BROKEN", line)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
