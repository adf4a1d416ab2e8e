# SPDX-License-Identifier: MIT
"""Names with other case, other separators or synonyms, and errors for unknown names."""

import inspect
import pickle

import numpy
import pytest

import inlay
from inlay import names

IDS = numpy.array([[3, 7, 7, 0]])


@pytest.mark.parametrize(
    "typed, expected",
    [
        ({"positions": "sinusoid"}, {"positions": inlay.Sinusoid()}),
        ({"positions": "Sinusoidal"}, {"positions": inlay.Sinusoid()}),
        ({"positions": "none"}, {"positions": None}),
        ({"norm": "layer"}, {"norm": inlay.LayerNorm()}),
        ({"norm": "layer_norm"}, {"norm": inlay.LayerNorm()}),
        ({"norm": "RMSNorm"}, {"norm": inlay.RMSNorm()}),
        ({"norm": "l2"}, {"norm": inlay.L2Norm()}),
        ({"norm": "None"}, {"norm": None}),
        ({"dtype": "f16"}, {"dtype": numpy.float16}),
        ({"dtype": "FP16"}, {"dtype": "float16"}),
        ({"dtype": "half"}, {"dtype": "torch.float16"}),
        ({"dtype": "single"}, {"dtype": numpy.float32}),
        ({"bad_id": "Clamp"}, {"bad_id": "clamp"}),
        ({"pooling": "MEAN"}, {"pooling": "mean"}),
        ({"stores": "Cached"}, {"stores": "cached"}),
        ({"positions": inlay.Sinusoid(recipe="Torch_Exp")}, {"positions": inlay.Sinusoid(recipe="torch-exp")}),
        (
            {"positions": inlay.Sinusoid(layout="split-cos-first")},
            {"positions": inlay.Sinusoid(layout="split_cos_first")},
        ),
    ],
)
def test_layers(table, typed, expected):
    y, z = inlay.Layer(table, **typed)(IDS), inlay.Layer(table, **expected)(IDS)
    assert y.dtype == z.dtype
    numpy.testing.assert_array_equal(y, z)
    plain = numpy.asarray(inlay.Layer(table)(IDS))
    unchanged = set(typed) <= {"bad_id", "stores"} or None in expected.values() or "single" in typed.values()
    assert (y.shape == z.shape == plain.shape and y.dtype == plain.dtype and (y == plain).all()) == unchanged


@pytest.mark.parametrize("typed, type_name", [("f16", "float16"), ("Q8-0", "q8_0"), ("fp8", "e4m3"), ("INT8", "i8")])
def test_types(rng, typed, type_name):
    table = rng.standard_normal((6, 32)).astype("f4")
    quantized = inlay.quantize(table, typed)
    assert quantized.type == type_name
    assert inlay.Table(quantized.data, typed.lower(), scales=quantized.scales).type == type_name


@pytest.mark.parametrize(
    "options, text",
    [
        ({"recipe": "pytorch"}, r"nearest: torch-exp \(PyTorch tutorials\), torch-div \(PyTorch notebooks\)\n"),
        ({"recipe": "Whisper"}, r"nearest: fairseq \(Whisper\)\n"),
        ({"recipe": "fairsqe"}, "nearest: fairseq, "),
        ({"layout": "halves"}, "layout is 'halves', not one of interleaved, split, split_cos_first"),
        ({"odd": "even"}, "odd is 'even', not one of formula, zero, wrap, error"),
        ({"base": 0.5}, "base"),
        ({"inv_freq": [-1.0]}, r"inv_freq\[0\] is -1.0, not a number from 0"),
    ],
)
def test_sinusoids_fail_when_they_are_made(options, text):
    with pytest.raises(ValueError, match=text):
        inlay.Sinusoid(**options)


def test_recipes_are_listed_with_frameworks():
    with pytest.raises(ValueError) as unknown:
        inlay.Sinusoid(recipe="pytorch")
    lines = str(unknown.value).split("\n")
    assert lines[1] == "recipes, and whose tables they make:" and len(lines) == 2 + 17
    assert "  keras-hub: KerasHub, KerasNLP" in lines


def test_largest_elements_are_elsewhere():
    """The error for this pooling names alternatives."""
    table = numpy.arange(12, dtype=numpy.float32).reshape(4, 3) % 5
    text = r"pooling is 'Max', not one of none, sum, mean; .* numpy.maximum.reduceat\(\).* inlay.torch.EmbeddingBag"
    with pytest.raises(ValueError, match=text):
        inlay.Layer(table, pooling="Max")
    ids = numpy.array([0, 1, 3])
    largest = numpy.maximum.reduceat(inlay.Layer(table)(ids), [0, 2])
    assert (largest == [table[:2].max(0), table[3]]).all()


def test_nearest():
    known = [["alpha", "first"], ["beta", "second"]] + [[f"gamma_{i}", f"g{i}"] for i in range(8)]
    assert str(names.unknown("letter", "SECO-ND", known)) == "letter is 'SECO-ND', which is unknown; nearest: beta (second)"
    assert str(names.unknown("letter", "aplha", known)).startswith("letter is 'aplha', which is unknown; nearest: alpha, ")
    assert str(names.unknown("letter", "aplha", known)).count(",") == 3
    assert str(names.unknown("letter", "g", known[:2])) == "letter is 'g', not one of alpha, beta"
    assert names.choose("letter", "ALPHA", ["alpha", "beta"]) == "alpha"


TABLE = numpy.zeros((4, 8), "f4")
NGRAM = {"vocab": 9, "length": 2, "mix": "xor", "columns": [{"modulus": 5, "length": 2, "vector": 0}], "multipliers": [[1, 2]]}


@pytest.mark.parametrize(
    "call, what, typed, nearest, another",
    [
        (lambda **given: inlay.Layer(TABLE)([1], **given), "a layer", "offset", "offsets", "position_ids"),
        (lambda **given: inlay.Layer(TABLE).explain([1], **given), "a layer", "droput", "dropout", "padded"),
        (lambda **given: inlay.NGram(**NGRAM).ids([1], **given), r"ids\(\)", "histories", "history", "dtype"),
        (lambda **given: inlay.NGram(**NGRAM)([1], **given), "an NGram", "outt", "out", "history"),
        (lambda **given: inlay.Layer(TABLE, **given), "Layer", "position", "positions", "self_tuning"),
        (lambda **given: inlay.Table(TABLE, **given), "Table", "scal", "scale", "zeros"),
        (lambda **given: inlay.NGram(**NGRAM, **given), r"NGram\(\)", "zero_none", "zero_is_none", "tables"),
        (inlay.Sinusoid, r"Sinusoid\(\)", "freq", "inv_freq", "amplitude"),
        (lambda **given: inlay.sinusoid([1], 8, **given), r"Sinusoid\(\)", "bas", "base", "amplitude"),
        (lambda **given: inlay.rotary([1], 8, **given), r"rotary\(\)", "rope_scaling", "scaling", "layout"),
        (lambda **given: inlay.quantize(TABLE, "i8", **given), r"quantize\(\)", "group_size", "group", "zeros"),
        (lambda **given: inlay.random(4, 8, **given), r"random\(\)", "row_zero", "zero_row", "first_row"),
        (lambda **given: inlay.Rotary(8, **given), r"Rotary\(\)", "rope_scaling", "scaling", "layout"),
        (inlay.LayerNorm, r"LayerNorm\(\)", "epsilon", "eps", "gamma"),
        (lambda **given: inlay.open("x", **given), r"open_file\(\)", "mem", "memory", "resident_bytes"),
        (lambda **given: inlay.StaticEmbedding(1, 2, **given), r"StaticEmbedding\(\)", "kinds", "kind", "tokenizer"),
    ],
)
def test_unknown_arguments(call, what, typed, nearest, another):
    with pytest.raises(TypeError, match=rf"^{what} has no argument '{typed}'; nearest: {nearest}; all others: .*\b{another}\b"):
        call(**{typed: 1})


def test_functions_can_be_pickled():
    assert pickle.loads(pickle.dumps(inlay.rotary)) is inlay.rotary
    assert list(inspect.signature(inlay.quantize).parameters) == ["table", "type", "group", "zeros"]
    assert inlay.quantize.__doc__.startswith("Converts")
