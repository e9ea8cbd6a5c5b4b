"""---
title: The text of notes
summary: Comments and docstrings without their marks, and the front matter of a page.
---
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

from facing.model import FacingError


@dataclass(frozen=True)
class Note:
    """The Markdown of a note, and the number of the source line on which it starts."""

    text: str
    line: int

    def __bool__(self) -> bool:
        return bool(self.text.strip())


def comment_note(lines: list[tuple[int, str]]) -> Note:
    """Take the mark and one blank from each comment line. The rest of the indent has a meaning in Markdown."""
    text = "\n".join(line.strip().removeprefix("#").removeprefix(" ") for _, line in lines)
    return Note(text, lines[0][0])


def docstring_note(text: str, line: int) -> Note:
    """Remove the common indent, that of the first line aside, and blank lines at the start."""
    first, *rest = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(8).split("\n")
    margins = [len(each) - len(each.lstrip()) for each in rest if each.strip()]
    lines = [first.strip(), *(each[min(margins, default=0) :].rstrip() for each in rest)]
    blank = next((at for at, each in enumerate(lines) if each), len(lines))
    return Note("\n".join(lines[blank:]).rstrip(), line + blank)


def front_matter(note: Note, path: Path) -> tuple[dict[str, str], Note]:
    """Take the YAML between two `---` lines off the start of a note."""
    lines = note.text.split("\n")
    if not lines or lines[0].rstrip() != "---":
        return {}, note
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        raise FacingError("Front matter must end in a line `---`. It starts here and never ends.", path, note.line)
    data = read_yaml(lines[1:end], note.line + 1, path)
    if not isinstance(data, dict):
        raise FacingError("Front matter must be lines of `name: value`.", path, note.line)
    rest = "\n".join(lines[end + 1 :])
    skipped = len(rest) - len(rest.lstrip("\n"))
    values = {str(name): " ".join(str(value).split()) for name, value in data.items() if value is not None}
    return values, Note(rest[skipped:], note.line + end + 1 + skipped)


def read_yaml(lines: list[str], line: int, path: Path) -> object:
    """Read front matter. A summary with a colon in it is no YAML, but what it means is plain: it is taken as it stands."""
    try:
        return yaml.safe_load("\n".join(lines)) or {}
    except yaml.YAMLError as error:
        pairs = [each.partition(": ") for each in lines if each.strip()]
        if all(name.isidentifier() and colon for name, colon, _ in pairs):
            return {name: value.strip() for name, _, value in pairs}
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "it cannot be read"
        message = f"Front matter must be valid YAML. The parser says: {problem}; a text with a colon needs quotes."
        raise FacingError(message, path, line + (mark.line if mark else 0)) from None
