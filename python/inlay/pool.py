# SPDX-License-Identifier: MIT
"""Memory of outputs, which is reused: a block returns to the pool when the last array, view or tensor of it is gone.

Blocks that wait for the next output still count as memory of the process. `limit` says how many bytes they may have,
and `trim` gives them back to the system.
"""

from . import _core


def stats() -> dict[str, int]:
    """Returns the limit, bytes and blocks in use and idle, and how many were allocated, reused and released so far."""
    return _core.pool_stats()


def limit(idle_bytes: int) -> None:
    """Sets the most bytes that idle blocks have together; at first an eighth of the machine's memory, at most 1 GiB."""
    _core.pool_limit(idle_bytes)


def trim() -> int:
    """Gives all idle blocks back to the system and returns their bytes."""
    return _core.pool_trim()
