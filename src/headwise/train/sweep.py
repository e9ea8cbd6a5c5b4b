"""
---
title: Many trainings
summary: Each combination of listed settings is a run of its own, and a table at the end compares them.
---

# Many trainings

`headwise sweep --over learning-rate=1e-3,2e-3 layers=2,4` makes four runs in one folder. What is done is written to `sweep.jsonl`
after each run: the same command goes on where it was stopped, in the middle of a run as well.
"""

import io
import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from headwise.errors import HeadwiseError
from headwise.train.baselines import bits
from headwise.train.config import ConfigError, RunConfig
from headwise.train.evaluation import evaluate
from headwise.train.experiment import resume_experiment, run_experiment
from headwise.train.run_folder import RunError, RunFolder
from headwise.train.safe_files import write_text
from headwise.train.settings import differences
from headwise.train.toml import with_setting


@dataclass(frozen=True)
class Row:
    """One run of a sweep; a run that failed has no loss, and says why. Losses are per character."""

    settings: dict[str, str]
    run: str
    loss: float | None
    bits: float | None
    seconds: float | None
    failed: str | None = None
    stopped_by: int | None = None


def combinations(config: RunConfig, over: Sequence[str]) -> list[tuple[dict[str, str], RunConfig]]:
    """All combinations of the lists, each with its settings; a wrong one is found before the first run begins."""
    lists: dict[str, list[str]] = {}
    for each in over:
        name, equals, values = each.partition("=")
        if name in lists:
            raise ConfigError(
                f"`over` must name each setting once. Got two lists of {name!r}; join their values with commas."
            )
        lists[name] = [value for value in values.split(",") if value]
        if not equals or not lists[name]:
            raise ConfigError(
                f"`over` must name a setting and its values, as in learning-rate=1e-3,2e-3. Got {each!r}."
            )
    if not lists:
        raise ConfigError("`over` must name at least one list of settings, as in learning-rate=1e-3,2e-3. Got none.")
    found = []
    for combination in itertools.product(*lists.values()):
        chosen = dict(zip(lists, combination, strict=True))
        changed = config
        for name, value in chosen.items():
            changed = with_setting(changed, name, value)
        changed.check()
        found.append((chosen, changed))
    return found


def sweep(config: RunConfig, over: Sequence[str], folder: Path, tell: Callable[[str], object]) -> list[Row]:
    """Makes the runs that are not done yet, and returns the rows of all of them, the best one first."""
    planned = combinations(config, over)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(
            f"The folder of a sweep must be writable. {folder}: {error.strerror}; choose another place with `--run DIR`."
        ) from None
    rows = _read(folder / "sweep.jsonl")
    for number, (chosen, changed) in enumerate(planned, start=1):
        name = ",".join(f"{key}={value}" for key, value in chosen.items()).replace("/", "_")
        if name not in rows:
            rows[name] = _made(changed, chosen, folder / name)
            if rows[name].stopped_by is None:
                write_text(folder / "sweep.jsonl", "".join(json.dumps(vars(row)) + "\n" for row in rows.values()))
        elif (folder / name / "config.toml").is_file():
            # A row of other settings is no result of this sweep.
            _check_same(changed, folder / name)
        row = rows[name]
        result = f"failed: {row.failed}" if row.loss is None else f"loss {row.loss:.4f} nats per character"
        tell(f"{number}/{len(planned)}  {name}  {result}")
        if row.stopped_by is not None:
            break
    return sorted(rows.values(), key=lambda row: float("inf") if row.loss is None else row.loss)


def _made(config: RunConfig, chosen: dict[str, str], run: Path) -> Row:
    quiet = Console(file=io.StringIO())
    try:
        if not (run / "config.toml").is_file():
            experiment = run_experiment(config, run=run, console=quiet)
        else:
            _check_same(config, run)
            resumed = resume_experiment(run, console=quiet)
            if resumed is None:
                # The run was finished, and the program ended before its row was written.
                measured = evaluate(run, rows=config.train.validation_rows).per_character
                return Row(chosen, str(run), measured, bits(measured), None)
            experiment = resumed
    except ConfigError:
        raise
    # One combination that cannot be trained, such as a learning rate that is too high, does not end the others.
    except HeadwiseError as error:
        return Row(chosen, str(run), None, None, None, failed=str(error))
    result = experiment.result
    loss = result.validation_loss * experiment.tokens_per_character
    return Row(chosen, str(run), loss, bits(loss), round(result.seconds, 1), stopped_by=result.stopped_by)


def _check_same(config: RunConfig, run: Path) -> None:
    stored = RunFolder.open(run).read_config()
    different = [
        name for name in differences(config, stored) if name != "--threads" or config.train.threads is not None
    ]
    if different:
        raise ConfigError(
            f"A sweep must go on with the settings it began with. {run} has other values of {', '.join(different)}; choose another folder."
        )


def _read(path: Path) -> dict[str, Row]:
    if not path.is_file():
        return {}
    try:
        entries: list[dict[str, Any]] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return {Path(entry["run"]).name: Row(**entry) for entry in entries}
    except (OSError, ValueError, KeyError, TypeError):
        raise RunError(
            f"The rows of a sweep must be readable. {path} is damaged; without that file the rows are measured anew."
        ) from None
