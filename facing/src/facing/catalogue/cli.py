"""---
title: Commands for translators
summary: extract, status, lint, fix, review and po, each a dataclass whose `run` gives the exit code.
---
Exit codes: 0 all is well, 1 something was found, 2 the command could not do its work (a `FacingError`). With `--json`
standard output holds one JSON document and nothing else.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from facing.catalogue import extract
from facing.catalogue.cli_lint import Fix, Lint, Review
from facing.catalogue.cli_po import PoExport, PoImport
from facing.catalogue.cli_report import Report
from facing.catalogue.collection import open_collection
from facing.catalogue.options import Flag, Kind, named_catalogues, open_or_new, read_pages, shared_keys, show, show_json
from facing.catalogue.status import Status as Counts
from facing.catalogue.status import failures, status, table, total
from facing.model import FacingError

REPORT = ("added", "found", "proposed", "obsolete")


@dataclass
class Extract:
    """Write or update the catalogues of sources; without --out, list the keys."""

    source: Annotated[Path | None, tyro.conf.Positional] = None
    """A source or a folder of sources; by default the `root` of the configuration, else this folder."""
    profile: Kind | None = None
    """How notes are cut into units and keys; by default as the configuration says, else `modern`."""
    out: Path | None = None
    """The catalogue, or a folder with one a page. It is made where it is missing."""
    lang: str | None = None
    """The language of the catalogue; a name such as `mha.si.json` tells it."""
    root: Path | None = None
    """The folder from which the paths of pages count."""
    prune: Flag = False
    """Move entries that the page no longer has into the state file."""
    json: Flag = False
    """Print JSON: the keys, or what was written."""

    def run(self) -> int:
        """Extract."""
        pages = read_pages(self.source, self.profile, self.root)
        if self.out is None:
            self.list_keys(pages)
            return 0
        collection = open_or_new(self.lang, self.out)
        if len(pages) > 1 and self.out.suffix == ".json":
            raise FacingError(
                f"One catalogue must serve one page. There are {len(pages)} pages; let --out be a folder.", self.out
            )
        report = []
        for page in pages:
            result = extract.update(page, collection, prune=self.prune, keep=shared_keys(page, pages, collection))
            extract.write(page, collection, result)
            row = (len(result.added), len(result.found), len(result.proposed), len(result.obsolete))
            report.append(
                {
                    "page": page.path,
                    "catalogue": str(collection.path_of(page.path)),
                    **dict(zip(REPORT, row, strict=True)),
                }
            )
        if self.json:
            show_json(report)
        for each in () if self.json else report:
            show(f"{each['catalogue']}: " + ", ".join(f"{each[part]} {part}" for part in REPORT))
        return 0

    def list_keys(self, pages: list[Page]) -> None:
        """Print the keys of one page, or of each."""
        if self.json:
            found = {page.path: extract.keys(page) for page in pages}
            show_json(found[pages[0].path] if self.source and self.source.is_file() else found)
            return
        for page in pages:
            for key in extract.keys(page):
                show(f"{page.path}: {key!r}")


@dataclass
class Status:
    """Show how far translations are, and fail where they are not far enough."""

    source: Annotated[Path | None, tyro.conf.Positional] = None
    """A source or a folder of sources; by default the `root` of the configuration, else this folder."""
    catalogue: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """`si=path`: the catalogue of a language, a file or a folder; by default as configured. May be repeated."""
    profile: Kind | None = None
    """How notes are cut into units and keys; by default as the configuration says, else `modern`."""
    root: Path | None = None
    """The folder from which the paths of pages count."""
    least: float = 0.0
    """The coverage, from 0 to 1, that every language must reach over all pages."""
    none: Annotated[
        tuple[Literal["stale", "error", "obsolete", "missing", "fuzzy", "same", "moved"], ...],
        tyro.conf.UseAppendAction,
    ] = ()
    """What no page may have. May be repeated."""
    pages: Flag = False
    """Show each page whose translation is begun and not finished, above the languages."""
    json: Flag = False
    """Print JSON."""

    def run(self) -> int:
        """Count."""
        pages = read_pages(self.source, self.profile, self.root)
        rows: list[Counts] = []
        sums: list[Counts] = []
        for lang, path in named_catalogues(self.catalogue).items():
            collection = open_collection(lang, path)
            own = [status(page, collection, shared_keys(page, pages, collection)) for page in pages]
            rows += own
            sums.append(total(own, lang))
        reasons = failures(sums, least=self.least) + failures(rows, none_of=self.none)
        if self.json:
            show_json(
                {
                    "pages": [row.as_json() for row in rows],
                    "languages": [row.as_json() for row in sums],
                    "failures": reasons,
                }
            )
        else:
            self.show(rows, sums, len(pages))
        for reason in reasons:
            print(reason, file=sys.stderr)
        return 1 if reasons else 0

    def show(self, rows: list[Counts], sums: list[Counts], pages: int) -> None:
        """Print the languages last, where they are seen: there may be hundreds of pages."""
        if pages == 1:
            show(table(rows))
            return
        open_ones = [row for row in rows if row.begun and not row.finished]
        show(table([*(open_ones if self.pages else []), *sums]))
        for every in sums:
            own = [row for row in rows if row.lang == every.lang]
            done, begun = sum(row.finished for row in own), sum(row.begun and not row.finished for row in own)
            show(f"{every.lang}: pages finished {done}, begun {begun}, not begun {len(own) - done - begun}.")
        if open_ones and not self.pages:
            show("--pages shows those that are begun.")


Po = Annotated[
    Annotated[PoExport, tyro.conf.subcommand("export")] | Annotated[PoImport, tyro.conf.subcommand("import")],
    tyro.conf.subcommand("po", description="Exchange translations with gettext tools."),
]

# What the command line of the package puts beside its own commands.
Commands = Extract | Status | Report | Lint | Fix | Review | Po
