"""---
title: Links
summary: Every link of a note is resolved against the whole site, so that a broken one is found before a reader finds it.
---
An author links to sources, as they lie in the folder: `../mask/causal.py`, `../mask/causal.py#Causal`, `guide.md`. A
symbol of the site may also be named directly: `headwise.mask.causal.Causal`, or its end, if only one symbol ends so.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import quote, unquote, urlsplit

from facing.notes.tags import safe_target


@dataclass(frozen=True)
class Target:
    """What a link can point to: a page of the site, with its anchors, the number of its lines, and the lines that it shows."""

    output: str
    anchors: frozenset[str]
    lines: int
    shown: tuple[int, ...] = ()

    def has(self, fragment: str) -> bool:
        """Say whether the page has this anchor; `L57` stands for a line."""
        return fragment in self.anchors or 1 <= line_number(fragment) <= self.lines

    def nearest(self, fragment: str) -> str:
        """Give the anchor for a fragment: a line inside a note has none of its own, so its note stands for it."""
        line = line_number(fragment)
        before = [shown for shown in self.shown if shown <= line]
        return f"L{before[-1]}" if line and before and fragment not in self.anchors else fragment


@dataclass(frozen=True)
class Resolved:
    """Where a link goes, and what is wrong with it. `asset` is a file of the source folder that the page needs."""

    href: str
    problem: str = ""
    asset: str = ""


@dataclass(frozen=True)
class Links:
    """All that links of a site can point to. Keys of `pages` are paths of sources; `symbols` maps dotted names to targets."""

    pages: Mapping[str, Target]
    symbols: Mapping[str, str] = field(default_factory=dict)
    exists: Callable[[str], bool] = lambda path: False

    def resolve(self, href: str, page: str, to_root: str = "", origin: str = "") -> Resolved:
        """Resolve a link of the source `page`; `to_root` leads from its HTML to the folder of the whole site.

        A note of the page `origin` may be shown on `page`; its links count from where it was written.
        """
        origin = origin or page
        if not safe_target(href):
            return Resolved("#", f"A link must lead to the site, to http(s) or to mailto. `{href}` does not.")
        parts = urlsplit(href)
        if parts.scheme or parts.netloc:
            return Resolved(href)
        if not parts.path:
            return self.on_page(origin, page, unquote(parts.fragment), href)
        if dotted := self.symbol(parts.path):
            path, _, name = dotted.partition("#")
            return self.on_page(path, page, name, href)
        path = self.locate(unquote(parts.path), origin)
        if path in self.pages:
            return self.on_page(path, page, unquote(parts.fragment), href)
        if self.exists(path):
            return Resolved(to_root + quote(path), asset=path)
        return Resolved(
            href, f"A link must lead somewhere. `{href}` is neither a page, a symbol nor a file of this site."
        )

    def on_page(self, target: str, page: str, fragment: str, href: str) -> Resolved:
        """The link from one page to a place on another, or why there is no such place."""
        found = self.pages[target]
        here = posixpath.dirname(self.pages[page].output) or "."
        link = "" if target == page and fragment else quote(posixpath.relpath(found.output, here))
        if not fragment:
            return Resolved(link)
        problem = (
            ""
            if found.has(fragment)
            else f"A link must lead somewhere. `{href}` names the anchor `{fragment}`, which {target} lacks."
        )
        return Resolved(f"{link}#{quote(found.nearest(fragment))}", problem)

    def locate(self, path: str, page: str) -> str:
        """Find the source that a path means: itself, the source behind a page, or the index of a folder."""
        base = "" if path.startswith("/") else posixpath.dirname(page)
        full = posixpath.normpath(posixpath.join(base, path.lstrip("/")))
        if full in self.pages:
            return full
        folder = "index.html" if full == "." else f"{full}/index.html"
        return self.by_output.get(full) or self.by_output.get(folder) or full

    @cached_property
    def by_output(self) -> dict[str, str]:
        """Map the path of each page to that of its source."""
        return {target.output: source for source, target in self.pages.items()}

    def symbol(self, name: str) -> str:
        """Give `path#Symbol` for a dotted name, or for the end of exactly one."""
        if "/" in name or not all(part.isidentifier() for part in name.split(".")):
            return ""
        if name in self.symbols:
            return self.symbols[name]
        ends = {place for dotted, place in self.symbols.items() if dotted.endswith(f".{name}")}
        return ends.pop() if len(ends) == 1 else ""


def line_number(fragment: str) -> int:
    """Give the number of `L57`, 0 for any other fragment."""
    number = fragment[1:] if fragment.startswith("L") else ""
    return int(number) if number.isascii() and number.isdigit() else 0


def dotted_name(path: str, symbol: str, package: str) -> str:
    """Name a symbol as Python imports it: package, module, symbol."""
    module = path.rsplit(".", 1)[0].removesuffix("__init__").strip("/").replace("/", ".")
    return ".".join(part for part in (package, module, symbol) if part)
