"""---
title: Structure rules
summary: Tags, blocks, links, anchors and placeholders of a translation, compared with those of its source.
---
Counting tags finds almost nothing: a swapped pair of closing tags keeps every count. These rules compare trees.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

from facing.lint.entry import Entry, skeleton
from facing.lint.tree import BLOCKS, Element, Held, Problem, Text, clip

# Emphasis cannot do harm, and a translator may need it where the source does not.
EMPHASIS = frozenset({"b", "em", "i", "small", "strong", "sub", "sup"})
LOOKALIKE = re.compile(r"_\s*(?:\^|%5e|\\\^|&\#?x?5e;?)\s*_?\s*\d*|\^_\s*\d|\d\s*_\s*\^", re.IGNORECASE)


def structure(entry: Entry) -> Iterator[Problem]:
    """Give everything that makes an entry unfit to be rendered."""
    yield from characters(entry)
    yield from entry.tree.problems
    if entry.plain:
        yield from plain(entry)
    else:
        yield from tags(entry)
        yield from links(entry)
        yield from blocks(entry)
        yield from placeholders(entry)
    if entry.has_words and not any(letter.isalnum() for letter in entry.tree.root.text):
        yield Problem("text-lost", "A translation must have words where its source has. This one has none.")


def characters(entry: Entry) -> Iterator[Problem]:
    """Refuse characters that cannot stand in a page or that turn its text around."""
    for character in sorted({*entry.text, *entry.tree.root.text}):
        category = unicodedata.category(character)
        if (category in ("Cc", "Cs") and character not in "\t\n\r") or character in "\u202d\u202e":
            yield Problem(
                "character-invalid", f"Text must consist of printable characters. It has U+{ord(character):04X}."
            )


def plain(entry: Entry) -> Iterator[Problem]:
    """A title or a summary is no HTML; a tag in it would be shown as text."""
    found = re.search(r"</?[A-Za-z][^<>]*>", entry.text)
    if found and found[0] not in entry.key:
        yield Problem("tag-disallowed", f"A title or summary is plain text. This one has `{clip(found[0])}`.")
    if "_^_" in entry.text and "_^_" not in entry.key:
        yield Problem("placeholder-invented", "A title or summary has no placeholders. This one has `_^_`.")


def tags(entry: Entry) -> Iterator[Problem]:
    """Allow the tags and attributes of the source, and plain emphasis."""
    known = {element.tag for element in entry.source.root.elements()} | EMPHASIS
    attributes = {(element.tag, *pair) for element in entry.source.root.elements() for pair in element.attributes}
    for element in entry.tree.root.elements():
        if element.tag not in known:
            yield Problem(
                "tag-disallowed", f"A translation may use the tags of its source. `<{element.tag}>` is none of them."
            )
        names = Counter(name for name, _ in element.attributes)
        for name, value in element.attributes:
            if names[name] > 1:
                yield Problem(
                    "attribute-disallowed",
                    f"An attribute must stand once in a tag. `{clip(name)}` stands {names[name]} times.",
                )
            if element.tag == "a" and name in ("href", "id", "name"):
                continue
            if (element.tag, name, value) not in attributes:
                shown = clip(f'{name}="{value}"')
                yield Problem(
                    "attribute-disallowed", f"A tag may have the attributes it has in the source. `{shown}` is none."
                )


def links(entry: Entry) -> Iterator[Problem]:
    """Each link and each anchor of the source must be there as often as in the source, and no other."""
    for outer in entry.tree.root.elements("a"):
        if next(outer.elements("a"), None):
            yield Problem(
                "link-in-link", f"A link must not hold another. The one to `{clip(outer.get('href') or '')}` does."
            )
    for kind, names in (("link", ("href",)), ("anchor", ("id", "name"))):
        ours, theirs = targets(entry.source.root, names), targets(entry.tree.root, names)
        for target in (ours - theirs).elements():
            yield Problem(f"{kind}-lost", f"Every {kind} of the source must be kept. `{clip(target)}` is missing.")
        for target in (theirs - ours).elements():
            yield Problem(
                f"{kind}-new", f"Only {kind}s of the source are allowed. `{clip(target)}` is none, or stands too often."
            )


def targets(root: Element, names: tuple[str, ...]) -> Counter[str]:
    """Count the values of attributes of links."""
    found = (element.get(name) for element in root.elements() for name in names if element.tag == "a" or name == "id")
    return Counter(value for value in found if value is not None)


def blocks(entry: Entry) -> Iterator[Problem]:
    """The sequence of blocks must be that of the source, and text must stand inside it."""
    ours, theirs = skeleton(entry.source.root), skeleton(entry.tree.root)
    if ours != theirs:
        yield Problem("blocks-changed", f"The blocks must be {outline(ours)}. They are {outline(theirs)}.")
    inline = (node for node in entry.tree.root.elements() if node.tag not in BLOCKS)
    for element in inline:
        if inner := next((child for child in element.elements() if child.tag in BLOCKS), None):
            yield Problem(
                "tag-misnested", f"Inline markup must stand inside blocks. `<{element.tag}>` holds `<{inner.tag}>`."
            )
    allowed = outside(entry.source.root)
    for text in outside(entry.tree.root):
        if not allowed:
            yield Problem("text-outside", f"Text must stand inside a block. `{clip(text)}` stands outside.")


def outline(parts: tuple[object, ...]) -> str:
    """Spell a sequence of blocks for a message."""
    words = [part if isinstance(part, str) else nested(part) for part in parts]
    short = words if len(words) <= 12 else [*words[:12], "..."]
    return "(" + " ".join(short) + ")"


def nested(part: object) -> str:
    """Spell one block with what stands inside."""
    assert isinstance(part, tuple), "a skeleton consists of words and tuples"
    inner = len(part) - 1
    return f"{part[0]}" if not inner else f"{part[0]}[{inner}]"


def outside(root: Element) -> list[str]:
    """Give the pieces of text that no block holds: at the top, or directly in a list or table."""
    found: list[str] = []
    has_blocks = any(isinstance(child, Element) and child.tag in BLOCKS for child in root.children)
    if root.tag and root.tag not in ("ul", "ol", "dl", "table", "thead", "tbody", "tr"):
        return found
    if not root.tag and not has_blocks and not any(isinstance(child, Held) for child in root.children):
        return found
    for child in root.children:
        if isinstance(child, Text) and child.text.strip():
            found.append(child.text.strip())
        elif isinstance(child, Element) and child.tag in BLOCKS:
            found += outside(child)
        elif isinstance(child, Element) and child.text.strip():
            found.append(child.text.strip())
    return found


def placeholders(entry: Entry) -> Iterator[Problem]:
    """Each placeholder of the source must be there once, in its own block."""
    ours, theirs = Counter(entry.source.root.numbers), Counter(entry.tree.root.numbers)
    for number in sorted(ours | theirs):
        if number not in theirs:
            yield Problem(
                "placeholder-lost", f"Every placeholder of the source must be kept. Number {number} is missing."
            )
        elif number not in ours:
            yield Problem(
                "placeholder-invented", f"Only placeholders of the source are allowed. Number {number} is none."
            )
        elif theirs[number] > ours[number]:
            yield Problem(
                "placeholder-duplicated",
                f"A placeholder must stand once. Number {number} stands {theirs[number]} times.",
            )
    for node in entry.tree.root.walk():
        if isinstance(node, Text) and (found := LOOKALIKE.search(node.text)) and found[0] not in entry.source.root.text:
            yield Problem(
                "placeholder-damaged",
                f"A placeholder must be kept as it is. `{clip(node.text.strip())}` is what is left of one.",
            )
    for mine, other in entry.pairs:
        for number in sorted(set(other.numbers) - set(mine.numbers)):
            if number in ours:
                yield Problem(
                    "placeholder-moved", f"A placeholder must stay in its block. Number {number} stands in another."
                )
