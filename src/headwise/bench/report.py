"""
---
title: Reports of the benchmark
summary: A table, a bar chart and a scaling plot, as Markdown and SVG.
---

The classes in the drawings are those of [drawings](../drawing.py), which bring the dark theme.
"""

import math
from typing import Any

from headwise.bench.measure import Row
from headwise.drawing import COLOURS as FIRST
from headwise.drawing import INK, SOFT, themes

COLOURS = (*FIRST, "#0a6571", "#b3261e")
OTHER = "#9aa5b1"


def table(rows: list[Row]) -> str:
    """Markdown: one line for each rule and contender."""
    lines = [
        "| rule | by | forward | forward + backward | ms | extra memory | in training | error |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        error = "" if row.error is None else f"{row.error:.1e}"
        training = "none" if row.training is None else f"{row.training:.2f}"
        training_memory = "none" if row.training_memory is None else f"{row.training_memory / 1e6:.1f} MB"
        lines.append(
            f"| {row.rule} | {row.contender} | {row.forward:.2f} | {training} | {row.forward_ms:.1f} "
            f"| {row.memory / 1e6:.1f} MB | {training_memory} | {error} |"
        )
    return "\n".join(lines)


def bars(rows: list[Row]) -> str:
    """SVG: the forward ratios as bars, shorter is faster, on a scale of powers of two."""
    names = [f"{row.rule}: {row.contender}" for row in rows]
    # Narrow, so that a phone need not make the letters small.
    left, width, height = 12 + 6.3 * max(map(len, names)), 240, 18
    low = min(row.forward for row in rows) / 1.2
    span = math.log2(max(row.forward for row in rows) * 1.2 / low)
    lines = [
        svg(left + width + 40, height * len(rows) + 40, "Time of a forward pass, in units of plain causal attention")
    ]
    for place, row in enumerate(rows):
        y = 10 + place * height
        length = width * math.log2(row.forward / low) / span
        ours = row.contender in ("sdpa", "blockwise", "headwise")
        paint = f'class="fill-1" fill="{COLOURS[0]}"' if ours else f'fill="{OTHER}"'
        lines.append(
            f'<text class="ink" x="{left - 8:.1f}" y="{y + 12}" text-anchor="end">{escape(names[place])}</text>'
        )
        lines.append(f'<rect x="{left:.1f}" y="{y}" width="{length:.1f}" height="{height - 4}" {paint}/>')
        lines.append(f'<text class="ink" x="{left + length + 4:.1f}" y="{y + 12}">{row.forward:.2f}</text>')
    one = left + width * math.log2(1 / low) / span
    below = height * len(rows) + 12
    lines.append(f'<line class="stroke-2" x1="{one:.1f}" y1="4" x2="{one:.1f}" y2="{below}" stroke="{COLOURS[1]}"/>')
    said = "forward pass; 1 is plain causal attention; shorter is faster"
    lines.append(
        f'<text class="soft" x="{left + width + 36:.1f}" y="{below + 18}" text-anchor="end" fill="{SOFT}">{said}</text>'
    )
    return "\n".join([*lines, "</svg>", ""])


def curves(points: list[dict[str, Any]], quantity: str, title: str) -> str:
    """SVG: a quantity over the length, both on logarithmic scales; a slope of 1 is linear, of 2 quadratic."""
    names = list(dict.fromkeys(point["rule"] for point in points))
    xs = sorted({point["tokens"] for point in points})
    values = [point[quantity] for point in points if point[quantity] > 0]
    low, high = math.log2(min(values)), math.log2(max(values))
    left, top, width, height = 90, 20, 360, 260
    across = math.log2(xs[-1] / xs[0]) or 1.0

    def place(point: dict[str, Any]) -> tuple[float, float]:
        x = left + width * math.log2(point["tokens"] / xs[0]) / across
        return x, top + height * (1 - (math.log2(max(point[quantity], 1e-9)) - low) / ((high - low) or 1.0))

    lines = [svg(left + width + 130, top + height + 50, title)]
    for x in xs:
        at = left + width * math.log2(x / xs[0]) / across
        lines.append(f'<text class="ink" x="{at:.1f}" y="{top + height + 20}" text-anchor="middle">{x}</text>')
    for value in (low, high):
        y = top + height * (1 - (value - low) / ((high - low) or 1.0))
        lines.append(f'<text class="ink" x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{2**value:,.0f}</text>')
    ways = [[place(point) for point in points if point["rule"] == name] for name in names]
    heights = apart([way[-1][1] for way in ways])
    for number, (colour, name, spots, y) in enumerate(zip(COLOURS, names, ways, heights, strict=False), 1):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        lines.append(
            f'<polyline class="stroke-{number}" points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        lines.append(
            f'<text class="fill-{number}" x="{spots[-1][0] + 6:.1f}" y="{y + 4:.1f}" fill="{colour}">{escape(name)}</text>'
        )
    return "\n".join([*lines, "</svg>", ""])


def apart(heights: list[float], least: float = 14) -> list[float]:
    """The same heights, moved down where names would lie on each other."""
    moved: dict[int, float] = {}
    lowest = -math.inf
    for index in sorted(range(len(heights)), key=heights.__getitem__):
        lowest = moved[index] = max(heights[index], lowest + least)
    return [moved[index] for index in range(len(heights))]


def svg(width: float, height: float, title: str) -> str:
    """The head of a drawing."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" '
        f'font-family="sans-serif" font-size="12" fill="{INK}" role="img"><title>{escape(title)}</title>{themes()}'
    )


def escape(text: str) -> str:
    """Text as XML wants it."""
    return text.replace("&", "&amp;").replace("<", "&lt;")
