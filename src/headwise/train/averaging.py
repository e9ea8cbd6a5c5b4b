"""
---
title: Averaged weights
summary: A second set of weights, the moving average of those that are trained, which is calmer and often better.
---

# Averaged weights

Near the end of a training the weights jump around a good place, because each batch pulls them another way. Their exponential moving average

$$\\bar w \\leftarrow d\\,\\bar w + (1 - d)\\,w$$

stands near the middle. The training goes on with $w$; what is measured, sampled and stored as the model is $\\bar w$.

The first weights are drawn at random, and an average that remembers them is bad for long. So the decay rises:
at update $t$ it is $\\min(d, (1+t)/(10+t))$.

*Source.* Polyak and Juditsky, 1992, "Acceleration of stochastic approximation by averaging"; the rising decay is that of TensorFlow's
`ExponentialMovingAverage`.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

# The name of the average in a checkpoint, beside the moments of the optimizer.
KEY = "ema"


class WeightAverage(Optimizer):
    """The average of the weights. It has the shape of an optimizer, so a checkpoint keeps it as it keeps the moments."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        super().__init__([each for each in model.parameters() if each.requires_grad], {"lr": 0.0})

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Takes in the weights after the update with this number, from 0 on."""
        decay = min(self.decay, (1 + step) / (10 + step))
        for parameter, average in self._pairs():
            average.lerp_(parameter, 1 - decay)

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Nothing: it is `update` that averages, because it needs the number of the update."""

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Inside the block the model has the averaged weights."""
        kept = [parameter.detach().clone() for parameter, _ in self._pairs()]
        self.apply()
        try:
            yield
        finally:
            with torch.no_grad():
                for (parameter, _), value in zip(self._pairs(), kept, strict=True):
                    parameter.copy_(value)

    @torch.no_grad()
    def apply(self) -> None:
        """Gives the averaged weights to the model."""
        for parameter, average in self._pairs():
            parameter.copy_(average)

    def _pairs(self) -> list[tuple[nn.Parameter, Tensor]]:
        parameters: list[nn.Parameter] = self.param_groups[0]["params"]
        # The average begins as the weights are when it is first asked for.
        return [(each, self.state[each].setdefault(KEY, each.detach().clone())) for each in parameters]
