"""
---
title: headwise train
summary: Trains a language model on text and prints what it writes.
---

# headwise train
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from headwise.commands.outcome import SIGNAL_BASE, Outcome
from headwise.train.config import RunConfig


@dataclass(frozen=True)
class Train:
    """Train a language model on text and print what it writes."""

    settings: RunConfig = field(default_factory=RunConfig)
    run: Path | None = None
    """New folder for everything that the run writes; by default the next free name in `runs`."""
    config: Path | None = None
    """TOML file with settings; flags overrule it."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the result as one JSON document in the last line."""

    def __call__(self) -> Outcome:
        from headwise.train.baselines import bits
        from headwise.train.experiment import run_experiment

        experiment = run_experiment(self.settings, run=self.run)
        result = experiment.result
        document = {
            "run": str(experiment.run),
            "step": result.step,
            "train_loss": result.train_loss,
            "validation_loss": result.validation_loss,
            "validation_bits": bits(result.validation_loss),
            "unigram_loss": experiment.baselines.unigram,
            "bigram_loss": experiment.baselines.bigram,
            "seconds": round(result.seconds, 1),
            "threads": experiment.threads,
            "stopped_by": result.stopped_by,
        }
        return Outcome(document, 0 if result.stopped_by is None else SIGNAL_BASE + result.stopped_by)
