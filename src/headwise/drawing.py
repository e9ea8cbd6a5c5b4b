"""
---
title: Drawings
summary: Maps and curves as small SVG pictures, for notebooks and for these pages.
---

# Drawings

A drawing is text in SVG, put together here without any library. Notebooks and pages that run show it where it is the value of a line.

Its colours are those of a light page; the classes `ink`, `soft`, `line`, `fill-1`, `stroke-1` and so on let a page with a dark theme give
its own. A drawing in a file brings both themes with it, and follows what its reader has chosen. Each drawing says in words what it shows,
for readers who do not see it.

```python
>>> from headwise.drawing import squares
>>> squares({"a head": [[1.0, 0.0], [0.25, 0.75]]}, alt="Each token and what it looks at").alt
'Each token and what it looks at'

```
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

# One colour and one dash for each curve, so that they can be told apart without colours too.
COLOURS = ("#1c55b5", "#944c05", "#22692f", "#76359c")
DASHES = ("none", "6 3", "2 3", "9 3 2 3")
INK, SOFT, LINE = "#1d2227", "#555e68", "#dfe3e6"
DARK = ("#94b8f5", "#eab27c", "#8fd39a", "#d3a5ee", "#7fd0dc", "#f2958e")


def themes() -> str:
    """The style of a drawing that is a file of its own: the ground and, for readers of dark pages, the colours of each class."""
    kinds = [f".fill-{n}{{fill:{colour}}}.stroke-{n}{{stroke:{colour}}}" for n, colour in enumerate(DARK, 1)]
    dark = ["svg{background:#14171a}.ink{fill:#d9dde1}.soft{fill:#9ea7b0}.line{stroke:#2d3339}", *kinds]
    return f"<style>svg{{background:#fdfdfc}}@media (prefers-color-scheme:dark){{{''.join(dark)}}}</style>"


@dataclass(frozen=True)
class Drawing:
    """A picture: `alt` says what it shows, `width` and `height` are in pixels, `body` is what stands inside the SVG element."""

    alt: str
    width: float
    height: float
    body: str = field(repr=False)

    def _repr_svg_(self) -> str:
        size = f'viewBox="0 0 {number(self.width)} {number(self.height)}" width="{number(self.width)}" height="{number(self.height)}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="sans-serif" font-size="12">'
            f"<title>{escape(self.alt)}</title>{self.body}</svg>"
        )

    def save(self, path: Path | str) -> None:
        """Write an SVG file with a light and a dark theme."""
        drawn = self._repr_svg_().replace("</title>", f"</title>{themes()}", 1)
        Path(path).write_text(drawn + "\n", encoding="utf-8")


def squares(
    maps: Mapping[str, Any], *, alt: str, rows: Sequence[str] = (), columns: Sequence[str] = (), cell: float = 0
) -> Drawing:
    """
    One square for each pair, the darker the larger: for masks and for maps of weights.

    * `maps`: for each caption a matrix `[I,J]` of numbers from 0 to 1, as a tensor or as lists; they stand side by side.
    * `rows`, `columns`: names of the queries and of the keys.
    * `cell`: the side of a square in pixels; by default such that a map is about 180 pixels wide.
    """
    matrices = {caption: as_lists(matrix) for caption, matrix in maps.items()}
    keys = max((len(row) for matrix in matrices.values() for row in matrix), default=1)
    side = cell or max(2.0, min(22.0, 180 / keys))
    # Names need some room: of small squares only every second or third is named.
    every = math.ceil(12 / side)
    left = max((7 * len(name) for name in rows), default=0) + 4
    top = 20 + (16 if columns else 0)
    parts, x, height = [], 0.0, 0.0
    for caption, matrix in matrices.items():
        parts.append(text(x + left, 13, caption, "soft", SOFT))
        for i, name in list(enumerate(rows))[::every]:
            parts.append(text(x + left - 4, top + (i + 0.72) * side, name, "soft", SOFT, "end"))
        for j, name in list(enumerate(columns))[::every]:
            parts.append(text(x + left + (j + 0.5) * side, top - 4, name, "soft", SOFT, "middle"))
        parts += [
            square(x + left, top, side, i, j, float(v)) for i, row in enumerate(matrix) for j, v in enumerate(row)
        ]
        x += left + side * max((len(row) for row in matrix), default=0) + 18
        height = max(height, top + side * len(matrix))
    return Drawing(alt, max(x - 18, 1), height + 2, "".join(parts))


def square(left: float, top: float, side: float, i: int, j: int, value: float) -> str:
    """An outline, and over it the colour as strong as the value. What is no number is a cross."""
    place = f'x="{number(left + j * side)}" y="{number(top + i * side)}" width="{number(side - 1)}" height="{number(side - 1)}"'
    if not math.isfinite(value):
        return text(left + (j + 0.5) * side, top + (i + 0.8) * side, "×", "ink", INK, "middle")
    empty = f'<rect class="line" fill="none" stroke="{LINE}" stroke-width="0.5" {place}/>'
    strength = min(max(value, 0.0), 1.0)
    return empty + (
        f'<rect class="fill-1" fill="{COLOURS[0]}" fill-opacity="{number(strength)}" {place}/>'
        if strength >= 0.005
        else ""
    )


def curves(lines: Mapping[str, Iterable[tuple[float, float]]], *, alt: str, across: str = "", up: str = "") -> Drawing:
    """
    Curves through points `(x, y)`, with their names; at most four.

    * `across`, `up`: what the two axes count.
    """
    points = {name: [(float(x), float(y)) for x, y in line] for name, line in lines.items()}
    xs = [x for line in points.values() for x, _ in line]
    ys = [y for line in points.values() for _, y in line]
    # The names stand above the curves and not beside them: a narrow picture keeps its letters large on a phone.
    entries, lowest = legend(points, width=384.0, top=28.0)
    left, top, width, height = 52.0, lowest + 12.0, 316.0, 200.0
    x_ticks, y_ticks = ticks(min(xs), max(xs)), ticks(min(ys), max(ys))
    x_of = linear(min(xs), max(xs), left, left + width)
    y_of = linear(min([*ys, *y_ticks]), max([*ys, *y_ticks]), top + height, top)
    parts = [
        text(0, 12, up, "soft", SOFT),
        text(left + width, top + height + 34, across, "soft", SOFT, "end"),
        *entries,
    ]
    for y in y_ticks:
        parts.append(stroke([(left, y_of(y)), (left + width, y_of(y))], "line", LINE, "none", 1))
        parts.append(text(left - 6, y_of(y) + 4, f"{y:g}", "soft", SOFT, "end"))
    parts += [text(x_of(x), top + height + 16, f"{x:g}", "soft", SOFT, "middle") for x in x_ticks]
    for index, line in enumerate(points.values()):
        parts.append(stroke([(x_of(x), y_of(y)) for x, y in line], *pen(index), 2))
    return Drawing(alt, left + width + 16, top + height + 40, "".join(parts))


def legend(names: Iterable[str], *, width: float, top: float) -> tuple[list[str], float]:
    """A stroke and a name for each curve, in rows of that width, and where the last row stands."""
    parts, x, y = [], 0.0, top
    for index, name in enumerate(names):
        needed = 30.0 + 7 * len(name)
        if x > 0 and x + needed > width:
            x, y = 0.0, y + 18
        parts += [stroke([(x, y), (x + 24, y)], *pen(index), 2), text(x + 30, y + 4, name, "ink", INK)]
        x += needed + 14
    return parts, y


def pen(index: int) -> tuple[str, str, str]:
    """Class, colour and dash of a curve."""
    return f"stroke-{index % 4 + 1}", COLOURS[index % 4], DASHES[index % 4]


def as_lists(matrix: Any) -> list[list[float]]:
    """A tensor or an array as lists of lists."""
    return matrix.tolist() if hasattr(matrix, "tolist") else [list(row) for row in matrix]


def ticks(low: float, high: float) -> list[float]:
    """About five round numbers between two others."""
    step = 10 ** math.floor(math.log10((high - low) or 1.0))
    step = next(step * part for part in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0) if (high - low) / (step * part) <= 6)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(at * step, 10) for at in range(first, last + 1)]


def linear(low: float, high: float, start: float, end: float) -> Any:
    span = (high - low) or 1.0
    return lambda value: start + (value - low) / span * (end - start)


def stroke(points: Sequence[tuple[float, float]], kind: str, colour: str, dash: str, width: float) -> str:
    path = " ".join(f"{number(x)},{number(y)}" for x, y in points)
    return f'<polyline class="{kind}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-dasharray="{dash}" points="{path}"/>'


def text(x: float, y: float, content: str, kind: str, colour: str, anchor: str = "start") -> str:
    if not content:
        return ""
    return f'<text class="{kind}" fill="{colour}" x="{number(x)}" y="{number(y)}" text-anchor="{anchor}">{escape(content)}</text>'


def number(value: float) -> str:
    """At most two decimals: the same drawing is the same text on every machine."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
