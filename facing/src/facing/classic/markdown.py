"""---
title: Blocks of classic notes
summary: Headings, paragraphs, lists and bare blocks of a classic note, as the HTML of its catalogue key.
---
A classic note is read as one string, line breaks included. A line break that no block consumes becomes a space of the
paragraph beside it: that is why the key of a comment ends in `Text </p>` and the key of a docstring starts with
`<p> `. Lists start only where a block may start; a star after a line of text is part of that text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from facing.classic.inline import Scribe
from facing.model import Unit

# The longest note that was observed in one piece has 3,716 characters, the shortest that was cut has 4,577.
LONGEST = 4000


@dataclass(frozen=True)
class Block:
    """A top-level block: its text in the source, its HTML, and how many lines of the note precede it."""

    text: str
    html: str
    line: int


def units(text: str, line: int = 1, problems: list[tuple[str, str]] | None = None) -> list[Unit]:
    """Turn a note into its units: one, or one a block where the note is too long for one entry.

    Placeholders are numbered from 0 in each unit. What is wrong with formulas and images is added to `problems`.
    """
    scribe = Scribe()
    blocks = read(text, scribe)
    if problems is not None:
        problems += scribe.problems
    key = "".join(block.html for block in blocks)
    if not key:
        return []
    if len(key) <= LONGEST:
        return [Unit(key, tuple(scribe.originals), line + blocks[0].line)]
    return [alone(block, line) for block in blocks]


def alone(block: Block, line: int) -> Unit:
    """Number the placeholders of one block from 0."""
    scribe = Scribe()
    html = "".join(again.html for again in read(block.text, scribe))
    return Unit(html, tuple(scribe.originals), line + block.line)


def read(text: str, scribe: Scribe) -> list[Block]:
    """Cut a note into blocks, in order."""
    text = "\n".join(row.rstrip() for row in text.split("\n"))
    out: list[Block] = []
    at = 0
    while at < len(text):
        if found := GAP.match(text, at):
            at = found.end()
            continue
        html, end = block(text, at, scribe)
        start = at + (text[at] == "\n")
        out.append(Block(text[at:end], html, text.count("\n", 0, start)))
        at = end
    return out


def block(text: str, at: int, scribe: Scribe) -> tuple[str, int]:
    """Write the block that starts at `at` and give the place after it."""
    if found := HEADING.match(text, at):
        level = len(found[1])
        return f"<h{level}>{scribe.write(found[2])}</h{level}>\n", found.end()
    if found := FENCE.match(text, at):
        return scribe.fence(found[2], found[1].strip()), found.end()
    if found := ALIGN.match(text, at):
        return scribe.formula(found[1], display=True), found.end()
    if found := LIST.match(text, at):
        return items(found[1], scribe), found.end()
    found = PARAGRAPH.match(text, at)
    assert found, "every character that no other block takes belongs to a paragraph"
    return f"<p>{scribe.write(found[0])}</p>\n", found.end()


def items(text: str, scribe: Scribe) -> str:
    """Write a list. The line break between two items is the space at the end of the first."""
    rows = [item(found[0], scribe) for found in ITEM.finditer(text)]
    return "<ul>" + "\n".join(rows) + "</ul>\n"


def item(text: str, scribe: Scribe) -> str:
    """Write one item: a starred line, a parameter, or what is returned."""
    if found := PARAM.match(text):
        held = scribe.code(found[1])
        return f"<li>{held} {scribe.write(found[2])}</li>"
    if found := RETURN.match(text):
        return f"<p><em>Returns</em> {scribe.write(found[1])}</p>"
    return f"<li>{scribe.write(text[2:])}</li>"


def heading(text: str) -> str | None:
    """Give the text of the first heading, without its markup: the title of a Markdown page."""
    found = re.search(r"^#{1,6}[ \t]*(.+?)[ \t#]*$", text, re.MULTILINE)
    return re.sub(r"!?\[([^\]]*)\](\([^)]*\))?", r"\1", found[1]).strip() if found else None


# A marker may be indented from the second item on; the blanks before it belong to the item above.
_MARK = r"(?:\*[ \t]|:param [^:\n]*:|:returns?:)"
_NEXT = rf"\n[ \t]*{_MARK}"
GAP = re.compile(r"\n{2,}")
HEADING = re.compile(r"\n?(#{1,6})[ \t]*([^\n]*?)[ \t#]*(?:\n+|\Z)")
FENCE = re.compile(r"\n?[ \t]*```([^\n`]*)\n(.*?)\n?[ \t]*```[ \t]*(?=\n|\Z)", re.DOTALL)
ALIGN = re.compile(r"\n?[ \t]*(\\begin\{(align\*?)\}.*?\\end\{\2\})", re.DOTALL)
LIST = re.compile(rf"\n?({_MARK}[^\n]*(?:\n(?!\n)[^\n]*)*)")
ITEM = re.compile(rf"{_MARK}(?:(?!{_NEXT}).)*(?:\n[ \t]*(?={_MARK})|\Z)", re.DOTALL)
PARAM = re.compile(r":param ([^:\n]*):(.*)", re.DOTALL)
RETURN = re.compile(r":returns?:(.*)", re.DOTALL)
PARAGRAPH = re.compile(r"\n?[^\n]*(?:\n(?!\n|[ \t]*```|[ \t]*\\begin\{align)[^\n]*)*")
