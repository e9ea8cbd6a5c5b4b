"""---
title: Known words
summary: A hunspell dictionary, read here, and the words of the catalogues at hand.
---
The Python ports of hunspell have not been maintained for years, and one question is all that is needed: is this a
word? So the two files of a dictionary are read here. Affixes are not expanded (Sinhala has ten thousand rules); a word
is cut, and the rest is looked up with the rule that would have made it.

Zero-width joiners are left out of every comparison, because their absence is a fault of its own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

JOINERS = str.maketrans("", "", "\u200c\u200d")
FOLDERS = ("/usr/share/hunspell", "/usr/share/myspell/dicts", "/usr/local/share/hunspell", "/Library/Spelling")
LARGEST = 64 << 20


@dataclass(frozen=True)
class Rule:
    """One affix rule: under this flag, what was stripped from the stem, and how the stem must end (or start)."""

    flag: str
    strip: str
    condition: re.Pattern[str]
    prefix: bool


@dataclass
class Dictionary:
    """The stems of a hunspell dictionary with their flags, and its affix rules by the affix."""

    stems: dict[str, frozenset[str]] = field(default_factory=dict)
    rules: dict[str, list[Rule]] = field(default_factory=dict)
    joined: dict[str, set[str]] = field(default_factory=dict)

    def knows(self, word: str) -> bool:
        """Say whether this is a word, with at most one prefix and one suffix."""
        word = word.translate(JOINERS)
        return word in self.stems or any(True for _ in self.cuts(word))

    def cuts(self, word: str) -> Iterator[str]:
        """Give the stems from which one or two affix rules make the word."""
        for stem, rule in self.undo(word):
            if rule.flag in self.stems.get(stem, ()):
                yield stem
            if rule.prefix:
                for inner, other in self.undo(stem):
                    if not other.prefix and {rule.flag, other.flag} <= self.stems.get(inner, frozenset()):
                        yield inner

    def undo(self, word: str) -> Iterator[tuple[str, Rule]]:
        """Take each possible affix off the word."""
        for at in range(len(word) + 1):
            for rule in self.rules.get(word[at:], ()):
                if not rule.prefix and rule.condition.search(stem := word[:at] + rule.strip):
                    yield stem, rule
            for rule in self.rules.get(word[:at], ()):
                if rule.prefix and rule.condition.match(stem := rule.strip + word[at:]):
                    yield stem, rule


@dataclass
class Words:
    """Everything known about the words of a language."""

    dictionary: Dictionary = field(default_factory=Dictionary)
    seen: set[str] = field(default_factory=set)

    def knows(self, word: str) -> bool:
        """Say whether the word stands in the dictionary or in a catalogue."""
        word = word.translate(JOINERS)
        return word in self.seen or self.dictionary.knows(word)


def find_dictionary(lang: str) -> Path | None:
    """Find a dictionary of the system: `si_LK.dic` for `si`."""
    base = re.split(r"[-_]", lang)[0]
    exact = lang.replace("-", "_")
    for folder in map(Path, FOLDERS):
        if folder.is_dir():
            names = sorted(folder.glob(f"{base}.dic")) + sorted(folder.glob(f"{base}_*.dic"))
            names.sort(key=lambda path: path.stem != exact)
            if names:
                return names[0]
    return None


def read_dictionary(path: Path) -> Dictionary:
    """Read a `.dic` file with the `.aff` file beside it; without one, the words stand as they are."""
    affix_file = path.with_suffix(".aff")
    raw = affix_file.read_bytes() if affix_file.is_file() else b""
    encoding = (
        found[1].decode("ascii", "replace")
        if (found := re.search(rb"^SET[ \t]+(\S+)", raw, re.MULTILINE))
        else "utf-8-sig"
    )
    affixes = decode(raw, encoding)
    settings = dict(re.findall(r"^(FLAG)[ \t]+(\S+)", affixes, re.MULTILINE))
    aliases = [line.split()[1] for line in re.findall(r"^AF .*", affixes, re.MULTILINE)][1:]
    out = Dictionary(rules=read_rules(affixes))
    for line in decode(path.read_bytes(), encoding).splitlines()[1:]:
        word, _, flags = line.split("\t")[0].strip().replace("\\/", "\0").partition("/")
        word = word.split(" ")[0].replace("\0", "/")
        if not word:
            continue
        flags = flags.split(" ")[0]
        if aliases and flags.isdigit() and int(flags) <= len(aliases):
            flags = aliases[int(flags) - 1]
        bare = word.translate(JOINERS)
        out.stems[bare] = out.stems.get(bare, frozenset()) | split_flags(flags, settings.get("FLAG", ""))
        out.joined.setdefault(bare, set()).add(word)
    return out


def decode(data: bytes, encoding: str) -> str:
    """Decode a file of a dictionary; one that lies about its encoding is read as far as possible."""
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return data.decode("utf-8", errors="replace")


def split_flags(text: str, form: str) -> frozenset[str]:
    """Separate the flags of a word: by comma, by twos, or one character each."""
    if form == "num":
        return frozenset(text.split(",")) - {""}
    if form == "long":
        return frozenset(text[at : at + 2] for at in range(0, len(text), 2))
    return frozenset(text)


def read_rules(affixes: str) -> dict[str, list[Rule]]:
    """Read the `PFX` and `SFX` lines; the first line of each flag is a header."""
    rules: dict[str, list[Rule]] = defaultdict(list)
    for line in affixes.splitlines():
        parts = line.split()
        if (
            len(parts) < 4
            or parts[0] not in ("PFX", "SFX")
            or (len(parts) == 4 and parts[2] in "YN" and parts[3].isdigit())
        ):
            continue
        kind, flag, strip, affix = parts[:4]
        condition = parts[4] if len(parts) > 4 else "."
        affix = affix.split("/")[0].translate(JOINERS)
        pattern = condition if kind == "PFX" else f"(?:{condition})$"
        try:
            compiled = re.compile(pattern)
        except re.error:
            continue
        rules["" if affix == "0" else affix].append(
            Rule(flag, "" if strip == "0" else strip.translate(JOINERS), compiled, kind == "PFX")
        )
    return dict(rules)


def words_of(texts: Iterable[str]) -> set[str]:
    """Collect the words of blocks, the first of each left out: it may be glued to the second."""
    found: set[str] = set()
    for text in texts:
        found.update(word.translate(JOINERS) for word in WORD.findall(text)[1:])
    return found


# A word: letters with their marks, joiners inside.
WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|[\u0300-\u036f\u0900-\u0dff\u0e31-\u0e4e\u200c\u200d])*")
