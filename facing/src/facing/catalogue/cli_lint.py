"""---
title: Commands that judge and mend
summary: lint, fix and review.
---
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import tyro

from facing.catalogue.collection import open_collection
from facing.catalogue.files import dump, save
from facing.catalogue.options import Flag, Kind, Where, guess_lang, read_pages, shorten, show, show_json
from facing.catalogue.state import Record, Suppressed, apply_suppressions, dump_state, name, state_path
from facing.lint.codes import CODES, severity
from facing.lint.entry import Entry
from facing.lint.fix import repair
from facing.lint.run import inconsistent, is_plain, lint_entries, make_context
from facing.model import FacingError, Finding, worst


@dataclass
class Lint:
    """Examine catalogues; codes are explained in LINT.md."""

    catalogue: Where
    """A catalogue, or a folder of catalogues."""
    source: Path | None = None
    """The source, or the folder of sources; with it, missing and obsolete entries are found too."""
    profile: Kind | None = None
    """How notes are cut into units and keys; by default as the configuration says, else `modern`."""
    lang: str | None = None
    """The language; a name such as `mha.si.json` tells it."""
    root: Path | None = None
    """The folder from which the paths of pages count."""
    dictionary: Path | None = None
    """A hunspell dictionary (`.dic`); by default that of the system."""
    glossary: Path | None = None
    """A TOML file of terms and their translations; by default `glossary.toml` in the folder of catalogues."""
    strict: Flag = False
    """Fail on warnings too."""
    json: Flag = False
    """Print JSON."""

    def run(self) -> int:
        """Examine."""
        findings, entries = self.examine()
        bad = worst(findings)
        if self.json:
            counts = {
                kind: sum(1 for finding in findings if finding.severity == kind)
                for kind in ("error", "warning", "info")
            }
            rows = [{**asdict(finding), "name": name(finding.entry)} for finding in findings]
            show_json({"entries": entries, "counts": counts, "findings": rows})
        else:
            for finding in findings:
                show(f"{finding}" + (f"\n    {name(finding.entry)}: {shorten(finding.entry)}" if finding.entry else ""))
            counted = Counter(finding.severity for finding in findings)
            show(
                f"{entries} entries: {counted['error']} errors, {counted['warning']} warnings, {counted['info']} infos"
            )
        return 1 if bad == "error" or (self.strict and bad == "warning") else 0

    def examine(self) -> tuple[list[Finding], int]:
        """Collect the findings of all catalogues."""
        collection = open_collection(guess_lang(self.lang, self.catalogue), self.catalogue)
        glossary = self.glossary or next(iter(self.catalogue.glob("glossary.toml")), None)
        context = make_context(collection.lang, collection.entries(), dictionary=self.dictionary, glossary=glossary)
        pages = read_pages(self.source, self.profile, self.root) if self.source else []
        findings = list(collection.findings)
        for path, catalogue in collection.files.items():
            units = [unit for page in pages if collection.path_of(page.path) == path for unit in page.units]
            found = lint_entries(catalogue.entries, context, file=str(path), units=units)
            state = collection.state_at(path)
            if state.problem:
                found.append(
                    Finding(
                        str(state_path(path)), "", 1, "state-unreadable", severity("state-unreadable"), state.problem
                    )
                )
            findings += apply_suppressions(found, state)
        findings += inconsistent({str(path): catalogue.entries for path, catalogue in collection.files.items()})
        return findings, sum(len(catalogue.entries) for catalogue in collection.files.values())


@dataclass
class Fix:
    """Repair what is certain in catalogues, and say what was done."""

    catalogue: Where
    """A catalogue, or a folder of catalogues."""
    lang: str | None = None
    """The language; a name such as `mha.si.json` tells it."""
    dictionary: Path | None = None
    """A hunspell dictionary (`.dic`); by default that of the system."""
    dry_run: Flag = False
    """Write nothing."""
    json: Flag = False
    """Print JSON."""

    def run(self) -> int:
        """Repair. A catalogue that could not be read whole is left alone."""
        collection = open_collection(guess_lang(self.lang, self.catalogue), self.catalogue)
        context = make_context(collection.lang, collection.entries(), dictionary=self.dictionary)
        rows: list[dict[str, str]] = []
        for path, catalogue in collection.files.items():
            fixed = dict(catalogue.entries)
            for key, text in catalogue.entries.items():
                fixed[key], done = repair(Entry(key, text, is_plain(key)), context)
                rows += [{"file": str(path), "entry": key, **asdict(each)} for each in done]
            if fixed != catalogue.entries and not self.dry_run and not catalogue.findings:
                save(path, dump(fixed))
        if self.json:
            show_json({"repairs": rows, "findings": [asdict(finding) for finding in collection.findings]})
        else:
            for row in rows:
                show(f"{row['file']}: {row['code']}: {row['message']}\n    in {shorten(row['entry'])}")
            show(f"{len(rows)} repairs" + (" (nothing written)" if self.dry_run else ""))
        for finding in collection.findings:
            print(finding, file=sys.stderr)
        return 1 if collection.findings else 0


@dataclass
class Review:
    """Mark entries as reviewed, or suppress a finding with a reason."""

    catalogue: Where
    """The catalogue: one file."""
    entry: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """The key of an entry, or the name that the state file gives it. May be repeated."""
    all: Flag = False
    """Mark every translated entry of the catalogue as reviewed."""
    suppress: str | None = None
    """The code of a finding that is none."""
    reason: str = ""
    """Why the finding is none."""

    def run(self) -> int:
        """Write the state file."""
        collection = open_collection(guess_lang("und", self.catalogue), self.catalogue)
        names = {name(key): key for path in collection.files for key in collection.files[path].entries}
        state = collection.state_at(self.catalogue)
        if state.problem:
            raise FacingError(state.problem, state_path(self.catalogue))
        if self.suppress is not None and (self.suppress not in CODES or not self.reason.strip()):
            raise FacingError(
                f"A finding is suppressed by its code and with --reason. The code given is `{self.suppress}`."
            )
        for given in self.chosen(collection.files[self.catalogue].entries):
            known = given if given in names else name(given)
            if known not in names:
                raise FacingError(f"An entry must be in the catalogue. `{shorten(given)}` is not.", self.catalogue)
            if self.suppress:
                state.suppressed.append(Suppressed(known, self.suppress, self.reason))
            else:
                # The source is not at hand. What the entry was made from stays known, unless it is stale: a stale entry is reviewed
                # against the source of today, whose hash `extract` fills in.
                text = collection.files[self.catalogue].entries[names[known]]
                before = state.records.get(known)
                source = before.source if before is not None and before.status != "stale" else ""
                state.records[known] = Record("reviewed", source=source, text=name(text))
        save(state_path(self.catalogue), dump_state(state))
        return 0

    def chosen(self, entries: dict[str, str]) -> tuple[str, ...]:
        """Give the entries that are meant: those that are named, or all that are translated."""
        if bool(self.entry) == self.all or (self.all and self.suppress):
            given = ["--entry"] * bool(self.entry) + ["--all"] * self.all + ["--suppress"] * bool(self.suppress)
            raise FacingError(
                "A review must name its entries with --entry, or mark all that are translated with --all. "
                f"Given is {' with '.join(given) or 'neither'}.",
                self.catalogue,
            )
        return self.entry or tuple(key for key, text in entries.items() if text)
