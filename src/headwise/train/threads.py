"""
---
title: How many threads
summary: Two threads can be slower than one by a factor of ten on a busy machine, so the number is measured.
---

# How many threads

PyTorch takes one thread per processor core by default. Where other programs use the same cores, the threads of one matrix product
wait for each other, and two of them can be slower than one. A few passes of the model tell.

The order: `--threads`, else the environment variable OMP_NUM_THREADS, else the measurement. The choice is stored with the run,
because products with one thread and with two have different last bits.
"""

import math
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from headwise.train.config import MOST_THREADS, ConfigError


@dataclass(frozen=True)
class ThreadChoice:
    """A number of threads and the reason for it."""

    threads: int
    reason: str


def asked_for(threads: int | None) -> ThreadChoice | None:
    """The number that the user has chosen, if any."""
    if threads is not None:
        return ThreadChoice(threads, "as asked for")
    variable = os.environ.get("OMP_NUM_THREADS")
    if variable is None:
        return None
    # Far more threads than that end the program inside of OpenMP, without a word.
    if not variable.isdecimal() or not 1 <= int(variable) <= MOST_THREADS:
        raise ConfigError(
            f"OMP_NUM_THREADS must be a whole number from 1 to {MOST_THREADS}. Got {variable!r}; correct it, or pass `--threads`."
        )
    return ThreadChoice(int(variable), "from OMP_NUM_THREADS")


def measured(work: Callable[[], object], *, repeats: int = 3, gain: float = 1.15) -> ThreadChoice:
    """The number of threads with which `work` is fastest; it leaves PyTorch set to one of the numbers that it has tried."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    times = {1: _seconds(work, 1, repeats, math.inf)}
    threads = 1
    # Twice the threads must be clearly faster, or the climb ends. Without that margin chance would decide between equal numbers.
    while threads * 2 <= cores:
        times[threads * 2] = _seconds(work, threads * 2, repeats, 3 * times[threads])
        if times[threads * 2] * gain > times[threads]:
            break
        threads *= 2
    shown = ", ".join(f"{seconds * 1000:.0f} ms with {number}" for number, seconds in times.items())
    return ThreadChoice(threads, f"a pass takes {shown}" if len(times) > 1 else "the only core")


def _seconds(work: Callable[[], object], threads: int, repeats: int, too_slow: float) -> float:
    """How long the work takes, in the middle of several passes."""
    torch.set_num_threads(threads)
    # The first pass starts the threads and fills the caches, so it counts only if it is hopeless: where threads wait for each other,
    # one pass takes seconds, and more of them would tell nothing new.
    first = _timed(work)
    if first > too_slow:
        return first
    return statistics.median(_timed(work) for _ in range(repeats))


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
