"""---
title: One entry under examination
summary: The source text and its translation, parsed once, with what a rule needs to know beside them.
---
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from facing.lint.tree import BLOCKS, Element, Text, Tree, parse
from facing.lint.words import Words

# Scripts that set no blanks between words.
UNSPACED = frozenset({"zh", "ja", "th", "lo", "km", "my"})

# Languages written in Latin letters cannot be told from the source language by their letters.
OTHER_LETTERS = (
    " am ar as be bg bn bo dv el fa gu he hi hy ja ka kk km kn ko ky lo mk ml mn mr my ne or pa ps ru sa sd si ta te tg th "
    "ti ug uk ur yi zh "
)


@dataclass(frozen=True)
class Context:
    """What holds for all entries of a catalogue: the language, the words known, the glossary."""

    lang: str
    words: Words = field(default_factory=Words)
    glossary: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def base(self) -> str:
        """Give the language without region or script: `zh` for `zh-Hant`."""
        return re.split(r"[-_]", self.lang.lower())[0]

    @property
    def spaced(self) -> bool:
        """Say whether the language sets blanks between words."""
        return self.base not in UNSPACED

    @property
    def other_letters(self) -> bool:
        """Say whether the language is written in other letters than the source language."""
        return f" {self.base} " in OTHER_LETTERS


@dataclass(frozen=True)
class Entry:
    """A key, its translation, and whether both are plain text (titles and summaries) or HTML."""

    key: str
    text: str
    plain: bool = False

    @cached_property
    def source(self) -> Tree:
        """Parse the key. It was made by a profile and is taken as it is."""
        return plain_tree(self.key) if self.plain else parse(self.key)

    @cached_property
    def tree(self) -> Tree:
        """Parse the translation."""
        return plain_tree(self.text) if self.plain else parse(self.text)

    @cached_property
    def pairs(self) -> list[tuple[Element, Element]]:
        """Give corresponding innermost blocks of source and translation; none where the sequences differ."""
        ours, theirs = self.source.root.blocks, self.tree.root.blocks
        if skeleton(self.source.root) != skeleton(self.tree.root):
            return []
        if not ours:
            return [(self.source.root, self.tree.root)]
        return [(a, b) for a, b in zip(ours, theirs, strict=True) if isinstance(a, Element) and isinstance(b, Element)]

    @cached_property
    def has_words(self) -> bool:
        """Say whether the source has anything to translate."""
        return any(character.isalpha() for character in self.source.root.text)


def plain_tree(text: str) -> Tree:
    """Wrap plain text as a tree."""
    return Tree(Element("", children=[Text(text)]), [])


def skeleton(element: Element) -> tuple[object, ...]:
    """Give the nested sequence of blocks below an element, inline markup left out."""
    out: list[object] = []
    for child in element.children:
        if isinstance(child, Element) and child.tag in BLOCKS:
            out.append((child.tag, *skeleton(child)))
        elif not element.tag and not isinstance(child, Element | Text):
            out.append("placeholder")
    return tuple(out)
