"""
---
title: Measuring
summary: Ratios of interleaved runs, extra memory, and the error beside each.
---

# How it is measured

Machines are busy and clocks vary, so a time by itself says little. Here each round runs every contender once, one after the other, and
divides each time by that of the base *in the same round*; the result is the median of those ratios.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}
Run = Callable[[], Any]


@dataclass(frozen=True)
class Row:
    """
    One contender: ratios to the base, extra memory in bytes, and the largest error against float64, relative to the largest number.

    Who has no backward pass has no numbers of training.
    """

    rule: str
    contender: str
    forward: float
    training: float | None
    forward_ms: float
    memory: int
    training_memory: int | None
    error: float | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def ratios(base: Run, runs: dict[str, Run], rounds: int, clock: str) -> dict[str, tuple[float, float]]:
    """For each run: the median ratio to the base, and the least time in milliseconds."""
    now = CLOCKS[clock]
    quotients: dict[str, list[float]] = {name: [] for name in runs}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for name, run in {"base": base, **runs}.items():
        # The first run of each allocates, and is not counted.
        del name
        run()
    for _ in range(rounds):
        start = now()
        base()
        unit = now() - start
        for name, run in runs.items():
            start = now()
            run()
            times[name].append(now() - start)
            quotients[name].append(times[name][-1] / unit)
    return {name: (statistics.median(quotients[name]), 1e3 * min(times[name])) for name in runs}


def peak_memory(run: Run) -> int:
    """The largest sum of live tensors that the run allocates, in bytes."""
    from torch.autograd.profiler_util import MEMORY_EVENT_NAME
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        kept = run()
    del kept
    events = profiler.profiler.kineto_results.events() if profiler.profiler is not None else []
    moves = sorted((event.start_ns(), event.nbytes()) for event in events if event.name() == MEMORY_EVENT_NAME)
    live = peak = 0
    for _, change in moves:
        live += change
        peak = max(peak, live)
    return peak


def relative_error(output: Tensor, exact: Tensor) -> float:
    """The largest difference, as a share of the largest number."""
    return float((output.detach().double() - exact).abs().max() / exact.abs().max())


def without_gradients(run: Run) -> Run:
    """The run without recording anything for a backward pass."""

    def quiet() -> Any:
        with torch.no_grad():
            return run()

    return quiet


def with_backward(run: Callable[[], Tensor], grad: Tensor) -> Run:
    """The run and its backward pass."""

    def train() -> None:
        run().backward(grad)

    return train
