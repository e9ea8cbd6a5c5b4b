"""---
title: The code column
summary: A source is highlighted once, as a whole, and cut into lines; each line has an anchor.
---
Cutting first would be wrong: a string or a bracket that spans rows would be coloured differently in each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from facing.model import Output, Page, Row
from facing.notes.code import spans

# A long line is wrapped under its own indent; the style sheet has one class for each of these depths.
DEEPEST = 10


def code_lines(page: Page) -> list[str]:
    """Highlight the source of a page and give it line by line."""
    return spans(page.source, "python").split("\n") if page.language == "python" else []


@dataclass(frozen=True)
class Part:
    """Some lines of a row, and what they showed when the page ran."""

    html: str
    outputs: tuple[Output, ...] = ()


def code_parts(row: Row, lines: list[str], symbols: Mapping[int, str], outputs: Sequence[Output] = ()) -> list[Part]:
    """Cut the lines of a row behind each line that showed something."""
    if not row.code:
        return []
    shown: dict[int, list[Output]] = {}
    for output in outputs:
        if output.line in row.lines:
            shown.setdefault(output.line, []).append(output)
    parts: list[Part] = []
    html = ""
    for number, line in zip(row.lines, code_html(row, lines, symbols), strict=True):
        html += line
        if number in shown:
            parts.append(Part(html, tuple(shown[number])))
            html = ""
    return [*parts, Part(html)] if html else parts


def code_html(row: Row, lines: list[str], symbols: Mapping[int, str]) -> list[str]:
    """Give the lines of a row. The first line's number can be reached with the keyboard, the others with the mouse."""
    parts = []
    for at, (number, text) in enumerate(zip(row.lines, row.code.rstrip("\n").split("\n"), strict=True)):
        depth = min((len(text) - len(text.lstrip())) // 4, DEEPEST)
        classes = f"l d{depth}" if depth else "l"
        name = f' id="{escape(symbols[number])}"' if number in symbols else ""
        stop = "" if at == 0 else ' tabindex="-1"'
        link = f'<a id="L{number}" href="#L{number}"{stop}>{number}</a>'
        parts.append(f'<span class="{classes}"{name}>{link}{lines[number - 1]}\n</span>')
    return parts
