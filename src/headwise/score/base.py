"""
---
title: Scores
summary: What a score part is; how parts follow one another; which of them engines can add up.
---

# Scores: how much a query likes a key

The score of a pair is the dot product of query and key, times the scale. A **score part** changes it before the mask
and the softmax. Parts compose as a tuple, in order: `score=(Alibi(8), Softcap(30.0))` first subtracts the distance,
then caps.

A part that only *adds* a number that does not depend on the score itself is an `AdditiveScore`: fused kernels can
add it for us.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headwise.checks import check_changed, check_numbers, check_sink, corner
from headwise.errors import ScoreError
from headwise.grid import Grid


class Score:
    """
    A change of scores. To make a new one, write a frozen dataclass with the method `change`.

    A part that learns derives from `nn.Module` and `Score`, and its numbers are `nn.Parameter`s: [the layer registers](../parts.py) what is
    a module, and nothing else is in `model.parameters()`. A parameter that a plain part holds would never be updated.

    ```python
    >>> from torch import nn
    >>> class Slopes(nn.Module, Score):
    ...     def __init__(self, heads):
    ...         super().__init__()
    ...         self.slopes = nn.Parameter(torch.ones(heads))
    ...     def change(self, scores, grid):
    ...         return scores - self.slopes[:, None, None] * grid.distance.abs()
    ```
    """

    def change(self, scores: Float[Tensor, "B H i j"], grid: Grid) -> Float[Tensor, "B H i j"]:
        """The new scores of the pairs of the grid."""
        raise ScoreError(
            f"a score part must define change(scores, grid), which returns the new scores; {type(self).__name__} has none. "
            "Usual fix: def change(self, scores, grid): return scores - grid.distance.abs()."
        )

    def sink(self, grid: Grid) -> Float[Tensor, " H"] | None:
        """A logit for each head that joins the denominator of the softmax without a key of its own. Most parts have none."""
        return None

    def check(self, grid: Grid) -> None:
        """Raise if this part cannot serve a call of these sizes. Called once, before any engine runs."""
        # Parts of this library are tested; one's own is asked for a few pairs, so that a slip is named here and not deep in a kernel.
        if type(self).__module__.startswith("headwise."):
            return
        name, block = type(self).__name__, corner(grid)
        rows, columns = block.rows[1] - block.rows[0], block.columns[1] - block.columns[0]
        with torch.no_grad():
            if isinstance(self, AdditiveScore):
                check_numbers(f"{name}.bias(grid)", self.bias(block), block)
            else:
                scores = torch.zeros(grid.batch, grid.heads, rows, columns, dtype=torch.float32, device=grid.device)
                # A part may write into what it gets.
                check_changed(f"{name}.change(scores, grid)", self.change(scores.clone(), block), scores, block)
            check_sink(name, self.sink(block), grid)


class AdditiveScore(Score):
    """A part that adds a number to each score: it defines `bias` in place of `change`."""

    def bias(self, grid: Grid) -> Float[Tensor, "#B #H #i #j"]:
        """The number added to each pair. Axes that do not matter have size 1."""
        raise ScoreError(
            f"an additive score part must define bias(grid), which returns the numbers to add; {type(self).__name__} has none. "
            "Usual fix: def bias(self, grid): return -grid.distance.abs()."
        )

    def by_distance(self, distance: Int[Tensor, " T"]) -> Float[Tensor, "#H T"] | None:
        """The same numbers for a list of distances $i - j$, if nothing else matters; None if something does. Saves a matrix of pairs."""
        return None

    def change(self, scores: Float[Tensor, "B H i j"], grid: Grid) -> Float[Tensor, "B H i j"]:
        return scores + self.bias(grid).to(scores.dtype)


class SinkScore(Score):
    """A part that leaves every score as it is, and adds a logit to the denominator: it defines `sink` in place of `change`."""

    def change(self, scores: Float[Tensor, "B H i j"], grid: Grid) -> Float[Tensor, "B H i j"]:
        return scores


def sinks_of(parts: tuple[Score, ...], grid: Grid) -> Float[Tensor, "H S"] | None:
    """The logits of all parts that have one, side by side, or None."""
    sinks = [sink for part in parts if (sink := part.sink(grid)) is not None]
    return torch.stack(sinks, dim=1) if sinks else None
