"""
---
title: Strategies
summary: The ways in which the engine blockwise computes a call, and how it chooses one.
---

# Strategies of the engine blockwise

The engine blockwise runs any mask and any score. What it does inside depends on how much is known of them: a few rectangles go through
the fused kernel whole; a bias by distance needs one vector; a free function needs its scores written out, a block of rows at a time.
Each way is a **strategy**. They stand in order of speed, and the first one without a reason against the call takes it.
"""

from typing import NamedTuple, Protocol

from torch import Tensor

from headwise.call import Call
from headwise.engines.base import Cost


class Known(NamedTuple):
    """Output and lse of a call that was computed before, of which only the derivatives are wanted now; `learned` are tensors of its rule."""

    output: Tensor
    lse: Tensor
    learned: tuple[Tensor, ...] = ()


class Strategy(Protocol):
    """What every strategy is. It may rely on operands without NaN and infinities."""

    name: str

    def why_not(self, call: Call) -> str | None:
        """The first reason why this strategy cannot compute the call, or None."""
        ...

    def cost(self, call: Call) -> Cost:
        """What it would cost."""
        ...

    def run(self, call: Call, known: Known | None = None) -> tuple[Tensor, Tensor]:
        """
        Output `[B,H,I,E]` and lse `[B,H,I]`; the lse of a query without keys may be any number.

        A strategy that needs no more than `known` for its derivatives does not compute the call again.
        """
        ...
