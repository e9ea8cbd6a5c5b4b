"""---
title: Repairs that are certain
summary: Mends what has one right form, and takes back every repair after which lint would find anything new.
---
A repair moves or restores characters whose place is known: it never chooses words. Glued words, leftovers and links
that moved stay as they are, because what was meant is not certain.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from facing.lint.entry import Context, Entry
from facing.lint.languages import CJK, CONJUNCT, LONGEST
from facing.lint.run import examine
from facing.lint.wording import ends_blank
from facing.lint.words import JOINERS, WORD, Dictionary
from facing.model import placeholder


@dataclass(frozen=True)
class Repair:
    """One repair of one entry: the code of what it mends."""

    code: str
    message: str


Mend = Callable[[Entry, Context], str]


def repair(entry: Entry, context: Context) -> tuple[str, list[Repair]]:
    """Apply all certain repairs to an entry and say which ones counted."""
    done: list[Repair] = []
    before = Counter(problem.code for problem in examine(entry, context))
    for code, mend in MENDS:
        if not before or (entry.plain and code not in PLAIN):
            continue
        changed = Entry(entry.key, mend(entry, context), entry.plain)
        if changed.text == entry.text:
            continue
        after = Counter(problem.code for problem in examine(changed, context))
        # A message may count places, so that a code that stays is no proof of failure, but a new one is.
        if all(after[each] <= before[each] for each in after):
            done.append(Repair(code, EXPLAINED[code]))
            entry, before = changed, after
    return entry.text, done


BROKEN = re.compile(
    r"<span\s+translate\s*=\s*[\"']?no[\"']?\s*>\s*_\s*(?:\^|%5e)\s*_\s*(\d{1,6})\s*_\s*(?:\^|%5e)\s*_\s*</\s*span\s*>",
    re.IGNORECASE,
)
OUTSIDE = re.compile(
    r"(</(?:p|li|h[1-6])>)([\u3001\u3002\uff01\uff0c\uff0e\uff1a\uff1b\uff1f\u300d\u300f\uff09]{1,3})"
    r"(?=\s*(?:<(?:p|ul|li|h[1-6]|span)\b|</ul>|\Z))"
)
SUBWORD = re.compile(r"([^\s<>@]{1,40})@@ ?(<(?:p|li|h[1-6])>)")
CLOSED_EARLY = re.compile(r"\n?</ul>((?:\s*<li>(?:(?!</?(?:ul|li|p|h[1-6])>).)*</li>)+)\n?", re.DOTALL)


def placeholders(entry: Entry, context: Context) -> str:
    """Spell damaged placeholders as they were; the number says which one it is."""
    known = set(entry.source.root.numbers)
    return BROKEN.sub(lambda found: placeholder(int(found[1])) if int(found[1]) in known else found[0], entry.text)


def outside(entry: Entry, context: Context) -> str:
    """Move punctuation that slipped out at the end of a block back inside."""
    return OUTSIDE.sub(r"\2\1", entry.text)


def subword(entry: Entry, context: Context) -> str:
    """Join the half of a word that a translation machine left before a block to the half inside."""
    return SUBWORD.sub(r"\2\1", entry.text)


def lists(entry: Entry, context: Context) -> str:
    """Move the end of a list behind the items that stand after it."""
    return CLOSED_EARLY.sub(lambda found: "\n" + found[1].strip() + "</ul>\n", entry.text)


def trailing(entry: Entry, context: Context) -> str:
    """Remove blanks at the end of blocks whose source has none."""
    text = entry.text
    for mine, other in reversed(entry.pairs):
        if ends_blank(other) and not ends_blank(mine) and other.end > 0:
            text = text[: other.end].rstrip(" \t\n") + text[other.end :]
    return text


def joiners(entry: Entry, context: Context) -> str:
    """Restore the joiners of words that the dictionary spells in one way only, outside tags."""
    parts = re.split(r"(<[^<>]*>)", entry.text)
    dictionary = context.words.dictionary
    return "".join(
        part if part.startswith("<") else WORD.sub(lambda found: joined(found[0], dictionary), part) for part in parts
    )


def joined(word: str, dictionary: Dictionary) -> str:
    """Give the spelling of the dictionary, or the word itself."""
    if len(word) > LONGEST or not CONJUNCT.search(word):
        return word
    forms = set(spellings(word.translate(JOINERS), dictionary))
    return forms.pop() if len(forms) == 1 else word


def spellings(bare: str, dictionary: Dictionary) -> Iterator[str]:
    """Give the spellings of a word, whole or as a stem with an ending that has no conjunct itself."""
    yield from dictionary.joined.get(bare, ())
    for stem in dictionary.cuts(bare):
        ending = bare[len(stem) :]
        if bare.startswith(stem) and not CONJUNCT.search(stem[-1:] + ending):
            yield from (form + ending for form in dictionary.joined.get(stem, ()))


# In Japanese a blank between two words in katakana has a meaning, so that one stays.
HAN_BLANK = re.compile(rf"(?<=[{CJK}])[ \t]+(?=[{CJK}])")
KATAKANA_BLANK = re.compile(r"(?<=[\u30a1-\u30ff])[ \t]+(?=[\u30a1-\u30ff])")


def inner_blanks(entry: Entry, context: Context) -> str:
    """Remove blanks between two characters of a script that has none."""
    if context.base not in ("ja", "zh"):
        return entry.text

    def without(found: re.Match[str]) -> str:
        return found[0] if KATAKANA_BLANK.match(entry.text, found.start()) else ""

    return HAN_BLANK.sub(without, entry.text)


MENDS: tuple[tuple[str, Mend], ...] = (
    ("placeholder-damaged", placeholders),
    ("debris", subword),
    ("text-outside", outside),
    ("blocks-changed", lists),
    ("trailing-blank", trailing),
    ("joiner-lost", joiners),
    ("blank-inside", inner_blanks),
)
PLAIN = frozenset({"joiner-lost", "blank-inside"})
EXPLAINED = {
    "placeholder-damaged": "Damaged placeholders are spelled as in the source.",
    "debris": "A word cut by a translation machine is whole again, inside its block.",
    "text-outside": "Punctuation behind a block stands inside it.",
    "blocks-changed": "Items behind the end of a list belong to it.",
    "trailing-blank": "Blanks at the end of blocks are gone.",
    "joiner-lost": "Joiners stand where the dictionary has them.",
    "blank-inside": "Blanks between characters are gone.",
}
