"""---
title: Catalogue files
summary: Reads a catalogue whatever it holds, and writes it byte for byte as its generator does.
---
A catalogue is one flat JSON object: the source note is the key, its translation the value. It comes from outside, so
reading never raises: what cannot be used becomes a finding, and the rest is used.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from facing.lint.codes import severity
from facing.model import Finding

# The largest catalogue observed has about 100 kB.
LARGEST = 16 << 20

# Text before the object: a file may start with its own name and an empty line.
HEADER = re.compile(r"\A(?:[^{\n]*\n){0,4}?(?=[ \t]*\{)")


@dataclass
class Catalogue:
    """The entries of one file, and what was wrong with it."""

    path: str = ""
    entries: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def find(self, code: str, message: str, *, entry: str = "", line: int = 1) -> None:
        """Add a finding."""
        self.findings.append(Finding(self.path, entry, line, code, severity(code), message))


def load(path: Path) -> Catalogue:
    """Read a catalogue. An empty translation is kept: it stands for work to do."""
    catalogue = Catalogue(str(path))
    text = text_of(path, catalogue)
    if text is not None:
        fill(catalogue, text)
    return catalogue


def text_of(path: Path, catalogue: Catalogue) -> str | None:
    """Read the file as text, if it is one."""
    try:
        size = path.stat().st_size
        if size > LARGEST:
            catalogue.find(
                "catalogue-unreadable",
                f"A catalogue must have at most {LARGEST >> 20} MiB. This one has {size:,} bytes.",
            )
            return None
        return path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        catalogue.find("catalogue-unreadable", f"A catalogue must be a file of UTF-8 text. Reading says: {reason}.")
        return None


def fill(catalogue: Catalogue, text: str) -> None:
    """Take the entries out of the text."""
    found = HEADER.match(text)
    start = found.end() if found else 0
    before = text.count("\n", 0, start)
    counts: Counter[str] = Counter()
    depth = [0]

    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        depth[0] += 1
        counts.clear()
        counts.update(key for key, _ in items)
        return dict(items)

    try:
        data = json.loads(text[start:], object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        catalogue.find(
            "catalogue-unreadable", f"A catalogue must be JSON. Parsing says: {error.msg}.", line=before + error.lineno
        )
        return
    except (RecursionError, ValueError) as error:
        catalogue.find("catalogue-unreadable", f"A catalogue must be plain JSON. Parsing says: {error}.")
        return
    if not isinstance(data, dict):
        catalogue.find("catalogue-unreadable", f"A catalogue must be one object. This one is a {type(data).__name__}.")
        return
    for key, value in data.items():
        take(catalogue, key, value, counts[key])


def take(catalogue: Catalogue, key: str, value: object, count: int) -> None:
    """Take one entry, or say why not. Of a key that stands twice neither value counts."""
    if not isinstance(value, str):
        catalogue.find(
            "value-type", f"The value of an entry must be a string. It is {type(value).__name__}.", entry=printable(key)
        )
    elif count > 1:
        catalogue.find(
            "key-duplicate", f"A key must stand once in a catalogue. It stands {count} times.", entry=printable(key)
        )
    elif printable(key) != key or printable(value) != value:
        catalogue.find(
            "character-invalid",
            "An entry must be whole characters. It has half a surrogate pair.",
            entry=printable(key),
        )
    else:
        catalogue.entries[key] = value


def printable(text: str) -> str:
    """Replace halves of surrogate pairs, which no file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def dump(entries: dict[str, str]) -> str:
    """Write entries as the classic generator does: one blank indent, sorted keys, ASCII, no final newline."""
    return json.dumps(entries, indent=1, sort_keys=True)


def save(path: Path, text: str) -> None:
    """Write a file in one step, so that a reader never sees half of it. Equal bytes are left alone."""
    data = text.encode("utf-8")
    if path.is_file() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_bytes(data)
    aside.replace(path)
