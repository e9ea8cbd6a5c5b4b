"""
---
title: ALiBi
summary: Attention with linear biases: far keys lose by their distance.
---
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from headwise.errors import ScoreError, ShapeError
from headwise.grid import Grid
from headwise.score.base import AdditiveScore


def published_slopes(heads: int) -> tuple[float, ...]:
    """
    The slopes of the published code.

    For $n$ heads, a power of two, head $h = 1 \\dots n$ has the slope $2^{-8h/n}$. For any other number: the slopes of the power of
    two below it, followed by every second slope of the power of two above it.
    """
    below = 2 ** math.floor(math.log2(heads))
    slopes = [2 ** (-8 * (h + 1) / below) for h in range(below)]
    if below < heads:
        slopes += published_slopes(2 * below)[0::2][: heads - below]
    return tuple(slopes)


@dataclass(frozen=True)
class Alibi(AdditiveScore):
    """
    Attention with linear biases: the score falls with the distance, in each head at its own rate.

    $$s_{h,i,j} \\leftarrow s_{h,i,j} - \\text{slope}_h \\, |i - j|$$

    There is nothing to learn and no table of positions, so a model can read sequences longer than those that it was trained on.
    Distances are those of **positions**, in both directions.

    *Units*: `heads` query heads; `slopes`, if given, has one number for each.

    *Errors*: slopes that learn (a `Parameter`) are refused: a frozen part cannot register them.

    *Source*: Press, Smith and Lewis, 2021, "Train Short, Test Long", section 3, arXiv:2108.12409.

    ```python
    >>> Alibi(4).slopes
    (0.25, 0.0625, 0.015625, 0.00390625)
    ```
    """

    heads: int
    slopes: Sequence[float] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.heads, int) or isinstance(self.heads, bool) or self.heads < 1:
            raise ScoreError(
                f"Alibi(heads) must be a whole number of at least 1; got heads={self.heads!r}. Usual fix: the number of query heads."
            )
        object.__setattr__(
            self, "slopes", published_slopes(self.heads) if self.slopes is None else _numbers(self.slopes, self.heads)
        )

    def bias(self, grid: Grid) -> Float[Tensor, "#B H i j"]:
        slopes_H = torch.tensor(self.slopes, dtype=torch.float32, device=grid.device)
        return -slopes_H[None, :, None, None] * grid.distance.abs()

    def by_distance(self, distance: Int[Tensor, " T"]) -> Float[Tensor, "H T"]:
        slopes_H = torch.tensor(self.slopes, dtype=torch.float32, device=distance.device)
        return -slopes_H[:, None] * distance.abs()

    def check(self, grid: Grid) -> None:
        if self.heads != grid.heads:
            raise ShapeError(
                f"Alibi(heads) must equal the query heads of the call; got heads={self.heads}, H={grid.heads}. Usual fix: Alibi({grid.heads})."
            )


def _numbers(slopes: Sequence[float] | Tensor, heads: int) -> tuple[float, ...]:
    if isinstance(slopes, nn.Parameter) or (isinstance(slopes, Tensor) and slopes.requires_grad):
        raise ScoreError(
            "Alibi(slopes) must be plain numbers, it got a tensor that learns. Usual fix: slopes that learn belong to a module, "
            "class Slopes(nn.Module, Score), with self.slopes = nn.Parameter(slopes) and change(self, scores, grid)."
        )
    numbers = tuple(float(slope) for slope in slopes)
    if len(numbers) != heads or not all(math.isfinite(number) for number in numbers):
        raise ScoreError(
            f"Alibi(slopes) must be {heads} finite numbers, one a head; got {list(numbers)}. Usual fix: leave slopes away for the published ones."
        )
    return numbers
