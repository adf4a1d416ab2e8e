# SPDX-License-Identifier: MIT
"""inlay.StaticEmbedding: the folders of three packages, tokens that each skips, and errors."""

import json
import pathlib
import sys

import numpy
import pytest

from model_files import safetensors, write

import inlay

tokenizers = pytest.importorskip("tokenizers", reason="there is no tokenizers")

WORDS = ["[UNK]", "the", "row", "of", "a", "text", "is", "table", "and", "long"]
TEXTS = ["the row of a text", "", "unheard words", "a table is long and long", "is", "the unheard table"]
F4 = numpy.float32


def save_tokenizer(path, unknown="[UNK]"):
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token=unknown)
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.enable_padding(pad_id=1, pad_token="the")  # encode() must ignore this
    if path.parent.name == "tokenizers":
        tokenizer.enable_truncation(1)  # WordLlama must ignore this
    path.parent.mkdir(exist_ok=True)
    tokenizer.save(str(path))


def ids_of(text, unknown):
    found = [WORDS.index(word) if word in WORDS else 0 for word in text.split()]
    return [i for i in found if i or unknown]


def means(rows, texts, unknown, normalize=False):
    """By definition, in float64."""
    out = numpy.zeros((len(texts), rows.shape[1]))
    for y, text in zip(out, texts):
        if ids := ids_of(text, unknown):
            y[:] = rows[ids].astype("f8").mean(0)
            y /= numpy.linalg.norm(y) if normalize else 1
    return out


@pytest.fixture
def rows(rng):
    return rng.standard_normal((len(WORDS), 12)).astype(F4)


def model2vec(folder, config=None, **tensors):
    write(folder / "model.safetensors", safetensors(tensors))
    write(folder / "config.json", json.dumps(config or {}).encode())
    save_tokenizer(folder / "tokenizer.json")
    return folder


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_model2vec(tmp_path, rows, normalize, threads):
    """Unknown tokens are skipped. In each batch of two texts, one has no tokens."""
    model = inlay.StaticEmbedding.open(model2vec(tmp_path, {"normalize": normalize}, embeddings=rows))
    assert model.kind == "model2vec" and model.tokenizer.truncation["max_length"] == 512
    y = model.encode(TEXTS, batch_size=2, threads=threads)
    assert y.shape == (len(TEXTS), 12) and y.dtype == F4
    numpy.testing.assert_allclose(y, means(rows, TEXTS, False, normalize), rtol=1e-6, atol=1e-7)
    numpy.testing.assert_array_equal(model.encode(iter(TEXTS)), y)
    numpy.testing.assert_array_equal(model.encode(TEXTS[3]), y[3])
    assert model.encode([]).shape == (0, 12)
    other = inlay.StaticEmbedding.open(tmp_path, normalize=not normalize, dtype="float16").encode(TEXTS)
    assert other.dtype == numpy.float16
    numpy.testing.assert_allclose(other, means(rows, TEXTS, False, not normalize), rtol=1e-3, atol=1e-4)


def test_model2vec_of_float64(tmp_path, rows):
    """A model of float64 is one of float32 after a single rounding, and its Table is that of the layer."""
    doubles = rows.astype("f8") / 3
    model = inlay.StaticEmbedding.open(model2vec(tmp_path, embeddings=doubles))
    numpy.testing.assert_array_equal(model.layer.table.data, doubles.astype(F4))
    with inlay.open(tmp_path) as file:
        table = file.table("embeddings")
        assert "tokens: a copy of 480 bytes, rounded to float32" in file.layer().report
        assert table.type == "float32" and numpy.shares_memory(file.table("embeddings").data, table.data)
    numpy.testing.assert_array_equal(table.data, doubles.astype(F4))
    numpy.testing.assert_allclose(model.encode(TEXTS), means(doubles, TEXTS, False), rtol=1e-6, atol=1e-7)


def test_model2vec_of_int8_with_mapping_and_weights(tmp_path, rng):
    table = rng.integers(-127, 128, (4, 12), "i1")
    mapping, weights = rng.integers(4, size=len(WORDS)), rng.random(len(WORDS))
    model = inlay.StaticEmbedding.open(model2vec(tmp_path, embeddings=table, mapping=mapping, weights=weights))
    assert model.layer.table.type == "i8"
    rows = table[mapping] * weights.astype(F4)[:, None]
    numpy.testing.assert_allclose(model.encode(TEXTS), means(rows, TEXTS, False), rtol=1e-6, atol=1e-5)


def test_the_longest_text(tmp_path, rows):
    """model2vec takes 512 tokens, including unknown ones, from 512 * 3 characters: 3 is the median token length."""
    model = inlay.StaticEmbedding.open(model2vec(tmp_path, embeddings=rows))
    long = "a " * 300 + "is " * 400
    assert numpy.diff(model.tokenize([long, "row"])[1]).tolist() == [512, 1]
    assert len(model.tokenize(["x a a a " * 600])[0]) == 384
    assert len(model.tokenize(["table " * 512])[0]) == 256
    numpy.testing.assert_allclose(model.encode(long), (300 * rows[4] + 212 * rows[6]) / 512, rtol=1e-4, atol=1e-5)
    model = inlay.StaticEmbedding.open(model2vec(tmp_path, {"max_length": 2}, embeddings=rows))
    assert numpy.diff(model.tokenize(["table a", "a is a", "a"])[1]).tolist() == [1, 2, 1]  # "table " has 6 characters
    model = inlay.StaticEmbedding.open(model2vec(tmp_path, {"max_length": None}, embeddings=rows))
    assert model.tokenizer.truncation is None and len(model.tokenize(["a " * 5000])[0]) == 5000


UNKNOWN = {
    "BPE without one": (tokenizers.models.BPE({"a": 0, "b": 1, "": 2}, []), []),
    "BPE": (tokenizers.models.BPE({"a": 0, "b": 1, "?": 2}, [], unk_token="?"), [2]),
    "Unigram": (tokenizers.models.Unigram([("a", -1.0), ("b", -1.0), ("?", -9.0)], unk_id=2), [2]),
    "Unigram whose unknown token is the first": (tokenizers.models.Unigram([("?", -9.0), ("a", -1.0)], unk_id=0), [0]),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_unknown_tokens(case):
    """Unigram names its unknown token by id. An empty token doesn't count."""
    tokenizer, unknown = tokenizers.Tokenizer(UNKNOWN[case][0]), UNKNOWN[case][1]
    layer = inlay.Layer(numpy.zeros((3, 4), F4), pooling="mean")
    (kept,) = ids_by(tokenizer, ["a?zb"])
    encoder = inlay.StaticEmbedding(layer, tokenizer, drops_unknown=True)
    assert encoder._unknown == (unknown or [None])[0]
    assert encoder.tokenize(["a?zb"])[0].tolist() == [i for i in kept if i not in unknown]


@pytest.mark.parametrize("place", ["", "0_StaticEmbedding"])
@pytest.mark.parametrize("normalize", [False, True])
def test_sentence_transformers(tmp_path, rows, place, normalize):
    """Unknown tokens have rows like other tokens, and texts have any length."""
    save_tokenizer(tmp_path / place / "tokenizer.json")
    write(tmp_path / place / "model.safetensors", safetensors({"embedding.weight": rows}))
    kinds = ["StaticEmbedding", "Normalize"][: 1 + normalize]
    modules = [{"idx": i, "path": "", "type": f"sentence_transformers.models.{kind}"} for i, kind in enumerate(kinds)]
    write(tmp_path / "modules.json", json.dumps(modules).encode())
    model = inlay.StaticEmbedding.open(str(tmp_path))
    assert model.kind == "sentence-transformers"
    texts = [*TEXTS, "table " * 3000]
    numpy.testing.assert_allclose(model.encode(texts), means(rows, texts, True, normalize), rtol=1e-4, atol=1e-5)


def test_wordllama(tmp_path, rows):
    """Ids past the end of the table take its last row."""
    save_tokenizer(tmp_path / "tokenizers" / "any_tokenizer_config.json")
    (tmp_path / "weights").mkdir()
    write(tmp_path / "weights" / "any.safetensors", safetensors({"embedding.weight": rows[:8].astype("f2")}))
    model = inlay.StaticEmbedding.open(tmp_path)
    assert model.kind == "WordLlama" and model.layer.table.type == "float16"
    clamped = numpy.concatenate([rows[:8], rows[[7, 7]]]).astype("f2")
    numpy.testing.assert_allclose(model.encode(TEXTS), means(clamped, TEXTS, True), rtol=1e-6, atol=1e-7)


# ---- Tokens of parts -------------------------------------------------------------------------------------------------

PIECES = [" ", "  ", "\t", "\n", "\x1c", "\x85", "\u00a0", "\u3000", "\u200d", "e\u0301", "\u0301", "\u00b4", "\ufb01"]
PIECES += ["İ", "ß", "Σ", "ΑΣ", "東京", "🙂", "[UNK]", "[m]", "the", "Row", "ROW", "of", "3", "42", ".", "don't", "-"]
PIECES += ["x" * 70, "tabletext"]
NORMALIZERS = ["BertNormalizer", "Lowercase", "NFC", "NFKC", "NFKD", "StripAccents", None]


def trained(model, normalizer, splitter, added=("[m]",)):
    """A tokenizer with characters and the pieces above."""
    kinds, trainers = tokenizers.models, tokenizers.trainers
    made = {
        "WordPiece": (kinds.WordPiece(unk_token="[UNK]"), trainers.WordPieceTrainer),
        "BPE": (kinds.BPE(unk_token="[UNK]"), trainers.BpeTrainer),
    }[model]
    tokenizer = tokenizers.Tokenizer(made[0])
    tokenizer.normalizer = getattr(tokenizers.normalizers, normalizer)() if normalizer else None
    tokenizer.pre_tokenizer = getattr(tokenizers.pre_tokenizers, splitter)()
    trainer = made[1](vocab_size=300, special_tokens=["[UNK]"], show_progress=False)
    tokenizer.train_from_iterator([" ".join(PIECES)] * 3, trainer)
    tokenizer.add_tokens([tokenizers.AddedToken(token, lstrip=True, single_word=True) for token in added])
    return tokenizer


def ids_by(tokenizer, texts):
    return [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]


@pytest.mark.parametrize("model", ["WordPiece", "BPE"])
@pytest.mark.parametrize("normalizer", NORMALIZERS)
@pytest.mark.parametrize("splitter", ["BertPreTokenizer", "Whitespace", "WhitespaceSplit"])
def test_parts_have_the_tokens_of_the_text(model, normalizer, splitter, rng, monkeypatch):
    """Texts split at spaces, mostly cached parts; all kinds of Unicode; more parts than the cache holds."""
    tokenizer = trained(model, normalizer, splitter)
    tokenizer.enable_truncation(20)
    layer = inlay.Layer(numpy.zeros((tokenizer.get_vocab_size(), 4), F4), pooling="mean")
    monkeypatch.setattr(inlay.static, "_MAX_PARTS", 400)
    encoder = inlay.StaticEmbedding(layer, tokenizer)
    assert encoder._parts == {}
    sizes = set()
    for _ in range(20):
        texts = ["".join(rng.choice(PIECES, rng.integers(0, 24))) for _ in range(50)]
        ids, offsets = encoder.tokenize(texts)
        assert [ids[a:b].tolist() for a, b in zip(offsets, offsets[1:])] == ids_by(tokenizer, texts)
        assert ids.flags.writeable
        sizes.add(len(encoder._parts))
    assert max(sizes) <= 400 and 0 in sizes and all(len(part) <= 64 for part in encoder._parts)


def test_parts_that_a_truncation_cuts():
    """Only complete parts are cached."""
    tokenizer = trained("BPE", None, "Whitespace")
    encoder = inlay.StaticEmbedding(inlay.Layer(numpy.zeros((300, 4), F4), pooling="mean"), tokenizer)
    texts = ["of ofwbofwbofwb 3", "ofwbofwbofwb"]
    unlimited = tokenizers.Tokenizer.from_str(tokenizer.to_str())
    whole = ids_by(unlimited, texts)
    assert len(whole[1]) > 4
    for most in (3, 4, 12):
        tokenizer.enable_truncation(most)
        ids, offsets = encoder.tokenize(texts)
        assert [ids[a:b].tolist() for a, b in zip(offsets, offsets[1:])] == [row[:most] for row in whole]
        kept = {part: numpy.frombuffer(ids, "i4").tolist() for part, ids in encoder._parts.items()}
        assert all(ids == ids_by(unlimited, [part])[0] for part, ids in kept.items())


def test_texts_that_are_not_cut():
    """If tokens can contain spaces or depend on their place, whole texts are encoded."""
    layer = inlay.Layer(numpy.zeros((300, 4), F4), pooling="mean")
    whole = [trained("BPE", None, "Metaspace"), trained("BPE", None, "ByteLevel"), trained("BPE", "NFC", "Digits")]
    whole += [trained("BPE", "NFC", "Whitespace", added) for added in (["of the"], ["東京"])]
    left = trained("BPE", "NFC", "Whitespace")
    left.enable_truncation(3, direction="left")
    stripped = trained("BPE", None, "Whitespace")
    stripped.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.NFC(), tokenizers.normalizers.Replace("w o", "wo")]
    )
    for tokenizer in [*whole, left, stripped]:
        encoder = inlay.StaticEmbedding(layer, tokenizer)
        texts = ["Row of the ROW of", "東京 of 東京"]
        assert encoder._parts is None and encoder.tokenize(texts)[0].tolist() == sum(ids_by(tokenizer, texts), [])


# ---- The progress bar ------------------------------------------------------------------------------------------------


def test_progress(tmp_path, rows, capsys):
    pytest.importorskip("tqdm", reason="there is no tqdm")
    model = inlay.StaticEmbedding.open(model2vec(tmp_path, embeddings=rows))
    model.encode(TEXTS, batch_size=2, show_progress_bar=True)
    assert "3/3" in capsys.readouterr().err


# ---- Errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("package", ["tokenizers", "numpy", "tqdm"])
def test_packages_that_are_missing(tmp_path, rows, package, monkeypatch):
    folder = model2vec(tmp_path, embeddings=rows)
    model = inlay.StaticEmbedding.open(folder)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=f"^StaticEmbedding needs {package}: pip install {package}$"):
        if package == "tokenizers":
            inlay.StaticEmbedding.open(folder)
        model.encode(TEXTS, show_progress_bar=True)


def test_bad_folders(tmp_path, rows):
    with pytest.raises(ValueError, match=r"is not a model of static embeddings \(model2vec: embeddings in model.safet"):
        inlay.StaticEmbedding.open(tmp_path)
    folder = model2vec(tmp_path, wte=rows)
    with pytest.raises(ValueError, match="is not a model of static embeddings"):
        inlay.StaticEmbedding.open(folder)
    model2vec(tmp_path, embeddings=rows)
    for modules in (b"[", b"[1]", b"{}1", b'[{"type": 5}]', b"7"):
        write(tmp_path / "modules.json", modules)
        with pytest.raises(ValueError, match="modules.json is not a list of modules"):
            inlay.StaticEmbedding.open(folder)
    write(tmp_path / "modules.json", b"[]")
    (tmp_path / "model.safetensors").unlink()
    for name in ("weights/a.safetensors", "weights/b.safetensors"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path / name, safetensors({"embedding.weight": rows}))
    save_tokenizer(tmp_path / "tokenizers" / "a.json")
    with pytest.raises(ValueError, match=r"has several models: .*a\.safetensors, .*b\.safetensors"):
        inlay.StaticEmbedding.open(tmp_path)


def test_folders_that_are_missing(tmp_path):
    for folder in (tmp_path / "nothing", "minishlab/potion-base-8M"):
        with pytest.raises(FileNotFoundError, match=pathlib.Path(folder).name):
            inlay.StaticEmbedding.open(folder)
    write(tmp_path / "file", b"")
    with pytest.raises(NotADirectoryError, match="file"):
        inlay.StaticEmbedding.open(tmp_path / "file")


@pytest.mark.parametrize("count, mapped", [(0, False), (9, False), (1, True), (9, True)])
def test_tables_smaller_than_the_vocabulary(tmp_path, rows, count, mapped):
    """The error is raised on opening, not when a text has the token."""
    tensors = {"mapping": numpy.zeros(count, "i8")} if mapped else {}
    folder = model2vec(tmp_path, embeddings=rows if mapped else rows[:count], **tensors)
    with pytest.raises(ValueError, match=rf"tokenizer\.json has ids to 9, and .*model\.safetensors has {count}: "):
        inlay.StaticEmbedding.open(folder)


def test_mappings_behind_the_table(tmp_path, rows):
    with pytest.raises(IndexError, match=r"token_mapping 10 at \[3\] is not in the table"):
        inlay.StaticEmbedding.open(model2vec(tmp_path, embeddings=rows, mapping=numpy.arange(7, 17)))
    with pytest.raises(IndexError, match="mapping has a negative value"):
        inlay.StaticEmbedding.open(model2vec(tmp_path, embeddings=rows, mapping=numpy.arange(-1, 9)))


def test_the_row_of_the_unknown_token_is_not_needed(tmp_path, rows):
    """model2vec skips it in all texts."""
    folder = model2vec(tmp_path, embeddings=rows[:9])
    save_tokenizer(folder / "tokenizer.json", unknown=WORDS[9])
    model = inlay.StaticEmbedding.open(folder)
    numpy.testing.assert_allclose(model.encode("a text"), rows[[4, 5]].mean(0), rtol=1e-6)
