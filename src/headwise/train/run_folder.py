"""
---
title: The run folder
summary: One folder holds everything about a run, and a run never writes into the folder of another.
---

# The run folder

| file | content |
|---|---|
| `config.toml` | all settings, those that were left to the program included |
| `tokenizer.json` | the tokenizer, as the tokenizers library keeps it |
| `model.safetensors` | the newest weights |
| `log.jsonl` | one line for every ten steps |
| `samples.txt` | the texts that the model wrote on its way |
| `state/` | checkpoints, to go on after an interruption |
"""

import contextlib
import errno
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from headwise.errors import HeadwiseError
from headwise.train.checkpoint import Checkpoints
from headwise.train.choose_tokenizer import Tokenizer, load_tokenizer
from headwise.train.config import RunConfig
from headwise.train.safe_files import locked, to_disk, write_text
from headwise.train.toml import dump_toml, read_toml
from headwise.train.weights import save_weights, weights_of


class RunError(HeadwiseError):
    """A run folder that exists already, that cannot be made, or that is not one."""


@dataclass(frozen=True)
class RunFolder:
    """The files of one run. Its checkpoints keep the `settings`, besides those of the training, and are held to them."""

    path: Path
    settings: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def create(cls, path: Path | None, *, name: str, below: Path = Path("runs")) -> "RunFolder":
        """A new folder: exactly `path`, or else the first free one of `below/name`, `below/name-2`, `below/name-3`."""
        if path is not None:
            # A folder that is there but empty was made for this run. Anything inside it may be somebody's work.
            try:
                _make(path, parents=True, exist_ok=True)
                taken = any(path.iterdir())
            except FileExistsError:
                taken = True
            except OSError as error:
                raise _unwritable(path, error) from None
            if taken:
                raise _taken(path)
            return cls(path)
        number = 1
        while True:
            candidate = below / (name if number == 1 else f"{name}-{number}")
            try:
                # Making the folder is the test whether it is free: of two runs that start together, one gets the next number.
                _make(candidate, parents=True, exist_ok=False)
                return cls(candidate)
            except FileExistsError:
                number += 1

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """The folder of a run that has begun."""
        try:
            begun = (path / "config.toml").is_file()
        except OSError as error:
            raise RunError(f"The folder of a run must be readable. {path}: {error.strerror}.") from None
        if not begun:
            raise RunError(
                f"`run` must be the folder of a training run. {path} has no config.toml; `headwise train` makes such folders in `runs`."
            )
        return cls(path)

    def claim(self) -> None:
        """Begins to fill the folder. Of two runs that found it empty at the same moment, one can make the first folder inside."""
        try:
            _make(self.checkpoints.folder, parents=False, exist_ok=False)
        except FileExistsError:
            raise _taken(self.path) from None

    @contextlib.contextmanager
    def held(self, *, new: bool) -> Iterator[None]:
        """Keeps other trainings out of the folder inside the block; a `new` one is kept out of a folder that has a log."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY)
        except OSError as error:
            raise _unwritable(self.path, error) from None
        try:
            if locked(descriptor) is False:
                raise RunError(
                    f"One training at a time may write to a run. Another one is at work in {self.path}; wait for its end."
                )
            if new and (self.path / "log.jsonl").exists():
                raise RunError(
                    f"`run` must be a new folder, and {self.path} has a log. Pass `resume=True` to go on, or choose another folder."
                )
            yield
        finally:
            os.close(descriptor)

    @property
    def checkpoints(self) -> Checkpoints:
        """The checkpoints of this run."""
        return Checkpoints(self.path / "state")

    def write_config(self, config: RunConfig) -> None:
        """Stores the settings."""
        write_text(self.path / "config.toml", dump_toml(config))

    def read_config(self) -> RunConfig:
        """The settings of the run."""
        return read_toml(self.path / "config.toml")

    def write_tokenizer(self, tokenizer: Tokenizer) -> None:
        """Stores the tokenizer."""
        write_text(self.path / "tokenizer.json", tokenizer.to_json())

    def read_tokenizer(self) -> Tokenizer:
        """The tokenizer of the run."""
        return load_tokenizer(self.path / "tokenizer.json")

    def write_digest(self, digest: str) -> None:
        """Stores which text the run learns from."""
        self.checkpoints.folder.mkdir(exist_ok=True)
        write_text(self.path / "state" / "data.json", json.dumps({"sha256": digest}) + "\n")

    def check_digest(self, digest: str, source: str) -> None:
        """Raises where the text is another one than at the beginning of the run."""
        path = self.path / "state" / "data.json"
        try:
            known = json.loads(path.read_text(encoding="utf-8"))["sha256"]
        except (OSError, ValueError, KeyError, TypeError):
            raise RunError(
                f"A run must know which text it learns from. {path} is missing or damaged; begin a new run."
            ) from None
        if known != digest:
            raise RunError(
                f"A resumed run must learn from the text it began with. {source!r} has changed since; begin a new run."
            )

    def write_model(self, model: nn.Module) -> None:
        """Stores the newest weights."""
        save_weights(model, self.path / "model.safetensors")

    def append_log(self, entry: dict[str, Any]) -> None:
        """Adds one line to the log."""
        self._append("log.jsonl", json.dumps(entry) + "\n")

    def append_sample(self, step: int, text: str) -> None:
        """Adds a text of the model to the samples."""
        self._append("samples.txt", f"=== step {step}\n{text}\n\n")

    def _append(self, name: str, text: str) -> None:
        content = text.encode()
        try:
            # Without a buffer the text goes to the file in one piece: a run that is killed leaves whole lines.
            with (self.path / name).open("ab", buffering=0) as file:
                # A disk that is about to be full takes the beginning alone, and says so by the number.
                if file.write(content) < len(content):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise RunError(
                f"The files of a run must be writable. {self.path / name}: {error.strerror}; once they are, `--resume` goes on."
            ) from None

    def sizes_on_disk(self) -> tuple[int, int]:
        """The sizes of the log and of the samples in bytes, once all of them are on the disk."""
        return _size_on_disk(self.path / "log.jsonl"), _size_on_disk(self.path / "samples.txt")

    def cut(self, log_bytes: int, samples_bytes: int) -> tuple[str, ...]:
        """Cuts the log and the samples back to these sizes; returns the names of those that were shorter, where something is lost."""
        shorter = []
        for name, size in (("log.jsonl", log_bytes), ("samples.txt", samples_bytes)):
            path = self.path / name
            there = path.stat().st_size if path.exists() else 0
            if there < size:
                shorter.append(name)
                # The next line must not continue a torn one.
                size = path.read_bytes().rfind(b"\n") + 1 if there else 0
            if there > size:
                try:
                    os.truncate(path, size)
                except OSError as error:
                    raise _unwritable(self.path, error) from None
        return tuple(shorter)


class ReadOnlyFolder(RunFolder):
    """The same folder in a process that is not the first one: it reads, and leaves writing to the first."""

    def write_config(self, config: RunConfig) -> None:
        """Leaves it to the first process."""

    def write_model(self, model: nn.Module) -> None:
        """Gives its parts of the weights to the first process, which writes the whole."""
        weights_of(model)

    def append_log(self, entry: dict[str, Any]) -> None:
        """Leaves it to the first process."""

    def append_sample(self, step: int, text: str) -> None:
        """Leaves it to the first process."""

    def sizes_on_disk(self) -> tuple[int, int]:
        """Nothing: only the first process needs them."""
        return 0, 0

    def cut(self, log_bytes: int, samples_bytes: int) -> tuple[str, ...]:
        """Leaves it to the first process."""
        return ()


def _size_on_disk(path: Path) -> int:
    if not path.exists():
        return 0
    to_disk(path)
    return path.stat().st_size


def _taken(path: Path) -> RunError:
    return RunError(f"`run` must be a new folder, and {path} exists already. Choose another name, or remove it first.")


def _make(path: Path, *, parents: bool, exist_ok: bool) -> None:
    try:
        path.mkdir(parents=parents, exist_ok=exist_ok)
    except FileExistsError:
        raise
    # A name with the character NUL is no name.
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError | ValueError) -> RunError:
    cause = error.strerror if isinstance(error, OSError) else error
    return RunError(f"The folder of a run must be writable. {path}: {cause}; choose another place with `--run DIR`.")
