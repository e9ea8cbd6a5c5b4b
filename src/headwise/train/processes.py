"""
---
title: Several processes
summary: One training in several processes, which share each batch and agree on everything else.
---

# Several processes

`torchrun --nproc-per-node 2 -m -- headwise train --run DIR` starts the same program twice. (Without `--`, torchrun takes `--run` for a
flag of its own.) Each process works on its share of the rows of a batch, the gradients are added up, and all make the same update. The
result is that of one process, apart from rounding. With `--max-restarts 3` a process that was lost is replaced, and the run goes on from
its newest checkpoint.

Three rules keep the processes from waiting for each other for ever:

* each makes the same number of passes. A share without enough rows is filled up with rows that have no targets;
* what can differ between them (a signal to stop, a new folder, an error) is decided by the first one, or by all together;
* a process that is lost ends the others: at once where its connection breaks, and after `timeout` seconds where it hangs.

*Source.* Li et al., 2020, "PyTorch distributed: experiences on accelerating data parallel training", https://arxiv.org/abs/2006.15704.
"""

import atexit
import contextlib
import datetime
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeVar

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.rendezvous import rendezvous

from headwise.errors import HeadwiseError
from headwise.train.config import ConfigError, TrainConfig

T = TypeVar("T")


@dataclass(frozen=True)
class Processes:
    """All processes of a training, seen from one of them; by default there is only this one."""

    rank: int = 0
    world: int = 1
    parallel: Literal["ddp", "fsdp"] = "ddp"

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes files and the screen."""
        return self.rank == 0

    @property
    def sharded(self) -> bool:
        """Whether each process holds a part of the weights alone."""
        return self.world > 1 and self.parallel == "fsdp"

    def spread(self, model: nn.Module, config: TrainConfig) -> nn.Module:
        """The module through which the passes of all processes go; the model itself where there is only one process."""
        if self.world == 1:
            return model
        from headwise.train.precision import DTYPES
        from headwise.train.spread import spread

        return spread(model, self, precision=DTYPES.get(config.precision))

    def adding_up(self, passes: nn.Module, *, last: bool) -> AbstractContextManager[None]:
        """Around each part of a batch: gradients are added up in the last part alone."""
        if self.world == 1:
            return contextlib.nullcontext()
        from headwise.train.spread import adding_up

        return adding_up(passes, last=last)

    def sum(self, *numbers: float) -> list[float]:
        """Each number added up over all processes."""
        if self.world == 1:
            return list(numbers)
        total = torch.tensor(numbers, dtype=torch.float64)
        dist.all_reduce(total)
        return total.tolist()

    def any(self, flag: bool) -> bool:
        """Whether the flag is set in any process. A signal reaches them at different steps, and they must stop at the same one."""
        return self.sum(float(flag))[0] > 0

    def from_first(self, function: Callable[[], T]) -> T:
        """What the function returns in the first process, the only one that calls it; its errors are raised in all of them."""
        if self.world == 1:
            return function()
        box: list[T | HeadwiseError | None] = [None]
        if self.first:
            try:
                box[0] = function()
            except HeadwiseError as error:
                box[0] = error
        dist.broadcast_object_list(box, src=0)
        if isinstance(box[0], HeadwiseError):
            raise box[0]
        return box[0]  # type: ignore[return-value]

    @contextlib.contextmanager
    def one_after_the_first(self) -> Iterator[None]:
        """Around work whose result the first process stores in a file, so that the others find it there."""
        if not self.first:
            self.wait()
        yield
        if self.first:
            self.wait()

    def wait(self) -> None:
        """Goes on when all processes have come here."""
        if self.world > 1:
            dist.barrier()


ALONE = Processes()


def launched() -> bool:
    """Whether `torchrun`, or a program like it, has started this process as one of several."""
    return _count("WORLD_SIZE", "1") > 1 and "RANK" in os.environ and _count("RANK", "0") >= 0


def restarted() -> bool:
    """Whether `torchrun --max-restarts` has started the processes again, after one of them was lost."""
    return launched() and _count("TORCHELASTIC_RESTART_COUNT", "0") > 0


def _count(variable: str, default: str) -> int:
    value = os.environ.get(variable, default)
    if not value.isdecimal():
        raise ConfigError(
            f"{variable} must be a whole number, as `torchrun` sets it. Got {value!r}; unset it for a training that is alone."
        )
    return int(value)


def start_of_job() -> str:
    """
    A name for this start of the processes.

    `torchrun` keeps one store of addresses for all starts of a job, and a process could find the address of one that was lost. On one
    machine all processes know how often they were started; on several machines the launchers count for themselves, and the name is one.
    """
    one_machine = os.environ.get("LOCAL_WORLD_SIZE") == os.environ.get("WORLD_SIZE")
    return f"start {os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}" if one_machine else "start"


@contextlib.contextmanager
def joined(config: TrainConfig) -> Iterator[Processes]:
    """
    Meets the other processes, as the environment says; without any the training is alone.

    A program of your own that trains in several processes ends each of them by `leave`, as the command line does.
    """
    if not launched():
        yield ALONE
        return
    timeout = datetime.timedelta(seconds=config.timeout)
    store, rank, world = next(rendezvous("env://", timeout=timeout))
    # Without a name of a backend PyTorch takes gloo for tensors in memory and NCCL for those on a GPU.
    store = dist.PrefixStore(start_of_job(), store)  # type: ignore[attr-defined]
    dist.init_process_group(store=store, rank=rank, world_size=world, timeout=timeout)
    yield Processes(dist.get_rank(), dist.get_world_size(), config.parallel)
    # A process that fails does not come here: it ends, and the others see that its connection is closed.
    dist.destroy_process_group()


def leave(code: int) -> NoReturn:
    """Ends one process of several, with everything written and without taking the interpreter apart.

    Threads of gloo live as long as the tables that PyTorch keeps of sharded tensors. One of them may still hold the tensors of the last
    exchange, and a thread that lets go of a tensor while the interpreter is taken apart aborts a process that has done all its work.
    """
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
