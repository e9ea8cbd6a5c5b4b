"""---
title: The site
summary: All pages, read before any is written, with everything that they can refer to.
---
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from facing.config import Config
from facing.model import PLACEHOLDER, FacingError, Finding, Page, Profile, Unit
from facing.notes.check import check_originals
from facing.notes.finish import Heading, Scan, scan, slug
from facing.notes.links import Links, Target, dotted_name

SKIPPED = frozenset({"__pycache__", "node_modules"})


@dataclass(frozen=True)
class Outline:
    """What one page offers to the rest of the site, found in its notes in the source language."""

    headings: dict[int, tuple[Heading, ...]]
    anchors: frozenset[str]
    scans: dict[int, Scan]
    findings: tuple[Finding, ...]
    own_title: bool


@dataclass(frozen=True)
class Site:
    """Pages in the order of reading, their outlines, and their links."""

    config: Config
    root: Path
    pages: tuple[Page, ...]
    outlines: dict[str, Outline]
    links: Links
    name: str


def collect(source: Path, exclude: Iterable[str] = ()) -> tuple[Path, list[Path]]:
    """Give the root and the sources: one file, or all Python and Markdown files of a folder."""
    if not source.exists():
        raise FacingError("The source must be a file or a folder. Nothing is there.", source)
    if source.is_file():
        return source.parent, [source]
    found: list[Path] = []
    for path in sorted(source.rglob("*")):
        name = path.relative_to(source)
        hidden = any(part.startswith(".") or part in SKIPPED for part in name.parts)
        excluded = any(fnmatch.fnmatch(name.as_posix(), pattern) for pattern in exclude)
        if path.suffix in (".py", ".md") and path.is_file() and not hidden and not excluded:
            found.append(path)
    return source, found


def read_site(source: Path, config: Config, profile: Profile) -> Site:
    """Read every page, then what each offers. An error in any source ends this before anything is written."""
    root, paths = collect(source, config.exclude)
    pages = [page for path in paths if (page := profile.read(path, root)).rows or page.redirect]
    if not pages:
        raise FacingError(
            "The source must hold at least one Python or Markdown file that is not empty. There is none.", source
        )
    name = config.name or root.resolve().name
    pages = arrange(with_index(pages, name), config.order)
    check_outputs(pages)
    outlines = {page.path: outline(page) for page in pages}
    targets = {
        page.path: Target(page.output, outlines[page.path].anchors, page.source.count("\n") + 1) for page in pages
    }
    symbols: dict[str, str] = {}
    for page in pages:
        if page.language == "python":
            symbols[dotted_name(page.path, "", config.package)] = page.path
            symbols |= {
                dotted_name(page.path, symbol.name, config.package): f"{page.path}#{symbol.name}"
                for symbol in page.symbols
            }
    links = Links(targets, symbols, exists=lambda path: not path.startswith("..") and (root / path).is_file())
    return Site(config, root, tuple(pages), outlines, links, name)


def target(page: Page, found: Outline) -> Target:
    """Say what of a page can be linked to."""
    shown = {line for row in page.rows for line in (row.note_line, *row.lines) if line}
    return Target(page.output, found.anchors, page.source.count("\n") + 1, tuple(sorted(shown)))


def with_index(pages: list[Page], name: str) -> list[Page]:
    """Add a page with the list of all pages where the sources have no front page."""
    if any(page.output == "index.html" for page in pages):
        return pages
    return [Page("index.md", Unit(name, kind="title"), language="contents"), *pages]


def arrange(pages: list[Page], order: tuple[str, ...]) -> list[Page]:
    """Sort: the front page, then the order of reading, then by folder, files before folders."""
    places = {path: number for number, path in enumerate(order)}
    missing = [path for path in order if path not in {page.path for page in pages}]
    if missing:
        raise FacingError(f"Each entry of `order` must be a source of the site. {', '.join(missing)} is not.")

    def place(page: Page) -> tuple[object, ...]:
        folders = page.path.split("/")[:-1]
        key = tuple((1, folder) for folder in folders)
        file = (0, "" if page.output.endswith("index.html") else page.output)
        return (page.output != "index.html", places.get(page.path, len(places)), (*key, file))

    return sorted(pages, key=place)


def check_outputs(pages: list[Page]) -> None:
    seen: dict[str, str] = {}
    for page in pages:
        other = seen.setdefault(page.output, page.path)
        if other != page.path:
            raise FacingError(
                f"Each source must have a page of its own. {other} and {page.path} both become {page.output}; exclude one."
            )


def outline(page: Page) -> Outline:
    """Go over the notes of a page once: headings get levels and anchors, and what is wrong is reported."""
    headings: dict[int, tuple[Heading, ...]] = {}
    scans = {number: scan(unit.key) for number, unit in enumerate(page.units) if unit.kind == "note"}
    first = min(scans, default=-1)
    own_title = first >= 0 and page.units[first].key.startswith("<h1>")
    taken = {f"L{line}" for line in range(1, page.source.count("\n") + 2)} | {"main", "menu"}
    findings: list[Finding] = []
    for number, each in scans.items():
        for anchor in each.anchors:
            if anchor in taken:
                findings.append(
                    finding(page, number, "anchor-twice", f"An anchor must be unique on its page. `{anchor}` is not.")
                )
            taken.add(anchor)
    symbols = {symbol.name for symbol in page.symbols} - taken
    taken |= symbols
    level = 0 if own_title else 1
    for number, each in scans.items():
        done: list[Heading] = []
        for wanted, label in each.headings:
            # One heading of level 1 names the page; a level may not be skipped on the way down.
            right = 1 if own_title and level == 0 else max(2, min(wanted, level + 1))
            if wanted > max(level, 1) + 1:
                message = (
                    f"Heading levels must not skip. A heading of level {wanted} follows one of level {max(level, 1)}."
                )
                findings.append(finding(page, number, "heading-skip", message))
            done.append(Heading(right, unique(slug(label), taken), label, spoken(page.units[number], label)))
            level = right
        headings[number] = tuple(done)
    return Outline(headings, frozenset(taken), scans, tuple(findings), own_title)


def spoken(unit: Unit, label: str) -> str:
    """Name a heading that consists of formulas by their TeX; one with words needs no other name."""
    if any(character.isalnum() for character in PLACEHOLDER.sub("", label)):
        return ""
    numbers = [int(number) for number in PLACEHOLDER.findall(label)]
    return " ".join(unit.originals[number].text.strip() for number in numbers if number < len(unit.originals))


def unique(name: str, taken: set[str]) -> str:
    """Give the name, with a number if it is taken, and take it."""
    chosen, number = name, 2
    while chosen in taken:
        chosen, number = f"{name}-{number}", number + 1
    taken.add(chosen)
    return chosen


def finding(page: Page, number: int, code: str, message: str) -> Finding:
    return Finding(page.path, "", page.units[number].line, code, "warning", message)


def check_links(site: Site) -> list[Finding]:
    """Report every link of every page that leads nowhere, and images that are not there."""
    found: list[Finding] = []
    for page in site.pages:
        for number, each in site.outlines[page.path].scans.items():
            for href in each.links:
                resolved = site.links.resolve(href, page.path)
                if resolved.problem:
                    found.append(finding(page, number, "link-broken", resolved.problem))
    return found


def findings(site: Site) -> list[Finding]:
    """Gather what is wrong with the pages, in the order of files and lines."""
    every = [
        each
        for page in site.pages
        for each in (*page.findings, *check_originals(page), *site.outlines[page.path].findings)
    ]
    return sorted({*every, *check_links(site)}, key=lambda each: (each.file, each.line, each.code, each.message))
