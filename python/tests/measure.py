# SPDX-License-Identifier: MIT
"""What tests measure of the process: its memory, reference counts, and calls from several threads."""

import gc
import os
import sys
import threading

import inlay


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def leaks(calls, objects):
    """Returns how much the reference count of each object changes in 50 rounds of calls, which may fail, and how many
    blocks of the pool stay in use."""

    def run():
        for call in calls:
            try:
                call()
            except (ValueError, IndexError, TypeError):
                pass

    def state():
        gc.collect()
        return [sys.getrefcount(one) for one in objects], inlay.pool.stats()["used_blocks"]

    run()  # fills caches
    before, used = state()
    for _ in range(50):
        run()
    after, still_used = state()
    return [a - b for a, b in zip(after, before)], still_used - used


def run_together(count, work):
    """Calls work() in `count` threads at once."""
    running = [threading.Thread(target=work) for _ in range(count)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
