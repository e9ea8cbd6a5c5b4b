"""
---
title: headwise train
summary: Trains a language model on text and prints what it writes.
---

# headwise train
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from headwise.commands.outcome import SIGNAL_BASE, Outcome
from headwise.train.config import ConfigError, RunConfig

if TYPE_CHECKING:
    from headwise.train.experiment import Experiment


@dataclass(frozen=True)
class Train:
    """Train a language model on text and print what it writes."""

    settings: RunConfig = field(default_factory=RunConfig)
    run: Path | None = None
    """New folder for everything that the run writes; by default the next free name in `runs`."""
    config: Path | None = None
    """TOML file with settings; flags overrule it."""
    resume: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Go on with the run in the folder `--run`; its settings are those of the folder."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the result as one JSON document in the last line."""

    def __call__(self) -> Outcome:
        from headwise.train.experiment import resume_experiment, run_experiment

        if not self.resume:
            return self._outcome(run_experiment(self.settings, run=self.run))
        stored, folder = self._stored()
        different = differences(self.settings, stored)
        if different or self.config is not None:
            flags = ", ".join(["--config"] if self.config is not None else different)
            raise ConfigError(
                f"A resumed run must keep its settings. Got {flags} with other values than {folder}/config.toml; leave them out."
            )
        experiment = resume_experiment(folder)
        if experiment is None:
            print(f"{folder} is finished: all {stored.train.steps} steps are done.")
            return Outcome({"run": str(folder), "step": stored.train.steps, "finished": True})
        return self._outcome(experiment)

    def _stored(self) -> tuple[RunConfig, Path]:
        from headwise.train.toml import read_toml

        if self.run is None:
            raise ConfigError("`--resume` must know the folder of the run. Got no `--run DIR`.")
        return read_toml(self.run / "config.toml"), self.run

    def _outcome(self, experiment: "Experiment") -> Outcome:
        from headwise.train.baselines import bits

        result = experiment.result
        document = {
            "run": str(experiment.run),
            "step": result.step,
            "train_loss": result.train_loss,
            "validation_loss": result.validation_loss,
            "bits_per_character": bits(result.validation_loss * experiment.tokens_per_character),
            "unigram_loss": experiment.baselines.unigram,
            "bigram_loss": experiment.baselines.bigram,
            "seconds": round(result.seconds, 1),
            "threads": experiment.threads,
            "stopped_by": result.stopped_by,
        }
        return Outcome(document, 0 if result.stopped_by is None else SIGNAL_BASE + result.stopped_by)


def differences(given: RunConfig, stored: RunConfig) -> list[str]:
    """The flags whose values differ between two settings."""
    flat = [{**vars(each), **vars(each.model), **vars(each.train)} for each in (given, stored)]
    names = [name for name in flat[0] if name not in ("model", "train") and flat[0][name] != flat[1][name]]
    return ["--" + name.replace("_", "-") for name in names]
