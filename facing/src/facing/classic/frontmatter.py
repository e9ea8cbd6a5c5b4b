"""---
title: Front matter of classic sources
summary: Reads title, summary and redirect from the lines between two rows of dashes.
---
The values look like YAML and are not: a colon inside a plain title needs no quotes, and a plain value that goes on
over the next line keeps its line break in the catalogue key. So the few forms in use are read by hand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FRONT = re.compile(r"\s*---[ \t]*\n(.*?)\n[ \t]*---[ \t]*(?:\n|\Z)", re.DOTALL)
FIELD = re.compile(r"^(\w+):[ \t]*(.*)$")


@dataclass(frozen=True)
class FrontMatter:
    """What a source says about itself; empty where it says nothing."""

    title: str = ""
    summary: str = ""
    redirect: str = ""


def split(note: str) -> tuple[FrontMatter, str, int] | None:
    """Separate front matter from the note behind it, with the count of lines that it takes; None where there is none.

    The rest starts with a line break, as a docstring does.
    """
    found = FRONT.match(note)
    if not found:
        return None
    values = fields(found[1])
    front = FrontMatter(values.get("title", ""), values.get("summary", ""), values.get("redirect", ""))
    return front, "\n" + note[found.end() :], found[0].count("\n") - 1


def fields(text: str) -> dict[str, str]:
    """Read `name: value` lines, with the indented lines that continue a value."""
    rows: dict[str, list[str]] = {}
    name = ""
    for line in text.split("\n"):
        if found := FIELD.match(line):
            name = found[1]
            rows[name] = [found[2]]
        elif name:
            rows[name].append(line)
    return {name: value(lines) for name, lines in rows.items()}


def value(lines: list[str]) -> str:
    """Fold a `>` block into one line; a plain value keeps its line breaks and loses only its quotes."""
    first, rest = lines[0].strip(), lines[1:]
    if re.fullmatch(r"[>|][+-]?", first):
        return " ".join(line.strip() for line in rest if line.strip())
    text = "\n".join([first, *rest]).strip()
    quoted = re.fullmatch(r"([\"'])(.*)\1", text, re.DOTALL)
    return quoted[2] if quoted else text
