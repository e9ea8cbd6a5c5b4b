"""---
title: The model
summary: What a page consists of, from the source file to the translated row.
---
A *page* is one source file. It consists of *rows*: the note on the left, the code on the right. A note consists of
*units*, the pieces that a translator works on. What must not be translated (code, formulas, images) stands in a unit's
key as a numbered placeholder, and the unit keeps the originals.

Two profiles read sources: `modern` (CommonMark, one unit a block) and `classic` (the format of existing tutorials, one
unit a note). Everything after reading works on the values of this module and does not know the profile.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

Kind = Literal["note", "title", "summary", "alt"]
Severity = Literal["error", "warning", "info"]
Reason = Literal["translated", "missing", "same", "fuzzy", "stale", "error"]

# The attribute is not quoted: existing catalogues have it so, and their keys must match byte for byte.
PLACEHOLDER = re.compile(r"<span translate=no>_\^_(\d+)_\^_</span>")


def placeholder(number: int) -> str:
    """Give the placeholder with this number, as it stands in keys and translations."""
    return f"<span translate=no>_^_{number}_^_</span>"


class FacingError(ValueError):
    """An input that cannot be rendered. The message names the file and, where known, the line."""

    def __init__(self, message: str, path: Path | str | None = None, line: int | None = None) -> None:
        self.message, self.path, self.line = message, path, line
        place = "" if path is None else f"{path}:{line}: " if line else f"{path}: "
        super().__init__(place + message)


@dataclass(frozen=True)
class Original:
    """One element behind a placeholder: its finished HTML, its source text, and for messages what it is."""

    html: str
    text: str
    kind: Literal["code", "math", "fence", "image", "other"] = "other"


@dataclass(frozen=True)
class Unit:
    """The unit of translation. A note is HTML with placeholders; a title, a summary and what an image shows are plain text."""

    key: str
    originals: tuple[Original, ...] = ()
    line: int = 1
    kind: Kind = "note"

    @property
    def has_words(self) -> bool:
        """Say whether anything is left to translate once the placeholders are taken out."""
        bare = re.sub(r"<[^>]*>", "", PLACEHOLDER.sub("", self.key))
        return any(character.isalpha() for character in bare)

    def render(self, translation: str | None = None) -> str:
        """Put the originals back into the translation, or into the key where there is none."""
        return self.fill(self.key if translation is None else translation)

    def fill(self, text: str) -> str:
        """Replace each placeholder of `text`; a number without an original stays as it is, visible."""

        def original(match: re.Match[str]) -> str:
            number = int(match[1])
            return self.originals[number].html if number < len(self.originals) else match[0]

        return PLACEHOLDER.sub(original, text)


@dataclass(frozen=True)
class Row:
    """One row of a page. `code` holds whole lines; `numbers` says which, where they do not count on from `first_line`.

    `origin` is the path of the page from which links of the notes count, where that is another one.
    """

    units: tuple[Unit, ...] = ()
    code: str = ""
    first_line: int = 0
    note_line: int = 0
    numbers: tuple[int, ...] = ()
    origin: str = ""

    @property
    def anchor(self) -> str:
        """Name the place of the row: the line of its note, or of its code."""
        return f"L{self.note_line or self.first_line}"

    @property
    def lines(self) -> tuple[int, ...]:
        """Give the number of each code line."""
        if self.numbers or not self.code:
            return self.numbers
        count = self.code.rstrip("\n").count("\n") + 1
        return tuple(range(self.first_line, self.first_line + count))


@dataclass(frozen=True)
class Symbol:
    """A class or function of the page: its dotted name inside the module and the line of its header."""

    name: str
    line: int
    kind: Literal["class", "function"] = "function"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, in a catalogue entry (`entry` is its key) or in a page (`entry` is empty)."""

    file: str
    entry: str
    line: int
    code: str
    severity: Severity
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.severity} {self.code}: {self.message}"


@dataclass(frozen=True)
class Output:
    """What a page showed when it ran: text, or a figure as finished HTML, beside the line that showed it."""

    line: int
    kind: Literal["text", "figure"]
    text: str
    alt: str = ""


@dataclass(frozen=True)
class Page:
    """One source file, read. `path` is relative to the root and has forward slashes on every system."""

    path: str
    title: Unit
    summary: Unit | None = None
    rows: tuple[Row, ...] = ()
    source: str = ""
    symbols: tuple[Symbol, ...] = ()
    redirect: str | None = None
    findings: tuple[Finding, ...] = ()
    language: str = field(default="python")
    run: bool = False
    outputs: tuple[Output, ...] = ()
    alts: tuple[Unit, ...] = ()

    @property
    def units(self) -> tuple[Unit, ...]:
        """Give all units: title, summary, notes in the order of the page, then the alternative texts of images."""
        return self.head + tuple(unit for row in self.rows for unit in row.units) + self.alts

    @property
    def head(self) -> tuple[Unit, ...]:
        """Give the units before those of the rows."""
        return (self.title,) if self.summary is None else (self.title, self.summary)

    @property
    def origins(self) -> tuple[str, ...]:
        """Give for each unit the path of the page from which its links count."""
        rows = tuple(row.origin or self.path for row in self.rows for _ in row.units)
        return (self.path,) * len(self.head) + rows + (self.path,) * len(self.alts)

    @property
    def output(self) -> str:
        """Give the page's path in the site; it mirrors the path of the source."""
        return output_path(self.path)


def output_path(path: str) -> str:
    """Turn the path of a source into that of its page: `layer.py` -> `layer.html`, `mask/__init__.py` -> `mask/index.html`."""
    folder, _, name = path.rpartition("/")
    stem = name.rsplit(".", 1)[0]
    stem = "index" if stem == "__init__" else stem
    return f"{folder}/{stem}.html" if folder else f"{stem}.html"


class Profile(Protocol):
    """A way to read sources."""

    def read(self, path: Path, root: Path) -> Page:
        """Read one file; raise `FacingError`, with file and line, where it cannot be read."""
        ...


@dataclass(frozen=True)
class Translated:
    """The answer for one unit: a translation that is safe to render, or None and why there is none."""

    text: str | None
    reason: Reason


class Translator(Protocol):
    """The catalogues of one language. An entry with an error is never handed out."""

    @property
    def lang(self) -> str:
        """Name the language of the translations."""
        ...

    def translate(self, page: str, units: Sequence[Unit]) -> list[Translated]:
        """Answer for each unit of the page with this source path, in order."""
        ...


def worst(findings: Iterable[Finding]) -> Severity | None:
    """Name the highest severity among the findings, None where there is none."""
    found = {finding.severity for finding in findings}
    order: tuple[Severity, ...] = ("error", "warning", "info")
    return next((severity for severity in order if severity in found), None)
