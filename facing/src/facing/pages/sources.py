"""---
title: The sources of a site
summary: One folder, and those that the configuration puts beside it.
---
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from facing.config import Config
from facing.model import FacingError, Page, Profile

SKIPPED = frozenset({"__pycache__", "node_modules"})


@dataclass(frozen=True)
class Root:
    """A folder of sources, and its place in the site: empty for the root of the site."""

    folder: Path
    place: str = ""

    def name(self, path: Path) -> str:
        """Give the path in the site of a source below this folder."""
        inside = path.relative_to(self.folder).as_posix()
        return f"{self.place}/{inside}" if self.place else inside


@dataclass(frozen=True)
class Source:
    """One file, and the folder that it belongs to."""

    file: Path
    root: Root

    def read(self, profile: Profile) -> Page:
        """Read the page, under its path in the site."""
        page = profile.read(self.file, self.root.folder)
        name = self.root.name(self.file)
        if page.path == name:
            return page
        return replace(page, path=name, findings=tuple(replace(each, file=name) for each in page.findings))


def roots(source: Path, config: Config) -> tuple[Root, ...]:
    """Give the folders of a site. The configured ones belong together; any other source is a site of its own."""
    known = configured(config)
    if config.root and source.resolve() == known[0].folder.resolve():
        return known
    if source.is_file():
        # A file of the site keeps its path in the site.
        return (next((root for root in known if below(source, root)), Root(source.parent)),)
    return (Root(source),)


def configured(config: Config) -> tuple[Root, ...]:
    """Give the folders that the configuration names; without a `root` there are none."""
    if not config.root:
        return ()
    further = (
        Root(config.base / folder, "" if place == "." else place.strip("/")) for place, folder in config.folders.items()
    )
    return (Root(config.base / config.root), *further)


def below(source: Path, root: Root) -> bool:
    return source.resolve().is_relative_to(root.folder.resolve())


def collect(source: Path, config: Config) -> list[Source]:
    """Give the sources of a site: one file, or all Python and Markdown files of its folders."""
    if not source.exists():
        raise FacingError("The source must be a file or a folder. Nothing is there.", source)
    found = roots(source, config)
    if source.is_file():
        inside = found[0].folder.resolve() in source.resolve().parents
        file = found[0].folder / source.resolve().relative_to(found[0].folder.resolve()) if inside else source
        return [Source(file, found[0])]
    return [Source(path, root) for root in found for path in files(root, config.exclude)]


def files(root: Root, exclude: Iterable[str]) -> Iterator[Path]:
    """Give the files of one folder that become pages, in order."""
    if not root.folder.is_dir():
        raise FacingError("Each of `folders` must be a folder. Nothing is there.", root.folder)
    for path in sorted(root.folder.rglob("*")):
        parts = path.relative_to(root.folder).parts
        hidden = any(part.startswith(".") or part in SKIPPED for part in parts)
        excluded = any(fnmatch.fnmatch(root.name(path), pattern) for pattern in exclude)
        if path.suffix in (".py", ".md") and path.is_file() and not hidden and not excluded:
            yield path


def find_file(found: Iterable[Root], path: str) -> Path | None:
    """Find the file that a path in the site means."""
    if path.startswith(".."):
        return None
    for root in found:
        inside = path.removeprefix(f"{root.place}/") if root.place else path
        file = root.folder / inside
        if (not root.place or inside != path) and file.is_file():
            return file
    return None
