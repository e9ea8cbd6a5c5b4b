"""
---
title: Settings that stay
summary: A run that goes on has the settings with which it began; each checkpoint keeps them.
---

# Settings that stay

The settings of a run stand in a file that anyone can edit. A run that went on with another seed, or without its average of the weights,
would be neither the old run nor a new one. So each checkpoint keeps the values on which the updates depend, and a run with others
is refused. Settings that leave the updates as they are may change: where it runs, how often it reports and saves, and into how many
parts a batch is cut.
"""

from dataclasses import asdict
from typing import Any

from headwise.train.config import RunConfig, TrainConfig
from headwise.train.gradient import TrainingError

SETTLED = (
    "steps",
    "seed",
    "batch",
    "learning_rate",
    "final_fraction",
    "warmup",
    "schedule",
    "decay",
    "noam_factor",
    "optimizer",
    "weight_decay",
    "beta1",
    "beta2",
    "clip",
    "label_smoothing",
    "ema",
    "precision",
)


def settled(config: TrainConfig) -> dict[str, Any]:
    """The settings on which the updates of a training depend."""
    return {name: getattr(config, name) for name in SETTLED}


def settled_of_run(config: RunConfig) -> dict[str, Any]:
    """The settings of a run on which its updates depend, besides those of the training; its text is known by a digest."""
    model = {f"model.{name}": value for name, value in asdict(config.model).items() if name != "recompute"}
    return {"documents": config.documents, **model}


def check_settled(kept: dict[str, Any], given: dict[str, Any]) -> None:
    """Raises where a setting has another value than the checkpoint has; one that the checkpoint does not know is not compared."""
    changed = [name for name, value in given.items() if name in kept and kept[name] != value]
    if changed:
        values = ", ".join(f"{name}={given[name]!r} in place of {kept[name]!r}" for name in changed)
        raise TrainingError(
            f"A run that goes on must have the settings it began with. Got {values}; put the former back, or begin a new run."
        )
