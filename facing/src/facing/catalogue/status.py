"""---
title: How far a translation is
summary: Coverage, stale, obsolete and moved entries, for each page and language, for people and for machines.
---
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import asdict, dataclass

from facing.catalogue.collection import Collection
from facing.catalogue.match import match
from facing.catalogue.translator import CatalogueTranslator
from facing.model import Page


@dataclass(frozen=True)
class Status:
    """The counts of one page in one language. `total` counts units with words; the others need no translation."""

    page: str
    lang: str
    total: int
    translated: int
    reviewed: int
    stale: int
    fuzzy: int
    missing: int
    same: int
    error: int
    moved: int
    obsolete: int

    @property
    def coverage(self) -> float:
        """Give the share of units that readers see in their language."""
        return (self.translated + self.stale) / self.total if self.total else 1.0

    @property
    def finished(self) -> bool:
        """Say whether nothing is left to do: everything is translated, and nothing is stale, moved or obsolete."""
        return self.translated == self.total and not (self.moved or self.obsolete)

    @property
    def begun(self) -> bool:
        """Say whether anybody has worked on this page: there is more than what is missing."""
        return bool(self.translated or self.stale or self.fuzzy or self.error or self.moved or self.obsolete)

    def as_json(self) -> dict[str, object]:
        """Give the counts and the coverage."""
        return {**asdict(self), "coverage": round(self.coverage, 4)}


def status(page: Page, collection: Collection, keep: Set[str] = frozenset()) -> Status:
    """Count the units of a page by what a reader gets for each. Keys in `keep` belong to another page."""
    units = list({unit.key: unit for unit in page.units if unit.has_words}.values())
    answers = CatalogueTranslator(collection).translate(page.path, units)
    counts = Counter(answer.reason for answer in answers)
    state, own = collection.state_of(page.path), collection.of(page.path).entries
    reviewed = sum(1 for unit in units if state.record(unit.key).status == "reviewed")
    elsewhere = sum(1 for unit in units if match(unit, page.path, collection).rung in ("blanks", "moved", "memory"))
    known = {unit.key for unit in page.units} | keep
    return Status(
        page=page.path,
        lang=collection.lang,
        total=len(units),
        translated=counts["translated"],
        reviewed=reviewed,
        stale=counts["stale"],
        fuzzy=counts["fuzzy"],
        missing=counts["missing"],
        same=counts["same"],
        error=counts["error"],
        moved=elsewhere,
        obsolete=sum(1 for key, text in own.items() if key not in known and text.strip()),
    )


def total(rows: Iterable[Status], lang: str) -> Status:
    """Add up the pages of a language."""
    rows = list(rows)
    names = ("total", "translated", "reviewed", "stale", "fuzzy", "missing", "same", "error", "moved", "obsolete")
    return Status("", lang, **{each: sum(getattr(row, each) for row in rows) for each in names})


def table(rows: list[Status]) -> str:
    """Lay out the counts as text."""
    head = ("page", "lang", "covered", "translated", "stale", "fuzzy", "missing", "same", "error", "moved", "obsolete")
    lines: list[tuple[str, ...]] = [head]
    for row in rows:
        counts = (row.translated, row.stale, row.fuzzy, row.missing, row.same, row.error, row.moved, row.obsolete)
        lines.append((row.page or "all pages", row.lang, f"{row.coverage:.0%} of {row.total}", *map(str, counts)))
    widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def failures(rows: Iterable[Status], *, least: float = 0.0, none_of: Iterable[str] = ()) -> list[str]:
    """Give the reasons for which a gate stays shut."""
    out: list[str] = []
    for row in rows:
        where = f"{row.page or 'all pages'} ({row.lang})"
        if row.coverage < least:
            out.append(f"{where}: coverage must be at least {least:.0%}. It is {row.coverage:.1%}.")
        for kind in none_of:
            if count := getattr(row, kind):
                out.append(f"{where}: no entry may be {kind}. {count} are.")
    return out
