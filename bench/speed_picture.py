# SPDX-License-Identifier: MIT
"""Draws the README's picture: time of other frameworks relative to inlay, from a run kept by `./dev peers --save`.

Hand-written SVG: text stays text, without embedded fonts, and the background follows the reader's theme.
"""

import html
import json
import re

# The shapes, in the order of the panels, and the frameworks with their names in the picture.
SHAPES = {
    "32x512 d512 v50k": "32 prompts of 512 tokens, dim 512",
    "8x8192 d1024 v32k": "8 prompts of 8192 tokens, dim 1024",
    "1x2048 d4096 v32k": "1 prompt of 2048 tokens, dim 4096",
    "64x1 d4096 v32k": "decoding: 64 sequences, dim 4096",
}
PEERS = {
    "inlay, cached sinusoids": "inlay",
    "JAX (jit)": "JAX (jit)",
    "torch.compile": "torch.compile",
    "PyTorch eager": "PyTorch eager",
    "NumPy, in place": "NumPy",
    "ONNX Runtime": "ONNX Runtime",
}
PANEL, LEFT, LINE, TOP = 400, 106, 21, 58  # pixels: panel width, space for names, bar height, space above

STYLE = """
.page { fill: #ffffff } .text { fill: #1f2328 } .small { fill: #59636e } .other { fill: #9aa7b4 } .inlay { fill: #d1570a }
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117 } .text { fill: #f0f6fc } .small { fill: #9198a1 } .other { fill: #59636e } .inlay { fill: #f0883e }
}
text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif }
.small { font-size: 12px } .title { font-weight: 600 }
"""


def newest(folder):
    """Returns the most recent of the kept runs; None if there are none."""
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    return max(runs, key=lambda run: run["date"], default=None)


def label(x, y, text, kind, anchor="start"):
    return f'<text x="{x}" y="{y}" class="{kind}" text-anchor="{anchor}">{html.escape(text)}</text>'


def panel(x, y, title, ratios, milliseconds, pixels):
    """A bar per framework, labeled with its time relative to inlay."""
    yield label(x, y - 10, title, "text title")
    for at, (peer, name) in enumerate(PEERS.items()):
        top, width = y + at * LINE, round(ratios[peer] * pixels)
        kind = "inlay" if at == 0 else "other"
        said = f"1 ({milliseconds:.2g} ms)" if at == 0 else f"{ratios[peer]:.2f}"
        yield label(x + LEFT - 8, top + 13, name, "text", "end")
        yield f'<rect x="{x + LEFT}" y="{top + 2}" width="{width}" height="{LINE - 5}" class="{kind}"/>'
        yield label(x + LEFT + width + 6, top + 13, said, "text")


def svg(folder):
    """Returns the picture as SVG text; None if no run is kept."""
    run = newest(folder)
    if run is None:
        return None
    inlay = next(iter(PEERS))
    rows = {(row["shape"], row["peer"]): row for row in run["rows"]}
    shapes = [shape for shape in SHAPES if all((shape, peer) in rows for peer in PEERS)]
    ratios = {(shape, peer): 1.0 if peer == inlay else rows[shape, peer]["median_over_inlay"]
              for shape in shapes for peer in PEERS}
    pixels = (PANEL - LEFT - 60) / max(ratios.values())
    step = len(PEERS) * LINE + 42
    height = TOP + -(-len(shapes) // 2) * step + 30
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * PANEL + 20} {height}" role="img">',
        f"<style>{STYLE}</style>",
        f'<rect width="{2 * PANEL + 20}" height="{height}" rx="6" class="page"/>',
        label(16, 24, "Time of one call, as a multiple of inlay's: shorter is better", "text title"),
    ]
    for at, shape in enumerate(shapes):
        own = {peer: ratios[shape, peer] for peer in PEERS}
        milliseconds = 1e3 * rows[shape, inlay]["inlay_median_seconds"]
        lines += panel(16 + at % 2 * PANEL, TOP + 20 + at // 2 * step, SHAPES[shape], own, milliseconds, pixels)
    said = f"{run['cpu']} ({run['name']}), one thread, float32, outputs reused, huge pages: ./dev peers --save"
    versions = re.sub(r", its Python package [^)]*\)", "", run["versions"])
    lines += [label(16, height - 30, said, "small"), label(16, height - 13, versions, "small"), "</svg>", ""]
    return "\n".join(lines)
