"""---
title: The catalogues of one language
summary: Finds the files, knows which belongs to which page, and remembers every block that was ever translated.
---
A language has one file, or a folder with one file a page. The name of a file mirrors the source: `layer.json` in a
folder of one language, `layer.si.json` where languages lie side by side.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

from facing.catalogue.blocks import memory_of, normal
from facing.catalogue.files import Catalogue, load
from facing.catalogue.state import State, load_state, state_path
from facing.model import FacingError, Finding

TAGGED = re.compile(r"\.([a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*)\.json\Z")
BESIDES = (".state.json",)


@dataclass
class Collection:
    """All catalogues of one language by the path of their file."""

    lang: str
    root: Path
    files: dict[Path, Catalogue] = field(default_factory=dict)

    @property
    def findings(self) -> list[Finding]:
        """Give what was wrong with the files."""
        return [finding for catalogue in self.files.values() for finding in catalogue.findings]

    def path_of(self, page: str) -> Path:
        """Give the file of a page: the one that is there, or the one that would be written."""
        if self.root.is_file() or self.root.suffix == ".json":
            return self.root
        stem = PurePosixPath(page).with_suffix("")
        names = [self.root / f"{stem}.json", self.root / f"{stem}.{self.lang}.json"]
        return next((name for name in names if name in self.files), names[self.side_by_side])

    def serves(self, page: str) -> bool:
        """Say whether there is a file for the page. A single file serves every page."""
        return self.path_of(page) in self.files

    def of(self, page: str) -> Catalogue:
        """Give the catalogue of a page, an empty one where there is none."""
        return self.files[self.path_of(page)] if self.serves(page) else Catalogue(str(self.path_of(page)))

    def state_of(self, page: str) -> State:
        """Give the state that lies beside the catalogue of a page."""
        return self.state_at(self.path_of(page))

    def state_at(self, catalogue: Path) -> State:
        """Give the state beside a file, read once."""
        path = state_path(catalogue)
        if path not in self._states:
            self._states[path] = load_state(path)
        return self._states[path]

    @cached_property
    def _states(self) -> dict[Path, State]:
        return {}

    @cached_property
    def side_by_side(self) -> bool:
        """Say whether the names of the files end in a language."""
        return any(TAGGED.search(path.name) for path in self.files)

    @cached_property
    def everywhere(self) -> dict[str, str]:
        """Give every key of every file with its first translation that is not empty."""
        found: dict[str, str] = {}
        for key, text in self.entries():
            found.setdefault(key, text)
        return found

    @cached_property
    def by_normal(self) -> dict[str, str]:
        """Give the translations by key with blanks normalised."""
        found: dict[str, str] = {}
        for key, text in self.entries():
            found.setdefault(normal(key), text)
        return found

    def own_normal(self, page: str) -> dict[str, tuple[str, str]]:
        """Give key and translation of the entries of a page by their key with blanks normalised."""
        path = self.path_of(page)
        if path not in self._normals:
            entries = self.of(page).entries.items()
            self._normals[path] = {normal(key): (key, text) for key, text in entries if text.strip()}
        return self._normals[path]

    def replace(self, catalogue: Path, entries: dict[str, str], state: State) -> None:
        """Take over what was written, so that a second page with the same catalogue builds on it."""
        self.files[catalogue] = Catalogue(str(catalogue), entries)
        self._states[state_path(catalogue)] = state
        self._normals.pop(catalogue, None)

    @cached_property
    def _normals(self) -> dict[Path, dict[str, tuple[str, str]]]:
        return {}

    @cached_property
    def memory(self) -> dict[str, str]:
        """Give the translation of each block that stands in a sound entry."""
        return memory_of(self.entries())

    def entries(self) -> Iterator[tuple[str, str]]:
        """Give all entries that have a translation."""
        for path in sorted(self.files):
            for key, text in self.files[path].entries.items():
                if text.strip():
                    yield key, text


def open_collection(lang: str, path: Path) -> Collection:
    """Open a file or a folder of catalogues. What cannot be read becomes a finding; a path that is not there raises."""
    if not re.fullmatch(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*", lang):
        raise FacingError(f"A language must be a tag such as `si` or `zh-Hant`. The tag given is `{lang}`.")
    if not path.exists():
        raise FacingError(f"The catalogue of `{lang}` must be a file or a folder. Nothing is there.", path)
    collection = Collection(lang, path)
    paths = [path] if path.is_file() else sorted(path.rglob("*.json"))
    for each in paths:
        tagged = TAGGED.search(each.name)
        if each.is_file() and (path.is_file() or not (each.name.endswith(BESIDES) or (tagged and tagged[1] != lang))):
            collection.files[each] = load(each)
    return collection
