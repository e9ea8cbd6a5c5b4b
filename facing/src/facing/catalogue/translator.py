"""---
title: From catalogue to page
summary: Hands out translations that are safe to render, and for all others the reason.
---
A catalogue is untrusted. An entry passes only if no rule of structure objects, and then the page receives not the entry
but its tree, written again: tags and attributes of the source, links of the source, everything else as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from facing.catalogue.collection import Collection, open_collection
from facing.catalogue.files import load
from facing.catalogue.match import match
from facing.catalogue.state import name, source_hash
from facing.lint.entry import Entry
from facing.lint.run import fit
from facing.lint.tree import parse, write
from facing.lint.wording import same
from facing.model import Finding, Translated, Unit


@dataclass(frozen=True)
class CatalogueTranslator:
    """The translator of one language over its catalogues."""

    collection: Collection

    @property
    def lang(self) -> str:
        """Give the language of the translations."""
        return self.collection.lang

    @property
    def findings(self) -> list[Finding]:
        """Give what was wrong with the files, for the report of a build."""
        return self.collection.findings

    def translate(self, page: str, units: Sequence[Unit]) -> list[Translated]:
        """Answer for each unit of a page. Titles and summaries are plain text, to be escaped like any other."""
        return [self.one(page, unit) for unit in units]

    def one(self, page: str, unit: Unit) -> Translated:
        """Answer for one unit. One without words is its own translation."""
        if not unit.has_words:
            return Translated(unit.key, "translated")
        found = match(unit, page, self.collection)
        state = self.collection.state_of(page)
        record = state.record(unit.key)
        if found.rung == "none":
            return Translated(None, "fuzzy" if record.proposal else "missing")
        plain = unit.kind != "note"
        if not fit(unit.key, found.text, plain):
            return Translated(None, "error")
        # A name may be the same in both languages; somebody has said so.
        if same(Entry(unit.key, found.text, plain)) and not state.excuses(unit.key, "untranslated"):
            return Translated(None, "same")
        changed = record.text not in ("", name(found.text))
        stale = not changed and (record.status == "stale" or record.source not in ("", source_hash(unit)))
        text = found.text if plain else write(parse(found.text).root)
        return Translated(text, "stale" if stale else "translated")


def open_translator(lang: str, path: Path) -> CatalogueTranslator:
    """Open the catalogue of a language, a file or a folder. One that is not there is reported and breaks no build."""
    if path.exists():
        return CatalogueTranslator(open_collection(lang, path))
    return CatalogueTranslator(Collection(lang, path, {path: load(path)}))
