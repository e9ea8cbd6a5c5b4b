"""---
title: The match ladder
summary: Looks for the translation of a unit, from certain to uncertain; what is uncertain is proposed, never rendered.
---
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from facing.catalogue.blocks import normal, recall
from facing.catalogue.collection import Collection
from facing.lint.run import fit
from facing.model import Unit

Rung = Literal["exact", "blanks", "moved", "memory", "fuzzy", "none"]

# Below this similarity a proposal costs a translator more than it saves.
SIMILAR = 0.75
MOST = 400


@dataclass(frozen=True)
class Match:
    """Where a translation was found, the translation, and for an uncertain one the source that it belongs to."""

    rung: Rung
    text: str = ""
    previous: str = ""


def match(unit: Unit, page: str, collection: Collection) -> Match:
    """Climb the certain rungs. An entry of the page itself counts even where it is unfit: it is to be mended, not hidden."""
    own = collection.of(page).entries
    if own.get(unit.key, "").strip():
        return Match("exact", own[unit.key])
    plain = unit.kind != "note"
    wanted = normal(unit.key)
    key, text = collection.own_normal(page).get(wanted, ("", ""))
    if text and fit(unit.key, text, plain):
        return Match("blanks", text, key)
    moved = collection.everywhere.get(unit.key) or collection.by_normal.get(wanted)
    if moved and fit(unit.key, moved, plain):
        return Match("moved", moved)
    composed = recall(unit.key, collection.memory) if unit.has_words and not plain else None
    if composed and fit(unit.key, composed, False):
        return Match("memory", composed)
    return Match("none")


def propose(key: str, candidates: Iterable[tuple[str, str]]) -> Match:
    """Find the most similar source text with a translation."""
    near = [(other, text) for other, text in candidates if text.strip() and abs(len(other) - len(key)) <= len(key) / 2]
    near.sort(key=lambda pair: abs(len(pair[0]) - len(key)))
    matcher = difflib.SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(key)
    best, found = SIMILAR, Match("none")
    for other, text in near[:MOST]:
        matcher.set_seq1(other)
        if matcher.real_quick_ratio() >= best and matcher.quick_ratio() >= best and (ratio := matcher.ratio()) >= best:
            best, found = ratio, Match("fuzzy", text, other)
            if ratio == 1:
                break
    return found
