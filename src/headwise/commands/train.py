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
from headwise.train.presets import PresetName
from headwise.train.settings import differences

if TYPE_CHECKING:
    from headwise.train.experiment import Experiment


@dataclass(frozen=True)
class Train:
    """Train a language model on text and print what it writes."""

    settings: RunConfig = field(default_factory=RunConfig)
    run: Path | None = None
    """New folder for everything that the run writes; by default the next free name in `runs`."""
    preset: PresetName | None = None
    """Settings under a name; the file and flags overrule them."""
    config: Path | None = None
    """TOML file with settings; flags overrule it."""
    depth: int | None = None
    """Number of layers, from which width, heads, learning rate and steps follow."""
    plan: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print parameters, memory, arithmetic, tokens, engine and time, and train nothing."""
    resume: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Go on with the run in the folder `--run`; its settings are those of the folder."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the result as one JSON document in the last line."""

    def __call__(self) -> Outcome:
        from headwise.train.experiment import run_experiment
        from headwise.train.processes import launched, restarted

        if self.plan:
            return self._plan()
        if launched() and self.run is None:
            raise ConfigError("Several processes must know the folder of their run. Got no `--run DIR`.")
        if restarted() and self.run is not None and (self.run / "config.toml").is_file():
            # The command is that of a new run, and the run has begun already: it goes on.
            return self._resumed(self.run)
        if not self.resume:
            return self._outcome(run_experiment(self.settings, run=self.run))
        stored, folder = self._stored()
        different = differences(self.settings, stored)
        sources = {"--config": self.config, "--preset": self.preset, "--depth": self.depth}
        given = [name for name, value in sources.items() if value is not None]
        if different or given:
            flags = ", ".join(given or different)
            raise ConfigError(
                f"A resumed run must keep its settings. Got {flags} with other values than {folder}/config.toml; leave them out."
            )
        return self._resumed(folder)

    def _plan(self) -> Outcome:
        from headwise.train.material import planned_vocab
        from headwise.train.plan import make_plan, plan_lines

        vocab, characters = planned_vocab(self.settings)
        plan = make_plan(self.settings, vocab=vocab)
        for name, value in plan_lines(plan, self.settings, characters=characters):
            print(f"{name:<11} {value}")
        return Outcome({**vars(plan), "memory": plan.memory, "flops": plan.flops, "seconds": plan.seconds})

    def _resumed(self, folder: Path) -> Outcome:
        from headwise.train.experiment import resume_experiment
        from headwise.train.toml import read_toml

        experiment = resume_experiment(folder)
        if experiment is None:
            steps = read_toml(folder / "config.toml").train.steps
            print(f"{folder} is finished: there is nothing left to do.")
            return Outcome({"run": str(folder), "step": steps, "finished": True})
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
        return Outcome(
            document if experiment.first else None, 0 if result.stopped_by is None else SIGNAL_BASE + result.stopped_by
        )
