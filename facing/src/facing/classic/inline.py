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
from dataclasses import dataclass, field
from html import escape

from facing.math import math_html
from facing.model import Original, placeholder
from facing.notes.code import highlight, highlight_block


@dataclass
class Scribe:
    """Writes inline HTML and numbers the placeholders from 0 in document order."""

    originals: list[Original] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)
    depth: int = 0

    def hold(self, original: Original) -> str:
        """Keep an original and give the placeholder that stands for it."""
        self.originals.append(original)
        return placeholder(len(self.originals) - 1)

    def code(self, text: str) -> str:
        """Keep inline code; it is highlighted as Python whatever it is."""
        return self.hold(Original(highlight(text), text, "code"))

    def fence(self, text: str, language: str) -> str:
        """Keep a fenced block."""
        return self.hold(Original(highlight_block(text, language or "text"), text, "fence"))

    def formula(self, text: str, *, display: bool) -> str:
        """Keep a formula, and what is wrong with it."""
        html, problems = math_html(text, display)
        self.problems += [("math", problem) for problem in problems]
        return self.hold(Original(html, text, "math"))

    def image(self, alt: str, url: str) -> str:
        """Keep an image. The source is trusted, but a quote in its address must not end the attribute."""
        if not alt.strip():
            self.problems.append(("alt-missing", f"An image must have an alternative text. `{url}` has none."))
        return self.hold(
            Original(f'<img alt="{escape(alt)}" src="{escape(url.strip())}">', f"![{alt}]({url})", "image")
        )

    def opaque(self, kind: str, found: re.Match[str]) -> str:
        """Keep what a pattern found."""
        if kind == "code":
            return self.code(found[1])
        if kind == "image":
            return self.image(found[1], found[2])
        return self.formula(found[1], display=kind == "display")

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
        for pattern, kind in OPAQUE:
            if found := pattern.match(text, at):
                return self.opaque(kind, found), found.end()
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


# No note nests this deep, no label is this long. What goes beyond is text.
DEEPEST = 20
LONGEST_LABEL = 2000
BRACKET = re.compile(r"`[^`]+`|\$\$.+?\$\$|\$[^$]+\$|[\[\]]", re.DOTALL)

# Each element ends at the first place that closes it. A lone `$` or backtick, without a partner, is text.
OPAQUE = (
    (re.compile(r"`([^`]+)`"), "code"),
    (re.compile(r"\$\$(.+?)\$\$", re.DOTALL), "display"),
    (re.compile(r"\$([^$]+)\$"), "formula"),
    (re.compile(r"!\[([^\]]*)\]\(([^)]*)\)"), "image"),
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
