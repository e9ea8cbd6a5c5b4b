"""---
title: Commands for gettext files
summary: po export and po import.
---
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from facing.catalogue import extract, po
from facing.catalogue.files import save
from facing.catalogue.options import Kind, Where, one_page, open_or_new, show
from facing.catalogue.state import State


@dataclass
class PoExport:
    """Write the units of a source as PO, or as a template (POT) without a catalogue."""

    source: Where
    """The source: one file."""
    out: Path
    """The file to write."""
    catalogue: Path | None = None
    """The catalogue that holds the translations."""
    lang: str | None = None
    """The language; a name such as `mha.si.json` tells it."""
    profile: Kind | None = None
    """How notes are cut into units and keys; by default as the configuration says, else `modern`."""
    root: Path | None = None
    """The folder from which the paths of pages count."""

    def run(self) -> int:
        """Export."""
        page = one_page(self.source, self.profile, self.root)
        if self.catalogue is None:
            save(self.out, po.export(page, {}, State()))
            return 0
        collection = open_or_new(self.lang, self.catalogue)
        result = extract.update(page, collection)
        save(self.out, po.export(page, result.entries, result.state, collection.lang))
        return 0


@dataclass
class PoImport:
    """Take finished translations of a PO file into a catalogue."""

    po: Where
    """The PO file."""
    source: Path
    """The source that it belongs to: one file."""
    out: Path
    """The catalogue. It is made where it is missing."""
    lang: str | None = None
    """The language; a name such as `mha.si.json` tells it."""
    profile: Kind | None = None
    """How notes are cut into units and keys; by default as the configuration says, else `modern`."""
    root: Path | None = None
    """The folder from which the paths of pages count."""

    def run(self) -> int:
        """Import."""
        page = one_page(self.source, self.profile, self.root)
        collection = open_or_new(self.lang, self.out)
        imported = po.read(self.po, page)
        result = extract.update(page, collection)
        result.entries = po.merge(page, imported, result.entries, result.state)
        extract.write(page, collection, result)
        show(
            f"{len(imported.entries)} translations taken, {len(imported.fuzzy)} fuzzy and {len(imported.unknown)} unknown left out"
        )
        return 0
