"""
---
title: The training loop
summary: Batch, loss, gradient, update; and between the updates measuring, sampling, saving.
---

# The training loop

`fit` trains any model that maps tokens `[B, I]` to logits `[B, I, V]`. All that is drawn follows from the seed and the step,
so the loop can be left after any update and entered again there.

[What such a training gives](__init__.py) shows the curve of one, and what the model wrote at its end.
"""

import contextlib
import math
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from headwise.train.arguments import check_arguments
from headwise.train.attention_log import attention_statistics
from headwise.train.averaging import WeightAverage
from headwise.train.beforehand import check_beforehand
from headwise.train.checkpoint import Checkpoints, State
from headwise.train.config import ConfigError, TrainConfig
from headwise.train.data import Batch, TextData
from headwise.train.gradient import TrainingError, shorten
from headwise.train.loss import Pass, accumulate_gradients, mean_loss
from headwise.train.nan_guard import first_not_finite
from headwise.train.observer import Observer, Report, Result
from headwise.train.optimizer import build_optimizers, set_learning_rate
from headwise.train.patience import Patience
from headwise.train.precision import LossScale
from headwise.train.processes import ALONE, Processes
from headwise.train.run_folder import RunFolder
from headwise.train.schedule import learning_rate
from headwise.train.seeds import seed_step
from headwise.train.settled import settled
from headwise.train.signals import StopRequest, stop_on_signal

LOG_EVERY = 10


def fit(
    model: nn.Module,
    data: TextData,
    config: TrainConfig,
    *,
    run: RunFolder | None = None,
    observer: Observer | None = None,
    d_model: int | None = None,
    resume: bool = False,
    processes: Processes = ALONE,
) -> Result:
    """Trains the model itself, not a copy of it; with `run` it also writes the log, the checkpoints and the weights there.

    With `resume` it goes on from the newest checkpoint of the run; its weights end bit for bit as those of a run that was never interrupted.

    *Edge.* Ctrl-C and SIGTERM let the current update finish, save, and return a result whose `stopped_by` names the signal.
    """
    check_arguments(model, data, config)
    with contextlib.ExitStack() as held:
        if run is not None:
            processes.from_first(lambda: held.enter_context(run.held(new=not resume)))
        watching = observer or Observer()
        training = Training(model, data, config, run=run, observer=watching, d_model=d_model, processes=processes)
        if resume:
            training.restore()
        with stop_on_signal() as stop:
            return training.run_until(stop)


class Training:
    """A training in progress: the model, its optimizer, and how many updates are done."""

    def __init__(
        self,
        model: nn.Module,
        data: TextData,
        config: TrainConfig,
        *,
        run: RunFolder | None,
        observer: Observer,
        d_model: int | None,
        processes: Processes = ALONE,
    ) -> None:
        config.check()
        self.model = model
        self.data = data
        self.config = config
        self.run = run
        self.observer = observer
        if d_model is None and config.schedule == "noam":
            raise ConfigError("The Noam schedule needs the width of the model. Got no `d_model`; pass it to `fit`.")
        self.d_model = d_model or 1
        self.processes = processes
        # The model is spread over the processes before the optimizers are built: where each process holds a part of it, its parameters change.
        self.passes = processes.spread(model, config)
        # Batches follow the model to its device.
        self.device = next(model.parameters()).device
        self.optimizers = build_optimizers(model, config)
        self.average = None if config.ema is None else WeightAverage(model, config.ema)
        self.scale = LossScale(config.precision)
        self.patience = Patience(config.patience)
        # Only the passes of updates are compiled. Samples and statistics run sequences of other lengths, and each would be compiled anew.
        if config.compile:
            self.passes = torch.compile(self.passes)  # type: ignore[assignment]
        self.step = 0
        self._began = time.monotonic()
        self._recent: list[float] = []
        self._last_report: Report | None = None
        self._validation_loss: float | None = None

    def run_until(self, stop: StopRequest) -> Result:
        """Updates until the last step or a request to stop, and reports, samples and saves between them."""
        # ## 1. A report before the first update
        # The report shows the loss of an untrained model, close to $\ln V$, and comes within seconds.
        self.model.train()
        if self.step < self.config.steps:
            check_beforehand(self.model, self._batch(self.step), precision=self.config.precision)
        if self.step == 0:
            with self.averaged():
                self._report()
        self.observer.started(self)
        # ## 2. The updates
        while self.step < self.config.steps and not self.patience.over and not self.processes.any(bool(stop)):
            loss, norm = self.update()
            self._recent.append(loss)
            self.observer.updated(self.step, loss)
            self._between_updates(norm)
        # ## 3. After the last update, or after an interruption
        # The log gets no line for an interruption: apart from its times, a run that is resumed has then the same log as one that was never
        # interrupted.
        self.save()
        report = self._last_report
        if report is None or report.step != self.step:
            with self.averaged():
                report = self._measure()
        # The model that is handed back is the one that was measured and stored.
        if self.average is not None:
            self.average.apply()
        return Result(
            self.step, report.train_loss, report.validation_loss, self._seconds(), stop.signal, self.patience.over
        )

    def update(self) -> tuple[float, float]:
        """One update of the weights; returns the loss and the norm of the gradient, both as they were before the update."""
        seed_step(self.config.seed, self.step, self.processes.rank)
        batch = self._batch(self.step)
        set_learning_rate(self.optimizers, learning_rate(self.step, self.config, d_model=self.d_model))
        self.model.zero_grad(set_to_none=True)
        share = self._gradients(batch)
        loss = self.processes.sum(share.item() / self.processes.world)[0]
        # The loss is checked before the update: the weights are then still those of the step before, in which the cause can be looked for.
        if not math.isfinite(loss):
            place = first_not_finite(self.model, batch)
            raise TrainingError(
                f"The loss must be finite. It is {loss} at step {self.step}, and {place}; a smaller `learning_rate` usually helps."
            )
        finite = not self.processes.any(not self.scale.undo(self.model.parameters()))
        norm = shorten(self.model, self.config.clip, step=self.step, scaled=self.scale.active)
        if self.scale.accept(finite):
            for optimizer in self.optimizers:
                optimizer.step()
            if self.average is not None:
                self.average.update(self.step)
        self.step += 1
        return loss, norm

    def _batch(self, step: int) -> Batch:
        batch = self.data.batch(seed=self.config.seed, step=step, rows=self.config.batch)
        return batch if self.device.type == "cpu" else batch.to(self.device)

    def passes_without_update(self) -> None:
        """Computes the gradients of one update and throws them away, so that the time for them can be measured."""
        self._gradients(self._batch(0))
        self.model.zero_grad(set_to_none=True)

    def _gradients(self, batch: Batch) -> Tensor:
        how = Pass(self.config.precision, self.config.label_smoothing, self.scale.value)
        return accumulate_gradients(self.passes, batch, parts=self.config.accumulate, processes=self.processes, how=how)

    def averaged(self) -> AbstractContextManager[None]:
        """A context, for `with`, in which the model has its averaged weights; if no average is kept, it changes nothing."""
        return contextlib.nullcontext() if self.average is None else self.average.applied()

    def save(self) -> None:
        """Writes the weights and a checkpoint."""
        if self.run is None:
            return
        # The checkpoint comes last: once it is there, everything that belongs to its step is there as well.
        log_bytes, samples_bytes = self.run.sizes_on_disk()
        with self.averaged():
            self.run.write_model(self.model)
        counters = {
            "scale": self.scale.value,
            "good": self.scale.good,
            "best": self.patience.best,
            "waited": self.patience.waited,
        }
        state = State(self.step, tuple(self._recent), log_bytes, samples_bytes, self._validation_loss, counters)
        if self.processes.first or self.processes.sharded:
            self._checkpoints(self.run).save(self.model, self._kept, state)

    def restore(self) -> None:
        """Goes back to the newest checkpoint, or to the beginning if there is none, and cuts off what the log and the samples have gained since."""
        if self.run is None:
            raise TrainingError("Only a training with a run folder can go on. Got no `run`.")
        restored = self._checkpoints(self.run).restore(self.model, self._kept)
        self.step, self._recent = restored.state.step, list(restored.state.recent)
        self._validation_loss = restored.state.validation_loss
        counters = restored.state.counters
        if counters:
            self.scale.value, self.scale.good = counters["scale"], int(counters["good"])
            self.patience.best, self.patience.waited = counters["best"], int(counters["waited"])
        shorter = self.run.cut(restored.state.log_bytes, restored.state.samples_bytes)
        self.observer.restored(replace(restored, shorter=shorter))

    @property
    def _kept(self) -> tuple[Optimizer, ...]:
        """The objects that keep numbers for each parameter, which a checkpoint must hold: the optimizers, and the average of the weights, if any."""
        return self.optimizers if self.average is None else (*self.optimizers, self.average)

    def _checkpoints(self, run: RunFolder) -> Checkpoints:
        return replace(run.checkpoints, processes=self.processes, settings=settled(self.config) | run.settings)

    def validation(self) -> Iterator[Batch]:
        """The batches on which the loss of a report is measured."""
        batches = self.data.validation_batches(rows=self.config.batch, limit=self.config.validation_rows)
        return batches if self.device.type == "cpu" else (batch.to(self.device) for batch in batches)

    def _between_updates(self, norm: float) -> None:
        last = self.step == self.config.steps
        if self.step % self.config.report_every == 0 or last:
            with self.averaged():
                self._report(norm)
            last = self.patience.see(self._validation_loss or 0.0) or last
        elif self.step % LOG_EVERY == 0:
            self._log({"step": self.step, "train_loss": self._mean_recent(), "gradient_norm": norm})
        if self.step % self.config.sample_every == 0 or last:
            with self.averaged():
                self.observer.sample(self.step)
        if self.step % self.config.checkpoint_every == 0 and not last:
            self.save()

    def _measure(self) -> Report:
        return Report(
            self.step,
            self._mean_recent(),
            mean_loss(self.model, self.validation(), processes=self.processes, precision=self.config.precision),
            self._seconds(),
        )

    def _report(self, norm: float | None = None) -> None:
        report = self._measure()
        entry = {
            "step": report.step,
            "train_loss": report.train_loss,
            "validation_loss": report.validation_loss,
            "gradient_norm": norm,
        }
        statistics = (
            {"attention": attention_statistics(self.model, next(self.validation()))}
            if "attention" in self.config.debug
            else {}
        )
        self._log({**entry, **statistics})
        self._last_report, self._validation_loss = report, report.validation_loss
        self.observer.reported(report)

    def _log(self, entry: dict[str, Any]) -> None:
        rate = learning_rate(max(self.step - 1, 0), self.config, d_model=self.d_model)
        # An update is left out where its gradient is not finite. JSON cannot hold such a norm, so `null` is written for it.
        if not math.isfinite(entry.get("gradient_norm") or 0.0):
            entry = {**entry, "gradient_norm": None}
        line = {**entry, "learning_rate": rate, "seconds": round(self._seconds(), 3)}
        if self.run is not None:
            self.run.append_log(line)
        self.observer.logged(line)
        self._recent.clear()

    def _mean_recent(self) -> float | None:
        return sum(self._recent) / len(self._recent) if self._recent else None

    def _seconds(self) -> float:
        return time.monotonic() - self._began
