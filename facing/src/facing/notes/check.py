"""---
title: Checking formulas and images
summary: What stands behind placeholders is checked once, for every profile.
---
"""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser

from facing.math import math_html
from facing.model import Finding, Original, Page


class ImageTag(HTMLParser):
    """Reads the address and the alternative text of one image."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.values: dict[str, str] = {}
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.values = {name: (value or "").strip() for name, value in attrs}


def check_originals(page: Page) -> Iterator[Finding]:
    """Report formulas that cannot be read in full, and images without an alternative text."""
    for unit in page.units:
        for original in unit.originals:
            for code, message in problems(original):
                yield Finding(page.path, "", unit.line, code, "warning", message)


def problems(original: Original) -> Iterator[tuple[str, str]]:
    """Code and message of each fault of one formula or image."""
    if original.kind == "math":
        for problem in math_html(original.text, original.html.startswith("<span"))[1]:
            yield "math", problem
    elif original.kind == "image":
        values = ImageTag(original.html).values
        if not values.get("alt"):
            source = values.get("src", "")
            yield (
                "alt-missing",
                f"An image must have an alternative text. `{source}` has none; write ![what it shows]({source}).",
            )
