"""
---
title: Engines
summary: Three questions to an engine, and how one is chosen.
---

# Engines: how a call is computed

An engine computes the numbers of the definition in its own way. It answers three questions:

* `why_not(call)`: the reasons why it cannot run this call; none means that it can;
* `cost(call)`: what running it would cost;
* `run(call)`: the output.

A named engine runs or refuses. `"auto"` takes the cheapest engine that has no reason against it. Nothing is dropped
on the way: an engine that cannot do one part of a call says so and does none of it.
"""

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from torch import Tensor

from headwise.call import Call


class Output(NamedTuple):
    """What an engine returns: the output `[B,H,I,E]` and, if the call asked for it, the lse `[B,H,I]`."""

    output: Tensor
    lse: Tensor | None


@dataclass(frozen=True, order=True)
class Cost:
    """
    What a run would cost; costs compare in the order of their fields.

    * `quadratic`: does extra memory grow with queries times keys, beyond what the tensors of the call take themselves?
    * `time`: a rule of thumb in microseconds, to compare engines, not to predict;
    * `extra_bytes`: memory beyond the operands and the output;
    * `strategy`: in which of its ways the engine would run, if it has several;
    * `visited`: pairs that are computed.
    """

    quadratic: bool
    time: float
    extra_bytes: int
    strategy: str = field(default="", compare=False)
    visited: int = field(default=0, compare=False)


class Engine(Protocol):
    """What every engine is."""

    name: str

    def why_not(self, call: Call) -> list[str]:
        """Reasons why this engine cannot run the call; empty if it can."""
        ...

    def cost(self, call: Call) -> Cost:
        """What it would cost. Asked only of engines that can run the call."""
        ...

    def run(self, call: Call) -> Output:
        """Compute the call."""
        ...


# Below this many bytes a matrix of pairs is not worth avoiding.
SMALL = 4 * 2**20


def make_cost(call: Call, extra_bytes: int, time: float) -> Cost:
    """A cost, quadratic if the extra memory is neither small nor covered by the size of the operands."""
    operands = (call.query.numel() + call.key.numel() + call.value.numel()) * call.query.element_size()
    return Cost(extra_bytes > max(SMALL, operands), time, extra_bytes, visited=pairs(call))


def pairs(call: Call) -> int:
    """The number of scores of the call, B H I J."""
    grid = call.grid
    return grid.batch * grid.heads * grid.queries * grid.keys
