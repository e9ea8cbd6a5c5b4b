"""
---
title: Half precision
summary: Products in sixteen bits, sums in thirty-two, and a scale that keeps small gradients from vanishing.
---

# Half precision

Numbers of sixteen bits take half the memory, and many machines multiply them several times faster. *Autocast* chooses for each operation:
products of matrices in half precision; sums, norms and the softmax in single. The weights stay in single precision, because
an update is often smaller than the distance of two neighbouring numbers of the half-precision kind.

`bfloat16` has the range of single precision and needs nothing else. `float16` ends at $6 \\cdot 10^{-8}$, and smaller gradients become 0.
So the loss is multiplied by a large power of two before the gradients are made, and they are divided by it after. Where one of them
overflows, the update is left out and the scale is halved; after many good updates it is doubled again.

*Source.* Micikevicius et al., 2018, "Mixed precision training", section 3, https://arxiv.org/abs/1710.03740.
"""

import contextlib
from collections.abc import Iterable
from contextlib import AbstractContextManager

import torch
from torch import nn

from headwise.errors import HeadwiseError
from headwise.train.config import Precision

DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}
FIRST_SCALE = 2.0**16
SMALLEST_SCALE = 2.0**-14
GOOD_UPDATES = 1000


class ScaleError(HeadwiseError):
    """Gradients that are not finite at any scale."""


def autocast(precision: Precision, device: torch.device) -> AbstractContextManager[object]:
    """The block in which operations choose their precision; for single precision it changes nothing."""
    if precision == "float32":
        return contextlib.nullcontext()
    return torch.autocast(device.type, dtype=DTYPES[precision])


class LossScale:
    """The factor of the loss, and how many updates in a row were good with it. It is a power of two, so no digit is lost."""

    def __init__(self, precision: Precision) -> None:
        self.active = precision == "float16"
        self.value = FIRST_SCALE if self.active else 1.0
        self.good = 0

    def undo(self, parameters: Iterable[nn.Parameter]) -> bool:
        """Divides the gradients by the scale; says whether all of them are finite."""
        if not self.active:
            return True
        finite = True
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.grad.mul_(1.0 / self.value)
                finite = finite and bool(parameter.grad.isfinite().all())
        return finite

    def accept(self, finite: bool) -> bool:
        """Whether the update shall be made; the scale follows from whether the gradients were finite."""
        if not self.active:
            return True
        self.good = self.good + 1 if finite else 0
        if not finite:
            self.value /= 2
        elif self.good == GOOD_UPDATES:
            self.value, self.good = self.value * 2, 0
        if self.value < SMALLEST_SCALE:
            raise ScaleError(
                f"The gradients must be finite at some scale of the loss. They are not at {self.value * 2}; use `--precision bfloat16`."
            )
        return finite
