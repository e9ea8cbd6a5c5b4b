"""
---
title: Checkpoints
summary: Files that are either whole or absent, the weights as safetensors, and everything that a run needs to go on.
---

# Checkpoints

A process can end at any moment. A file is therefore written under another name, forced to the disk, and renamed:
under its final name there is always the old content or the new one, and never a half of either.

`model.safetensors` holds the weights alone and is what other programs read. A folder `state/step-00000200` holds what training
needs besides: the moments of the optimizer and the number of finished steps. No generator and no place in the data is stored,
because batches, dropout and samples follow from the seed and the step.
"""

import dataclasses
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.optim import Optimizer

from headwise.train.averaging import KEY, WeightAverage
from headwise.train.processes import ALONE, Processes
from headwise.train.safe_files import to_disk, write_file, write_text
from headwise.train.settled import check_settled
from headwise.train.weights import (
    CheckpointError,
    held_weights,
    load_weights,
    parts_like,
    put_weights,
    save_tensors,
    weights_of,
)

__all__ = ["CheckpointError", "Checkpoints", "Restored", "State"]

KEEP_LAST = 2
SHARDS = "shards"
T = TypeVar("T")


@dataclass(frozen=True)
class State:
    """What a training knows between two updates, besides weights and moments.

    * `recent`: the losses since the last line of the log, which become part of its next line;
    * `log_bytes`, `samples_bytes`: how long the two files are, so that what was written later can be cut off;
    * `validation_loss`: the loss of the newest report, by which the best checkpoint is known;
    * `counters`: what the scale of the loss and the patience have counted;
    * `settings`: the values on which the updates depend; checkpoints of former versions have none.
    """

    step: int
    recent: tuple[float, ...] = ()
    log_bytes: int = 0
    samples_bytes: int = 0
    validation_loss: float | None = None
    counters: dict[str, float] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Restored:
    """The state that was found, the names of newer checkpoints that are damaged, and of files that are shorter than they were."""

    state: State
    damaged: tuple[str, ...]
    shorter: tuple[str, ...] = ()


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints of a run, one folder for each under `state/`.

    Where the processes of a training hold parts of the weights, each writes its own into `shards`; all call `save` and `restore` then.
    The `settings` are kept in each checkpoint; one that was written under other settings is refused.
    """

    folder: Path
    processes: Processes = ALONE
    settings: dict[str, Any] = field(default_factory=dict)

    def save(self, model: nn.Module, optimizers: Sequence[Optimizer], state: State) -> None:
        """Writes a checkpoint, then removes the others except the newest ones and the best one."""
        final = self.folder / f"step-{state.step:08d}"
        # The same step gives the same checkpoint, so one that is there and whole can stay.
        if self._once(lambda: _state_if_whole(final) is not None):
            return
        temporary = self.folder / f".{final.name}.part"
        try:
            self._once(lambda: self._begin(final, temporary))
            self._fill(temporary, model, optimizers, dataclasses.replace(state, settings=self.settings))
            self._once(lambda: self._finish(temporary, final))
        except OSError as error:
            shutil.rmtree(temporary, ignore_errors=True)
            kept = self._all()[-1:]
            hint = f"{kept[0].name} is whole, and `--resume` goes on from there" if kept else "there is no earlier one"
            raise CheckpointError(
                f"The checkpoint of step {state.step} must be written. {self.folder}: {error.strerror}; {hint}."
            ) from None

    def restore(self, model: nn.Module, optimizers: Sequence[Optimizer]) -> Restored:
        """Puts the newest undamaged checkpoint into model and optimizer; without one nothing changes, and the step is 0."""
        damaged: list[str] = []
        for path in reversed(self._all()):
            state = _state_if_whole(path)
            if state is not None:
                check_settled(state.settings, self.settings)
                _load(path, model, optimizers)
                return Restored(state, tuple(damaged))
            damaged.append(path.name)
        return Restored(State(0), tuple(damaged))

    def newest(self) -> State:
        """The state of the newest undamaged checkpoint; step 0 without one."""
        states = (_state_if_whole(path) for path in reversed(self._all()))
        return next((state for state in states if state is not None), State(0))

    def _once(self, step: Callable[[], T]) -> T:
        """A step that the first of several processes makes for all of them."""
        return self.processes.from_first(step) if self.processes.sharded else step()

    def _begin(self, final: Path, temporary: Path) -> None:
        self.folder.mkdir(exist_ok=True)
        for rest in (final, temporary):
            shutil.rmtree(rest, ignore_errors=True)
        temporary.mkdir()

    def _fill(self, folder: Path, model: nn.Module, optimizers: Sequence[Optimizer], state: State) -> None:
        moments = _moments(model, optimizers)
        if self.processes.sharded:
            from headwise.train.shards import write_shards

            write_shards(held_weights(model), moments, folder / SHARDS)
        else:
            for name, tensors in (("model", weights_of(model)), ("optimizer", moments)):
                write_file(folder / f"{name}.safetensors", lambda path, tensors=tensors: save_tensors(tensors, path))  # type: ignore[misc]
        self._once(lambda: _write_state(folder, state))

    def _finish(self, temporary: Path, final: Path) -> None:
        # The folder appears under its name when all its files are on the disk.
        os.replace(temporary, final)
        to_disk(self.folder)
        self._prune()

    def _prune(self) -> None:
        paths = self._all()
        losses = {path: state.validation_loss for path in paths if (state := _state_if_whole(path)) is not None}
        measured = [path for path, loss in losses.items() if loss is not None]
        best = min(measured, key=lambda path: losses[path] or 0.0, default=None)
        for path in paths[:-KEEP_LAST]:
            if path != best:
                shutil.rmtree(path)

    def _all(self) -> list[Path]:
        return sorted(self.folder.glob("step-*"))


def _write_state(folder: Path, state: State) -> None:
    """Writes the state, with the digests of all other files."""
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    content = dataclasses.asdict(state) | {"sha256": {name: _digest(folder / name) for name in files}}
    write_text(folder / "state.json", json.dumps(content) + "\n")


def _load(path: Path, model: nn.Module, optimizers: Sequence[Optimizer]) -> None:
    """Reads a checkpoint of one process or of several into a model that one process or several hold."""
    if (path / SHARDS).is_dir():
        from headwise.train.shards import read_shards

        weights, moments = read_shards(path / SHARDS, held_weights(model))
        put_weights(model, weights, path)
    else:
        load_weights(model, path / "model.safetensors")
        moments = load_file(path / "optimizer.safetensors")
    _restore_moments(model, optimizers, moments)


def _state_if_whole(path: Path) -> State | None:
    """The state of a checkpoint whose files have the digests that were written with them."""
    try:
        content = json.loads((path / "state.json").read_text(encoding="utf-8"))
        digests = content.pop("sha256")
        whole = all(_digest(path / name) == digest for name, digest in digests.items())
        return State(**{**content, "recent": tuple(content["recent"])}) if whole else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _moments(model: nn.Module, optimizers: Sequence[Optimizer]) -> dict[str, Tensor]:
    """The tensors of the optimizer, named after their parameter: numbers would change with the order of the groups."""
    moments: dict[str, Tensor] = {}
    states = [
        (name, optimizer.state.get(parameter, {}))
        for name, parameter in model.named_parameters()
        for optimizer in optimizers
    ]
    for name, state in states:
        for key, value in state.items():
            moments[f"{name}/{key}"] = torch.as_tensor(value).detach().contiguous()
    return moments


def _restore_moments(model: nn.Module, optimizers: Sequence[Optimizer], moments: dict[str, Tensor]) -> None:
    parameters = dict(model.named_parameters())
    for optimizer in optimizers:
        optimizer.state.clear()
    averages = [each for each in optimizers if isinstance(each, WeightAverage)]
    owner = {
        id(each): optimizer
        for optimizer in optimizers
        if optimizer not in averages
        for group in optimizer.param_groups
        for each in group["params"]
    }
    for full, value in moments.items():
        name, key = full.rsplit("/", 1)
        parameter = parameters[name]
        # The average of the weights has a state for each parameter too, beside the one of its optimizer.
        holder = averages[0] if key == KEY and averages else owner[id(parameter)]
        value = value.to(parameter.device)
        holder.state[parameter][key] = parts_like(value, parameter) if value.shape == parameter.shape else value
