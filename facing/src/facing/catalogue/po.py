"""---
title: PO and POT files
summary: Catalogues as gettext files and back, so that Weblate, Crowdin and Poedit can work on them.
---
A key is the `msgid` and its translation the `msgstr`, byte for byte. What the placeholders stand for is said in `#.`
comments. A fuzzy match carries its proposal and the previous source; on the way back it stays out of the catalogue.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import polib

from facing.catalogue.state import Record, State, name, source_hash
from facing.lint.tree import clip
from facing.model import FacingError, Page

WHAT = {
    "title": "The title of the page, plain text.",
    "summary": "The summary of the page, plain text.",
    "alt": "What an image shows, for readers who do not see it, plain text.",
    "note": "",
}


def export(page: Page, entries: dict[str, str], state: State, lang: str = "") -> str:
    """Write the units of a page as PO, or as a template (POT) without a language."""
    file = polib.POFile(wrapwidth=0)
    file.metadata = {
        "Project-Id-Version": page.path,
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
        **({"Language": lang} if lang else {}),
    }
    for unit in {unit.key: unit for unit in page.units if unit.has_words}.values():
        record = state.record(unit.key)
        entry = polib.POEntry(msgid=unit.key, msgstr=entries.get(unit.key, "") if lang else "", encoding="utf-8")
        entry.occurrences = [(page.path, str(unit.line))]
        originals = [
            f"{at}: {original.kind} {clip(one_line(original.text), 80)}" for at, original in enumerate(unit.originals)
        ]
        entry.comment = "\n".join(filter(None, [WHAT[unit.kind], *originals]))
        if lang and not entry.msgstr and record.proposal:
            entry.msgstr, entry.previous_msgid = record.proposal, record.previous
            entry.flags = ["fuzzy"]
        elif entry.msgstr and record.status == "stale":
            entry.flags = ["fuzzy"]
            entry.previous_msgid = unit.key
        file.append(entry)
    return str(file)


def one_line(text: str) -> str:
    """Put text on one line, as a comment must be."""
    return " ".join(text.split())


@dataclass
class Imported:
    """What a PO file says: translations that are finished, and keys that are fuzzy or unknown to the page."""

    entries: dict[str, str] = field(default_factory=dict)
    fuzzy: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def read(path: Path, page: Page) -> Imported:
    """Read a PO file beside the page that it belongs to."""
    try:
        file = polib.pofile(str(path), wrapwidth=0, encoding="utf-8")
    except (OSError, ValueError, UnicodeDecodeError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise FacingError(f"A PO file must be one that gettext can read. Reading says: {reason}.", path) from None
    known = {unit.key for unit in page.units}
    out = Imported()
    for entry in file:
        if entry.obsolete or not entry.msgstr.strip():
            continue
        if entry.msgid not in known:
            out.unknown.append(entry.msgid)
        elif "fuzzy" in entry.flags:
            out.fuzzy.append(entry.msgid)
        else:
            out.entries[entry.msgid] = entry.msgstr
    return out


def merge(page: Page, imported: Imported, entries: dict[str, str], state: State) -> dict[str, str]:
    """Put finished translations into the entries of a catalogue, and note what they were made from."""
    out = dict(entries)
    for unit in page.units:
        text = imported.entries.get(unit.key)
        if text is None:
            continue
        record = state.record(unit.key)
        if text != entries.get(unit.key) or record.status in ("stale", "fuzzy", "missing"):
            state.records[name(unit.key)] = Record("translated", source_hash(unit), name(text))
        out[unit.key] = text
    return out
