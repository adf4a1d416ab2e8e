#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares inlay.rotary with the rotary classes of transformers, for all default configurations with rope_parameters.

    rotary.py [CONFIGURATION...]

Runs in the virtual environment that `./dev interop` makes, with the wheel of inlay in it. Each configuration is passed
whole, and each of its layer types in turn. Position 0 has the attention factor as its cosine and position 1 the sines
of the frequencies, which must be those of the class within 4 ULP of float32: transformers computes them in float32.
Where inlay raises an error instead, the line says which. The last lines are counts. The exit status is 1 if any
frequency differs, with a line "BROKEN ..." for each.
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
                    print(f"BROKEN {known.__name__} {layer_type or ''}")
    print(", ".join(f"{what} {count}" for what, count in sorted(counts.items())), f"of {sum(counts.values())}")
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
