"""---
title: The search index
summary: What can be found, for each language one script; the browser searches in it, and no server is asked.
---
The index is a script and not data, because a page that is opened from disk may load scripts beside it but read no files. It
is loaded when somebody searches, and not before. It holds texts and no words: `Intl.Segmenter` of the browser knows where
words begin in languages that write without blanks, and needs no list of ours for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape

from facing.model import PLACEHOLDER, Page, Translated, Unit
from facing.pages.outline import Outline
from facing.pages.render import Edition
from facing.pages.site import Site, written

BLOCK = re.compile(r"</?(?:p|h[1-6]|[ou]l|li|t[dhr]|table|thead|tbody|blockquote|br|hr)\b[^>]*>")
# Page number, anchor, heading or symbol, text.
Entry = tuple[int, str, str, str]


def search_index(site: Site, edition: Edition) -> str:
    """Write the script of one language."""
    pages = [page for page in written(site) if page.redirect is None and page.language != "contents"]
    entries: list[Entry] = []
    for number, page in enumerate(pages):
        found = page_entries(page, site.outlines[page.path], edition.answers.get(page.path))
        entries += [(number, *each) for each in found]
    data = {"pages": [[page.output, edition.titles[page.path]] for page in pages], "entries": entries}
    return f"window.facingIndex = {json.dumps(data, ensure_ascii=False, separators=(',', ':'))};\n"


def page_entries(page: Page, outline: Outline, answers: list[Translated] | None) -> Iterator[tuple[str, str, str]]:
    """Give the places of a page: the page itself, its rows, and inside a row each heading."""
    words = [plain(unit, answers[at].text if answers else None) for at, unit in enumerate(page.units)]
    yield "", "", words[1] if page.summary else ""
    names = {symbol.line: symbol.name for symbol in page.symbols}
    at = 1 if page.summary is None else 2
    for row in page.rows:
        # A function inside the lines of another row has no place of its own there, so the first name counts.
        symbol = next((names[line] for line in row.lines if line in names), "")
        texts: list[str] = []
        anchor, label = symbol or row.anchor, symbol
        for number in range(at, at + len(row.units)):
            if headings := outline.headings.get(number, ()):
                if texts or symbol:
                    yield anchor, label, " ".join(filter(None, texts))
                # The heading that names the page is its title already.
                own = headings[0].level > 1
                anchor, label, texts, symbol = headings[0].anchor, words[number] if own else "", [], ""
            else:
                texts.append(words[number])
        if texts or symbol or label:
            yield anchor, label, " ".join(filter(None, texts))
        at += len(row.units)


def plain(unit: Unit, translation: str | None) -> str:
    """Give the words of a unit as a reader sees them: code inside a sentence counts, formulas and blocks of code do not."""

    def original(match: re.Match[str]) -> str:
        number = int(match[1])
        found = unit.originals[number] if number < len(unit.originals) else None
        return found.text if found and found.kind == "code" else " "

    text = unit.key if translation is None else translation
    if unit.kind == "note":
        # Tags go first: code may hold what looks like one.
        parts = re.split(r"(<span translate=no>_\^_\d+_\^_</span>)", text)
        text = "".join(PLACEHOLDER.sub(original, part) if PLACEHOLDER.fullmatch(part) else bare(part) for part in parts)
    return " ".join(text.split())


def bare(html: str) -> str:
    """Take the tags out; those of blocks part words, those inside a sentence do not."""
    return unescape(re.sub(r"<[^>]*>", "", BLOCK.sub(" ", html)))
