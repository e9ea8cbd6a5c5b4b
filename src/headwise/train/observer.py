"""
---
title: Watching a training
summary: What a training tells while it runs, and what it returns at its end.
---

# Watching a training
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headwise.train.checkpoint import Restored

if TYPE_CHECKING:
    from headwise.train.loop import Training


@dataclass(frozen=True)
class Report:
    """What is known between two updates: losses in nats per token."""

    step: int
    train_loss: float | None
    validation_loss: float
    seconds: float


@dataclass(frozen=True)
class Result:
    """How a training ended; `stopped_by` is the number of the signal that ended it, `out_of_patience` says that it got no better."""

    step: int
    train_loss: float | None
    validation_loss: float
    seconds: float
    stopped_by: int | None = None
    out_of_patience: bool = False


class Observer:
    """What is told about a training while it runs. This one does nothing; a subclass overrides what it wants to hear."""

    def restored(self, restored: Restored) -> None:
        """Called when the training goes on from a checkpoint, before everything else."""

    def started(self, training: "Training") -> None:
        """Called after the first report and before the first update."""

    def updated(self, step: int, loss: float) -> None:
        """Called after each update."""

    def reported(self, report: Report) -> None:
        """Called with each report; the first one comes before the first update."""

    def logged(self, entry: dict[str, Any]) -> None:
        """Called with each line of the log, whether or not there is a run folder."""

    def sample(self, step: int) -> None:
        """Called when it is time for a sample."""
