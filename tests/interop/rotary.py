#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares inlay.rotary with the rotary classes of transformers.

    rotary.py [CONFIGURATION...]

Run by `./dev interop`. Every default configuration with rope_parameters is passed whole, and each of its layer types in
turn. At position 0 the cosine is the attention factor, at position 1 the sines are those of the frequencies: both must be
within 4 ULP of the class's, since transformers computes in float32. If inlay raises an error, its text is printed.

For every class with mrope_section, positions differ between the three rows. The choice of the row per frequency is
compared bit by bit: the class recombines inlay's tables of each row. Its own float32 tables must be close.
"""

import collections
import importlib
import inspect
import logging
import os
import pathlib
import sys
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
REFUSED = ["ernie4_5_vl_moe_text", "hunyuan_vl_text"]  # model types with mrope_section that inlay.rotary rejects
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


def text_table(table):
    """Returns the columns of a table of a class that differ: cosines or sines of each pair."""
    halves = table.chunk(2, -1)
    return halves[0] if torch.equal(*halves) else table[..., ::2]


def compare_position_rows(known, layer_type, candidates):
    """Compares the tables for three different rows of positions with those of the model's class."""
    config = known()
    config.head_dim = 128  # some defaults have an odd number of pairs
    entry = config.rope_parameters[layer_type] if layer_type else config.rope_parameters
    layer = () if layer_type is None else (layer_type,)
    for made in candidates:
        try:
            module = made(config)
            pairs = next(module.buffers()).numel()
            entry["mrope_section"] = [pairs - pairs // 4 - pairs // 3, pairs // 4, pairs // 3]
            module = made(config)
        except Exception:  # a class of another part of the model  # pylint: disable=broad-exception-caught
            continue
        positions = torch.randint(300, (3, 2, 200), generator=torch.Generator().manual_seed(1))
        try:
            ours = inlay.rotary(positions, scaling=config, layer_type=layer_type, layout="pairs")
        except ValueError as error:
            return str(error)
        alone = {key: value for key, value in entry.items() if key != "mrope_section"}
        rows = inlay.rotary(positions, 2 * ours[0].shape[-1], None, alone, layout="pairs")
        near = module(torch.empty(0), positions, *layer)
        for what, mine, table, other in zip(("cosines", "sines"), ours, rows, near):
            chosen = module.recomposition_frequencies(table.clone(), *layer)
            compare_bits(f"{known.__name__}, {what} of three rows", mine, text_table(chosen))
            if not torch.allclose(mine, text_table(other), rtol=0, atol=1e-4):
                broken.append(f"{known.__name__}, {what} computed in float32")
        return "equal" if known.__name__ not in str(broken) else "different"
    return None


def main():
    counts, rows = collections.Counter(), {}
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
            three = [one for one in candidates if hasattr(one, "recomposition_frequencies")]
            for layer_type in [name for name, value in entry.items() if isinstance(value, dict)] or [None]:
                result = compare(config, layer_type, entry, candidates)
                print(f"{known.__name__:<40} {layer_type or '':<20} {result}")
                counts[result if result in ("equal", "different", "no reference") else "error"] += 1
                if result == "different":
                    broken.append(f"{known.__name__} {layer_type or ''}")
                ours = three and known.model_type.endswith(("_text", "_talker"))  # others share a folder with these
                result = compare_position_rows(known, layer_type, three) if ours else None
                if result is not None:
                    print(f"{known.__name__:<40} {'three rows':<20} {result}")
                    rows[known.model_type] = result == "equal"
    print(", ".join(f"{what} {count}" for what, count in sorted(counts.items())), f"of {sum(counts.values())}")
    refused = sorted(kind for kind, equal in rows.items() if not equal)
    print(f"three rows: {len(rows) - len(refused)} equal, errors or differences: {', '.join(refused)}")
    if not sys.argv[1:] and refused != REFUSED:
        broken.append(f"types with three rows that aren't equal: {refused}, expected {REFUSED}")
    return finish()


if __name__ == "__main__":
    sys.exit(main())
