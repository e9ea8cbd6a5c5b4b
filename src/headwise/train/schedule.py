"""
---
title: Learning rate schedules
summary: The learning rate as a pure function of the step, above zero at the first update and exact at the last.
---

# Learning rate schedules

A schedule says how large the steps of the optimizer are, as a function of the number of updates already made.

*Units.* `step` counts finished updates, so the first update has step 0 and the last one step `total - 1`.

*Edge.* A warmup of 0 and a warmup as long as the whole run both work. After the last step the final value stays.

```python
>>> [round(warmup_cosine(step, warmup=4, total=10, peak=1.0, final=0.1), 3) for step in range(10)]
[0.25, 0.5, 0.75, 1.0, 0.94, 0.775, 0.55, 0.325, 0.16, 0.1]

```
"""

import math
from collections.abc import Callable

from headwise.train.config import TrainConfig


def warmup_cosine(step: int, *, warmup: int, total: int, peak: float, final: float) -> float:
    """A straight line up to `peak`, then half a cosine wave down to `final`.

    *Source.* Loshchilov and Hutter, 2017, "SGDR: stochastic gradient descent with warm restarts", section 3, https://arxiv.org/abs/1608.03983.
    """
    if step < warmup:
        return _rise(step, warmup, peak)
    share = 0.5 * (1.0 + math.cos(math.pi * _progress(step, warmup, total)))
    return final + (peak - final) * share


def warmup_linear(step: int, *, warmup: int, total: int, peak: float, final: float) -> float:
    """A straight line up to `peak`, then a straight line down to `final`."""
    if step < warmup:
        return _rise(step, warmup, peak)
    return final + (peak - final) * (1.0 - _progress(step, warmup, total))


def warmup_stable_decay(step: int, *, warmup: int, decay: int, total: int, peak: float, final: float) -> float:
    """A straight line up to `peak`, which stays, and a straight line down to `final` in the last `decay` updates.

    The stable part knows no end: a run can be made longer from any checkpoint of it, and decay later.

    *Source.* Hu et al., 2024, "MiniCPM", section 4, https://arxiv.org/abs/2404.06395.
    """
    if step < warmup:
        return _rise(step, warmup, peak)
    return final + (peak - final) * (1.0 - _progress(step, max(warmup, total - decay), total))


def _rise(step: int, warmup: int, peak: float) -> float:
    # The numerator is `step + 1`: with `step` alone the first update would have the learning rate 0 and change nothing.
    return peak * (step + 1) / warmup


def _progress(step: int, begin: int, total: int) -> float:
    """How much of the way from the update `begin` to the end is done after this update; 0 before `begin`."""
    # The update at `begin - 1` has the peak. The `total - begin` updates after it walk down, and the last one arrives.
    # Without such an update there is no way down, and no division by zero either.
    if step < begin or total <= begin:
        return 0.0
    return min(1.0, (step + 1 - begin) / (total - begin))


def noam(step: int, *, warmup: int, d_model: int, factor: float = 1.0) -> float:
    r"""The schedule of the first transformer: up in a straight line, then down with the inverse square root.

    $$\text{factor} \cdot d_\text{model}^{-1/2} \cdot \min\left((s+1)^{-1/2},\; (s+1) \cdot \text{warmup}^{-3/2}\right)$$

    It has no end: the total number of steps does not enter, so a run can be made longer without changing its past.

    *Source.* Vaswani et al., 2017, "Attention is all you need", section 5.3, https://arxiv.org/abs/1706.03762.
    """
    number = step + 1
    rising = number * max(warmup, 1) ** -1.5
    return factor * d_model**-0.5 * min(number**-0.5, rising)


# A schedule by name is one entry here: it gets the step, the settings of the training and the width of the model.
Schedule = Callable[[int, TrainConfig, int], float]


def _cosine(step: int, config: TrainConfig, d_model: int) -> float:
    final = config.learning_rate * config.final_fraction
    return warmup_cosine(step, warmup=config.warmup_steps, total=config.steps, peak=config.learning_rate, final=final)


def _linear(step: int, config: TrainConfig, d_model: int) -> float:
    final = config.learning_rate * config.final_fraction
    return warmup_linear(step, warmup=config.warmup_steps, total=config.steps, peak=config.learning_rate, final=final)


def _wsd(step: int, config: TrainConfig, d_model: int) -> float:
    return warmup_stable_decay(
        step,
        warmup=config.warmup_steps,
        decay=config.decay_steps,
        total=config.steps,
        peak=config.learning_rate,
        final=config.learning_rate * config.final_fraction,
    )


def _noam(step: int, config: TrainConfig, d_model: int) -> float:
    # Noam has no peak of its own. `noam_factor` scales the whole curve, and `learning_rate` plays no part.
    return noam(step, warmup=config.warmup_steps, d_model=d_model, factor=config.noam_factor)


SCHEDULES: dict[str, Schedule] = {"cosine": _cosine, "linear": _linear, "wsd": _wsd, "noam": _noam}


def learning_rate(step: int, config: TrainConfig, *, d_model: int) -> float:
    """The learning rate of the update at `step` under the schedule that the settings name."""
    return SCHEDULES[config.schedule](step, config, d_model)
