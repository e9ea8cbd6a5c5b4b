"""---
title: Block memory
summary: Cuts sound entries into blocks, so that a block is found again in any note that holds it.
---
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from facing.lint.entry import Entry
from facing.lint.run import fit, is_plain
from facing.lint.tree import BLOCKS, Element, Held, Text, parse, write
from facing.model import PLACEHOLDER, placeholder

Node = Element | Text | Held
AROUND_BLOCK = re.compile(r"\s*(</?(?:p|h[1-6]|ul|ol|li|blockquote|table|thead|tbody|tr|t[hd])>)\s*")


def normal(key: str) -> str:
    """Normalise blanks: one between words, none beside the tags of blocks."""
    return AROUND_BLOCK.sub(r"\1", " ".join(key.split()))


def top_blocks(root: Element) -> list[Node]:
    """Give the top-level blocks of an entry; bare placeholders are blocks too."""
    return [node for node in root.children if not (isinstance(node, Text) and not node.text.strip())]


def renumbered(html: str, numbers: dict[int, int]) -> str:
    """Give placeholders new numbers."""
    return PLACEHOLDER.sub(lambda found: placeholder(numbers[int(found[1])]), html)


def local(node: Node) -> tuple[str, list[int]]:
    """Spell a block with placeholders counted from 0, and give the numbers that they had."""
    html = write(node)
    numbers = list(dict.fromkeys(int(found[1]) for found in PLACEHOLDER.finditer(html)))
    return renumbered(html, {number: at for at, number in enumerate(numbers)}), numbers


def memory_of(entries: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Collect the translation of each block by the normalised block of the source."""
    memory: dict[str, str] = {}
    for key, text in entries:
        if is_plain(key) or not fit(key, text, False):
            continue
        entry = Entry(key, text)
        ours, theirs = top_blocks(entry.source.root), top_blocks(entry.tree.root)
        if len(ours) != len(theirs):
            continue
        for mine, other in zip(ours, theirs, strict=True):
            source, numbers = local(mine)
            there = {number: at for at, number in enumerate(numbers)}
            if set(PLACEHOLDER.findall(write(other))) == {str(number) for number in numbers}:
                memory.setdefault(normal(source), renumbered(write(other), there))
    return memory


def recall(key: str, memory: dict[str, str]) -> str | None:
    """Put the translation of a note together from remembered blocks; None where one with words is not remembered."""
    out: list[str] = []
    for node in top_blocks(parse(key).root):
        if not isinstance(node, Held) and not (isinstance(node, Element) and node.tag in BLOCKS):
            return None
        source, numbers = local(node)
        found = memory.get(normal(source))
        if found is None:
            if isinstance(node, Element) and any(map(str.isalpha, node.text)):
                return None
            found = source
        out.append(renumbered(found, dict(enumerate(numbers))) + ("" if isinstance(node, Held) else "\n"))
    return "".join(out) or None
