"""---
title: Configuration
summary: One table, in `facing.toml` or in `pyproject.toml` under `[tool.facing]`; the command line wins over it.
---
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from facing.model import FacingError


@dataclass(frozen=True)
class Config:
    """How a site is built.

    Patterns in links: `{path}` is the path of the page's source in the
    site, `{file}` the path from the folder of the configuration file, `{line}` a line number.
    """

    name: str = ""
    """The name of the site; by default the name of the source folder."""
    root: str = ""
    """The source folder, from the folder of the configuration file."""
    package: str = ""
    """The name under which the root is imported, for links such as `package.module.Symbol`."""
    out: str = "site"
    """The folder that the site is written to."""
    language: str = "en"
    """The language of the notes."""
    url: str = ""
    """The address of the site, for canonical links and the sitemap."""
    profile: str = "modern"
    """How sources are read: `modern` or `classic`."""
    source_url: str = ""
    """Where a source can be viewed: `https://.../{path}#L{line}`."""
    colab_url: str = ""
    """Where a page can be opened as a notebook; with `{notebook}`, only the pages that `notebooks` names have one."""
    repository: str = ""
    """What `{repository}` stands for in these addresses, such as `owner/name`; without it, such addresses are left out."""
    notebooks: dict[str, str] = field(default_factory=dict)
    """For a source its notebook, a file of the site that readers can download; `{notebook}` in `colab_url` is its place."""
    folders: dict[str, str] = field(default_factory=dict)
    """Further folders of sources: for each place in the site (`"."` is its root) the folder, from that of the configuration file."""
    api: str = ""
    """The Python source whose `__all__` names what the reference lists; without it there is no reference."""
    run: bool = False
    """Whether pages that ask for it (`run: true`) are run at build. Only for sources that you trust."""
    run_seconds: int = 60
    """How long a page may run."""
    cache: str = ".facing"
    """The folder that keeps what pages showed when they ran."""
    order: tuple[str, ...] = ()
    """Sources in the order of reading; the others follow."""
    also: tuple[str, ...] = ()
    """Sources that the menu lists below the order of reading: what a reader looks up, such as a page of commands."""
    exclude: tuple[str, ...] = ()
    """Patterns of sources that get no page."""
    catalogues: dict[str, str] = field(default_factory=dict)
    """For each language the catalogue, a file or a folder."""
    base: Path = field(default_factory=Path)
    """The folder from which relative paths count."""


def load(folder: Path, file: Path | None = None) -> Config:
    """Read the configuration of a folder, or a named file; without one, everything has its default."""
    for path, table in ((file, ()), (folder / "facing.toml", ()), (folder / "pyproject.toml", ("tool", "facing"))):
        if path is None or not (path.exists() or path == file):
            continue
        if path == file and path.name == "pyproject.toml":
            table = ("tool", "facing")
        data = read(path)
        for name in table:
            data = data.get(name, {})
        if data or path == file:
            return make(data, path)
    return Config(base=folder)


def read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FacingError(f"The configuration must be a file that can be read. {error.strerror}.", path) from None
    except ValueError as error:
        raise FacingError(f"The configuration must be valid TOML. {error}.", path) from None


def make(data: dict[str, Any], path: Path) -> Config:
    """Check names and types of the settings, so that a misspelt one is not silently ignored."""
    known = {each.name: each for each in fields(Config) if each.name != "base"}
    values: dict[str, Any] = {}
    for name, value in data.items():
        if name not in known:
            raise FacingError(f"Settings must be one of {', '.join(known)}. `{name}` is none of them.", path)
        wanted = type(getattr(Config(), name))
        value = tuple(value) if isinstance(value, list) else value
        if type(value) is not wanted:
            kinds = {
                "str": "a text",
                "tuple": "a list",
                "dict": "a table",
                "bool": "true or false",
                "int": "a whole number",
            }
            kind = kinds[wanted.__name__]
            raise FacingError(f"`{name}` must be {kind}. It is {value!r}.", path)
        values[name] = value
    return Config(**values, base=path.parent)
