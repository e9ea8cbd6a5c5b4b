"""
---
title: Explanations
summary: Which engine would run a call, and why each other one would not.
---
"""

import math
from dataclasses import dataclass

from headwise.call import Call
from headwise.engines import ENGINES
from headwise.engines.base import Cost, pairs
from headwise.engines.choose import choose

# Pairs are counted in squares of this side.
BLOCK = 128
PAIRS_OF_A_BLOCK = BLOCK * BLOCK


@dataclass(frozen=True)
class Explanation:
    """
    The engine of a call, and a reason for each engine that was not taken.

    `refused` holds the engines that cannot run the call, each with all its reasons; `considered` those that can, each with why it
    was not taken. `strategy`, `visited` and `blocks` say how it runs. `str()` is a table.
    """

    engine: str
    refused: dict[str, list[str]]
    considered: dict[str, str]
    cost: Cost
    blocks: int

    @property
    def strategy(self) -> str:
        """In which of its ways the engine runs, if it has several."""
        return self.cost.strategy

    @property
    def visited(self) -> int:
        """Blocks of pairs that are computed, of all `blocks`; by area, so that parts of blocks add up."""
        return min(self.blocks, math.ceil(self.cost.visited / PAIRS_OF_A_BLOCK))

    @property
    def how(self) -> str:
        """Strategy, blocks and memory in words."""
        strategy = f"strategy {self.strategy}, " if self.strategy else ""
        blocks = f"{self.visited:,} of {self.blocks:,} blocks of {BLOCK} x {BLOCK} pairs, "
        quadratic = ", quadratic in the sequence" if self.cost.quadratic else ""
        return f"{strategy}{blocks}{megabytes(self.cost.extra_bytes)} of extra memory{quadratic}"

    def __str__(self) -> str:
        rows = [(self.engine, "takes it: " + self.how)]
        rows += [(name, f"can, but {why}") for name, why in self.considered.items()]
        rows += [(name, "cannot: " + "; ".join(reasons)) for name, reasons in self.refused.items()]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)


def explain_call(call: Call, engine: str = "auto") -> Explanation:
    """Explain a call: the engine that would run it, and a refusal or a "can, but" for each other one."""
    taken = choose(call, engine)
    cost = taken.cost(call)
    refused: dict[str, list[str]] = {}
    considered: dict[str, str] = {}
    for name, other in ENGINES.items():
        if name == taken.name:
            continue
        reasons = other.why_not(call)
        if reasons:
            refused[name] = reasons
        else:
            considered[name] = compare(cost, other.cost(call), taken.name, asked=engine != "auto")
    blocks = math.ceil(pairs(call) / PAIRS_OF_A_BLOCK)
    return Explanation(taken.name, refused, considered, cost, blocks)


def compare(taken: Cost, other: Cost, name: str, *, asked: bool) -> str:
    """Why an engine that can run the call was not taken."""
    if asked:
        return f"'{name}' was asked for by name"
    if other.quadratic and not taken.quadratic:
        return f"it needs {megabytes(other.extra_bytes)} of extra memory, quadratic in the sequence"
    ratio = other.time / max(taken.time, 1e-9)
    return (
        f"it is slower, about {ratio:.1f} times by rule of thumb" if ratio > 1.05 else f"it is no cheaper than '{name}'"
    )


def megabytes(count: int) -> str:
    """A number of bytes in words."""
    return f"{count / 1e6:,.1f} MB" if count >= 1e5 else f"{count / 1e3:,.1f} kB" if count else "0 bytes"
