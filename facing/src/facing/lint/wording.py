"""---
title: Wording rules
summary: What a reader of any language would notice: words left over, cut or lost, numbers, blanks, length, terms.
---
These rules judge text, not markup, and can be wrong: they warn and never keep an entry from being rendered.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from facing.lint.entry import Context, Entry
from facing.lint.tree import Element, Held, Problem, Text, clip

LATIN = re.compile(r"[A-Za-z]+(?:['\u2019][A-Za-z]+)*")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*%?")

# Words that carry no meaning of their own and are never kept on purpose.
SMALL = (
    " a an and are as at be by for from has have if in into is it its of on or so than that the their then these this to was "
    "we which with "
)

# Characters of a translation per character of English, for running text. A factor of two on each side is allowed.
USUAL = {"zh": 0.4, "ja": 0.6, "ko": 0.6}


def wording(entry: Entry, context: Context) -> Iterator[Problem]:
    """Give the faults of wording that do not depend on one language."""
    if not entry.has_words:
        return
    if same(entry):
        yield Problem("untranslated", "A translation must differ from its source. This one is the same text.")
        return
    if context.other_letters and all_latin(entry):
        yield Problem(
            "untranslated", "A translation must be in the letters of its language. This one has none of them."
        )
    yield from leftover(entry, context)
    yield from debris(entry, context)
    yield from cut(entry)
    yield from trailing(entry)
    yield from empty(entry)
    yield from numbers(entry)
    yield from length(entry, context)
    yield from terms(entry, context)
    if context.spaced and context.base != "ko":
        yield from touching(entry)


def same(entry: Entry) -> bool:
    """Say whether source and translation are the same text, blanks aside."""
    return entry.source.root.text.split() == entry.tree.root.text.split()


def all_latin(entry: Entry) -> bool:
    """Say whether several source words became Latin words only; a single one may be a name."""
    letters = [character for character in entry.tree.root.text if character.isalpha()]
    words = [word for word in entry.source.root.text.split() if LATIN.search(word)]
    return bool(letters) and max(letters) < "\u0250" and len(words) > 1


def leftover(entry: Entry, context: Context) -> Iterator[Problem]:
    """Find runs of source words. In other letters two words are a run, and one small word is enough.

    A term of the glossary in brackets is no leftover: a translation gives it beside its own term at first use.
    """
    shortest = 2 if context.other_letters else 6
    source = [word.casefold() for word in LATIN.findall(entry.source.root.text)]
    follows = set(pairwise(source))
    run: list[str] = []
    for text in [*segments(without_terms(entry.tree.root.text, context)), ""]:
        ordinary = text.islower()
        if run and not (ordinary and (run[-1].casefold(), text.casefold()) in follows):
            if len(run) >= shortest or (context.other_letters and f" {run[0]} " in SMALL and run[0] in source):
                yield Problem("leftover", f"Words of the source must be translated. `{clip(' '.join(run))}` was left.")
            run = []
        if ordinary and LATIN.fullmatch(text):
            run.append(text)


def without_terms(text: str, context: Context) -> str:
    """Take terms of the glossary that stand in brackets out of a text."""
    if not context.glossary:
        return text
    known = "|".join(map(re.escape, context.glossary))
    return re.sub(rf"[(\uff08](?:{known})s?[)\uff09]", "()", text, flags=re.IGNORECASE)


def segments(text: str) -> list[str]:
    """Cut text into Latin words and, between them, whatever is more than blanks."""
    return [part for part in re.split(rf"({LATIN.pattern})", text) if part.strip()]


def debris(entry: Entry, context: Context) -> Iterator[Problem]:
    """Find pieces of source words, such as the `ing` of `resulting`, and the `@@` of translation machines."""
    if "@@" in entry.tree.root.text and "@@" not in entry.source.root.text:
        yield Problem("debris", "A mark of a translation machine must be removed. `@@` was left.")
    if not context.other_letters:
        return
    source = {word.casefold() for word in LATIN.findall(entry.source.root.text)}
    whole = {part for word in source for part in re.split(r"['\u2019]", word)} | source
    for word in dict.fromkeys(LATIN.findall(without_terms(entry.tree.root.text, context))):
        low = word.casefold()
        if word.islower() and low not in whole and len(low) < 5 and any(low in longer for longer in source):
            yield Problem("debris", f"Pieces of source words must be removed. `{word}` is one.")


def cut(entry: Entry) -> Iterator[Problem]:
    """Find words of the source that a tag cuts in two."""
    source = {word.casefold() for word in LATIN.findall(entry.source.root.text)}
    before: str | None = None
    for node in entry.tree.root.walk():
        if isinstance(node, Held):
            before = None
        if not isinstance(node, Text) or not node.text.strip():
            continue
        last, first = LATIN.search(reversed_tail(before or "")), LATIN.match(node.text.lstrip())
        if last and first:
            left, right = last[0], first[0]
            if (left + right).casefold() in source and not (left.casefold() in source and right.casefold() in source):
                yield Problem("word-cut", f"Markup must stand between words. It cuts `{clip(left + right)}`.")
        before = node.text


def reversed_tail(text: str) -> str:
    """Give the word at the end of a text, marks of translation machines and blanks aside."""
    found = re.search(r"([A-Za-z]+)(?:@@)?\s*$", text)
    return found[1] if found else ""


def trailing(entry: Entry) -> Iterator[Problem]:
    """Find blocks that end with a blank where the source block does not."""
    count = sum(1 for mine, other in entry.pairs if ends_blank(other) and not ends_blank(mine))
    if count:
        yield Problem("trailing-blank", f"A block must end as in the source. {count} end with a blank.")


def ends_blank(block: Element) -> bool:
    """Say whether a block that has content ends with a blank."""
    last = block.children[-1] if block.children else None
    return (
        isinstance(last, Text)
        and last.text != last.text.rstrip()
        and bool(last.text.strip() or len(block.children) > 1)
    )


def empty(entry: Entry) -> Iterator[Problem]:
    """Find blocks that lost all their words."""
    for mine, other in entry.pairs:
        if len(LATIN.findall(mine.text)) > 1 and not any(character.isalnum() for character in other.text):
            yield Problem(
                "block-empty", f"A block must keep its words. Nothing is left of `{clip(mine.text.strip())}`."
            )


def numbers(entry: Entry) -> Iterator[Problem]:
    """Find numbers of two or more digits that are missing; a single digit is often spelled as a word."""
    missing = counted(entry.source.root.text) - counted(entry.tree.root.text)
    for number in sorted(number for number in missing if len(number) > 1):
        yield Problem("number-lost", f"Numbers of the source must be kept. `{number}` is missing.")


def counted(text: str) -> Counter[str]:
    """Count the numbers of a text, digits of all scripts taken as the same."""
    plain = "".join(str(unicodedata.digit(character, character)) for character in unicodedata.normalize("NFKC", text))
    return Counter(re.sub(r"[.,%]", "", found) for found in NUMBER.findall(plain))


def length(entry: Entry, context: Context) -> Iterator[Problem]:
    """Compare lengths where there is enough text to judge; terms of the glossary in brackets come on top."""
    texts = entry.source.root.text, without_terms(entry.tree.root.text, context)
    ours, theirs = (len("".join(text.split())) for text in texts)
    usual = USUAL.get(context.base, 1.0)
    ratio = theirs / max(ours, 1)
    if ours >= 30 and not usual / 2.6 <= ratio <= usual * 2.6:
        yield Problem(
            "length",
            f"A translation has about {usual:.1f} times the characters of its source. This one has {ratio:.1f}.",
        )


def terms(entry: Entry, context: Context) -> Iterator[Problem]:
    """Hold the translation to the glossary."""
    source, target = entry.source.root.text.casefold(), entry.tree.root.text.casefold()
    for term, allowed in context.glossary.items():
        if re.search(rf"(?<!\w){re.escape(term.casefold())}s?(?!\w)", source) and not any(
            form.casefold() in target for form in allowed
        ):
            shown = " or ".join(f"`{form}`" for form in allowed)
            yield Problem("glossary", f"The glossary translates `{clip(term)}` as {shown}. Neither stands here.")


def touching(entry: Entry) -> Iterator[Problem]:
    """Find letters that touch a tag or placeholder from outside, in a text that sets blanks."""
    count = touches(entry.tree.root) - touches(entry.source.root)
    if count > 0:
        yield Problem("blank-lost", f"A blank must part a word from markup beside it. It is missing {count} times.")


def touches(element: Element) -> int:
    """Count the places where a letter stands right before or after an inline element or placeholder."""
    count = 0
    for left, right in pairwise(element.children):
        if isinstance(left, Text) and not isinstance(right, Text):
            count += bool(left.text) and left.text[-1].isalnum()
        elif isinstance(right, Text) and not isinstance(left, Text):
            count += bool(right.text) and right.text[0].isalnum()
    return count + sum(touches(child) for child in element.children if isinstance(child, Element))
