"""---
title: Extracting catalogues
summary: Brings a catalogue up to date with its page and touches nothing that is already right.
---
Keys that the page has and the catalogue lacks are added, with a translation where the ladder finds a certain one and
empty otherwise. Entries that the page no longer has stay, unless they are to be pruned; then the state keeps them. On
an unchanged source the catalogue keeps its bytes.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field, replace

from facing.catalogue.collection import Collection
from facing.catalogue.files import dump, save
from facing.catalogue.match import match, propose
from facing.catalogue.state import Record, State, dump_state, name, source_hash, state_path
from facing.model import FacingError, Page, Unit


@dataclass
class Update:
    """A catalogue as it will be written, and what is new in it."""

    entries: dict[str, str]
    state: State
    added: list[str] = field(default_factory=list)
    found: dict[str, str] = field(default_factory=dict)
    proposed: list[str] = field(default_factory=list)
    obsolete: list[str] = field(default_factory=list)


def keys(page: Page) -> list[str]:
    """Give the keys of a page, each once, in the order of the page."""
    return list(dict.fromkeys(unit.key for unit in page.units))


def update(page: Page, collection: Collection, *, prune: bool = False, keep: Set[str] = frozenset()) -> Update:
    """Bring the catalogue of a page up to date. Keys in `keep` belong to another page with the same catalogue."""
    entries = dict(collection.of(page.path).entries)
    known = collection.state_of(page.path)
    out = Update(entries, State(dict(known.records), list(known.suppressed), dict(known.obsolete)))
    units = {each.key: each for unit in page.units for each in [as_stored(unit, entries)]}
    out.obsolete = [key for key in entries if key not in units and key not in keep]
    candidates = [
        *((key, entries[key]) for key in out.obsolete),
        *known.obsolete.items(),
        *collection.everywhere.items(),
    ]
    for unit in units.values():
        if unit.key not in entries or (not entries[unit.key] and unit.has_words):
            add(unit, page, collection, candidates, out)
        note(unit, out)
    if prune:
        for key in out.obsolete:
            text = out.entries.pop(key)
            if text.strip():
                out.state.obsolete[key] = text
    names = {name(key) for key in out.entries}
    out.state.records = {key: record for key, record in out.state.records.items() if key in names}
    return out


def as_stored(unit: Unit, entries: dict[str, str]) -> Unit:
    """Give a title or summary the key that the catalogue has for it, where the two differ in blanks only.

    Generators fold a wrapped line of front matter in different ways; a page that did not change keeps its bytes.
    """
    if unit.kind == "note" or unit.key in entries:
        return unit
    same = next((key for key in entries if key.split() == unit.key.split()), unit.key)
    return replace(unit, key=same)


def add(unit: Unit, page: Page, collection: Collection, candidates: list[tuple[str, str]], out: Update) -> None:
    """Add an entry. What needs no translation is its own; an uncertain match goes to the state only."""
    if unit.key not in out.entries:
        out.added.append(unit.key)
    if not unit.has_words:
        out.entries[unit.key] = unit.key
        return
    found = match(unit, page.path, collection)
    out.entries[unit.key] = found.text if found.rung != "none" else out.state.obsolete.get(unit.key, "")
    if out.entries[unit.key]:
        out.found[unit.key] = found.rung
        return
    similar = propose(unit.key, candidates)
    if similar.rung == "fuzzy":
        out.proposed.append(unit.key)
        out.state.records[name(unit.key)] = Record("fuzzy", previous=similar.previous, proposal=similar.text)


def note(unit: Unit, out: Update) -> None:
    """Keep the state of an entry in step: a translation whose formulas or code changed is stale."""
    record = out.state.records.get(name(unit.key))
    text, source = out.entries[unit.key], source_hash(unit)
    if not text.strip():
        if record is None or record.status != "fuzzy":
            out.state.records[name(unit.key)] = Record("missing")
    elif record is None or not record.source or record.text != name(text):
        # A translation that was changed since holds for the source of today, but nobody has reviewed it.
        kept = record is not None and record.status == "reviewed" and record.text in ("", name(text))
        out.state.records[name(unit.key)] = Record("reviewed" if kept else "translated", source, name(text))
    elif record.source != source:
        record.status = "stale"


def write(page: Page, collection: Collection, result: Update) -> None:
    """Write a catalogue and its state. A file that could not be read whole is never written over."""
    path = collection.path_of(page.path)
    broken = collection.of(page.path).findings
    if broken:
        raise FacingError(
            f"A catalogue must be sound before it is updated, or entries would be lost. {broken[0].message}", path
        )
    if problem := collection.state_of(page.path).problem:
        raise FacingError(problem, state_path(path))
    save(path, dump(result.entries))
    save(state_path(path), dump_state(result.state))
    collection.replace(path, result.entries, result.state)
