"""
---
title: headwise sweep
summary: Trains with each combination of listed settings and compares the results.
---

# headwise sweep
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from headwise.commands.outcome import SIGNAL_BASE, Outcome
from headwise.train.config import RunConfig
from headwise.train.presets import PresetName

if TYPE_CHECKING:
    from headwise.train.sweep import Row


@dataclass(frozen=True)
class Sweep:
    """Train with each combination of listed settings, and print a table of the results."""

    over: tuple[str, ...] = ()
    """Lists of settings, as in learning-rate=1e-3,2e-3 layers=2,4."""
    settings: RunConfig = field(default_factory=RunConfig)
    run: Path = Path("runs/sweep")
    """Folder of the runs; the same command goes on with what it finds there."""
    preset: PresetName | None = None
    """Settings under a name; the file and flags overrule them."""
    config: Path | None = None
    """TOML file with settings; flags overrule it."""
    depth: int | None = None
    """Number of layers, from which width, heads, learning rate and steps follow."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the result as one JSON document in the last line."""

    def __call__(self) -> Outcome:
        from headwise.train.sweep import sweep

        rows = sweep(self.settings, self.over, self.run, lambda line: print(line, flush=True))
        print()
        print_rows(rows)
        stopped = [row.stopped_by for row in rows if row.stopped_by is not None]
        document = {"run": str(self.run), "rows": [vars(row) for row in rows]}
        return Outcome(document, SIGNAL_BASE + stopped[0] if stopped else 0)


def print_rows(rows: "Sequence[Row]") -> None:
    """The table, the best run first."""
    names = list(rows[0].settings)
    cells = [[*names, "nats", "bits", "seconds", "run"]]
    for row in rows:
        numbers = [
            "failed" if row.loss is None else f"{row.loss:.4f}",
            "" if row.bits is None else f"{row.bits:.4f}",
            "" if row.seconds is None else f"{row.seconds:.1f}",
        ]
        cells.append([*(row.settings.get(name, "") for name in names), *numbers, row.run])
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    for line in cells:
        print("  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip())
