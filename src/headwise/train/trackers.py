"""
---
title: Trackers
summary: The numbers of a run in other programs, which are loaded when they are asked for and send nothing unless they are told to.
---

# Trackers

The log of a run is its `log.jsonl`. `--track NAME...` gives the same numbers to other programs as well. Each keeps them on this
machine, inside of the run folder where it can; only its own environment variable makes it send them anywhere.

| name | where | elsewhere with |
|---|---|---|
| `csv` | `log.csv` | |
| `tensorboard` | `tensorboard/` | |
| `wandb` | `wandb/` | `WANDB_MODE=online` |
| `mlflow` | `mlflow.db` | `MLFLOW_TRACKING_URI` |
| `trackio` | its own folder on this machine | `TRACKIO_SPACE_ID` |

A tracker of your own has the four methods of `Tracker`, and a line in `TRACKERS`.
"""

import csv
import importlib
import math
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from headwise.errors import HeadwiseError
from headwise.train.config import RunConfig

Numbers = dict[str, float]


class TrackerError(HeadwiseError):
    """A tracker whose package is missing."""


class Tracker(Protocol):
    """What is told to another program. `begin` comes once, with the last step that is already known to it."""

    def begin(self, name: str, settings: dict[str, Any], step: int) -> None: ...

    def numbers(self, step: int, values: Numbers) -> None: ...

    def sample(self, step: int, text: str) -> None: ...

    def end(self) -> None: ...


# What these programs report about themselves to their makers. It is off unless the user has said otherwise.
QUIET = {
    "WANDB_ERROR_REPORTING": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "GRADIO_ANALYTICS_ENABLED": "False",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}


def load(module: str, package: str) -> Any:
    """A module of a package that not everybody has."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        return importlib.import_module(module)
    except ImportError:
        raise TrackerError(
            f"This tracker needs the package {package}. It is not installed; install headwise[{package}], or leave it out of `--track`."
        ) from None


class CsvTracker:
    """A table with one line for each line of the log."""

    COLUMNS = ("step", "train_loss", "validation_loss", "gradient_norm", "learning_rate", "seconds")

    def __init__(self, folder: Path) -> None:
        self.path = folder / "log.csv"

    def begin(self, name: str, settings: dict[str, Any], step: int) -> None:
        """Writes the head of the table; of a run that goes on, it keeps the lines up to that step."""
        rows = list(csv.reader(self.path.read_text().splitlines())) if self.path.exists() else []
        kept = [row for row in rows[1:] if row and row[0].isdecimal() and int(row[0]) <= step] if step else []
        with self.path.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([self.COLUMNS, *kept])

    def numbers(self, step: int, values: Numbers) -> None:
        """Adds a line; what this step has not measured stays empty."""
        with self.path.open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow([step, *(values.get(name, "") for name in self.COLUMNS[1:])])

    def sample(self, step: int, text: str) -> None:
        """Nothing: samples are no numbers."""

    def end(self) -> None:
        """Nothing: each line is written at once."""


class TensorBoardTracker:
    """Curves and texts for `tensorboard --logdir`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "tensorboard"
        load("tensorboard", "tensorboard")
        self.module = load("torch.utils.tensorboard", "tensorboard")

    def begin(self, name: str, settings: dict[str, Any], step: int) -> None:
        """Opens the folder; what was written after that step is no longer shown."""
        self.writer = self.module.SummaryWriter(str(self.folder), purge_step=step + 1 if step else None)
        self.writer.add_text("settings", "\n".join(f"    {key}: {value}" for key, value in settings.items()), step)

    def numbers(self, step: int, values: Numbers) -> None:
        """Adds a point to each curve."""
        for name, value in values.items():
            self.writer.add_scalar(name, value, step)

    def sample(self, step: int, text: str) -> None:
        """Adds a text, as a block of code, so that no letter of it is taken for markup."""
        self.writer.add_text("sample", "\n".join(f"    {line}" for line in text.split("\n")), step)

    def end(self) -> None:
        """Writes what is left."""
        self.writer.close()


class WandbTracker:
    """Weights & Biases; without `WANDB_MODE` it writes files for a later `wandb sync`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.module = load("wandb", "wandb")

    def begin(self, name: str, settings: dict[str, Any], step: int) -> None:
        """Begins a run, or goes on with the one of this name."""
        kept = self.folder / "wandb.run"
        known = kept.read_text().strip() if step and kept.exists() else None
        mode = os.environ.get("WANDB_MODE", "offline")
        self.run = self.module.init(
            project="headwise", name=name, id=known, dir=str(self.folder), config=settings, mode=mode, resume="allow"
        )
        kept.write_text(self.run.id)

    def numbers(self, step: int, values: Numbers) -> None:
        """Adds a point to each curve."""
        self.run.log(values, step=step)

    def sample(self, step: int, text: str) -> None:
        """Adds a text."""
        self.run.log({"sample": text}, step=step)

    def end(self) -> None:
        """Writes what is left."""
        self.run.finish()


class MlflowTracker:
    """MLflow, in a data base in the run folder unless `MLFLOW_TRACKING_URI` names another place."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.module = load("mlflow", "mlflow")

    def begin(self, name: str, settings: dict[str, Any], step: int) -> None:
        """Begins a run, or goes on with the one whose number the folder keeps."""
        kept = self.folder / "mlflow.run"
        self.module.set_tracking_uri(
            os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{(self.folder / 'mlflow.db').resolve()}"
        )
        self.module.set_experiment("headwise")
        known = kept.read_text().strip() if step and kept.exists() else None
        run = self.module.start_run(run_id=known, run_name=None if known else name)
        if known is None:
            kept.write_text(run.info.run_id)
            self.module.log_params({key: str(value) for key, value in settings.items()})

    def numbers(self, step: int, values: Numbers) -> None:
        """Adds a point to each curve."""
        self.module.log_metrics(values, step=step)

    def sample(self, step: int, text: str) -> None:
        """Adds a text."""
        self.module.log_text(text, f"samples/step-{step:08d}.txt")

    def end(self) -> None:
        """Ends the run."""
        self.module.end_run()


class TrackioTracker:
    """Trackio, on this machine unless `TRACKIO_SPACE_ID` names a space."""

    def __init__(self, folder: Path) -> None:
        self.module = load("trackio", "trackio")

    def begin(self, name: str, settings: dict[str, Any], step: int) -> None:
        """Begins a run, or goes on with the one of this name."""
        space = os.environ.get("TRACKIO_SPACE_ID")
        self.run = self.module.init(project="headwise", name=name, config=settings, resume="allow", space_id=space)

    def numbers(self, step: int, values: Numbers) -> None:
        """Adds a point to each curve."""
        self.module.log(values, step=step)

    def sample(self, step: int, text: str) -> None:
        """Adds a text."""
        self.module.log({"sample": text}, step=step)

    def end(self) -> None:
        """Writes what is left."""
        self.module.finish()


TRACKERS: dict[str, Callable[[Path], Tracker]] = {
    "csv": CsvTracker,
    "tensorboard": TensorBoardTracker,
    "wandb": WandbTracker,
    "mlflow": MlflowTracker,
    "trackio": TrackioTracker,
}


def make_trackers(names: Iterable[str], folder: Path) -> list[Tracker]:
    """The trackers of these names; raises where a package is missing, and writes nothing yet."""
    return [TRACKERS[name](folder) for name in names]


def settings_of(config: RunConfig) -> dict[str, Any]:
    """All settings under one name each."""
    content = asdict(config)
    parts = {name: content.pop(name) for name in ("model", "train")}
    return {**content, **{f"{part}.{name}": value for part, group in parts.items() for name, value in group.items()}}


def flat(entry: dict[str, Any]) -> Numbers:
    """The finite numbers of a line of the log; statistics of heads become the mean of each layer.

    ```python
    >>> flat({"step": 3, "train_loss": 2.0, "gradient_norm": None, "attention": {"layers.0": {"entropy": [1.0, 2.0]}}})
    {'train_loss': 2.0, 'attention/layers.0/entropy': 1.5}

    ```
    """
    values = {name: value for name, value in entry.items() if name != "step" and isinstance(value, int | float)}
    for layer, statistics in entry.get("attention", {}).items():
        values |= {f"attention/{layer}/{name}": sum(heads) / len(heads) for name, heads in statistics.items()}
    return {name: float(value) for name, value in values.items() if math.isfinite(value)}
