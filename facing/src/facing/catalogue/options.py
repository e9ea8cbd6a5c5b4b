"""---
title: What the commands share
summary: Reading sources, telling the language, printing.
---
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import tyro

from facing.catalogue import extract
from facing.catalogue.collection import TAGGED, Collection, open_collection
from facing.config import load
from facing.lint.tree import clip
from facing.model import FacingError, Page, Profile
from facing.pages.sources import Root, Source, below, collect

Kind = Literal["modern", "classic"]
Flag = tyro.conf.FlagCreatePairsOff[bool]
Where = tyro.conf.Positional[Path]


def profile_named(kind: str) -> Profile:
    """Give the profile with this name; each is imported on use."""
    if kind == "classic":
        from facing.classic import Classic

        return Classic()
    from facing.source import Modern

    return Modern()


def read_pages(source: Path | None, kind: Kind | None, root: Path | None = None) -> list[Page]:
    """Read one source, or those sources of a folder that get a page. What is not given, the configuration says."""
    config = load(Path())
    source = source or config.base / config.root
    profile = profile_named(kind or config.profile)
    found = collect(source, config)
    if root is not None:
        found = [below_root(each, root) for each in found]
    pages = [each.read(profile) for each in found]
    return pages if source.is_file() else [page for page in pages if page.rows or page.redirect]


def below_root(source: Source, root: Path) -> Source:
    """The source, named from this root. One of another folder of the configuration keeps its own."""
    if below(source.file, Root(root)):
        return Source(root / source.file.resolve().relative_to(root.resolve()), Root(root))
    return source


def guess_lang(lang: str | None, path: Path) -> str:
    """Take the language from the option, or from a name such as `mha.si.json`."""
    found = TAGGED.search(path.name)
    if lang or found:
        return lang or (found[1] if found else "")
    raise FacingError("The language must be known. The name of the catalogue does not tell it; give --lang.", path)


def show(text: str) -> None:
    """Print a line, whatever the terminal can show."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding))


def show_json(data: object) -> None:
    """Print a JSON document in ASCII, so that no terminal changes it."""
    print(json.dumps(data, indent=1))


def named_catalogues(options: Iterable[str]) -> dict[str, Path]:
    """Read options such as `si=translations/si`; without one, the configuration names the catalogues."""
    config = load(Path())
    out = {} if (given := list(options)) else {lang: config.base / path for lang, path in config.catalogues.items()}
    for option in given:
        lang, _, path = option.partition("=")
        if not (lang and path) or lang in out:
            raise FacingError(f"A catalogue must be given once as LANG=PATH. The option given is `{option}`.")
        out[lang] = Path(path)
    if not out:
        raise FacingError("At least one catalogue must be given. None is; give --catalogue LANG=PATH.")
    return out


def shorten(key: str) -> str:
    """Show the beginning of a key on one line."""
    return clip(" ".join(re.sub(r"<[^<>]*>", " ", key).split()) or key, 100)


def one_page(source: Path, kind: Kind | None, root: Path | None) -> Page:
    """Read a source that must be one file."""
    if source.is_dir():
        raise FacingError("A PO file holds one page. The source is a folder; name one file of it.", source)
    return read_pages(source, kind, root)[0]


def open_or_new(lang: str | None, path: Path) -> Collection:
    """Open catalogues that are there, or stand ready for those that will be written."""
    known = guess_lang(lang, path)
    return open_collection(known, path) if path.exists() else Collection(known, path)


def shared_keys(page: Page, pages: list[Page], collection: Collection) -> set[str]:
    """Give the keys of other pages that have the same catalogue, such as `gate.md` beside `gate.py`."""
    path = collection.path_of(page.path)
    shared = (other for other in pages if other is not page and collection.path_of(other.path) == path)
    return {key for other in shared for key in extract.keys(other)}
