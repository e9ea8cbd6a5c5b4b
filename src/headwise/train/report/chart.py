"""
---
title: Curves as SVG
summary: A line chart that is part of the page, with axes in round numbers and a text for those who do not see it.
---

# Curves as SVG

Lines differ in colour and in dash, so that they can be told apart without colours too. All colours are variables of the page's style,
and follow its light or dark scheme.
"""

import html
import math
from collections.abc import Callable
from dataclasses import dataclass

from headwise.train.report.read import Points

# Sizes in units of the drawing, which is scaled to the width of its column.
WIDTH, HEIGHT = 560, 300
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 12, 40
DASHES = ("", "7 3", "2 3", "9 3 2 3", "12 4", "4 2")
COLOURS = len(DASHES)
MOST_POINTS = 600


@dataclass(frozen=True)
class Line:
    """A named curve; `style` numbers its colour and its dash, and a faint line stands behind the others."""

    name: str
    points: Points
    style: int
    faint: bool = False


def chart(title: str, lines: list[Line], *, across: str = "step", logarithmic: bool = False) -> str:
    """A figure with all lines that have points; nothing where none has."""
    lines = [Line(each.name, thinned(each.points), each.style, each.faint) for each in lines if each.points]
    if logarithmic:
        lines = [Line(each.name, [p for p in each.points if p[1] > 0], each.style, each.faint) for each in lines]
    values = [y for each in lines for _, y in each.points]
    if not values:
        return ""
    xs = [x for each in lines for x, _ in each.points]
    x_ticks, y_ticks = ticks(min(xs), max(xs)), (powers if logarithmic else ticks)(min(values), max(values))
    x_of = scale(min(xs), max(xs), LEFT, WIDTH - RIGHT, logarithmic=False)
    low, high = min([*y_ticks, *values]), max([*y_ticks, *values])
    y_of = scale(low, high, HEIGHT - BOTTOM, TOP, logarithmic=logarithmic)
    drawn = [
        *(_across(x_of(x), number(x)) for x in x_ticks),
        *(_up(y_of(y), number(y)) for y in y_ticks),
        f'<text class="axis" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{html.escape(across)}</text>',
        *(_line(each, x_of, y_of) for each in sorted(lines, key=lambda each: not each.faint)),
    ]
    heading = html.escape(title)
    return (
        f'<figure><figcaption>{heading}</figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{heading}: {html.escape(summary(lines, across))}">{"".join(drawn)}</svg>{_legend(lines)}</figure>'
    )


def summary(lines: list[Line], across: str) -> str:
    """The curves in words: where each begins and ends."""
    return "; ".join(
        f"{each.name} from {number(each.points[0][1])} at {across} {number(each.points[0][0])} "
        f"to {number(each.points[-1][1])} at {across} {number(each.points[-1][0])}"
        for each in lines
    )


def thinned(points: Points) -> Points:
    """At most some hundred points, the last one among them: a screen shows no more."""
    stride = -(-len(points) // MOST_POINTS)
    return points if stride <= 1 else [*points[:-1:stride], points[-1]]


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Round numbers between two others.

    ```python
    >>> ticks(0, 47)
    [0.0, 10.0, 20.0, 30.0, 40.0]

    ```
    """
    span = high - low
    if span <= abs(high) * 1e-9:
        return [low]
    power = 10.0 ** math.floor(math.log10(span / wanted))
    step = next(power * factor for factor in (1, 2, 5, 10) if span / (power * factor) <= wanted)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def powers(low: float, high: float) -> list[float]:
    """Powers of ten around two positive numbers, every second or third one where there would be many."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0**exponent for exponent in range(first, max(last, first + 1) + 1, max(1, (last - first) // 5))]


def number(value: float) -> str:
    """A number as short as it can be read.

    ```python
    >>> number(1234567.0), number(0.25), number(0.00002)
    ('1,234,567', '0.25', '2e-05')

    ```
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def scale(low: float, high: float, start: float, end: float, *, logarithmic: bool) -> Callable[[float], float]:
    """The map from numbers to places on the drawing."""
    warp: Callable[[float], float] = math.log10 if logarithmic else float
    span = warp(high) - warp(low)
    if span == 0:
        return lambda value: (start + end) / 2
    return lambda value: start + (end - start) * (warp(value) - warp(low)) / span


def _across(x: float, text: str) -> str:
    return (
        f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
        f'<text class="axis" x="{x:.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="middle">{text}</text>'
    )


def _up(y: float, text: str) -> str:
    return (
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text class="axis" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'
    )


def _line(line: Line, x_of: Callable[[float], float], y_of: Callable[[float], float]) -> str:
    places = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in line.points)
    kind = f"curve {_look(line)}{' faint' if line.faint else ''}"
    # One point is no line; a dot shows it.
    if len(line.points) == 1:
        x, y = line.points[0]
        return f'<circle class="{kind}" cx="{x_of(x):.1f}" cy="{y_of(y):.1f}" r="3"/>'
    return f'<polyline class="{kind}" stroke-dasharray="{DASHES[line.style % COLOURS]}" points="{places}"/>'


def _legend(lines: list[Line]) -> str:
    entries = "".join(
        f'<li><svg viewBox="0 0 34 8" width="34" height="8" aria-hidden="true"><line class="curve {_look(each)}'
        f'{" faint" if each.faint else ""}" stroke-dasharray="{DASHES[each.style % COLOURS]}" x1="0" x2="34" y1="4" y2="4"/></svg>'
        f"{html.escape(each.name)}</li>"
        for each in lines
    )
    return f"<ul class=legend>{entries}</ul>"


def _look(line: Line) -> str:
    return f"colour{line.style % COLOURS}"
