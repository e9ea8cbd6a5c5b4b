"""---
title: Tags in notes
summary: Which raw tags an author may write.
---
"""

from __future__ import annotations

from html.parser import HTMLParser

# Each tag with the attributes that it may carry. Everything that can load, run or place something is left out.
ALLOWED: dict[str, frozenset[str]] = {
    "a": frozenset({"id", "name", "href"}),
    **{tag: frozenset() for tag in ("b", "br", "em", "i", "kbd", "mark", "s", "small", "strong", "sub", "sup", "wbr")},
    "span": frozenset({"id", "lang", "dir"}),
}
SCHEMES = ("http:", "https:", "mailto:")


def safe_target(target: str) -> bool:
    """Say whether a link may point there: the site itself, or a scheme that only opens a page or a letter."""
    head, colon, _ = "".join(target.split()).lower().partition(":")
    return not colon or any(character in head for character in "/?#") or f"{head}:" in SCHEMES


class OneTag(HTMLParser):
    """Reads a piece of text that must be exactly one tag."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.good: list[bool] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = ALLOWED.get(tag)
        known = names is not None and all(name in names for name, _ in attrs)
        self.good.append(known and all(safe_target(value or "") for name, value in attrs if name == "href"))

    def handle_endtag(self, tag: str) -> None:
        self.good.append(tag in ALLOWED)

    def handle_data(self, data: str) -> None:
        self.good.append(False)

    # A comment, a declaration or a character reference is no tag either.
    def handle_comment(self, data: str) -> None:
        self.good.append(False)

    def handle_decl(self, decl: str) -> None:
        self.good.append(False)

    def handle_pi(self, data: str) -> None:
        self.good.append(False)

    def unknown_decl(self, data: str) -> None:
        self.good.append(False)

    def handle_entityref(self, name: str) -> None:
        self.good.append(False)

    def handle_charref(self, name: str) -> None:
        self.good.append(False)


def allowed_tag(text: str) -> bool:
    """Say whether this is one raw tag that a note may hold. A comment is not: it would be lost in translation."""
    reader = OneTag()
    reader.feed(text)
    reader.close()
    return reader.good == [True]
