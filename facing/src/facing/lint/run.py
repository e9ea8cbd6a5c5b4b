"""---
title: Lint of a catalogue
summary: Applies all rules to all entries, beside the page that the catalogue belongs to.
---
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from facing.lint.codes import severity
from facing.lint.entry import Context, Entry
from facing.lint.languages import language_rules
from facing.lint.structure import structure
from facing.lint.tree import Element, Problem
from facing.lint.wording import wording
from facing.lint.words import Dictionary, Words, find_dictionary, read_dictionary, words_of
from facing.model import FacingError, Finding, Unit


def examine(entry: Entry, context: Context) -> list[Problem]:
    """Apply all rules to one entry, each finding once."""
    found = [*structure(entry), *wording(entry, context), *language_rules(entry, context)]
    return list(dict.fromkeys(found))


@lru_cache(maxsize=65536)
def fit(key: str, text: str, plain: bool) -> bool:
    """Say whether an entry may be rendered: no rule of structure objects."""
    return all(severity(problem.code) != "error" for problem in structure(Entry(key, text, plain)))


def lint_entries(
    entries: Mapping[str, str], context: Context, *, file: str = "", units: Iterable[Unit] = ()
) -> list[Finding]:
    """Lint the entries of one catalogue; with the units of its page also what is missing and what is obsolete.

    Keys of the page are known to be plain text or HTML; for others their first character decides.
    """
    page = {unit.key: unit for unit in units}
    out: list[Finding] = []
    for key, text in entries.items():
        unit = page.get(key)
        line = unit.line if unit else 1
        if not text:
            continue
        for problem in examine(Entry(key, text, is_plain(key, unit)), context):
            out.append(Finding(file, key, line, problem.code, severity(problem.code), problem.message))
        if page and unit is None:
            out.append(
                Finding(
                    file,
                    key,
                    1,
                    "obsolete",
                    severity("obsolete"),
                    "An entry must have a unit in the page. This one has none.",
                )
            )
    for unit in page.values():
        if not entries.get(unit.key) and unit.has_words:
            out.append(
                Finding(
                    file,
                    unit.key,
                    unit.line,
                    "missing",
                    severity("missing"),
                    "A unit must have a translation. This one has none.",
                )
            )
    return out


def is_plain(key: str, unit: Unit | None = None) -> bool:
    """Say whether a key is plain text: a title or summary."""
    return unit.kind != "note" if unit else not key.lstrip().startswith("<")


def inconsistent(catalogues: Mapping[str, Mapping[str, str]]) -> list[Finding]:
    """Find keys that several catalogues of one language translate differently."""
    places: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for file, entries in catalogues.items():
        for key, text in entries.items():
            if text.strip():
                places[key][" ".join(text.split())].append(file)
    out: list[Finding] = []
    for key, forms in places.items():
        for files in forms.values() if len(forms) > 1 else ():
            message = f"A text should be translated in one way. It has {len(forms)} translations in {sum(map(len, forms.values()))} files."
            out += [Finding(file, key, 1, "inconsistent", severity("inconsistent"), message) for file in files]
    return out


def make_context(
    lang: str,
    texts: Iterable[tuple[str, str]] = (),
    *,
    dictionary: Path | None = None,
    glossary: Path | None = None,
) -> Context:
    """Gather what lint needs to know of a language: the words of the catalogues at hand, a dictionary, a glossary.

    Without `dictionary` that of the system is taken, if there is one.
    """
    blocks: list[str] = []
    for key, text in texts:
        root = Entry(key, text, is_plain(key)).tree.root
        blocks += [block.text for block in root.blocks if isinstance(block, Element)] or [root.text]
    path = dictionary or find_dictionary(lang)
    return Context(lang, Words(open_dictionary(path), words_of(blocks)), read_glossary(glossary))


def open_dictionary(path: Path | None) -> Dictionary:
    """Read a dictionary, an empty one where there is none."""
    if path is None:
        return Dictionary()
    try:
        return read_dictionary(path)
    except OSError as error:
        raise FacingError(
            f"A dictionary must be a readable `.dic` file. Reading says: {error.strerror}.", path
        ) from None


def read_glossary(path: Path | None) -> dict[str, tuple[str, ...]]:
    """Read a glossary: a TOML file of `"term" = "translation"` or `"term" = ["one", "another"]`."""
    if path is None:
        return {}
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise FacingError(f"A glossary must be a readable TOML file. Reading says: {error}.", path) from None
    out: dict[str, tuple[str, ...]] = {}
    for term, forms in data.items():
        listed: Collection[object] = [forms] if isinstance(forms, str) else forms if isinstance(forms, list) else [None]
        if not all(isinstance(form, str) for form in listed):
            raise FacingError(
                f"A term of a glossary must have a string or a list of strings. `{term}` has something else.", path
            )
        out[term] = tuple(str(form) for form in listed)
    return out
