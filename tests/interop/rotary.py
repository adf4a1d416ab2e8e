#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares inlay.rotary with the rotary classes of transformers.

    rotary.py [CONFIGURATION...]

Run by `./dev interop`. Every default configuration with rope_parameters is passed whole, and each of its layer types in
turn. At position 0 the cosine is the attention factor, at position 1 the sines are those of the frequencies: both must be
within 4 ULP of the class's, since transformers computes in float32. If inlay raises an error, its text is printed.

For models with three rows of positions (Qwen2-VL to Qwen3.5, GLM-4V), the choice of the row per frequency is compared bit
by bit: their class recombines inlay's tables of each row. Their own float32 tables must be close.
"""

import collections
import importlib
import inspect
import logging
import os
import pathlib
import sys
import types
import warnings

os.environ["HF_HUB_OFFLINE"] = "1"
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

import torch  # noqa: E402
import transformers.models  # noqa: E402
from transformers.configuration_utils import PreTrainedConfig  # noqa: E402
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS  # noqa: E402

import inlay  # noqa: E402
from compared import broken, finish  # noqa: E402
from compared import compare as compare_bits  # noqa: E402

ULPS = 4
MODELS = pathlib.Path(transformers.models.__path__[0])


def classes(folder, prefix):
    """Returns the classes that the files of a model's folder define."""
    for path in sorted(folder.glob(prefix + "_*.py")):
        name = f"transformers.models.{folder.name}.{path.stem}"
        try:
            module = importlib.import_module(name)
        except ImportError:  # of a package that this model needs
            continue
        yield from (c for c in vars(module).values() if inspect.isclass(c) and c.__module__ == name)


def rotary_classes(folder):
    """Returns the classes with frequencies of a configuration, by the configuration they are annotated with."""
    found = collections.defaultdict(list)
    for made in classes(folder, "modeling"):
        parameter = inspect.signature(made.__init__).parameters.get("config")
        if parameter is not None and issubclass(made, torch.nn.Module) and "inv_freq" in inspect.getsource(made):
            found[parameter.annotation].append(made)
    return found


def frequencies(made, config, layer_type):
    """Returns the frequencies of a rotary class and its attention factor."""
    if layer_type is None:
        module = made(config)
        return module.inv_freq.double(), getattr(module, "attention_scaling", 1.0)
    kind = config.rope_parameters[layer_type]["rope_type"]
    try:
        config = config.per_layer_config[layer_type]
    except ValueError:  # of a type that is not in config.layer_types
        pass
    compute = ROPE_INIT_FUNCTIONS.get(kind) or made.compute_default_rope_parameters
    theirs, attention = compute(config, layer_type=layer_type)
    return theirs.double(), attention


def compare(config, layer_type, entry, candidates):
    """Returns what inlay's tables are: "equal", "different", "no reference", or the text of its error."""
    positions = torch.tensor([0, 1]).expand((3, 2) if "mrope_section" in entry else (2,))
    try:
        cos, sin = inlay.rotary(positions, scaling=config, layer_type=layer_type, layout="pairs")
    except ValueError as error:
        return str(error)
    compared = "no reference"
    for made in candidates:
        try:
            theirs, attention = frequencies(made, config, layer_type)
        except Exception:  # a class of another part of the model  # pylint: disable=broad-exception-caught
            continue
        wanted = attention * theirs.sin()
        compared = "different"
        if wanted.shape == sin[1].shape and torch.allclose(sin[1].double(), wanted, rtol=ULPS * 2**-23, atol=0):
            if torch.allclose(cos[0].double(), torch.tensor(attention).double(), rtol=2**-23):
                return "equal"
    return compared


# Class, folder of transformers, rope_parameters, rotary columns, layout.
POSITION_ROWS = [
    ("Qwen2VLRotaryEmbedding", "qwen2_vl", {"type": "mrope", "mrope_section": [16, 24, 24]}, 128, "halves"),
    ("Qwen2_5_VLRotaryEmbedding", "qwen2_5_vl", {"type": "mrope", "mrope_section": [16, 24, 24]}, 128, "halves"),
    ("Qwen3VLTextRotaryEmbedding", "qwen3_vl", {"mrope_interleaved": True, "mrope_section": [24, 20, 20]}, 128, "halves"),
    ("Qwen3VLMoeTextRotaryEmbedding", "qwen3_vl_moe", {"mrope_interleaved": True, "mrope_section": [24, 20, 20]}, 128,
     "halves"),
    ("Qwen3_5TextRotaryEmbedding", "qwen3_5",
     {"mrope_interleaved": True, "mrope_section": [11, 11, 10], "partial_rotary_factor": 0.25}, 64, "halves"),
    ("Glm4vTextRotaryEmbedding", "glm4v", {"mrope_section": [8, 12, 12], "partial_rotary_factor": 0.5}, 64, "interleaved"),
]  # fmt: skip
BASE = 1000000.0


def compare_position_rows():
    torch.manual_seed(1)
    positions = torch.randint(300, (3, 2, 200))
    for name, folder, parameters, dim, layout in POSITION_ROWS:
        head = int(dim / parameters.get("partial_rotary_factor", 1))
        config = types.SimpleNamespace(
            max_position_embeddings=32768, rope_parameters={"rope_theta": BASE, **parameters, "rope_type": "default"},
            head_dim=head, hidden_size=2 * head, num_attention_heads=2,
        )  # fmt: skip
        theirs = getattr(importlib.import_module(f"transformers.models.{folder}.modeling_{folder}"), name)(config)
        ours, near = inlay.rotary(positions, dim, BASE, parameters, layout), theirs(torch.empty(0), positions)
        rows = inlay.rotary(positions, dim, BASE, layout="pairs")
        for what, mine, table, other in zip(("cosines", "sines"), ours, rows, near):
            compare_bits(f"{name}, {what}", mine, theirs.recomposition_frequencies(table.clone()))
            if not torch.allclose(mine, other, rtol=0, atol=1e-4):
                broken.append(f"{name}, {what} computed in float32")


def main():
    counts = collections.Counter()
    for folder in sorted(path for path in MODELS.iterdir() if path.is_dir()):
        made = None
        for known in classes(folder, "configuration"):
            if not issubclass(known, PreTrainedConfig) or (sys.argv[1:] and known.__name__ not in sys.argv[1:]):
                continue
            try:
                config = known()
            except Exception:  # which has no defaults  # pylint: disable=broad-exception-caught
                continue
            entry = getattr(config, "rope_parameters", None)
            if not entry:
                continue
            made = rotary_classes(folder) if made is None else made
            candidates = made[known] or [one for several in made.values() for one in several]
            for layer_type in [name for name, value in entry.items() if isinstance(value, dict)] or [None]:
                result = compare(config, layer_type, entry, candidates)
                print(f"{known.__name__:<40} {layer_type or '':<20} {result}")
                counts[result if result in ("equal", "different", "no reference") else "error"] += 1
                if result == "different":
                    broken.append(f"{known.__name__} {layer_type or ''}")
    print(", ".join(f"{what} {count}" for what, count in sorted(counts.items())), f"of {sum(counts.values())}")
    compare_position_rows()
    return finish()


if __name__ == "__main__":
    sys.exit(main())
