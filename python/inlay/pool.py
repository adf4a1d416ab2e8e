# SPDX-License-Identifier: MIT
"""The pool of memory for outputs. A block returns to the pool with the last array, view or tensor that uses it.

Idle blocks count as memory of the process. limit() bounds their size, and trim() returns them to the system.
"""

from . import _core


def stats() -> dict[str, int]:
    """Returns the limit, the bytes and blocks in use and idle, and the counts of allocated, reused and released blocks.
    """
    return _core.pool_stats()


def limit(idle_bytes: int) -> None:
    """Sets the maximum total size of idle blocks. The default is 1/8 of the machine's memory, at most 1 GiB."""
    _core.pool_limit(idle_bytes)


def trim() -> int:
    """Returns all idle blocks to the system. Returns their size in bytes."""
    return _core.pool_trim()
