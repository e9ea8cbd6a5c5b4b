"""
---
title: What a report reads
summary: The log, the samples, the settings and the size of a run, from the files that the run has left.
---

# What a report reads

Only whole lines count: a run that is still going, or that was killed, may have a torn line at the end of its log.
"""

import json
import math
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from headwise.errors import HeadwiseError
from headwise.train.config import RunConfig
from headwise.train.run_folder import RunFolder
from headwise.train.trackers import settings_of

Points = list[tuple[float, float]]


class ReportError(HeadwiseError):
    """A run about which nothing can be reported, or a file that cannot be written."""


@dataclass(frozen=True)
class RunRecord:
    """What is known about one run."""

    name: str
    config: RunConfig
    entries: list[dict[str, Any]]
    samples: list[tuple[int, str]]
    parameters: int | None

    def curve(self, key: str) -> Points:
        """The finite numbers of a field over the steps."""
        return [(entry["step"], entry[key]) for entry in self.entries if _is_number(entry.get(key))]

    @property
    def tokens_per_step(self) -> int:
        """Targets of one update."""
        return self.config.train.batch * self.config.model.context

    def speed(self) -> Points:
        """Tokens per second between two lines of the log, with the time of measuring and sampling in it."""
        pairs = pairwise(self.entries)
        steps = [(then["step"], then["step"] - now["step"], then["seconds"] - now["seconds"]) for now, then in pairs]
        # A run that goes on after an interruption begins its clock anew, and that pair of lines tells nothing.
        return [(step, done * self.tokens_per_step / took) for step, done, took in steps if took > 0 and done > 0]

    @property
    def seconds(self) -> float:
        """The time of all parts of the run together."""
        clock = [entry["seconds"] for entry in self.entries]
        ends = [now for now, then in pairwise(clock) if then < now]
        return float(sum(ends) + clock[-1])

    def attention(self) -> list[tuple[int, dict[str, dict[str, list[float]]]]]:
        """Statistics of the heads by step, layer and name, if the run has logged them."""
        return [(entry["step"], entry["attention"]) for entry in self.entries if entry.get("attention")]

    def settings(self) -> dict[str, str]:
        """All settings as texts, the text that was learned from first."""
        flat = settings_of(self.config)
        return {name: "" if value is None else str(value) for name, value in flat.items()}


def read_run(path: Path) -> RunRecord:
    """Everything a report says about the run in a folder."""
    folder = RunFolder.open(path)
    entries = _entries(path / "log.jsonl")
    if not entries:
        raise ReportError(
            f"A report needs a run that has begun to learn. {path}/log.jsonl has no finished line; wait for its first report."
        )
    return RunRecord(path.resolve().name, folder.read_config(), entries, _samples(path / "samples.txt"), _size(path))


def _entries(path: Path) -> list[dict[str, Any]]:
    entries = []
    for line in _text(path).splitlines():
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        # What another program has written there is no line of a training.
        if isinstance(entry, dict) and all(_is_number(entry.get(name)) for name in ("step", "seconds")):
            entries.append(entry)
    return entries


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    except OSError as error:
        raise ReportError(f"The files of a run must be readable. {path}: {error.strerror}.") from None


def _samples(path: Path) -> list[tuple[int, str]]:
    parts = re.split(r"^=== step (\d+)\n", _text(path), flags=re.MULTILINE)
    return [(int(step), text.removesuffix("\n\n")) for step, text in zip(parts[1::2], parts[2::2], strict=True)]


def _size(path: Path) -> int | None:
    """The number of parameters, from the header of the weights."""
    try:
        with safe_open(path / "model.safetensors", "pt") as file:
            return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118
    except (OSError, SafetensorError):
        return None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
