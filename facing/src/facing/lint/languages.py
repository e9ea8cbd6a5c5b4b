"""---
title: Rules of single languages
summary: Joiners and glued words in Sinhala, blanks between characters in Japanese and Chinese.
---
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from facing.lint.entry import Context, Entry
from facing.lint.tree import Element, Problem, Text, clip
from facing.lint.words import JOINERS, WORD, Words

# In Sinhala the vowel killer U+0DCA, a joiner and `ra` or `ya` make a conjunct. After `ra` itself both spellings are in use.
CONJUNCT = re.compile(r"(?<=[\u0d9a-\u0dc6])(?<!\u0dbb)\u0dca(?=[\u0dba\u0dbb])")

# No word is longer. The limit keeps the search for two words inside one from taking for ever.
LONGEST = 60

# Han characters, kana and their punctuation; between two of these no blank belongs.
CJK = r"\u3001-\u303f\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff0f\uff1a-\uff20"
INNER_BLANK = re.compile(rf"(?<=[{CJK}])[ \t]+(?=[{CJK}])")


def language_rules(entry: Entry, context: Context) -> Iterator[Problem]:
    """Apply the rules of the language of the catalogue."""
    if context.base == "si":
        yield from joiners(entry, context)
    if context.base in ("ja", "zh"):
        yield from inner_blanks(entry)
    if context.base == "si" or (context.spaced and context.other_letters and context.words.dictionary.stems):
        yield from glued(entry, context)


def joiners(entry: Entry, context: Context) -> Iterator[Problem]:
    """Find conjuncts without their joiner."""
    found = dict.fromkeys(word for word in WORD.findall(entry.tree.root.text) if CONJUNCT.search(word))
    words = [word for word in found if broken(word, context.words)]
    if words:
        shown = ", ".join(f"`{word}`" for word in list(words)[:3])
        yield Problem(
            "joiner-lost",
            f"A conjunct needs U+200D after U+0DCA. It is missing in {len(words)} words, such as {shown}.",
        )


def broken(word: str, words: Words) -> bool:
    """Say whether a conjunct of the word is broken. Where two words are glued at that place, there is none."""
    parts = parted(word, words)
    seam = len(parts[0]) if parts else -1
    return any(found.end() != seam for found in CONJUNCT.finditer(word))


def inner_blanks(entry: Entry) -> Iterator[Problem]:
    """Find blanks between two characters of a script that has none."""
    found = [node.text for node in entry.tree.root.walk() if isinstance(node, Text) and INNER_BLANK.search(node.text)]
    if found:
        yield Problem("blank-inside", f"No blank belongs between two characters. `{clip(found[0].strip())}` has one.")


def glued(entry: Entry, context: Context) -> Iterator[Problem]:
    """Find blocks whose first word is two words. It is not a word itself, and both parts are."""
    roots = [block for block in entry.tree.root.blocks if isinstance(block, Element)] or [entry.tree.root]
    for block in roots:
        for first in first_words(block):
            parts = parted(first, context.words)
            if not parts:
                continue
            yield Problem("first-word-glued", f"Words must be apart. `{clip(first)}` is `{parts[0]}` and `{parts[1]}`.")


def first_words(block: Element) -> list[str]:
    """Give the words before the first blank of a block (hyphens may join several), none where it begins otherwise."""
    for node in block.walk():
        if isinstance(node, Text) and node.text.strip():
            return WORD.findall(node.text.split()[0])
        if not isinstance(node, Element | Text):
            return []
    return []


def parted(word: str, words: Words) -> tuple[str, str] | None:
    """Cut a word into two known words, None where it is a word itself or no cut gives two."""
    word = word.translate(JOINERS)
    mixed = re.match(r"([A-Za-z]{2,})([^\x00-\u024f]{3,})", word)
    if mixed:
        return mixed[1], mixed[2]
    if len(word) > LONGEST or words.knows(word):
        return None
    for at in range(len(word) - 2, 1, -1):
        left, right = word[:at], word[at:]
        # An ending on a stem that no dictionary has is how a language inflects a loan word.
        inflected = right in words.dictionary.rules and not words.dictionary.knows(left)
        if whole(left, words) and whole(right, words) and not inflected:
            return left, right
    return None


def whole(part: str, words: Words) -> bool:
    """Say whether a part is a known word of two letters or more; one that starts with a vowel sign is none."""
    return part[0].isalpha() and sum(map(str.isalpha, part)) > 1 and words.knows(part)
