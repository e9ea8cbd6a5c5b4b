"""---
title: Addresses elsewhere
summary: Where a source can be viewed, or opened as a notebook; the configuration has a pattern for each.
---
"""

from __future__ import annotations

import re
from pathlib import Path

from facing.model import Page
from facing.pages.site import Site
from facing.pages.sources import find_file


def address(pattern: str, page: Page, site: Site) -> str:
    """Fill a pattern for a page; empty if the page has no source, or something that the pattern names is not known."""
    file = site.origins.get(page.path)
    if file is None:
        return ""
    base = site.config.base.resolve()
    notebook = site.config.notebooks.get(page.path, "")
    known = {
        "path": page.path,
        "file": from_base(file, base, page.path),
        "line": "1",
        "repository": site.config.repository,
        "notebook": from_base(find_file(site.roots, notebook), base, notebook),
    }
    if any(not value and f"{{{name}}}" in pattern for name, value in known.items()):
        return ""
    return re.sub(r"{(\w+)}", lambda match: known.get(match[1], match[0]), pattern)


def from_base(file: Path | None, base: Path, otherwise: str) -> str:
    """Give the path of a file from the folder of the configuration, where it lies below it."""
    if file is None or not file.resolve().is_relative_to(base):
        return otherwise
    return file.resolve().relative_to(base).as_posix()
