"""---
title: Inline markup of classic notes
summary: Code, formulas, links and emphasis of a classic note, as the HTML of its catalogue key.
---
Classic catalogues are looked up by the HTML of the source note, so one byte of difference loses a translation.
CommonMark gives other bytes. This module follows the observed rules instead, oddities included: `[text]` without a
target becomes a link to itself, and a star at the start of a continuation line opens an emphasis.

What must not be translated (code, formulas, images) leaves the text here and becomes a numbered placeholder. The
originals are kept in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape

from facing.math import to_mathml
from facing.model import Original, placeholder
from facing.notes.code import highlight, highlight_block


@dataclass
class Scribe:
    """Writes inline HTML and numbers the placeholders from 0 in document order."""

    originals: list[Original] = field(default_factory=list)
    depth: int = 0

    def hold(self, original: Original) -> str:
        """Keep an original and give the placeholder that stands for it."""
        self.originals.append(original)
        return placeholder(len(self.originals) - 1)

    def write(self, text: str) -> str:
        """Give the HTML of a piece of text."""
        out: list[str] = []
        at = 0
        self.depth += 1
        while at < len(text):
            html, at = self.step(text, at)
            out.append(html)
        self.depth -= 1
        return "".join(out)

    def step(self, text: str, at: int) -> tuple[str, int]:
        """Give the HTML of the element that starts at `at`, and the place after it."""
        for pattern, original in OPAQUE:
            if found := pattern.match(text, at):
                return self.hold(original(found)), found.end()
        if self.depth > DEEPEST:
            return collapse(escape(text[at])), at + 1
        if text[at] == "[" and (link := self.link(text, at)):
            return link
        for pattern, tag in STYLES:
            if found := pattern.match(text, at):
                return f"<{tag}>{self.write(found[1])}</{tag}>", found.end()
        if found := ANCHOR.match(text, at):
            return found[0], found.end()
        found = PLAIN.match(text, at)
        end = found.end() if found else at + 1
        return collapse(escape(text[at:end])), end

    def link(self, text: str, at: int) -> tuple[str, int] | None:
        """Write a link. Without a target the label is its own target, as in the format observed."""
        close = closing_bracket(text, at)
        if close is None:
            return None
        label = text[at + 1 : close]
        target = TARGET.match(text, close + 1)
        url, end = (target[1], target.end()) if target else (label, close + 1)
        return f'<a href="{url}">{self.write(label)}</a>', end


def collapse(text: str) -> str:
    """Make one space of each run of blanks and one of each line break, so that both together give two."""
    return re.sub(r"[ \t]+", " ", text).replace("\n", " ")


def closing_bracket(text: str, at: int) -> int | None:
    """Find the `]` that closes the `[` at `at`; brackets inside code and formulas do not count."""
    depth = 0
    for found in BRACKET.finditer(text, at, at + LONGEST_LABEL):
        depth += {"[": 1, "]": -1}.get(found[0], 0)
        if depth == 0:
            return found.start()
    return None


def code(text: str) -> Original:
    """Keep inline code; it is highlighted as Python whatever it is."""
    return Original(highlight(text), text, "code")


def formula(text: str, *, display: bool) -> Original:
    """Keep a formula."""
    return Original(to_mathml(text, display), text, "math")


def image(alt: str, url: str) -> Original:
    """Keep an image. The source is trusted, but a quote in its address must not end the attribute."""
    return Original(f'<img alt="{escape(alt)}" src="{escape(url.strip())}">', f"![{alt}]({url})", "image")


def fence(text: str, language: str) -> Original:
    """Keep a fenced block."""
    return Original(highlight_block(text, language or "text"), text, "fence")


# No note nests this deep, no label is this long. What goes beyond is text.
DEEPEST = 20
LONGEST_LABEL = 2000
BRACKET = re.compile(r"`[^`]+`|\$\$.+?\$\$|\$[^$]+\$|[\[\]]", re.DOTALL)

# Each element ends at the first place that closes it. A lone `$` or backtick, without a partner, is text.
OPAQUE: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Original]], ...] = (
    (re.compile(r"`([^`]+)`"), lambda found: code(found[1])),
    (re.compile(r"\$\$(.+?)\$\$", re.DOTALL), lambda found: formula(found[1], display=True)),
    (re.compile(r"\$([^$]+)\$"), lambda found: formula(found[1], display=False)),
    (re.compile(r"!\[([^\]]*)\]\(([^)]*)\)"), lambda found: image(found[1], found[2])),
)

# Inside an emphasis a doubled star belongs to a strong text, not to the end of the emphasis.
STYLES = (
    (re.compile(r"\*\*(.+?)\*\*", re.DOTALL), "strong"),
    (re.compile(r"\*((?:[^*]|\*\*[^*]+\*\*)+)\*"), "em"),
    (re.compile(r"---(.+?)---", re.DOTALL), "small"),
)
ANCHOR = re.compile(r'<a id="[^"<>]*">\s*</a>')
TARGET = re.compile(r"\(([^)]*)\)")
PLAIN = re.compile(r"[^`$!\[*\-<]+")
