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
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from headwise.errors import HeadwiseError

KEEP_LAST = 2


class CheckpointError(HeadwiseError):
    """A checkpoint that is missing, damaged, or of another model."""


def write_file(path: Path, write: Callable[[Path], object]) -> None:
    """Writes a file so that `path` is at no moment incomplete; `write` gets the temporary name."""
    temporary = path.with_name(f".{path.name}.part")
    try:
        write(temporary)
        to_disk(temporary)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    # The name belongs to the folder, so the folder goes to the disk as well.
    to_disk(path.parent)


def write_text(path: Path, text: str) -> None:
    """Writes a text file that is at no moment incomplete."""
    write_file(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def to_disk(path: Path) -> None:
    """Forces a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """The tensors of a model by name, each once: tied weights are stored under the first of their names."""
    once: dict[int, str] = {}
    tensors = model.state_dict()
    for name, tensor in tensors.items():
        once.setdefault(tensor.data_ptr(), name)
    return {name: tensors[name].detach().contiguous() for name in once.values()}


def save_weights(model: nn.Module, path: Path) -> None:
    """Writes the weights of a model."""
    write_file(path, lambda temporary: save_file(weights_of(model), temporary))


def load_weights(model: nn.Module, path: Path) -> None:
    """Reads the weights of a model; every name and every shape must fit."""
    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"A run must hold readable weights. {path}: {error}.") from None
    expected = weights_of(model)
    if tensors.keys() != expected.keys():
        missing, extra = sorted(expected.keys() - tensors.keys()), sorted(tensors.keys() - expected.keys())
        raise CheckpointError(
            f"The weights must be those of this model. {path} lacks {missing[:3]} and has {extra[:3]} besides."
        )
    for name, tensor in tensors.items():
        if tensor.shape != expected[name].shape:
            raise CheckpointError(
                f"The weights must be those of this model. {path} has {name} {[*tensor.shape]} for {[*expected[name].shape]}."
            )
    model.load_state_dict(tensors, strict=False)


@dataclass(frozen=True)
class State:
    """What a training knows between two updates, besides weights and moments.

    * `recent`: the losses since the last line of the log, which become part of its next line;
    * `log_bytes`, `samples_bytes`: how long the two files are, so that what was written later can be cut off;
    * `validation_loss`: the loss of the newest report, by which the best checkpoint is known.
    """

    step: int
    recent: tuple[float, ...] = ()
    log_bytes: int = 0
    samples_bytes: int = 0
    validation_loss: float | None = None


@dataclass(frozen=True)
class Restored:
    """The state that was found, and the names of newer checkpoints that are damaged."""

    state: State
    damaged: tuple[str, ...]


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints of a run, one folder for each under `state/`."""

    folder: Path

    def save(self, model: nn.Module, optimizers: Sequence[Optimizer], state: State) -> None:
        """Writes a checkpoint, then removes the others except the newest ones and the best one."""
        final = self.folder / f"step-{state.step:08d}"
        # The same step gives the same checkpoint, so one that is there and whole can stay.
        if _state_if_whole(final) is not None:
            return
        temporary = self.folder / f".{final.name}.part"
        try:
            self.folder.mkdir(exist_ok=True)
            for rest in (final, temporary):
                shutil.rmtree(rest, ignore_errors=True)
            temporary.mkdir()
            self._fill(temporary, model, optimizers, state)
            # The folder appears under its name when all its files are on the disk.
            os.replace(temporary, final)
            to_disk(self.folder)
        except OSError as error:
            shutil.rmtree(temporary, ignore_errors=True)
            kept = self._all()[-1:]
            hint = f"{kept[0].name} is whole, and `--resume` goes on from there" if kept else "there is no earlier one"
            raise CheckpointError(
                f"The checkpoint of step {state.step} must be written. {self.folder}: {error.strerror}; {hint}."
            ) from None
        self._prune()

    def restore(self, model: nn.Module, optimizers: Sequence[Optimizer]) -> Restored:
        """Puts the newest undamaged checkpoint into model and optimizer; without one nothing changes, and the step is 0."""
        damaged: list[str] = []
        for path in reversed(self._all()):
            state = _state_if_whole(path)
            if state is not None:
                load_weights(model, path / "model.safetensors")
                _restore_moments(model, optimizers, load_file(path / "optimizer.safetensors"))
                return Restored(state, tuple(damaged))
            damaged.append(path.name)
        return Restored(State(0), tuple(damaged))

    def newest(self) -> State:
        """The state of the newest undamaged checkpoint; step 0 without one."""
        states = (_state_if_whole(path) for path in reversed(self._all()))
        return next((state for state in states if state is not None), State(0))

    def _fill(self, folder: Path, model: nn.Module, optimizers: Sequence[Optimizer], state: State) -> None:
        files = {"model.safetensors": weights_of(model), "optimizer.safetensors": _moments(model, optimizers)}
        for name, tensors in files.items():
            write_file(folder / name, lambda path, tensors=tensors: save_file(tensors, path))  # type: ignore[misc]
        content = dataclasses.asdict(state) | {"sha256": {name: _digest(folder / name) for name in files}}
        write_text(folder / "state.json", json.dumps(content) + "\n")

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
    owner = {
        id(each): optimizer for optimizer in optimizers for group in optimizer.param_groups for each in group["params"]
    }
    for full, value in moments.items():
        name, key = full.rsplit("/", 1)
        owner[id(parameters[name])].state[parameters[name]][key] = value
