"""---
title: The command report
summary: For each language in one table: how much is translated, what is stale, and what lint says.
---
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from facing.catalogue.cli_lint import Lint
from facing.catalogue.collection import open_collection
from facing.catalogue.options import Flag, Kind, named_catalogues, read_pages, shared_keys, show, show_json
from facing.catalogue.status import status, total
from facing.model import Page

COLUMNS = ("lang", "covered", "pages", "reviewed", "stale", "missing", "obsolete", "errors", "warnings", "infos")


@dataclass
class Report:
    """Show for each language how far its translation is: coverage, staleness, and the findings of lint."""

    source: Annotated[Path | None, tyro.conf.Positional] = None
    """A source or a folder of sources; by default the `root` of the configuration, else this folder."""
    catalogue: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """`si=path`: the catalogue of a language, a file or a folder; by default as configured. May be repeated."""
    profile: Kind | None = None
    """How notes are cut into units and keys; by default as the configuration says, else `modern`."""
    page: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Count these pages only, such as `layer.py`. May be repeated."""
    strict: Flag = False
    """Fail if anything is stale, or lint finds an error or a warning."""
    json: Flag = False
    """Print JSON."""

    def run(self) -> int:
        """Report."""
        pages = read_pages(self.source, self.profile)
        rows = [self.language(lang, path, pages) for lang, path in named_catalogues(self.catalogue).items()]
        if self.json:
            show_json(rows)
        else:
            show(table(rows))
        bad = any(row["stale"] or row["errors"] or row["warnings"] for row in rows)
        return 1 if self.strict and bad else 0

    def language(self, lang: str, path: Path, pages: list[Page]) -> dict[str, Any]:
        """Count one language. Findings are those of lint against the sources; what is missing is counted, not found."""
        collection = open_collection(lang, path)
        counted = [page for page in pages if not self.page or page.path in self.page]
        each = [status(page, collection, shared_keys(page, pages, collection)) for page in counted]
        every = total(each, lang)
        findings, _ = Lint(path, source=self.source, profile=self.profile, lang=lang).examine()
        kinds = Counter(finding.severity for finding in findings)
        return {
            "lang": lang,
            "covered": f"{every.coverage:.0%} of {every.total}",
            "pages": f"{sum(row.coverage == 1 for row in each)} of {len(each)}",
            "reviewed": every.reviewed,
            "stale": every.stale,
            "missing": every.missing,
            "obsolete": every.obsolete,
            "errors": kinds["error"],
            "warnings": kinds["warning"],
            "infos": kinds["info"],
        }


def table(rows: list[dict[str, Any]]) -> str:
    """Lay out the rows as text."""
    lines = [COLUMNS, *(tuple(str(row[name]) for name in COLUMNS) for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(COLUMNS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
