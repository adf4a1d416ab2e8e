# SPDX-License-Identifier: MIT
"""Compares names of options, and makes errors for unknown ones."""

import difflib
import functools
import inspect
import sys
from typing import Any, Iterable, Optional, Sequence

# Errors list up to this many names, else the nearest three.
_LISTED = 8

# Alternatives to names that users may expect but inlay doesn't have.
_ELSEWHERE = {
    ("pooling", "max"): "; for the largest elements of each text, take numpy.maximum.reduceat() of the rows that a layer "
    'without pooling returns, or inlay.torch.EmbeddingBag with mode "max", which PyTorch computes',
    ("rope_type", "axial"): "; axial frequencies turn by height and by width: make a table for each of half the columns, "
    "with rope_type default",
}


def fold(name: str) -> str:
    """Returns a name without case and separators, like inlay_name_equal() compares names."""
    return name.lower().replace("-", "").replace("_", "")


def _likeness(typed: str, name: str) -> float:
    part = fold(typed) in fold(name)
    return 1.0 if part else difflib.SequenceMatcher(None, fold(typed), fold(name)).ratio()


def unknown(what: str, typed: str, known: Sequence[Sequence[str]], synonyms: bool = True) -> ValueError:
    """Returns the error for an unknown name.

    The error lists each known name with its synonyms or, if it has none, its frameworks.
    """

    likeness = functools.partial(_likeness, typed)
    if len(known) <= _LISTED:
        elsewhere = _ELSEWHERE.get((what, fold(typed)), "")
        return ValueError(f"{what} is {typed!r}, not one of {', '.join(names[0] for names in known)}{elsewhere}")
    best = sorted(((max(names, key=likeness), names[0]) for names in known), key=lambda pair: -likeness(pair[0]))[:3]
    least = 1.0 if likeness(best[0][0]) == 1.0 else 0.0
    shown = [f"{name} ({other})" if fold(name) != fold(other) else name for other, name in best if likeness(other) >= least]
    text = f"{what} is {typed!r}, which is unknown; nearest: {', '.join(shown)}"
    if not synonyms:
        text += f"\n{what}s, and whose tables they make:"
        text += "".join(f"\n  {name}: {', '.join(others)}" for name, *others in known)
    return ValueError(text)


def choose(what: str, typed: str, known: Sequence[str]) -> str:
    """Returns the known name that matches the typed one, or raises ValueError."""
    for name in known:
        if fold(name) == fold(typed):
            return name
    raise unknown(what, typed, [[name] for name in known])


def no_argument(what: str, typed: str, known: Iterable[Optional[str]]) -> TypeError:
    """Returns the error for an unknown argument. The error names the nearest one, then the others."""
    names = [name for name in known if name]
    nearest = max(names, key=lambda name: (_likeness(typed, name), -len(name)))
    others = "".join(f", {name}" for name in names if name != nearest)
    return TypeError(f"{what} has no argument {typed!r}; nearest: {nearest}; all others: {others[2:] or 'none'}")


def checked(call: Any) -> Any:
    """Wraps a function, or a class's constructors, to raise no_argument() for unknown arguments. Returns it."""
    if isinstance(call, type):
        for name in ("__init__", "__new__"):
            if name in vars(call):
                setattr(call, name, checked(getattr(call, name)))
    if not inspect.isfunction(call):
        return call
    parameters = inspect.signature(call).parameters.values()
    known = [one.name for one in parameters if one.name not in ("self", "cls")]
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return call
    what = call.__qualname__.removesuffix(".__init__").removesuffix(".__new__")

    @functools.wraps(call)
    def wrapper(*args: Any, **given: Any) -> Any:
        for name in given.keys() - set(known):
            raise no_argument(f"{what}()", name, known)
        return call(*args, **given)

    if what == call.__name__:
        setattr(sys.modules[call.__module__], what, wrapper)
    return wrapper
