# SPDX-License-Identifier: MIT
"""Model files: tensors as arrays, tables, layers, n-grams, and errors."""

import copy
import errno
import hashlib
import json
import os
import pathlib
import pickle

import numpy
import pytest
from model_files import bfloat16, gguf, safetensors, write
from ngram_definition import row_ids
from numpy.testing import assert_array_equal

import inlay

f32 = numpy.float32


@pytest.fixture
def gpt2(rng):
    return {
        "wte.weight": rng.standard_normal((100, 16)).astype(f32),
        "wpe.weight": rng.standard_normal((20, 16)).astype(f32),
        "h.0.attn.bias": numpy.arange(6, dtype=numpy.int64).reshape(2, 3),
    }


@pytest.fixture
def path(gpt2, tmp_path):
    return write(tmp_path / "model.safetensors", safetensors(gpt2, {"format": "pt", "é": "ü"}))


# ---- Tensors and metadata -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", ["mapped", "copied", "loaded"])
def test_tensors_are_read_only_arrays(memory, path, gpt2):
    file = inlay.open(path, memory=memory)
    assert file.path == str(path) and not file.closed and "3 tensors" in repr(file)
    assert list(file.tensors) == list(gpt2) and len(file.tensors) == 3 and "x" not in file.tensors
    for name, expected in gpt2.items():
        tensor = file.tensors[name]
        assert (tensor.name, tensor.shape, tensor.dtype) == (name, expected.shape, expected.dtype.name)
        assert (tensor.nbytes, tensor.path, bytes(tensor.raw)) == (expected.nbytes, str(path), expected.tobytes())
        array = numpy.asarray(tensor)
        assert array.dtype == expected.dtype and not array.flags.writeable
        assert_array_equal(array, expected)
        assert numpy.asarray(tensor).ctypes.data == array.ctypes.data  # no copy
        assert memoryview(tensor).readonly and tensor.raw.readonly
        with pytest.raises(ValueError):
            array[0] = 0
    assert file.tensors["wte.weight"].type == "F32" and "F32 [100, 16]" in repr(file.tensors["wte.weight"])


def test_mappings_cannot_be_changed(path):
    file = inlay.open(path)
    assert dict(file.metadata) == {"format": "pt", "é": "ü"} and len(file.metadata) == 2
    for mapping in (file.tensors, file.metadata):
        with pytest.raises(TypeError):
            mapping["x"] = 1
        with pytest.raises(KeyError, match="x"):
            mapping["x"]
        for name in ("wte.weight\0", "format\0", 3, "\ud800"):
            with pytest.raises((KeyError, UnicodeEncodeError)):
                mapping[name]
    with pytest.raises(AttributeError):
        file.tensors = {}


@pytest.mark.parametrize("pad", range(4))
def test_data_at_any_address(pad, gpt2, tmp_path):
    """safetensors doesn't guarantee alignment: data starts right after the header."""
    file = inlay.open(write(tmp_path / "m", safetensors(gpt2, pad=pad)))
    array = numpy.asarray(file.tensors["wte.weight"])
    assert_array_equal(array, gpt2["wte.weight"])
    assert_array_equal(file.layer()([5, 99]), gpt2["wte.weight"][[5, 99]] + gpt2["wpe.weight"][:2])
    assert_array_equal(inlay.Layer(file.tensors["wte.weight"])([5, 99]), gpt2["wte.weight"][[5, 99]])


def test_bfloat16(rng, tmp_path):
    tensor, values = bfloat16(rng.standard_normal((9, 8)))
    tensor = inlay.open(write(tmp_path / "m", safetensors({"x": tensor}))).tensors["x"]
    assert (tensor.type, tensor.dtype, tensor.nbytes) == ("BF16", "bfloat16", 144)
    with pytest.raises(BufferError, match="bfloat16"):
        memoryview(tensor)
    assert tensor.raw.nbytes == 144
    assert_array_equal(inlay.Layer(tensor)([3, 8]), values[[3, 8]])
    try:
        import ml_dtypes  # pylint: disable=import-outside-toplevel
    except ImportError:
        with pytest.raises(TypeError, match="ml_dtypes"):
            tensor.__array__()
        pytest.skip("there is no ml_dtypes")
    array = numpy.asarray(tensor)
    assert array.dtype == ml_dtypes.bfloat16 and not array.flags.writeable
    assert_array_equal(array.astype(f32), values)
    assert_array_equal(numpy.asarray(tensor, f32), values)
    assert numpy.array(tensor, copy=True).flags.writeable


def test_types_without_arrays_are_bytes(rng, tmp_path):
    content = rng.integers(0, 256, 3 * 34 * 2, dtype=numpy.uint8)
    content[1::34] &= 0x3B  # finite scales
    tensors = {"q": (8, (3, 64), content.tobytes()), "none": (8, (0, 64), b"")}
    file = inlay.open(write(tmp_path / "m.gguf", gguf(tensors, {"general.architecture": "llama"})))
    tensor = file.tensors["q"]
    assert (tensor.type, tensor.dtype, tensor.shape, tensor.nbytes) == ("Q8_0", "uint8", (3, 64), 204)
    assert_array_equal(numpy.asarray(tensor), content.reshape(3, 68))
    table = file.table("q")
    assert (table.type, table.rows, table.dim, table.data.name) == ("q8_0", 3, 64, "q")
    expected = inlay.Layer(inlay.Table(content.reshape(3, 68), "q8_0"))([2, 0])
    assert_array_equal(inlay.Layer(table)([2, 0]), expected)
    assert (file.table("none").rows, file.table("none").dim) == (0, 64)


def test_bytes_of_packed_elements(tmp_path):
    tensors = {"rows": ("F4", (2, 6), bytes(range(6))), "run": ("F4", (4, 3), bytes(6)), "c": ("C64", (3,), bytes(24))}
    file = inlay.open(write(tmp_path / "m", safetensors(tensors)))
    assert numpy.asarray(file.tensors["rows"]).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert numpy.asarray(file.tensors["run"]).shape == (6,) and file.tensors["run"].shape == (4, 3)
    assert numpy.asarray(file.tensors["c"]).shape == (24,)


def test_dlpack_says_read_only(path, gpt2):
    tensor = inlay.open(path).tensors["wte.weight"]
    assert tensor.__dlpack_device__() == (1, 0)
    if tuple(map(int, numpy.__version__.split(".")[:2])) >= (2, 1):
        array = numpy.from_dlpack(tensor)
        assert_array_equal(array, gpt2["wte.weight"])
        assert not array.flags.writeable
    with pytest.raises(BufferError, match="read-only"):
        tensor.__dlpack__()
    with pytest.raises(BufferError, match="device"):
        tensor.__dlpack__(max_version=(1, 0), dl_device=(2, 0))


def test_torch_and_jax(path, gpt2):
    found = []
    for package in ("torch", "jax"):
        try:
            module = __import__(package)
        except ImportError:
            continue
        found.append(package)
        layer = inlay.open(path).layer()
        ids = module.tensor([3, 5]) if package == "torch" else module.numpy.array([3, 5])
        assert_array_equal(numpy.asarray(layer(ids)), gpt2["wte.weight"][[3, 5]] + gpt2["wpe.weight"][:2])
        if package == "torch" and tuple(map(int, module.__version__.split(".")[:2])) >= (2, 10):
            tensor = module.from_dlpack(inlay.open(path).tensors["h.0.attn.bias"])
            assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]
    if not found:
        pytest.skip("there is neither PyTorch nor JAX")


def test_metadata_of_gguf(tmp_path):
    values = {"general.architecture": "llama", "n": 3, "x": 0.5, "list": [1, 2], "words": ["a", "ö"], "pi": [3.5]}
    file = inlay.open(write(tmp_path / "m.gguf", gguf({"t": (0, (2, 1), bytes(8))}, values)))
    expected = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    assert dict(file.metadata) == expected
    assert {k: type(v) for k, v in file.metadata.items()} == {k: type(v) for k, v in expected.items()}


def test_directories_and_npy(gpt2, tmp_path):
    write(tmp_path / "model.safetensors", safetensors(gpt2))
    (tmp_path / "config.json").write_text('{"model_type": "gpt2", "tie": true, "n": {"a": [1, 2]}}', encoding="ascii")
    file = inlay.open(os.fsencode(tmp_path))
    assert file.metadata["config.model_type"] == "gpt2" and file.metadata["config.tie"] is True
    assert file.metadata["config.n.a"] == (1, 2)
    assert file.layer().report.startswith("model: gpt2")
    numpy.save(tmp_path / "x.npy", gpt2["wte.weight"])
    tensor = inlay.open(str(tmp_path / "x.npy")).tensors["data"]
    assert tensor.type == "<f4" and tensor.dtype == "float32"
    assert_array_equal(numpy.asarray(tensor), gpt2["wte.weight"])


def test_what_follows_a_layer(gpt2, tmp_path):
    write(tmp_path / "model.safetensors", safetensors(gpt2))
    layer = inlay.open(tmp_path / "model.safetensors").layer()
    assert layer.complete is True and layer.remaining_ops == () and inlay.Layer(gpt2["wte.weight"]).complete
    rows = {"albert.embeddings.word_embeddings.weight": gpt2["wte.weight"]}
    for name in ("position_embeddings.weight", "token_type_embeddings.weight"):
        rows["albert.embeddings." + name] = gpt2["wpe.weight"]
    for name in ("weight", "bias"):
        rows["albert.embeddings.LayerNorm." + name] = gpt2["wte.weight"][0]
    projection = "albert.encoder.embedding_hidden_mapping_in.weight"
    write(tmp_path / "model.safetensors", safetensors({**rows, projection: gpt2["wpe.weight"]}))
    (tmp_path / "config.json").write_text('{"model_type": "albert"}', encoding="ascii")
    layer = inlay.open(tmp_path).layer()
    assert layer.complete is False and layer.remaining_ops == (("projection", projection),)
    write(tmp_path / "model.safetensors", safetensors({"transformer.wte.weight": gpt2["wte.weight"]}))
    (tmp_path / "config.json").write_text('{"model_type": "owl", "alibi": true}', encoding="ascii")
    layer = inlay.open(tmp_path).layer()
    assert layer.complete is False and layer.remaining_ops == (("unknown", None),)
    assert "assumed: the table alone, since config.alibi gives the positions" in layer.report
    assert_array_equal(layer([5, 9]), gpt2["wte.weight"][[5, 9]])


# ---- Models in several files ---------------------------------------------------------------------------------------


def write_index(folder, files, **absent):
    """Writes files of tensors, and an index of these and of missing tensors."""
    for name, tensors in files.items():
        write(folder / name, safetensors(tensors, {"format": "pt"}))
    places = {tensor: name for name, tensors in files.items() for tensor in tensors}
    index = {"metadata": {}, "weight_map": {**places, **{k.replace("__", "."): v for k, v in absent.items()}}}
    write(folder / "model.safetensors.index.json", json.dumps(index).encode())


@pytest.mark.parametrize("chosen", ["config.json", "single", "index"])
def test_the_model_of_a_folder_is_that_of_transformers(chosen, rng, tmp_path):
    names = {"model.safetensors": 1, "new.safetensors": 2, "model-00001-of-00001.safetensors": 3}
    rows = {name: {"model.embed_tokens.weight": rng.standard_normal((40, 16)).astype(f32)} for name in names}
    config = {"model_type": "llama", "vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 0, "num_attention_heads": 2,
              "intermediate_size": 8, "tie_word_embeddings": True, "architectures": ["LlamaForCausalLM"]}  # fmt: skip
    norm = {"model.norm.weight": numpy.ones(16, f32)}
    write_index(tmp_path, {"model-00001-of-00001.safetensors": {**rows["model-00001-of-00001.safetensors"], **norm}})
    expected, says = rows["model-00001-of-00001.safetensors"], None
    if chosen != "index":
        write(tmp_path / "model.safetensors", safetensors({**rows["model.safetensors"], **norm}, {"format": "pt"}))
        expected, says = rows["model.safetensors"], "file: model.safetensors instead of the index"
    if chosen == "config.json":
        write(tmp_path / "new.safetensors", safetensors({**rows["new.safetensors"], **norm}, {"format": "pt"}))
        config["transformers_weights"] = "new.safetensors"
        expected, says = rows["new.safetensors"], "file: named by config.transformers_weights"
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="ascii")
    layer = inlay.open(tmp_path).layer()
    assert_array_equal(layer(numpy.arange(40)), expected["model.embed_tokens.weight"])
    assert (says or "model: llama") in layer.report and ("file: " in layer.report) == (says is not None)
    transformers = pytest.importorskip("transformers", reason="there is no transformers")
    if chosen == "config.json" and int(transformers.__version__.split(".")[0]) < 5:
        pytest.skip("transformers 4 has no transformers_weights")
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path)
    assert_array_equal(model.get_input_embeddings().weight.detach().numpy(), expected["model.embed_tokens.weight"])


def test_files_that_are_missing(gpt2, tmp_path):
    """Tensors of the layer must exist. Tensors that it doesn't need, or needs only by name, may be missing."""
    tokens, positions = ({name: gpt2[name]} for name in ("wte.weight", "wpe.weight"))
    write_index(tmp_path, {"1.safetensors": tokens, "2.safetensors": {**positions, "h.0.attn.bias": gpt2["h.0.attn.bias"]}},
                h__1__attn__bias="3.safetensors", mtp__fc="2.safetensors")  # fmt: skip
    expected = gpt2["wte.weight"][[3]] + gpt2["wpe.weight"][:1]
    assert_array_equal(inlay.open(tmp_path).layer()([3]), expected)
    (tmp_path / "2.safetensors").unlink()
    file = inlay.open(tmp_path)
    assert list(file.tensors) == ["wte.weight"] and "wpe.weight" not in file.tensors
    assert_array_equal(inlay.Layer(file.table("wte.weight"))([3]), gpt2["wte.weight"][[3]])
    for use in file.layer, lambda: file.layer(model="gpt2"):
        with pytest.raises(inlay.FileError, match=r"2\.safetensors: wpe\.weight: .* which is missing") as caught:
            use()
        assert (caught.value.kind, caught.value.name) == ("missing", "wpe.weight")
    write(tmp_path / "2.safetensors", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    with pytest.raises(inlay.FileError, match="wpe.weight: .* which is a Git LFS pointer: run git lfs pull"):
        inlay.open(tmp_path).layer()
    write(tmp_path / "all.safetensors", safetensors({**gpt2, "h.1.attn.bias": gpt2["wte.weight"], "mtp.fc": gpt2["wte.weight"]}))
    with pytest.raises(inlay.FileError, match="; open all.safetensors, which has all tensors of the index"):
        inlay.open(tmp_path).layer()
    for name in ("1.safetensors", "model.safetensors.index.json"):
        (tmp_path / name).rename(tmp_path / name.replace("1.s", "model-00001-of-00002.s").replace("index", "old"))
    (tmp_path / "all.safetensors").unlink()
    (tmp_path / "2.safetensors").unlink()
    with pytest.raises(inlay.FileError, match="its index, model.safetensors.index.json, is missing"):
        inlay.open(tmp_path)


def test_steps_whose_tensors_are_missing_follow(rng, tmp_path):
    """A projection in a missing file: the layer ends before it and isn't complete."""
    albert = "albert.embeddings."
    rows = {albert + name + "_embeddings.weight": rng.standard_normal((9, 8)).astype(f32)
            for name in ("word", "position", "token_type")}  # fmt: skip
    rows[albert + "LayerNorm.weight"] = rows[albert + "LayerNorm.bias"] = numpy.ones(8, f32)
    projection = "albert.encoder.embedding_hidden_mapping_in.weight"
    rows[albert + "word_embeddings.weight"] = rows.pop(albert + "word_embeddings.weight")
    write_index(tmp_path, {"1.safetensors": rows}, **{projection.replace(".", "__"): "2.safetensors"})
    (tmp_path / "config.json").write_text('{"model_type": "albert", "embedding_size": 8}', encoding="ascii")
    assert inlay.open(tmp_path).layer().remaining_ops == (("projection", projection),)


# ---- Tables -------------------------------------------------------------------------------------------------------


def test_scales_next_to_tables(rng, tmp_path):
    rows = rng.integers(-127, 128, (10, 32), dtype=numpy.int8)
    scales, one = rng.random(10).astype(f32), numpy.array([0.02], f32)
    file = inlay.open(
        write(
            tmp_path / "m",
            safetensors({"a.weight": rows, "a.scale": scales, "b.weight": rows, "b.weight_scale": one,
                         "c.weight": rows, "c.scale": scales.astype(numpy.float16)}),  # fmt: skip
        )
    )
    expected = inlay.Layer(inlay.Table(rows, "i8", scales=scales))([3, 9])
    table = file.table("a.weight")
    assert table.type == "i8" and table.scale == 1 and table.nbytes == 320 + 40
    assert_array_equal(numpy.asarray(table.scales), scales)
    assert_array_equal(inlay.Layer(table)([3, 9]), expected)
    converted = file.table("c.weight").scales
    assert converted.name is None and converted.type is None and converted.path is None
    assert_array_equal(numpy.asarray(converted), scales.astype(numpy.float16).astype(f32))
    table = file.table("b.weight")
    assert table.scale == float(one[0]) and table.scales is None
    assert_array_equal(inlay.Layer(table)([3, 9]), rows[[3, 9]] * one[0])
    assert_array_equal(inlay.Layer(table, scale=3)([3]), rows[[3]] * (f32(3) * one[0]))


def packed_words(numbers, bits, axis):
    """Packs unsigned numbers into int32 along an axis like compressed-tensors: the first in the lowest bits."""
    numbers = numpy.moveaxis(numbers.astype(numpy.uint32), axis, -1)
    numbers = numpy.pad(numbers, ((0, 0), (0, -numbers.shape[-1] % (32 // bits))))
    parts = numbers.reshape(len(numbers), -1, 32 // bits) << numpy.arange(0, 32, bits, dtype=numpy.uint32)
    return numpy.ascontiguousarray(numpy.moveaxis(parts.sum(-1, dtype=numpy.uint32).view(numpy.int32), -1, axis))


# Names of scales of 8-bit tables that aren't supported.
OTHER_SCALES = {
    "bitsandbytes": ("weight", "SCB"), "EETQ": ("weight", "weight_scales"), "torchao": ("weight_qdata", "weight_scale"),
    "Quanto": ("weight._data", "weight._scale"), "TensorRT-LLM": ("weight", "weights_scaling_factor"),
    "HQQ": ("W_q", "scale"), "none": ("weight", "input_scale"),
}  # fmt: skip


@pytest.mark.parametrize("package", OTHER_SCALES)
@pytest.mark.parametrize("kind", ["I8", "F8_E4M3"])
def test_no_scale_is_taken_for_1(package, kind, tmp_path):
    rows, scale = ("model.embed_tokens." + name for name in OTHER_SCALES[package])
    tensors = {rows: (kind, (4, 32), bytes(range(128))), scale: numpy.ones(4, f32)}
    file = inlay.open(write(tmp_path / "m", safetensors(tensors)))
    asked = [lambda: file.table(rows)] + ([lambda: file.layer(model="llama")] if rows.endswith(".weight") else [])
    for use in asked:
        with pytest.raises(inlay.FileError, match=rf"no scale .* for its type, {kind}; next to it: {scale.split('.')[-1]}$"):
            use()
    known = inlay.Table(file.tensors[rows], "i8" if kind == "I8" else "e4m3", scales=file.tensors[scale])
    assert (known.rows, known.dim) == (4, 32)


def test_scales_that_are_not_read(tmp_path, gpt2):
    tensors = {"wte.weight": gpt2["wte.weight"], "wpe.weight": gpt2["wpe.weight"], "wpe.weight_scale": numpy.ones(20, f32)}
    file = inlay.open(write(tmp_path / "m", safetensors(tensors)))
    for use in file.layer, lambda: file.table("wpe.weight"):
        with pytest.raises(inlay.FileError, match="wpe.weight_scale: it may change the rows of wpe.weight"):
            use()
    numpy.save(tmp_path / "x.npy", numpy.ones((3, 8), "i1"))
    with pytest.raises(inlay.FileError, match="data: no scale with a known name"):
        inlay.open(tmp_path / "x.npy").table("data")


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "u4_grouped", "u4_affine"])
def test_tables_without_rows(kind, tmp_path):
    """Empty tensors of several types at the same address."""
    empty = {name: numpy.zeros((0, 16), name) for name in ("float64", "float32", "float16")}
    pairs = {f"{kind}.{name}": numpy.zeros((0, 2), f32) for name in ("scales", "biases", "weight_scale")}
    shape = numpy.array([0, 128], numpy.int64)
    if kind == "u4_affine":
        del pairs["u4_affine.weight_scale"]
        tensors = {"u4_affine.weight": numpy.zeros((0, 16), "u4"), **pairs}
    elif kind == "u4_grouped":
        pairs = {"u4_grouped.weight_scale": pairs["u4_grouped.weight_scale"], "u4_grouped.weight_shape": shape}
        tensors = {"u4_grouped.weight_packed": numpy.zeros((0, 16), "i4"), **pairs}
    else:
        tensors = {f"{kind}.weight": empty[kind]}
    (tmp_path / "config.json").write_text('{"quantization": {"bits": 4, "group_size": 64}}')
    write(tmp_path / "model.safetensors", safetensors({**empty, **tensors}))
    table = inlay.open(tmp_path).table(next(iter(tensors)))
    assert table.type == ("float32" if kind == "float64" else kind)
    assert (table.rows, table.dim) == (0, 128 if "_" in kind else 16)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("zeros", [False, True])
def test_packed_tables(bits, zeros, rng, tmp_path):
    numbers, zero = rng.integers(0, 2**bits, (11, 128)), rng.integers(0, 2**bits, (11, 2))
    scales, scale_values = bfloat16(rng.random((11, 2)))
    name = "model.embed_tokens.weight_"
    tensors = {
        name + "packed": packed_words(numbers, bits, 1),
        name + "scale": scales,
        name + "shape": numpy.array([11, 128], numpy.int64),
    }
    if zeros:
        tensors[name + "zero_point"] = packed_words(zero, bits, 0)
    file = inlay.open(write(tmp_path / "m", safetensors(tensors)))
    numbers = numbers - (numpy.repeat(zero, 64, 1) if zeros else 2 ** (bits - 1))
    expected = numbers.astype(f32) * numpy.repeat(scale_values, 64, 1)
    table, layer = file.table(name + "packed"), file.layer(model="llama")
    assert (table.type, table.group, table.rows, table.dim) == (f"u{bits}_grouped", 64, 11, 128)
    assert (table.zeros is not None) == zeros and layer.table.type == table.type
    for made in inlay.Layer(table), layer, inlay.Layer(layer.table):
        assert_array_equal(made(numpy.arange(11)), expected)
    assert_array_equal(inlay.Layer(pickle.loads(pickle.dumps(copy.deepcopy(numpy_table(table)))))([3]), expected[[3]])


@pytest.mark.parametrize("bits", [4, 8])
def test_padded_rows(bits, rng, tmp_path):
    """Rows of packed numbers that end within an int32 word."""
    numbers, scales = rng.integers(0, 2**bits, (11, 102)), rng.random((11, 1)).astype(f32)
    name, shape = "model.embed_tokens.weight_", numpy.array([11, 102], numpy.int64)
    tensors = {name + "packed": packed_words(numbers, bits, 1), name + "scale": scales, name + "shape": shape}
    file = inlay.open(write(tmp_path / "m", safetensors(tensors)))
    table, layer = file.table(name + "packed"), file.layer(model="llama")
    expected = (numbers - 2 ** (bits - 1)).astype(f32) * scales
    same = inlay.Table(table.data, table.type, dim=102, group=table.group, scales=table.scales)
    for made in inlay.Layer(table), layer, inlay.Layer(layer.table), inlay.Layer(numpy_table(table)), inlay.Layer(same):
        assert_array_equal(made(numpy.arange(11)), expected)
    rows = numpy.asarray(table.data)
    assert rows.shape == (11, 102 * bits // 8) and rows.strides == (-(-102 * bits // 32) * 4, 1)
    assert_array_equal(numpy.from_dlpack(table.data), rows)
    assert memoryview(table.data).tobytes() == rows.tobytes()
    with pytest.raises(BufferError, match=r"padding: make a copy with numpy\.array\(\)$"):
        table.data.raw
    with pytest.raises(BufferError, match="the rows of the array are padded"):
        hashlib.sha256(table.data)


def numpy_table(table):
    """Returns a table of NumPy arrays with the same bytes."""
    arrays = {name: numpy.array(getattr(table, name)) for name in ("scales", "zeros") if getattr(table, name) is not None}
    return inlay.Table(numpy.array(table.data), table.type, dim=table.dim, group=table.group, **arrays)


def test_nvfp4_and_groups_of_int8(rng, tmp_path):
    codes, rows = rng.integers(0, 256, (9, 24), numpy.uint8), rng.integers(-128, 128, (9, 64), numpy.int8)
    scales, zero = rng.random((9, 2)).astype(f32), rng.integers(-128, 128, (9, 2), numpy.int8)
    tensors = {
        "a.weight": codes,
        "a.weight_scale": ("F8_E4M3", (9, 3), bytes([0x38, 0x40, 0x30] * 9)),  # 1, 2, 0.5
        "a.weight_scale_2": numpy.array(0.3, f32),
        "b.weight": rows,
        "b.weight_scale": scales,
        "b.weight_zero_point": zero,
    }
    file = inlay.open(write(tmp_path / "m", safetensors(tensors)))
    magnitudes = numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], f32)
    values = numpy.concatenate([magnitudes, 0 - magnitudes])[numpy.stack([codes & 15, codes >> 4], -1).reshape(9, 48)]
    table = file.table("a.weight")
    assert table.type == "e2m1_f32" and table.scale == 1
    factors = numpy.repeat(numpy.array([1, 2, 0.5], f32) * f32(0.3), 16)
    assert_array_equal(inlay.Layer(table)(numpy.arange(9)), values * factors)
    table = file.table("b.weight")
    assert table.type == "i8_grouped" and table.group == 32
    assert numpy.shares_memory(numpy.asarray(table.data), numpy.asarray(file.tensors["b.weight"]))
    expected = (rows.astype(f32) - numpy.repeat(zero, 32, 1).astype(f32)) * numpy.repeat(scales, 32, 1)
    assert_array_equal(inlay.Layer(table)(numpy.arange(9)), expected)


def test_tables_of_several_tensors(rng, tmp_path):
    rows = rng.standard_normal((25, 8)).astype(f32)
    tensors = {f"t.shard_{i}": rows[i * 10 : i * 10 + 10] for i in range(3)}
    file = inlay.open(write(tmp_path / "m", safetensors(tensors)))
    table = file.table("t.shard_*")
    assert (table.rows, table.dim, len(table.tables)) == (25, 8, 3)
    assert [part.data.name for part in table.tables] == list(tensors)
    file.close()
    assert_array_equal(inlay.Layer(table)([24, 3, 10]), rows[[24, 3, 10]])


def test_a_scale_is_a_factor_of_all_rows(table):
    """Scales of any Table, in all places that take a Table."""
    scaled = inlay.Table(table, scale=0.25)
    assert scaled.scale == 0.25
    assert_array_equal(inlay.Layer(scaled)([1, 2]), table[[1, 2]] * f32(0.25))
    assert_array_equal(inlay.Layer(scaled, scale="sqrt")([1]), table[[1]] * (numpy.sqrt(f32(12)) * f32(0.25)))
    assert copy.copy(scaled).scale == pickle.loads(pickle.dumps(scaled)).scale == 0.25
    parts = inlay.Table.from_extents([scaled, inlay.Table(table, scale=0.25)])
    assert parts.scale == 0.25
    assert_array_equal(inlay.Layer(parts)([1, 51]), table[[1, 1]] * f32(0.25))
    with pytest.raises(ValueError, match="a different scale"):
        inlay.Table.from_extents([scaled, table])
    for option in ({"positions": scaled}, {"segments": scaled}):
        with pytest.raises(ValueError, match="has a scale"):
            inlay.Layer(table, **option)
    narrow, plain = inlay.quantize(scaled, "i8"), inlay.quantize(table, "i8")
    assert narrow.scale == 0.25 and narrow.largest_error == plain.largest_error * 0.25
    ngram = inlay.NGram(9, 2, "xor", columns=[(2, 0, 11, 0, 0), (2, 0, 7, 1, 1)], multipliers=[3, 5])
    ids = [1, 2, 3]
    assert_array_equal(ngram(ids, [scaled, scaled], scale=2), ngram(ids, [table, table]) * f32(0.5))
    with pytest.raises(ValueError, match="a different scale"):
        ngram(ids, [scaled, table])


def test_tables_of_files_cannot_be_pickled(path):
    with pytest.raises(TypeError, match="FileTensor"):
        pickle.dumps(inlay.open(path).table("wte.weight"))


# ---- Layers and n-grams -------------------------------------------------------------------------------------------


def test_layers_start_where_the_checkpoint_does(rng, tmp_path):
    words, positions = rng.standard_normal((30, 8)).astype(f32), rng.standard_normal((12, 8)).astype(f32)
    tensors = {"model.decoder.embed_tokens.weight": words, "model.decoder.embed_positions.weight": positions}
    write(tmp_path / "model.safetensors", safetensors(tensors))
    (tmp_path / "config.json").write_text('{"model_type": "opt", "pad_token_id": 1}', encoding="ascii")
    layer = inlay.open(tmp_path).layer()
    ids = [[5, 6, 7], [8, 9, 10]]
    assert layer.start == 2 and "positions" in layer.report
    assert_array_equal(layer(ids), words[ids] + positions[2:5])
    assert_array_equal(layer([5], start=layer.start + 3), words[[5]] + positions[[5]])
    assert_array_equal(layer([5, 6], position_ids=[0, 11]), words[[5, 6]] + positions[[0, 11]])
    assert inlay.Layer(words).start == 0 and inlay.Layer(words).report is None


def test_prefixes_of_layers(gpt2, tmp_path):
    rows, dim = gpt2["wte.weight"].shape
    twice = {f"{side}.{name}": table + (side == "b") for name, table in gpt2.items() for side in "ab"}
    write(tmp_path / "model.safetensors", safetensors(twice))
    config = {"model_type": "gpt2", "n_embd": dim, "vocab_size": rows}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="ascii")
    file = inlay.open(tmp_path)
    with pytest.raises(inlay.FileError, match=r'pass that as `prefix`: "a\." \(wte.weight\), "b\." \(wte.weight\)$'):
        file.layer()
    layer = file.layer(prefix="b.")
    assert layer.remaining_ops == (("unknown", None),) and "prefix: b. (options)\n" in layer.report
    assert_array_equal(layer([5, 9]), twice["b.wte.weight"][[5, 9]] + twice["b.wpe.weight"][:2])
    with pytest.raises(inlay.FileError, match="c.wte.weight: the token table of a gpt2 model is missing"):
        file.layer(prefix="c.")
    for prefix, kind in (("", inlay.FileError), ("a" * 128, inlay.FileError), ("a\0", ValueError), (1, TypeError)):
        with pytest.raises(kind):
            file.layer(prefix=prefix)
    with pytest.raises(inlay.FileError, match=r"\?\?wte.weight: the token table"):
        file.layer(prefix="\xe9")


def test_layers_of_files_are_layers(path, gpt2, threads):
    file = inlay.open(path)
    layer = file.layer("gpt2", dtype="float16", threads=2)
    assert isinstance(layer, inlay.Layer) and (layer.dim, layer.dtype, layer.threads) == (16, "float16", 2)
    assert layer.table.data.name == "wte.weight" and layer.table.rows == 100
    assert "float16" in repr(layer) and layer.explain([1])
    wide = file.layer()
    ids = numpy.arange(20).reshape(2, 10)
    expected = gpt2["wte.weight"][ids] + gpt2["wpe.weight"][:10]
    assert_array_equal(wide(ids), expected)
    assert_array_equal(layer(ids), expected.astype(numpy.float16))
    out = numpy.empty_like(expected)
    assert wide(ids, out) is out
    threads(2)
    many = numpy.random.default_rng(1).integers(0, 100, (300, 20))  # large enough to release the GIL
    assert_array_equal(wide(many), gpt2["wte.weight"][many] + gpt2["wpe.weight"])
    with pytest.raises(IndexError, match=r"id 100 at \[1\]"):
        wide([1, 100])
    with pytest.raises(IndexError, match="position 20"):
        wide([1], start=20)
    for wrong in ({"dtype": "int8"}, {"model": 3}, {"threads": "x"}):
        with pytest.raises(TypeError):
            file.layer(**wrong)
    with pytest.raises(ValueError, match="threads"):
        file.layer(threads=0)


SPEC = {
    "vocab": 40, "length": 3, "mix": "xor", "pad": 2, "resets": [2], "multipliers": [[982451653, 961748941, 941083987]],
    "columns": [{"length": 2, "modulus": 19}, {"length": 3, "modulus": 23, "offset": 19}],
}  # fmt: skip


@pytest.fixture
def ngrams(rng, tmp_path):
    """Writes a checkpoint with the n-grams of SPEC. Returns it with its rows and their scale."""
    rows = rng.integers(-127, 128, (42, 16), dtype=numpy.int8)
    stem = "model.layers.0.ple."
    tensors = {
        stem + "ngram_embedding.weight": rows,
        stem + "ngram_embedding.weight_scale": numpy.array([0.5], f32),
        stem + "layer_multipliers": numpy.array(SPEC["multipliers"][0], numpy.int64),
        stem + "ngram_heads_vocab_sizes": numpy.array([19, 23], numpy.int64),
        stem + "ngram_heads_offsets": numpy.array([0, 19], numpy.int64),
    }
    write(tmp_path / "model.safetensors", safetensors(tensors))
    config = '{"model_type": "qwen4_exp", "vocab_size": 40, "eos_token_id": 2}'
    (tmp_path / "config.json").write_text(config, encoding="ascii")
    return tmp_path, rows.astype(f32) * f32(0.5)


def test_ngrams_bring_their_tables(ngrams):
    path, rows = ngrams
    file = inlay.open(path)
    ngram = file.ngram()
    file.close()
    ids = [5, 6, 2, 7, 8, 8, 9]
    expected = numpy.array(row_ids(SPEC, [ids]))
    assert isinstance(ngram, inlay.NGram) and ngram.report.startswith("model: qwen4_exp")
    assert_array_equal(ngram.ids(ids), expected)
    assert_array_equal(ngram(ids), rows[expected].reshape(7, 32))
    assert_array_equal(ngram(ids, scale=2, planar=True), numpy.moveaxis(rows[expected] * 2, 1, 0))
    assert_array_equal(ngram(ids, None, columns=1), rows[expected[:, 0]])
    other = numpy.ones((42, 3), f32)
    assert_array_equal(ngram(ids, other), numpy.ones((7, 6)))
    assert [t.data.name for t in ngram.tables] == ["model.layers.0.ple.ngram_embedding.weight"]
    again = inlay.NGram.from_spec(ngram.spec)
    assert again.tables is None and again.report is None
    assert_array_equal(again.ids(ids), expected)
    with pytest.raises(TypeError, match="tables is missing"):
        again(ids)
    with pytest.raises(IndexError, match="id 40"):
        ngram([1, 40])
    with pytest.raises(inlay.FileError):
        inlay.open(path).ngram(7)


def test_own_tables_are_copied_with_an_ngram(rng):
    rows = rng.standard_normal((42, 4)).astype(f32)
    ngram = inlay.NGram.from_spec(SPEC, tables=[rows])
    assert_array_equal(ngram([3, 4]), inlay.NGram.from_spec(SPEC)([3, 4], rows))
    assert_array_equal(copy.copy(ngram)([3, 4]), ngram([3, 4]))
    assert_array_equal(pickle.loads(pickle.dumps(ngram))([3, 4]), ngram([3, 4]))
    assert inlay.NGram.from_spec(SPEC, tables=rows).tables[0].data is rows
    assert inlay.NGram.from_spec(SPEC, tables=[None]).tables == (None,)
    with pytest.raises(ValueError, match="was not given"):
        inlay.NGram.from_spec(SPEC, tables=[])([3, 4])


# ---- Errors -------------------------------------------------------------------------------------------------------


def test_missing_names(path):
    file = inlay.open(path)
    for read in (file.tensors.__getitem__, file.metadata.__getitem__, file.table):
        with pytest.raises(KeyError, match="nothing"):
            read("nothing")
    with pytest.raises(KeyError, match="x_"):
        file.table("x_*")
    with pytest.raises(inlay.FileError, match="one \\*"):
        file.table("*_*")
    with pytest.raises(inlay.FileError, match="h.0.attn.bias") as info:
        file.table("h.0.attn.bias")
    assert (info.value.kind, info.value.name) == ("type", "h.0.attn.bias")
    assert issubclass(inlay.FileError, ValueError)
    with pytest.raises(inlay.FileError) as info:
        file.layer("bert")
    assert info.value.kind in ("missing", "model")
    with pytest.raises(inlay.FileError):
        file.ngram()


def test_system_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere") as info:
        inlay.open(tmp_path / "nowhere")
    assert info.value.errno == errno.ENOENT
    closed = write(tmp_path / "closed", b"x")
    closed.chmod(0)
    if not os.access(closed, os.R_OK):  # root may read it
        with pytest.raises(PermissionError):
            inlay.open(closed)
    for wrong in (3, None, 1.5):
        with pytest.raises(TypeError):
            inlay.open(wrong)
    with pytest.raises(ValueError):
        inlay.open("a\0b")
    with pytest.raises(inlay.FileError):
        inlay.open("/dev/zero")


@pytest.mark.parametrize(
    "content, kind",
    [
        (b"", "truncated|kind"),
        (b"\x80\x02}q\x00.", "kind"),
        (b"GGUF\x03\0\0\0", "truncated"),
        (b"\xff" * 8 + b"{}", "limit|truncated|kind"),
        (safetensors({"t": ("F32", (2, 2), bytes(15))}), "range"),
        (safetensors({"t": ("F99", (2, 2), bytes(16))}), "type"),
        (safetensors({"t": ("F32", (1 << 62, 1 << 62), b"")}), "range|limit"),
        (safetensors({"t": ("F32", (2, 2), bytes(16))})[:-1], "truncated|range"),
        (b'\x02\0\0\0\0\0\0\0{"', "syntax"),
        (gguf({"t": (0, (1 << 40, 1 << 40), b"")}, {}), "range|limit|truncated"),
        (gguf({"t": (0, (2,), bytes(8)), "u": (0, (2,), bytes(8))}, {}).replace(b"u", b"t"), "duplicate|range"),
    ],
)
def test_hostile_files(content, kind, tmp_path):
    path = write(tmp_path / "hostile", content)
    with pytest.raises(inlay.FileError, match="hostile") as info:
        inlay.open(path)
    assert info.value.kind in kind.split("|"), info.value


def test_every_prefix_of_a_file_is_refused(path, tmp_path):
    content = pathlib.Path(path).read_bytes()
    short = tmp_path / "short"
    for size in (*range(0, 400, 7), len(content) - 1):
        with pytest.raises((inlay.FileError, KeyError)):
            inlay.open(write(short, content[:size])).tensors["wte.weight"]


def test_options(path):
    with pytest.raises(ValueError, match="memory is 'swapped'"):
        inlay.open(path, memory="swapped")
    with pytest.raises(ValueError, match="resident_bytes"):
        inlay.open(path, memory="copied", resident_bytes=1 << 20)
    with pytest.raises(ValueError, match="resident_bytes"):
        inlay.open(path, resident_bytes=-1)
    assert inlay.open(path, resident_bytes=1 << 30).layer()([1]).shape == (1, 16)
