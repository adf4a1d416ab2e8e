#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Estimates the cost of the NEON kernels' inner loops on ARM cores by static analysis, when no board is available.

    neon_mca.py NEON_OBJECT [LLVM_MCA [OBJDUMP]]

Finds each loop in the disassembly as the shortest cycle that does the work of one step. That leaves out what hardly
ever runs (undecided entries, ends of rows). Prints for one iteration, with everything in L1:

    cycles       steady-state cycles, as simulated by llvm-mca
    load/store   cycles that its loads and stores alone occupy the core's units: a lower bound for any such loop
    dispatch     cycles to dispatch its instructions: the lower bound for this loop
"""

import re
import subprocess
import sys
from collections import deque

CPUS = ("cortex-a72", "cortex-a76", "neoverse-n1")

# For each loop: its function, required patterns of a cycle with counts, forbidden ones, and floats written.
LOOPS = {
    "embed": ("embed_f32_neon", ((r"fmul\s+v\d+\.4s", 4), (r"fadd\s+v\d+\.4s", 4), (r"st", 2)), r"addv|prfm|bl\s", 16),
    "sinusoid rows": ("sinusoid_rows_neon", ((r"zip[12]\s+v\d+\.4s", 8), (r"st", 12)), r"addv|fcvtxn|prfm|bl\s", 32),
}
ITERATIONS = 1000


class Function:
    """Instructions as text, and their possible successors."""

    def __init__(self, lines):
        self.text = [text for _, text in lines]
        place = {address: i for i, (address, _) in enumerate(lines)}
        self.next = []
        self.heads = set()
        for i, text in enumerate(self.text):
            jump = re.match(r"(b|b\.\w+|cbn?z|tbn?z)\s+(?:.*,\s*)?([0-9a-f]+) <", text)
            follow = [] if jump and jump[1] == "b" or text.startswith("ret") else [i + 1]
            target = place.get(int(jump[2], 16)) if jump else None
            if target is not None:
                follow.append(target)
                if target <= i:
                    self.heads.add(target)
            self.next.append([j for j in follow if j < len(lines)])


def disassemble(objdump, path):
    done = subprocess.run([objdump, "-d", "--no-show-raw-insn", path], stdout=subprocess.PIPE, check=True)
    functions, lines = {}, None
    for line in done.stdout.decode().splitlines():
        begin = re.match(r"[0-9a-f]+ <(\w+)>:", line)
        if begin:
            lines = functions.setdefault(begin[1], [])
        instruction = re.match(r"\s*([0-9a-f]+):\s+(.*)", line)
        if instruction:
            lines.append((int(instruction[1], 16), instruction[2].split("//")[0].strip()))
    return {name: Function(lines) for name, lines in functions.items()}


def vectors(text, kind):
    """Returns how many q registers an instruction loads ("ld") or stores ("st")."""
    return len(re.findall(r"\bq\d+", text)) if text.startswith(kind) else 0


def count(text, pattern):
    return vectors(text, pattern) if pattern in ("ld", "st") else len(re.findall(pattern, text))


def shortest_cycle(function, wanted, unwanted):
    """Returns the shortest cycle of instructions through a loop's head that has everything wanted."""
    best = None
    for head in function.heads:
        start = (head, (0,) * len(wanted))
        came = {start: None}
        queue = deque([start])
        while queue:
            state = queue.popleft()
            at, seen = state
            text = function.text[at]
            if re.match(unwanted, text):
                continue
            seen = tuple(min(n + count(text, pattern), most) for n, (pattern, most) in zip(seen, wanted))
            if head in function.next[at] and all(n == most for n, (_, most) in zip(seen, wanted)):
                path = []
                while state is not None:
                    path.append(function.text[state[0]])
                    state = came[state]
                if best is None or len(path) < len(best):
                    best = path[::-1]
                break
            for successor in function.next[at]:
                if successor != head and (successor, seen) not in came:
                    came[(successor, seen)] = state
                    queue.append((successor, seen))
    return best


def simulate(mca, cpu, loop):
    """Returns llvm-mca's results for a loop, by name."""
    # Branch targets don't matter here.
    source = "".join(re.sub(r"[0-9a-f]+ <.*>", "away", text) + "\n" for text in loop)
    command = [mca, "--mtriple=aarch64-linux-gnu", f"--mcpu={cpu}", f"--iterations={ITERATIONS}"]
    done = subprocess.run(command, input=source.encode(), stdout=subprocess.PIPE, check=True)
    return {name: float(n) for name, n in re.findall(r"^([\w ]+):\s+([\d.]+)$", done.stdout.decode(), re.MULTILINE)}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    path, mca, objdump = (sys.argv[1:] + ["llvm-mca", "aarch64-linux-gnu-objdump"][len(sys.argv) - 2 :])[:3]
    functions = disassemble(objdump, path)
    version = subprocess.run([mca, "--version"], stdout=subprocess.PIPE, check=True).stdout.decode()
    print(re.search(r"LLVM version \S+", version)[0])
    for name, (symbol, wanted, unwanted, floats) in LOOPS.items():
        loop = shortest_cycle(functions[symbol], wanted, unwanted)
        if loop is None:
            sys.exit(f"no loop in {symbol} does one step of {name}")
        loads, stores = (sum(vectors(text, kind) for text in loop) for kind in ("ld", "st"))
        print(f"\n{name}: {len(loop)} instructions write {floats} floats; {loads} vectors loaded, {stores} stored")
        print(f"  {'core':<12} {'cycles':>8} {'load/store':>11} {'dispatch':>9} {'cycles/bound':>13} {'B/cycle':>8}")
        moves = [text for text in loop if re.match(r"ld|st", text)]
        for cpu in CPUS:
            found = simulate(mca, cpu, loop)
            cycles = found["Total Cycles"] / ITERATIONS
            bound = simulate(mca, cpu, moves)["Block RThroughput"]
            dispatch = found["uOps Per Cycle"] * cycles / found["Dispatch Width"]
            print(f"  {cpu:<12} {cycles:8.2f} {bound:11.2f} {dispatch:9.2f} {cycles / bound:13.2f} "
                  f"{4 * floats / cycles:8.2f}")


if __name__ == "__main__":
    main()
