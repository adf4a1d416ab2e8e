# SPDX-License-Identifier: MIT
"""Names of options: how they compare, and what is said of one that is unknown."""

import difflib
from typing import Sequence

# Lists of up to so many names are shown whole, of longer ones the nearest three.
_LISTED = 8

# What is said of names that inlay does not have and that somebody may look for, with what does the same.
_ELSEWHERE = {
    ("pooling", "max"): "; for the largest elements of each text, take numpy.maximum.reduceat() of the rows that a layer "
    'without pooling returns, or inlay.torch.EmbeddingBag with mode "max", which PyTorch computes',
}


def fold(name: str) -> str:
    """Returns what counts of a name, as inlay_name_equal() compares names."""
    return name.lower().replace("-", "").replace("_", "")


def unknown(what: str, typed: str, known: Sequence[Sequence[str]], synonyms: bool = True) -> ValueError:
    """Returns the error for a name that is unknown.

    Each of those known comes with what else it is called: synonyms, or else frameworks, which are listed too.
    """

    def likeness(name: str) -> float:
        part = fold(typed) in fold(name)
        return 1.0 if part else difflib.SequenceMatcher(None, fold(typed), fold(name)).ratio()

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
    """Returns the one of a few names that was typed."""
    for name in known:
        if fold(name) == fold(typed):
            return name
    raise unknown(what, typed, [[name] for name in known])
