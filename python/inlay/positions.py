# SPDX-License-Identifier: MIT
"""Positional encodings: sinusoids, rotary tables of cosines and sines, and rotations by them."""

import array
import dataclasses
import functools
import numbers
import operator
import re
from typing import Any, Mapping, Optional, Sequence

from . import _core
from .names import choose, fold


@dataclasses.dataclass(frozen=True)
class Sinusoid:
    """The sinusoids of a layer, or their variant in a framework.

    recipe is "exact" or a recipe from docs/recipes.md, such as "torch-exp", "keras-hub" or "fairseq". An unknown name
    raises an error that lists all recipes and their frameworks. The recipe determines options that are None; "exact" is
    interleaved with frequencies base^(-2i / dim). layout is "interleaved", "split" or "split_cos_first". spacing is
    "dim" or "half", with shift 0 or 1. odd is "formula", "zero", "wrap" or "error". inv_freq is a list of your own
    frequencies in radians per position. float_angles rounds angles as float32 frameworks do.
    """

    base: Optional[float] = None
    recipe: str = "exact"
    layout: Optional[str] = None
    spacing: Optional[str] = None
    shift: Optional[int] = None
    odd: Optional[str] = None
    amplitude: Optional[float] = None
    inv_freq: Optional[tuple[float, ...]] = None
    float_angles: bool = False

    def __post_init__(self):
        if self.inv_freq is not None:
            object.__setattr__(self, "inv_freq", tuple(float(f) for f in self.inv_freq))
        for i, frequency in enumerate(self.inv_freq or ()):
            _require(f"inv_freq[{i}]", frequency, 0, 2**31)
        for name, low, high in ("base", 1, 1e30), ("amplitude", 2**-20, 2**10), ("shift", 0, 1):
            if getattr(self, name) is not None:
                _require(name, getattr(self, name), low, high)
        if self.float_angles and self.inv_freq is None:
            raise ValueError("float_angles rounds the frequencies in inv_freq, but inv_freq is None")
        if self.inv_freq is not None and fold(self.recipe) != "exact":
            raise ValueError(f"inv_freq gives frequencies, but recipe {self.recipe!r} has its own: drop one of them")
        self.formula(2 * max(1, len(self.inv_freq or ())))  # rejects options that are invalid for every dim

    # Computing a frequency takes 3 us, more than the rows of a short call.
    @functools.lru_cache(maxsize=64)
    def formula(self, dim: int) -> _core.Formula:
        """Returns this sinusoid with frequencies for `dim` columns. Layers call it."""
        *options, inv_freq, float_angles = dataclasses.astuple(self)
        return _core.Formula(dim, *options, _doubles(inv_freq), float_angles)


def sinusoid_of(positions: Any, learned: str = "a table [rows, dim]") -> Optional[Sinusoid]:
    """Returns a Sinusoid, given as an object or a name. `learned` is the error's hint for learned positions."""
    name = fold(positions) if isinstance(positions, str) else None
    if positions is None or name == "none":
        return None
    if name in ("sinusoid", "sinusoidal"):
        return Sinusoid()
    if isinstance(positions, Sinusoid):
        return positions
    error = TypeError if name is None else ValueError
    raise error(
        f'positions is {positions!r}, expected inlay.Sinusoid(recipe="exact") or "sinusoid", or {learned} for learned ones; '
        "rotary embeddings turn queries and keys, and inlay.rotary() makes their tables"
    )


def _require(name: str, value: Any, low: float, high: float) -> None:
    """Raises TypeError or ValueError unless value is a number in [low, high]."""
    if not isinstance(value, numbers.Real) or not low <= value <= high:
        error = ValueError if isinstance(value, numbers.Real) else TypeError
        raise error(f"{name} is {value!r}, not a number from {low:.10g} to {high:.10g}")


def _doubles(values: Optional[Sequence[float]]) -> Optional[bytes]:
    """Returns float64 numbers as bytes for the extension module."""
    return None if values is None else array.array("d", values).tobytes()


def sinusoid(
    positions: Any,
    dim: int,
    base: Optional[float] = None,
    *,
    recipe: str = "exact",
    layout: Optional[str] = None,
    dtype: Any = "float32",
    out: Any = None,
    **variant: Any,
) -> Any:
    """Returns the sinusoids of positions as an array [*positions.shape, dim].

    positions are numbers between -2^31 and 2^31. base defaults to 10000. The other arguments are those of Sinusoid.
    """
    formula = Sinusoid(base, recipe, layout, **variant).formula(dim)
    return _core.sinusoid_rows(formula, positions, dtype, out)


# The types of scaling, with the keys of a configuration that each requires and those that are optional.
_SCALINGS = {
    "default": ("", ""),
    "linear": ("factor", ""),
    "ntk": ("factor", ""),
    "dynamic": ("factor max_position_embeddings length", ""),
    "llama3": ("factor original_max_position_embeddings low_freq_factor high_freq_factor", ""),
    "yarn": (
        "factor original_max_position_embeddings",
        "attention_factor beta_fast beta_slow mscale mscale_all_dim truncate",
    ),
    "longrope": ("factor original_max_position_embeddings length short_factor long_factor", "attention_factor"),
    "proportional": ("partial_rotary_factor", "factor"),
}
_ALIASES = {"su": "longrope", "mrope": "default"}
_OTHERS = ("ernie4_5_vl", "ernie4_5_moe_vl")  # permute the frequencies of patches
# True for models that interleave mrope_section, False for consecutive sections, by model_type without "_text" etc.
# In transformers (4.57, 5.24) no class reads mrope_interleaved or interleaved.
_INTERLEAVES = {
    **dict.fromkeys("qwen3_vl qwen3_vl_moe qwen3_omni_moe qwen3_5 qwen3_5_moe qwen4_exp".split(), True),
    **dict.fromkeys("cohere_compass cosmos3_edge hy_v4_vl".split(), True),
    **dict.fromkeys("qwen2_vl qwen2_5_vl qwen2_5_omni paddleocr_vl".split(), False),
    **dict.fromkeys("glm4v glm4v_moe Glm4vMoe glm_image glm_ocr".split(), False),
}
# Keys accepted for every type. finetuned and llama_4_scaling_beta (which scales queries) have no effect here.
_SHARED = {"rope_type", "type", "rope_theta", "max_position_embeddings", "partial_rotary_factor", "mrope_section"}
_SHARED |= {"mrope_interleaved", "interleaved", "finetuned", "llama_4_scaling_beta"}
_KEYS = _SHARED.union(*(" ".join(keys).split() for keys in _SCALINGS.values()))
_RANGES = {  # other keys: [2^-20, 10^6]
    "factor": (1, 1e6),
    "length": (1, 2**31 - 1),
    "original_max_position_embeddings": (2, 2**31 - 1),
    "max_position_embeddings": (2, 2**31 - 1),
    "attention_factor": (2**-20, 2**10),
    "mscale": (0, 100),
    "mscale_all_dim": (0, 100),
    "partial_rotary_factor": (0, 1),
    "truncate": (0, 1),
}


def _hashable(value: Any) -> Any:
    if hasattr(value, "tolist"):  # arrays and numbers of NumPy
        value = value.tolist()
    return tuple(map(_hashable, value)) if isinstance(value, (list, tuple)) else value


def _entry(scaling: Mapping[str, Any], layer_type: Optional[str]) -> dict[str, Any]:
    """Returns the keys of an entry for a type of layers, with the name of a formula as rope_type."""
    if not isinstance(scaling, Mapping):
        raise TypeError(f"rope_scaling is {scaling!r}, not a dict")
    types = [name for name, value in scaling.items() if isinstance(value, Mapping)]
    if types and layer_type not in types:
        raise ValueError(f"layer_type is {layer_type!r}: choose one with frequencies in scaling, {', '.join(types)}")
    if layer_type is not None and not types:
        raise ValueError(f"layer_type is {layer_type!r}, but scaling has the same frequencies for all layers: drop it")
    found = scaling[layer_type] if types else scaling
    entry = {key: _hashable(value) for key, value in found.items() if value is not None}
    kind = entry.pop("rope_type", entry.get("type"))
    if kind is None and not entry.keys() <= _SHARED:
        raise ValueError(f"scaling has {min(entry.keys() - _SHARED)}, but no rope_type")
    if not isinstance(kind, (str, type(None))):
        raise TypeError(f"rope_type is {kind!r}, not a string")
    kind = choose("rope_type", _ALIASES.get(kind, kind or "default"), list(_SCALINGS))
    if kind == "dynamic" and entry.get("alpha"):  # HunYuan
        kind, entry["factor"] = "ntk", entry.pop("alpha")
    for key in entry.keys() - _KEYS:
        raise ValueError(f"scaling has {key!r}, which is unknown: drop it if it changes no cosines and sines")
    return {**entry, "rope_type": kind}


def _configuration(dim: Optional[int], scaling: Any, layer_type: Optional[str]) -> tuple[Optional[int], dict[str, Any]]:
    """Returns dim and the entry, with the keys that transformers reads from the configuration itself."""
    is_dict = isinstance(scaling, Mapping)
    get = scaling.get if is_dict else lambda key: getattr(scaling, key, None)
    if not any(get(key) is not None for key in ("rope_parameters", "rope_scaling", "model_type", "hidden_size")):
        if not is_dict:
            raise TypeError(f"scaling is {scaling!r}, expected a configuration, or its rope_scaling or rope_parameters")
        entry = _entry(scaling, layer_type)
        if entry["rope_type"] == "dynamic":
            entry.setdefault("max_position_embeddings", entry.get("original_max_position_embeddings"))
        return dim, entry
    entry = _entry(get("rope_scaling") or get("rope_parameters") or {}, layer_type)
    own = None
    if layer_type is None:
        own = get("original_max_position_embeddings")
        keys = scaling if is_dict else vars(scaling)
        bases = [key for key in keys if re.search("rope_.*(theta|base)", key) and key != "rope_theta"]
        for key in [key for key in bases if get(key) is not None]:
            raise ValueError(f"scaling has {key}, so layers differ: pass the base and the entry of those you want")
        if get("patch_size") is not None or str(get("model_type")).startswith(_OTHERS):
            raise ValueError("scaling is of a model with its own formulas for patches: pass inv_freq to a Sinusoid")
    if entry.get("mrope_section") is not None and get("model_type") is not None:
        entry["mrope_interleaved"], entry["interleaved"] = _interleaves(str(get("model_type"))), None
    longest = get("max_position_embeddings")
    entry["original_max_position_embeddings"] = own or entry.get("original_max_position_embeddings") or longest
    entry["max_position_embeddings"] = longest
    for key in ("rope_theta", "partial_rotary_factor"):
        entry[key] = get(key) if entry.get(key) is None else entry[key]
    return dim if is_dict else _columns(dim, scaling, layer_type, entry), entry


def _interleaves(model_type: str) -> bool:
    """Returns True if models of a type interleave mrope_section, and False if its sections are consecutive."""
    if model_type.startswith("hunyuan_vl"):
        raise ValueError(f"mrope_section of {model_type!r} isn't supported: columns of a pair rotate by different angles")
    family = re.sub("(_thinker|_talker)?(_text)?$", "", model_type)
    if family not in _INTERLEAVES:
        raise ValueError(
            f"the order of mrope_section is unknown for model_type {model_type!r}: drop mrope_section, and give "
            "inlay.Rotary pair_axes, the row of each pair"
        )
    return _INTERLEAVES[family]


def _columns(dim: Optional[int], config: Any, layer_type: Optional[str], entry: Mapping[str, Any]) -> Optional[int]:
    """Returns the rotary columns of a head, computed from a configuration object as transformers does."""
    if layer_type is not None and hasattr(config, "per_layer_config"):
        try:
            config = config.per_layer_config[layer_type]
        except ValueError:  # config.layer_types doesn't have the type, or its layers differ
            if getattr(config, "is_heterogeneous", False):
                return dim
    head = getattr(config, "head_dim", None)
    if head is None and getattr(config, "hidden_size", None) and getattr(config, "num_attention_heads", None):
        head = config.hidden_size // config.num_attention_heads
    part = None if entry["rope_type"] == "proportional" else entry.get("partial_rotary_factor")
    columns = dim if head is None else int(head * (1 if part is None else part))
    if dim not in (None, columns):
        raise ValueError(f"dim is {dim}, but heads of this configuration have {columns} rotary columns: drop dim")
    return columns


def _numbers(entry: Mapping[str, Any], half: int) -> dict[str, Any]:
    """Returns the numbers that the formula of an entry reads. Raises ValueError if one is missing or out of range."""
    needed, others = (keys.split() for keys in _SCALINGS[entry["rope_type"]])
    found = {key: entry[key] for key in (*needed, *others) if entry.get(key) is not None}
    lengths = [entry.get(key) for key in ("max_position_embeddings", "original_max_position_embeddings")]
    if entry["rope_type"] in ("yarn", "longrope") and all(isinstance(n, numbers.Real) and n >= 1 for n in lengths):
        found.setdefault("factor", lengths[0] / lengths[1])
    if entry["rope_type"] == "longrope" and "attention_factor" in found:
        needed.remove("factor")  # used only to compute attention_factor
    missing = [key for key in needed if key not in found]
    if missing:
        where = "the number of tokens as length" if "length" in missing else "the whole configuration, not its entry"
        raise ValueError(f"rope_type {entry['rope_type']} needs {', '.join(missing)}: pass {where}")
    for key, value in found.items():
        if key in ("short_factor", "long_factor"):
            if not isinstance(value, tuple) or len(value) != half:
                raise ValueError(f"{key} is {value!r:.99}, not a list of {half} numbers")
            for i, factor in enumerate(value):
                _require(f"{key}[{i}]", factor, 2**-20, 2**20)
            found[key] = _doubles(value)
        else:
            _require(key, value, *_RANGES.get(key, (2**-20, 1e6)))
    for low, high, defaults in ("beta_slow", "beta_fast", (1, 32)), ("low_freq_factor", "high_freq_factor", (0, 1)):
        least, most = found.get(low, defaults[0]), found.get(high, defaults[1])
        if least > most or least == most and low == "low_freq_factor":
            raise ValueError(f"{high} is {most}, which is not above {low}, {least}")
    return found


def _frequencies(dim: int, base: float, entry: Mapping[str, Any]) -> tuple[tuple[float, ...], float]:
    found, kind = _numbers(entry, dim // 2), entry["rope_type"]
    turning = dim // 2
    if kind == "proportional":  # frequencies for all columns of a head, but only the first ones rotate
        kind, turning = "linear", int(found.pop("partial_rotary_factor") * dim // 2)
        found.setdefault("factor", 1.0)
    if kind == "dynamic":
        found["original_max_position_embeddings"] = found.pop("max_position_embeddings")
    inv_freq, attention = _core.rotary_frequencies(dim, base, kind, **found)
    return (*array.array("d", inv_freq)[:turning], *[0.0] * (dim // 2 - turning)), attention


def _section_axes(entry: Mapping[str, Any], half: int) -> Optional[bytes]:
    """Returns the row of positions (temporal 0, height 1, width 2) of each frequency: one section after the other, or
    interleaved until height and width run out. Returns None if all have the same."""
    section, interleaved = entry.get("mrope_section"), entry.get("mrope_interleaved") or entry.get("interleaved")
    if section is None:
        return None
    section = section if isinstance(section, tuple) else (section,)
    if len(section) != 3 or not all(isinstance(n, int) and n >= 0 for n in section) or sum(section) != half:
        raise ValueError(f"mrope_section is {list(section)}, not three numbers whose sum is dim / 2 = {half}")
    if not interleaved:
        return bytes(axis for axis, count in enumerate(section) for _ in range(count))
    return bytes(i % 3 if i < 3 * section[i % 3] else 0 for i in range(half))


@functools.lru_cache(maxsize=64)
def _rotary_formula(dim: int, base: float, items: tuple[tuple[str, Any], ...]) -> Any:
    """Returns the row of positions of each frequency, and a formula for the frequencies of each row."""
    entry = dict(items)
    inv_freq, attention = _frequencies(dim, base, entry)
    axes = _section_axes(entry, dim // 2)
    rows, axes = (1, bytes(dim // 2)) if axes is None else (3, axes)
    own = [tuple(f for f, axis in zip(inv_freq, axes) if axis == row) for row in range(rows)]
    return axes, *(
        Sinusoid(inv_freq=f, amplitude=attention, layout="split").formula(2 * len(f)) if f else None for f in own
    )


def _read(
    dim: Optional[int], base: Optional[float], scaling: Any, layer_type: Optional[str], length: Optional[int]
) -> tuple[int, float, tuple[tuple[str, Any], ...]]:
    """Returns dim, base and the items of the entry of a rotary embedding, from the arguments of rotary()."""
    entry: dict[str, Any] = {"rope_type": "default", "rope_theta": 10000.0 if base is None else base}
    if scaling is not None:
        dim, entry = _configuration(dim, scaling, layer_type)
    if length is not None:
        entry["length"] = length
    theta = base if entry.get("rope_theta") is None else entry["rope_theta"]
    if theta is None:
        raise ValueError("scaling has no rope_theta: pass the whole configuration, its part for text, or base")
    if base is not None and base != theta:
        raise ValueError(f"base is {base}, but scaling has rope_theta {theta}: drop base")
    _require("rope_theta" if base is None else "base", theta, 1, 1e30)
    if dim is None:
        raise ValueError("dim is missing: the rotary columns of a head, its head_dim times partial_rotary_factor")
    return dim, float(theta), tuple(sorted(item for item in entry.items() if item[1] is not None))


def rotary(
    positions: Any,
    dim: Optional[int] = None,
    base: Optional[float] = None,
    scaling: Any = None,
    layout: str = "halves",
    *,
    layer_type: Optional[str] = None,
    length: Optional[int] = None,
    dtype: Any = "float32",
) -> tuple[Any, Any]:
    """Returns the cosines and sines of rotary embeddings for positions, numbers between -2^31 and 2^31.

    scaling is a model's configuration (an object of transformers or a dict) or its entry rope_parameters or
    rope_scaling, e.g. {"rope_type": "llama3", "factor": 8.0, ...}. docs/rotary.md lists the formulas and their keys.
    layer_type selects the type of layers if there are several. dynamic and longrope need length, the number of tokens.
    A configuration object determines dim, and rope_theta in scaling determines base. Without scaling, base defaults to
    10000. layout is "pairs" (dim / 2 columns), "halves" (Llama in PyTorch) or "interleaved". With mrope_section in
    scaling (Qwen2-VL to Qwen3-VL), positions are [3, ...]: temporal, height and width.
    """
    formula = _rotary_formula(*_read(dim, base, scaling, layer_type, length))
    return _core.rotary_rows(formula, positions, dtype, layout)


_MAX_DIM, _MAX_AXES = 1024, 4  # INLAY_ROTARY_MAX_DIM, INLAY_ROTARY_MAX_AXES


def _pair_axes(axes: Optional[int], pair_axes: Optional[Sequence[int]]) -> tuple[int, Optional[bytes]]:
    """Returns the number of rows of position ids, and the row of each pair as bytes."""
    if pair_axes is None:
        if axes not in (None, 1):
            raise ValueError(f"axes is {axes!r}, but pair_axes is None: give the axis of each pair")
        return 1, None
    numbers_given = [operator.index(axis) for axis in _hashable(pair_axes)]
    for i, axis in enumerate(numbers_given):
        if not 0 <= axis < _MAX_AXES:
            raise ValueError(f"pair_axes[{i}] is {axis}, not in [0, {_MAX_AXES})")
    used = max(numbers_given, default=0) + 1
    axes = used if axes is None else operator.index(axes)
    if not used <= axes <= _MAX_AXES:
        raise ValueError(f"axes is {axes}, not in [{used}, {_MAX_AXES}]: pair_axes uses axis {used - 1}")
    return axes, bytes(numbers_given)


class Rotary(_core.Rotary):
    """Rotates queries and keys by their positions. Any number of threads may share it.

    dim, base, scaling, layer_type and length are those of inlay.rotary(). layout is "halves" (pairs of columns i and
    dim / 2 + i) or "interleaved" (columns 2i and 2i + 1). inv_freq replaces base and scaling by your own frequencies in
    radians per position; attention_factor then multiplies cosines and sines. float_angles computes angles in float32,
    as PyTorch models do. cached_positions is the number of positions whose cosines and sines are kept in a table.
    Rotary(**rotary.spec) makes an equal one.

    With mrope_section in scaling (Qwen2-VL to Qwen3.5, GLM-4V), position_ids have three rows: temporal, height and
    width. For other models, pair_axes lists the row of each pair, and axes is the number of rows, by default the
    largest of pair_axes plus 1.

    rotary(*arrays, out=None, *, start=0, starts=None, position_ids=None, offsets=None, inverse=False,
    heads_first=False) rotates 1 to 8 arrays [batch, length, heads, columns] or [length, heads, columns] of the same
    tokens. With heads_first, heads are before the length. out is an array, or a tuple with an array or None for each;
    the array itself is rotated in place. position_ids broadcast to [batch, length]; with several axes, to [axes, batch,
    length].
    """

    spec: dict[str, Any]

    def __new__(
        cls,
        dim: Optional[int] = None,
        base: Optional[float] = None,
        scaling: Any = None,
        layout: str = "halves",
        *,
        layer_type: Optional[str] = None,
        length: Optional[int] = None,
        inv_freq: Optional[Sequence[float]] = None,
        attention_factor: Optional[float] = None,
        float_angles: bool = False,
        axes: Optional[int] = None,
        pair_axes: Optional[Sequence[int]] = None,
        cached_positions: Optional[int] = None,
        threads: Optional[int] = None,
    ) -> "Rotary":
        layout = choose("layout", layout, ("halves", "interleaved"))
        if inv_freq is None:
            if attention_factor is not None:
                raise ValueError("attention_factor needs inv_freq: put that of a model into scaling")
            dim, base, items = _read(dim, base, scaling, layer_type, length)
        else:
            for name, value in {"base": base, "scaling": scaling, "layer_type": layer_type, "length": length}.items():
                if value is not None:
                    raise ValueError(f"{name} was given, but inv_freq has the frequencies: drop one of them")
            inv_freq, items = tuple(map(float, _hashable(inv_freq))), ()
            for i, frequency in enumerate(inv_freq):
                _require(f"inv_freq[{i}]", frequency, 0, 2**31)
            dim = 2 * len(inv_freq) if dim is None else dim
        if not 2 <= operator.index(dim) <= _MAX_DIM or dim % 2:
            raise ValueError(f"dim is {dim}, not an even number in [2, {_MAX_DIM}]")
        sections = _section_axes(dict(items), dim // 2)
        if sections is None:
            own_axes, of_pairs = _pair_axes(axes, pair_axes)
        elif pair_axes is not None:
            raise ValueError("pair_axes was given, but scaling has mrope_section: drop one of them")
        elif axes not in (None, 3):
            raise ValueError(f"axes is {axes!r}, but mrope_section of scaling has 3: drop axes")
        else:
            own_axes, of_pairs = 3, sections
        attention = 1.0 if attention_factor is None else attention_factor
        _require("attention_factor", attention, 2**-20, 2**10)
        if dict(items).get("rope_type", "default") != "default":
            inv_freq, attention = _frequencies(dim, base, dict(items))  # the default's aren't rounded to float64
        options = (layout, bool(float_angles), cached_positions, threads, own_axes, of_pairs)
        self = super().__new__(cls, dim, base or 1.0, _doubles(inv_freq), attention, *options)
        self.spec = {
            "dim": int(dim),
            "base": base if inv_freq is None else None,
            "inv_freq": inv_freq,
            "attention_factor": None if inv_freq is None else float(attention),
            "layout": layout,
            "float_angles": bool(float_angles),
            "axes": own_axes,
            "pair_axes": None if of_pairs is None else tuple(of_pairs),
            "cached_positions": cached_positions if cached_positions is None else int(cached_positions),
            "threads": threads if threads is None else int(threads),
        }
        return self

    def __repr__(self) -> str:
        return f"inlay.Rotary(dim {self.dim}, {self.spec['layout']})"
