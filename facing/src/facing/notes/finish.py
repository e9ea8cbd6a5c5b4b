"""---
title: Finishing a note
summary: Headings get their place in the page and an anchor, links their target; everything else stays as it is.
---
A note arrives as HTML with placeholders, in the source language or translated. One pass copies it tag by tag and
changes only what depends on the page around it. Working before the originals are put back keeps the pass short: it
never sees highlighted code or MathML.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape, unescape
from html.parser import HTMLParser

from facing.model import PLACEHOLDER

HEADING = re.compile(r"h[1-6]")
# A paragraph that holds nothing but anchors would leave a gap in the page.
ONLY_ANCHORS = re.compile(r'<p>\s*((?:<a id="[^"]*"></a>\s*)+)</p>')


@dataclass(frozen=True)
class Heading:
    """A heading as the page shows it: its level after checking, its anchor, its text as HTML with placeholders.

    A heading of formulas alone has a `name` in words, because not every reader can say a formula. In a list of contents
    `foreign` says that it is not translated.
    """

    level: int
    anchor: str
    label: str = ""
    name: str = ""
    foreign: bool = False

    def tag(self) -> str:
        """Give the opening tag."""
        anchor = f' id="{escape(self.anchor)}"' if self.anchor else ""
        name = f' aria-label="{escape(self.name)}"' if self.name else ""
        return f"<h{self.level}{anchor}{name}>"


@dataclass
class Scan(HTMLParser):
    """What a note holds that matters outside it: anchors, links, and headings as the author wrote them."""

    anchors: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    headings: list[tuple[int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.open: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors += [value for name in ("id", "name") if (value := values.get(name))]
        if tag == "a" and (href := values.get("href")) is not None:
            self.links.append(href)
        if HEADING.fullmatch(tag):
            self.open = []
        elif self.open is not None and tag == "span" and "translate" in values:
            self.open.append("<span translate=no>")

    def handle_endtag(self, tag: str) -> None:
        if HEADING.fullmatch(tag) and self.open is not None:
            self.headings.append((int(tag[1]), "".join(self.open).strip()))
            self.open = None
        elif tag == "span" and self.open and self.open[-1].startswith("_^_"):
            self.open.append("</span>")

    def handle_data(self, data: str) -> None:
        if self.open is not None:
            # A bare `<` must not become a tag together with what follows.
            self.open.append(data.replace("<", "&lt;"))

    def handle_entityref(self, name: str) -> None:
        self.handle_data(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self.handle_data(f"&#{name};")


def scan(html: str) -> Scan:
    reader = Scan()
    reader.feed(html)
    reader.close()
    return reader


def slug(label: str) -> str:
    """Make an anchor of a heading's text; letters of every script stay."""
    text = unescape(re.sub(r"<[^>]*>", "", PLACEHOLDER.sub("", label))).lower()
    return re.sub(r"[^\w]+", "-", text).strip("-_") or "section"


class Finisher(HTMLParser):
    """Copies HTML. Headings take their levels and anchors from `headings`, in order; `resolve` turns links."""

    def __init__(self, headings: Sequence[Heading], resolve: Callable[[str], str]) -> None:
        super().__init__(convert_charrefs=False)
        self.headings, self.resolve = list(headings), resolve
        self.out: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        written = tag
        text = self.get_starttag_text() or ""
        if HEADING.fullmatch(tag):
            heading = self.headings.pop(0) if self.headings else Heading(int(tag[1]), "")
            written, text = f"h{heading.level}", heading.tag()
        elif tag == "p" and self.open[-1:] in (["ul"], ["ol"]):
            # Only items may stand in a list; the classic format puts a paragraph there.
            written, text = "li", "<li>"
        elif tag == "a" and any(name == "href" for name, _ in attrs):
            text = self.link(attrs)
        if tag not in ("br", "hr", "img", "wbr"):
            self.open.append(written)
        self.out.append(text)

    def link(self, attrs: list[tuple[str, str | None]]) -> str:
        values = [(name, self.resolve(value or "") if name == "href" else value or "") for name, value in attrs]
        return "<a " + " ".join(f'{name}="{escape(value)}"' for name, value in values) + ">"

    def handle_endtag(self, tag: str) -> None:
        written = self.open.pop() if self.open else tag
        self.out.append(f"</{written if HEADING.fullmatch(tag) or tag == 'p' else tag}>")

    def handle_data(self, data: str) -> None:
        self.out.append(data.replace("<", "&lt;"))

    def handle_entityref(self, name: str) -> None:
        self.out.append(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self.out.append(f"&#{name};")


def finish(html: str, headings: Sequence[Heading], resolve: Callable[[str], str]) -> str:
    """Finish one note, or one block of it."""
    if "<a " not in html and not HEADING.search(html) and "<ul" not in html:
        return html
    reader = Finisher(headings, resolve)
    reader.feed(html)
    reader.close()
    return ONLY_ANCHORS.sub(r"\1", "".join(reader.out))
