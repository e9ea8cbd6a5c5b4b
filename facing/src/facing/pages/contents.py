"""---
title: The contents of a page
summary: Its headings; where it has none, its classes and functions.
---
"""

from __future__ import annotations

from dataclasses import replace

from markupsafe import Markup

from facing.model import Page, Translated
from facing.notes.finish import Heading, scan
from facing.pages.outline import Outline


def contents(page: Page, outline: Outline, answers: list[Translated] | None) -> list[Heading]:
    """List the headings of a page, in the words of its translation where that has as many."""
    found: list[Heading] = []
    for number, headings in outline.headings.items():
        text = answers[number].text if answers else None
        translated = [label for _, label in scan(text).headings] if text else []
        labels = translated if len(translated) == len(headings) else [heading.label for heading in headings]
        for heading, label in zip(headings, labels, strict=True):
            if heading.level > 1:
                label = Markup(page.units[number].fill(label))
                found.append(replace(heading, label=label, foreign=answers is not None and not translated))
    return found or symbols(page)


def symbols(page: Page) -> list[Heading]:
    """List the symbols of a page that are for readers: not private, and not inside a function."""
    classes = {symbol.name for symbol in page.symbols if symbol.kind == "class"}
    found = []
    for symbol in page.symbols:
        parent, _, name = symbol.name.rpartition(".")
        private = any(part.startswith("_") for part in symbol.name.split("."))
        if not private and (not parent or parent in classes):
            found.append(Heading(2 + symbol.name.count("."), symbol.name, Markup("<code>{}</code>").format(name)))
    return found
