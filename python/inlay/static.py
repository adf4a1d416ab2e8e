# SPDX-License-Identifier: MIT
"""Static embeddings of texts: tokenizes with the tokenizers package, then averages the rows of each text."""

import array
import concurrent.futures
import dataclasses
import importlib
import itertools
import json
import math
import os
import pathlib
import statistics
from typing import Any, Iterable, Optional, Sequence, Union

from . import _core
from .files import open_file
from .norms import L2Norm


@dataclasses.dataclass(frozen=True)
class _Kind:
    """The file layout and options of a package's models. Files are patterns relative to the model's folder."""

    name: str
    weights: str
    tokenizer: str
    table: str  # name of the tensor
    epsilon: float = 1e-12
    bad_id: str = "error"
    max_length: Optional[int] = None  # tokens per text; 0: unlimited; None: from the tokenizer's file
    drops_unknown: bool = False


_KINDS = (
    _Kind("model2vec", "model.safetensors", "tokenizer.json", "embeddings", 1e-32, "error", 512, True),
    _Kind("sentence-transformers", "model.safetensors", "tokenizer.json", "embedding.weight"),
    _Kind("sentence-transformers", "0_*/model.safetensors", "0_*/tokenizer.json", "embedding.weight"),
    _Kind("WordLlama", "weights/*.safetensors", "tokenizers/*.json", "embedding.weight", 1e-12, "clamp", 0),
)


# Normalizers and pre-tokenizers that allow splitting a text at spaces without changing its tokens.
_NORMALIZERS = {"BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "StripAccents"}
_SPLITTERS = {"BertPreTokenizer", "Whitespace", "WhitespaceSplit"}
_IN_PARTS = _SPLITTERS | {"Digits", "Punctuation"}
_MAX_PARTS, _MAX_PART_LENGTH = 1 << 17, 64  # entries of the cache: 20 MB with ordinary text
_ID_BYTES = array.array("i").itemsize


def _splits_at_spaces(spec: dict[str, Any]) -> bool:
    """Returns True if texts may be split at spaces and encoded in parts, according to a tokenizer's JSON."""

    def kinds(key: str, parts: str) -> list[str]:
        stage = spec.get(key) or {}
        return [part["type"] for part in stage.get(parts, [stage] if stage else [])]

    splitters = kinds("pre_tokenizer", "pretokenizers")
    added = [token["content"] for token in spec.get("added_tokens") or []]
    truncation = spec.get("truncation") or {}
    return (
        set(kinds("normalizer", "normalizers")) <= _NORMALIZERS
        and splitters[:1] != []
        and splitters[0] in _SPLITTERS
        and set(splitters) <= _IN_PARTS
        and not spec["model"].get("dropout")
        and all(token.isascii() and " " not in token for token in added)
        and truncation.get("direction", "Right") == "Right"
    )


def _need(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(f"StaticEmbedding needs {package}: pip install {package}") from error


class StaticEmbedding:
    """A model of static embeddings. The vector of a text is the mean of its tokens' rows.

    open() makes it. `layer` is the inlay.Layer, `tokenizer` the tokenizers.Tokenizer, and `kind` the package whose
    encode() it matches. Don't change the tokenizer: ids of parts of texts are cached. Any number of threads may use the
    model.
    """

    def __init__(self, layer: _core.Layer, tokenizer: Any, kind: str = "", drops_unknown: bool = False) -> None:
        self.layer, self.tokenizer, self.kind = layer, tokenizer, kind
        spec = json.loads(tokenizer.to_str())
        # A cache of the ids of parts of texts, as bytes. Most parts occur again.
        self._parts: Optional[dict[str, bytes]] = {} if _splits_at_spaces(spec) else None
        self._unknown = self._characters = None  # an id, and the number of characters that model2vec reads per text
        if drops_unknown:
            model = spec["model"]
            token = model.get("unk_token")
            self._unknown = model.get("unk_id") if token is None else tokenizer.token_to_id(token)
        if drops_unknown and tokenizer.truncation is not None:
            median = statistics.median(map(len, tokenizer.get_vocab()))
            self._characters = tokenizer.truncation["max_length"] * int(median)

    @classmethod
    def open(
        cls, folder: Union[str, os.PathLike], *, normalize: Optional[bool] = None, dtype: Any = "float32"
    ) -> "StaticEmbedding":
        """Opens the folder of a model saved by model2vec or sentence-transformers, or by the WordLlama package.

        normalize scales vectors to length 1; None follows the model. dtype is the type of the vectors: float32 or
        float16. The table is mapped and read in its own type, including int8.
        """
        tokenizers, folder = _need("tokenizers"), pathlib.Path(folder)
        os.listdir(folder)  # or FileNotFoundError
        for kind in _KINDS:
            files = [sorted(folder.glob(pattern)) for pattern in (kind.weights, kind.tokenizer)]
            if not all(files):
                continue
            if any(len(found) > 1 for found in files):
                raise ValueError(f"{folder} has several models: {', '.join(map(str, itertools.chain(*files)))}")
            (weights,), (path,) = files
            file = open_file(weights.parent)
            if kind.table in file.tensors:
                break
        else:
            ways = "; ".join(f"{kind.name}: {kind.table} in {kind.weights}, {kind.tokenizer}" for kind in _KINDS)
            raise ValueError(f"{folder} is not a model of static embeddings ({ways})")
        config = _read_json(weights.parent / "config.json") or {}
        if normalize is None:
            normalize = bool(config.get("normalize")) or _has_normalize(folder)
        table, mapping, factors = file.table(kind.table), file.tensors.get("mapping"), file.tensors.get("weights")
        if mapping is not None and (_need("numpy").asarray(mapping) < 0).any():
            raise IndexError(f"{weights}: mapping has a negative value, which is not a row of the table")
        layer = _core.Layer(
            table,
            pooling="mean",
            bad_id=kind.bad_id,
            dtype=dtype,
            token_mapping=mapping,
            token_weights=None if factors is None else _need("numpy").asarray(factors).astype("float32"),
            norm=L2Norm(eps=kind.epsilon) if normalize else None,
        )
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
        tokenizer.no_padding()
        if kind.max_length is not None:
            most = config.get("max_length", kind.max_length)
            tokenizer.enable_truncation(most) if most else tokenizer.no_truncation()
        model = cls(layer, tokenizer, kind.name, kind.drops_unknown)
        count = (mapping or table.data).shape[0]
        most = max({-1, *tokenizer.get_vocab().values()} - {model._unknown})
        if most >= count and kind.bad_id == "error":
            raise ValueError(f"{path} has ids to {most}, and {weights} has {count}: they belong to different models")
        return model

    def encode(
        self,
        texts: Union[str, Iterable[str]],
        *,
        batch_size: int = 1024,
        threads: Optional[int] = None,
        show_progress_bar: bool = False,
    ) -> Any:
        """Returns the vectors of texts as a NumPy array [texts, dim], or [dim] for a single text.

        threads is the number of batches encoded in parallel, by default inlay.get_num_threads(). tokenizers also splits
        each batch over RAYON_NUM_THREADS threads, or over one with TOKENIZERS_PARALLELISM=false. Texts are truncated to
        tokenizer.truncation. A text without tokens gets a vector of zeros.
        """
        numpy = _need("numpy")
        single = isinstance(texts, str)
        texts = [texts] if single else list(texts)
        out = numpy.empty((len(texts), self.layer.dim), self.layer.dtype)
        starts = range(0, len(texts), batch_size)

        def run(start: int) -> None:
            ids, offsets = self.tokenize(texts[start : start + batch_size])
            self.layer(ids, out[start : start + batch_size], offsets=offsets)

        bar = _need("tqdm").tqdm if show_progress_bar else lambda batches, total: batches
        with concurrent.futures.ThreadPoolExecutor(threads or _core.get_num_threads()) as pool:
            for _ in bar(pool.map(run, starts), total=len(starts)):
                pass
        return out[0] if single else out

    def tokenize(self, texts: Sequence[str]) -> tuple[Any, Any]:
        """Returns the concatenated ids of texts and their offsets [texts + 1], as arguments of the layer."""
        numpy = _need("numpy")
        if self._characters is not None:
            texts = [text[: self._characters] for text in texts]
        if self._parts is None:
            pieces, ends = self._encode(texts), slice(None)
        else:
            cut = [text.split(" ") for text in texts]
            pieces = self._encode_parts(list(itertools.chain.from_iterable(cut)))
            ends = numpy.cumsum(numpy.fromiter(map(len, cut), "int64", len(cut))) - 1
        ids = numpy.frombuffer(bytearray().join(pieces), "int32")
        sizes = numpy.fromiter(map(len, pieces), "int64", len(pieces)) // _ID_BYTES
        offsets = numpy.append(0, numpy.cumsum(sizes)[ends])
        most = (self.tokenizer.truncation or {}).get("max_length")
        if most is not None and (numpy.diff(offsets) > most).any():
            place = numpy.arange(len(ids)) - numpy.repeat(offsets[:-1], numpy.diff(offsets))
            ids, offsets = _kept(ids, offsets, place < most)
        if self._unknown is not None:
            ids, offsets = _kept(ids, offsets, ids != self._unknown)
        return ids, offsets

    def _encode(self, texts: Iterable[str]) -> list[bytes]:
        """Returns the ids of each text as bytes of int32."""
        encodings = self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [array.array("i", encoding.ids).tobytes() for encoding in encodings]

    def _encode_parts(self, parts: Sequence[str]) -> list[bytes]:
        """Returns the ids of parts of texts. Encodes only parts that aren't in the cache."""
        known = self._parts
        missing = set(parts).difference(known)
        new = dict(zip(missing, self._encode(missing)))
        most = (self.tokenizer.truncation or {}).get("max_length", math.inf) * _ID_BYTES
        # Don't cache long parts, or parts that may have been truncated.
        lost = [part for part, ids in new.items() if len(part) > _MAX_PART_LENGTH or len(ids) >= most]
        passing = {part: new.pop(part) for part in lost}
        if len(known) + len(new) > _MAX_PARTS:  # other threads may still use the old cache
            self._parts = {}
        known.update(new)
        if not passing:
            return list(map(known.__getitem__, parts))
        return [passing[part] if part in passing else known[part] for part in parts]


def _kept(ids: Any, offsets: Any, keep: Any) -> tuple[Any, Any]:
    """Returns the ids with `keep` true, and their offsets."""
    if keep.all():
        return ids, offsets
    numpy = _need("numpy")
    return ids[keep], numpy.append(0, numpy.cumsum(keep))[offsets]


def _read_json(path: pathlib.Path) -> Any:
    return json.loads(path.read_bytes()) if path.is_file() else None


def _has_normalize(folder: pathlib.Path) -> bool:
    """Returns True if the modules of sentence-transformers normalize vectors."""
    try:
        return any(module["type"].endswith(".Normalize") for module in _read_json(folder / "modules.json") or [])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{folder / 'modules.json'} is not a list of modules") from error
