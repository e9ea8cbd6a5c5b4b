"""
---
title: headwise report
summary: Writes one page about one or several training runs.
---

# headwise report
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from headwise.commands.outcome import Outcome


@dataclass(frozen=True)
class Report:
    """Write one offline HTML page about training runs: curves, samples, heads, settings."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Folders of runs, as `headwise train` makes them; several are compared."""
    out: Path | None = None
    """File of the page; report.html in the folder of the run by default, or beside the first of several."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the result as one JSON document in the last line."""

    def __call__(self) -> Outcome:
        from headwise.train.report.page import default_path, write_report
        from headwise.train.report.read import ReportError

        if not self.runs:
            raise ReportError("A report needs at least one run. Got none; name a folder below `runs`.")
        path = self.out or default_path(self.runs)
        write_report(self.runs, path)
        print(f"written: {path}")
        return Outcome({"runs": [str(run) for run in self.runs], "report": str(path)})
