# SPDX-License-Identifier: MIT
"""Times every text configuration of transformers up to its first block, before and after inlay.torch.convert().

`models.py --families` runs it. tests/interop/families.py makes the models, with the hidden size of the default
configuration (1024 if that fails), a vocabulary of 32,000 and two blocks. No block runs: an exception at the first
block ends the call, after its input has been computed.

Models share a path if their rows go through the same functions of PyTorch with arguments of the same shapes and types,
from the first lookup to the first block. One model per path is timed, in whole calls. "rows alone" is a
torch.nn.Embedding without a model. The contenders are the model and a converted copy that shares its tensors. Their
calls take turns, and times are CPU times of the thread. The ratio is the ratio of minima; the median ratio of pairs of
calls follows in brackets. If one is above LIMIT, more pairs are timed. The lower of both counts for a cell, since other
work on the machine rarely affects both. Some models can't run a single token.

glibc's heap may or may not keep the memory of outputs from 1 to 32 MiB. keep_memory() makes it keep them, the best case
for PyTorch. Larger outputs are new pages in each call.
"""

import copy
import ctypes
import functools
import pathlib
import statistics
import sys
import time

# pylint: disable=wrong-import-position
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests/interop"))

import families
import torch
import transformers
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree
from transformers import initialization
from transformers.models.auto import configuration_auto

import inlay.torch
from inlay.torch.conversion import PendingRows

VOCAB, MAX_PARAMETERS, HIDDEN = 32000, 3e9, 1024
SHAPES = ((1, 1), (1, 128), (1, 512), (8, 512), (32, 512))
DTYPES = (torch.float32, torch.bfloat16)
LIMIT, CLEAR = 1.02, 0.9
# Maximum numbers of pairs of timed calls and of seconds: first for all cells, then for cells above LIMIT.
PAIRS, MIN_PAIRS = ((20, 0.5), (40, 2), (100, 6)), 2
BATCH = 1e-4  # seconds of calls timed together
MAX_SECONDS = 0.6  # per call; skips larger shapes of BROS, which compares all pairs of boxes before its blocks


# ---- Models


def sizes_of(hidden):
    """Returns the sizes for families.py, with a hidden size or that of default configurations."""
    heads = hidden and HIDDEN // 64
    changed = {
        families.VOCABULARIES: VOCAB,
        families.POSITIONS: 1024,
        families.HIDDEN: hidden,
        families.HEADS: heads,
        families.KEY_HEADS: heads,
        families.HEAD_DIM: hidden and 64,
    }
    return [(pattern, changed.get(pattern, size)) for pattern, size in families.SIZES if changed.get(pattern, size)]


ATTEMPTS = tuple(
    (hidden, patterns, layers) for hidden in (None, HIDDEN) for patterns, layers in ((99, 2), (99, 4), (6, 2))
)
# What depends on the number of layers. Other settings of families.py are those of small models.
SPECIAL = {
    model_type: {key: value for key, value in options.items() if key in ("attention_types", "layer_types")}
    for model_type, options in families.SPECIAL.items()
}


def made(model_type, config_class, model_class, attempt, dtype):
    """Returns a model in a type. The memory of its blocks is never touched."""
    hidden, patterns, layers = attempt
    sizes = sizes_of(hidden)
    config = families.small(config_class, min(patterns, len(sizes)), layers, model_type, sizes, SPECIAL)
    with torch.device("meta"), initialization.no_init_weights():
        parameters = sum(p.numel() for p in model_class(config).parameters())
    if parameters > MAX_PARAMETERS:
        raise families.TooLarge(f"{parameters / 1e9:.1f}e9 parameters")
    with initialization.no_init_weights():
        model = model_class._from_config(config, dtype=dtype).eval()
    of_blocks = {id(p) for block in families.blocks_of(model) for p in block.parameters()}
    with torch.no_grad():
        for parameter in model.parameters():
            if id(parameter) not in of_blocks and parameter.is_floating_point():
                # Equal values would have no variance, and a norm that sees this sums them again.
                parameter.copy_(torch.linspace(-1, 1, parameter.shape[-1] if parameter.dim() else 1))
    return model


def end_call(_module, arguments, named):
    for value in (*arguments, *named.values()):
        if isinstance(value, PendingRows):
            value.materialize()
    raise families.Arrived


class Way(TorchFunctionMode):
    """Records the functions that process rows, with the shapes and types of their arguments."""

    def __init__(self):
        super().__init__()
        self.steps, self.rows = [], {}

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        given = [leaf for leaf in _pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        results = [leaf for leaf in _pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        is_lookup = function in (torch.nn.functional.embedding, torch.embedding)
        if results and (is_lookup or any(id(one) in self.rows for one in given)):
            self.steps.append((function.__name__, tuple((tuple(one.shape), one.dtype) for one in given)))
            self.rows.update((id(one), one) for one in results)
        return result


def call_of(model, name, shape):
    """Returns a function that calls a part of a model up to its first block."""
    ids = torch.randint(5, VOCAB - 5, shape)
    sides = {part or "model": (module, needs) for part, module, needs in families.sides_of(model, *shape)}
    module, needs = sides[name]

    def call():
        try:
            module(input_ids=ids, **needs)
        except families.Arrived:
            return
        raise RuntimeError("no block was called")

    return call


def way_of(model, name):
    with Way() as way:
        call_of(model, name, (2, 16))()
    if not way.steps:
        raise RuntimeError("no row was looked up")
    return tuple(way.steps)


def first_model(model_type, dtype, attempts=ATTEMPTS):
    """Returns a model, the attempt that made it, and the paths of its parts, or the error of the first attempt."""
    config_class, classes, _alone = families.classes_of(model_type)
    error = None
    for attempt in attempts:
        for model_class in classes:
            try:
                model = made(model_type, config_class, model_class, attempt, dtype)
                for block in families.blocks_of(model):
                    block.register_forward_pre_hook(end_call, with_kwargs=True)
                names = [part or "model" for part, _module, _needs in families.sides_of(model)]
                return model, attempt, {name: way_of(model, name) for name in names}
            except Exception as problem:  # noqa: BLE001  # pylint: disable=broad-except
                error = error or problem
    return error or RuntimeError("it is no text model"), None, {}


# ---- Times


def converted(model):
    """Returns a converted model with the same tensors."""
    tensors = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    copied = copy.deepcopy(model, tensors)
    inlay.torch.convert(copied)
    return copied


def seconds(call, calls):
    begin = time.thread_time()
    for _ in range(calls):
        call()
    return (time.thread_time() - begin) / calls


def compare(calls):
    """Returns the ratio of the minima after and before convert(), the median of the ratios of pairs, and the seconds of
    a call before."""
    for call in (*calls, *calls):  # after the first call, a converted embedding knows the use of its rows
        once = seconds(call, 1)
    together, begin, times = max(1, int(BATCH / once)), time.thread_time(), ([], [])
    for pairs, most in PAIRS:
        for index in range(pairs):
            for which in (0, 1) if index % 2 else (1, 0):
                times[which].append(seconds(calls[which], together))
            ratio = min(times[1]) / min(times[0])
            median = statistics.median(after / before for before, after in zip(*times))
            if index >= MIN_PAIRS and (max(ratio, median) < CLEAR or time.thread_time() - begin > most):
                break
        if max(ratio, median) <= LIMIT:
            break
    return ratio, median, min(times[0])


class Results:
    """The ratios by type and number of tokens."""

    def __init__(self):
        self.cells, self.slower = {}, []

    def measure(self, what, dtype, calls_of):
        line, once = f"{what:<44}{str(dtype)[6:]:<9}", 0.0
        for shape in SHAPES:
            if once > MAX_SECONDS:
                line += "       too long"
                continue
            calls = calls_of(shape)
            try:
                calls[0]()
            except Exception:  # noqa: BLE001  # pylint: disable=broad-except  # raised by the original model
                line += "     cannot run"
                continue
            ratio, median, once = compare(calls)
            tokens = shape[0] * shape[1]
            self.cells.setdefault((dtype, tokens), []).append((min(ratio, median), what))
            if min(ratio, median) > LIMIT:
                self.slower.append(f"{what}, {str(dtype)[6:]}, {tokens} tokens: {ratio:.3f} ({median:.3f})")
            line += f"{ratio:7.3f} ({median:5.3f})"
        print(line, flush=True)

    def show(self):
        print("after over before: worst, median and best of all sequences")
        for (dtype, tokens), cells in self.cells.items():
            ratios = sorted(cells)
            median = statistics.median(ratio for ratio, _what in ratios)
            print(
                f"{str(dtype)[6:]:<9}{tokens:>6} tokens  {ratios[-1][0]:6.3f} {median:6.3f} {ratios[0][0]:6.3f}"
                f"   worst: {ratios[-1][1]}"
            )
        print(f"{len(self.slower)} of {sum(map(len, self.cells.values()))} cells are above {LIMIT}")
        for line in self.slower:
            print("above:", line)


def keep_memory():
    """Makes malloc() keep freed memory, except blocks that it always maps by default."""
    trim_threshold, mmap_threshold = -1, -3
    mallopt = ctypes.CDLL(None).mallopt
    mallopt(mmap_threshold, 32 << 20)
    mallopt(trim_threshold, 2**31 - 1)


def rows_alone(dim, dtype):
    """Returns a function that makes the calls of an embedding without a model for a shape."""
    table = torch.nn.Embedding(VOCAB, dim, dtype=dtype)

    def call_of_rows(module, ids):
        rows = module(ids)
        if isinstance(rows, PendingRows):
            rows.materialize()

    def calls_of(shape):
        ids = torch.randint(VOCAB, shape)
        return [functools.partial(call_of_rows, module, ids) for module in (table, with_inlay)]

    with_inlay = converted(table)
    return calls_of


def run(model_types=()):
    """Prints a line for each path and type, and a summary. Returns True if no cell is above LIMIT."""
    keep_memory()
    transformers.utils.logging.set_verbosity(50)
    results, ways, missing = Results(), {}, []
    print(f"{'model, hidden size':<44}{'':<9}" + "".join(f"{a} x {b}".rjust(15) for a, b in SHAPES))
    for dim in (384, 1024, 4096):
        for dtype in DTYPES:
            results.measure(f"rows alone, {dim}", dtype, rows_alone(dim, dtype))
    for model_type in model_types or sorted(configuration_auto.CONFIG_MAPPING_NAMES):
        try:
            if not families.classes_of(model_type)[1]:
                continue
        except Exception:  # noqa: BLE001  # pylint: disable=broad-except
            continue
        model, attempt, found = first_model(model_type, DTYPES[0])
        if not found:
            missing.append(f"{model_type} ({type(model).__name__}: {str(model)[:60]})")
        new = [name for name, way in found.items() if way not in ways]
        for name, way in found.items():
            ways.setdefault(way, []).append(model_type)
        for dtype in DTYPES if new else ():
            if dtype != DTYPES[0]:
                model = None  # two may not fit in memory
                model, _attempt, found = first_model(model_type, dtype, (attempt,))
            for name in [name for name in new if name in found]:
                if list(found).index(name) and found[name] == next(iter(found.values())):
                    continue  # an encoder and its decoder
                what = f"{model_type}, {found[name][0][1][-1][0][-1]}" + ("" if name == "model" else f", {name}")
                contenders = model, converted(model)
                results.measure(what, dtype, lambda shape: [call_of(one, name, shape) for one in contenders])  # noqa: B023
    models = {model_type for names in ways.values() for model_type in names}
    print(f"{len(models)} models, {len(ways)} distinct ways; {len(missing)} were not made or run: {', '.join(missing)}")
    results.show()
    return not results.slower
