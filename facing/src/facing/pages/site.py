"""---
title: The site
summary: All pages, read before any is written, with everything that they can refer to.
---
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from facing.config import Config
from facing.model import FacingError, Finding, Page, Profile, Unit
from facing.notes.check import check_originals
from facing.notes.links import Links, Target, dotted_name
from facing.pages.outline import Outline, finding, outline
from facing.pages.reference import listed, reference
from facing.pages.sources import Root, collect, configured, find_file, roots
from facing.run.pages import Execute, executed
from facing.source.text import decode


@dataclass(frozen=True)
class Site:
    """Pages in the order of reading, their outlines, and their links."""

    config: Config
    roots: tuple[Root, ...]
    pages: tuple[Page, ...]
    outlines: dict[str, Outline]
    links: Links
    name: str
    order: tuple[str, ...]
    also: tuple[str, ...]
    origins: dict[str, Path]

    @cached_property
    def reference(self) -> dict[str, str]:
        """Give the page that defines each name of the reference."""
        return next((listed(page) for page in self.pages if page.language == "api"), {})

    @cached_property
    def by_output(self) -> dict[str, Page]:
        """Give the page at each path of the site."""
        return {page.output: page for page in self.pages}

    def file(self, path: str) -> Path:
        """Give the file behind a path of the site that is no page, such as an image."""
        found = find_file(self.roots, path)
        assert found is not None, f"links resolve to files that exist; {path} does not"
        return found


def read_site(source: Path, config: Config, profile: Profile, execute: Execute = executed) -> Site:
    """Read every page, then what each offers. An error in any source ends this before anything is written."""
    found = collect(source, config)
    read = {each: page for each in found if (page := each.read(profile)).rows or page.redirect}
    read = {each: execute(page, each.file, config) for each, page in read.items()}
    if not read:
        raise FacingError(
            "The source must hold at least one Python or Markdown file that is not empty. There is none.", source
        )
    folders = roots(source, config)
    pages = list(read.values())
    if config.api and (file := find_file(folders, config.api)):
        pages.append(reference(pages, config.api, decode(file), config.package))
    name = config.name or folders[0].folder.resolve().name
    # A single page of the site may be built alone; the order of reading then names pages that are not there.
    whole = (source.is_dir() and folders == configured(config)) or not config.root
    order, also = (config.order, config.also) if whole else ((), ())
    pages = with_index(pages, name)
    check_named(pages, {"order": order, "also": also})
    pages = arrange(pages, order)
    check_outputs(pages)
    outlines = {page.path: outline(page) for page in pages}
    links = Links(
        {page.path: target(page, outlines[page.path]) for page in pages},
        symbols(pages, config.package),
        exists=lambda path: find_file(folders, path) is not None,
    )
    origins = {page.path: each.file for each, page in read.items()}
    return Site(config, folders, tuple(pages), outlines, links, name, order, also, origins)


def symbols(pages: list[Page], package: str) -> dict[str, str]:
    """Name every symbol of the site as Python does, and say where it is defined."""
    found: dict[str, str] = {}
    for page in pages:
        if page.language == "python":
            found[dotted_name(page.path, "", package)] = page.path
            for symbol in page.symbols:
                found[dotted_name(page.path, symbol.name, package)] = f"{page.path}#{symbol.name}"
    return found


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

    def place(page: Page) -> tuple[object, ...]:
        folders = page.path.split("/")[:-1]
        key = tuple((1, folder) for folder in folders)
        file = (0, "" if page.output.endswith("index.html") else page.output)
        return (page.output != "index.html", places.get(page.path, len(places)), (*key, file))

    return sorted(pages, key=place)


def check_named(pages: list[Page], named: dict[str, tuple[str, ...]]) -> None:
    """Refuse a setting that names a source which is not there."""
    known = {page.path for page in pages}
    for setting, paths in named.items():
        if missing := [path for path in paths if path not in known]:
            raise FacingError(f"Each entry of `{setting}` must be a source of the site. {', '.join(missing)} is not.")


def check_outputs(pages: list[Page]) -> None:
    seen: dict[str, str] = {}
    for page in pages:
        other = seen.setdefault(page.output, page.path)
        if other != page.path:
            raise FacingError(
                f"Each source must have a page of its own. {other} and {page.path} both become {page.output}; exclude one."
            )


def written(site: Site) -> list[Page]:
    """Give the pages that somebody has written: the reference only shows again what was reported there."""
    return [page for page in site.pages if page.language != "api"]


def check_links(site: Site) -> list[Finding]:
    """Report every link of every page that leads nowhere, and images that are not there."""
    found: list[Finding] = []
    for page in written(site):
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
        for page in written(site)
        for each in (*page.findings, *check_originals(page), *site.outlines[page.path].findings)
    ]
    return sorted({*every, *check_links(site)}, key=lambda each: (each.file, each.line, each.code, each.message))
