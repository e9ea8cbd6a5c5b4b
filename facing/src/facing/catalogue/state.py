"""---
title: The state beside a catalogue
summary: What flat JSON cannot say: what each translation was made from, whether it was reviewed, and what is suppressed.
---
`mha.si.json` has `mha.si.state.json` beside it. Entries are named by a hash of their key, so that the file stays small
and holds no text twice. A catalogue without this file is complete and usable; everything here has a default.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from facing.model import Finding, Unit

LARGEST = 64 << 20
Status = Literal["translated", "reviewed", "stale", "fuzzy", "missing"]
STATUSES = ("translated", "reviewed", "stale", "fuzzy", "missing")


@dataclass
class Record:
    """What is known of one entry: its status, and hashes of the source and of the translation that it holds for.

    `previous` and `proposal` belong to a fuzzy match and are never rendered.
    """

    status: Status = "translated"
    source: str = ""
    text: str = ""
    previous: str = ""
    proposal: str = ""


@dataclass(frozen=True)
class Suppressed:
    """One finding that was judged and found to be none, with the reason."""

    entry: str
    code: str
    reason: str


@dataclass
class State:
    """The state of one catalogue."""

    records: dict[str, Record] = field(default_factory=dict)
    suppressed: list[Suppressed] = field(default_factory=list)
    obsolete: dict[str, str] = field(default_factory=dict)
    problem: str = ""

    def record(self, key: str) -> Record:
        """Give the record of an entry, a default one where there is none."""
        return self.records.get(name(key), Record())

    def excuses(self, key: str, code: str) -> bool:
        """Say whether a finding about an entry is suppressed with a reason."""
        return any(each.entry == name(key) and each.code == code and each.reason.strip() for each in self.suppressed)


def name(key: str) -> str:
    """Name an entry by a hash of its key."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:16]


def source_hash(unit: Unit) -> str:
    """Hash what a translation was made from: the key and what stands behind its placeholders."""
    parts = [unit.key, *(f"{original.kind}:{original.text}" for original in unit.originals)]
    return name("\0".join(parts))


def state_path(catalogue: Path) -> Path:
    """Give the path of the state of a catalogue."""
    return catalogue.with_name(catalogue.name.removesuffix(".json") + ".state.json")


def load_state(path: Path) -> State:
    """Read a state file. One that is damaged counts as empty, and `problem` says so: translations matter more."""
    if not path.is_file():
        return State()
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError(f"it has more than {LARGEST >> 20} MiB")
        data = json.loads(path.read_text("utf-8"))
        return from_json(data)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        return State(
            problem=f"A state file must be what `facing extract` writes. Reading says: {type(error).__name__}: {error}."
        )


def from_json(data: Any) -> State:
    """Build the state from parsed JSON, and refuse values of other types."""
    records = {str(key): Record(**value) for key, value in data.get("entries", {}).items()}
    for record in records.values():
        if record.status not in STATUSES or not all(isinstance(value, str) for value in asdict(record).values()):
            raise ValueError(f"unknown status `{record.status}`")
    suppressed = [Suppressed(**value) for value in data.get("suppressed", [])]
    if not all(isinstance(value, str) for each in suppressed for value in asdict(each).values()):
        raise ValueError("a suppressed finding has something other than text")
    obsolete = {str(key): str(value) for key, value in data.get("obsolete", {}).items()}
    return State(records, suppressed, obsolete)


def dump_state(state: State) -> str:
    """Write a state: sorted, without what has its default."""
    entries = {key: {k: v for k, v in asdict(record).items() if v} for key, record in sorted(state.records.items())}
    data: dict[str, Any] = {"version": 1, "entries": entries}
    if state.suppressed:
        data["suppressed"] = [
            asdict(each) for each in sorted(state.suppressed, key=lambda each: (each.entry, each.code))
        ]
    if state.obsolete:
        data["obsolete"] = dict(sorted(state.obsolete.items()))
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def apply_suppressions(findings: Iterable[Finding], state: State) -> list[Finding]:
    """Leave out what is suppressed with a reason. An error cannot be suppressed: the entry is not rendered anyway."""
    known = {(each.entry, each.code) for each in state.suppressed if each.reason.strip()}
    return [
        finding
        for finding in findings
        if finding.severity == "error" or (name(finding.entry), finding.code) not in known
    ]
