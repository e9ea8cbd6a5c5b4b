"""
---
title: Dilated window
summary: A window with gaps: every step-th key, a fixed number of them.
---
"""

from dataclasses import dataclass

from jaxtyping import Bool
from torch import Tensor

from headwise.checks import check_far
from headwise.errors import MaskError
from headwise.grid import Grid
from headwise.mask.base import Facts, Mask


@dataclass(frozen=True)
class Dilated(Mask):
    """
    A query sees `size` keys, its own and every `step`-th one before it.

    $$0 \\le i - j < \\text{size} \\cdot \\text{step}, \\qquad \\text{step} \\mid i - j$$

    A window with gaps reaches `step` times as far as `Window(size)` at the same cost. `Dilated(2, 3)` for the last two of five positions:

    ```
        j  0 1 2 3 4
    i=3    ■ · · ■ ·
    i=4    · ■ · · ■
    ```

    *Units*: `size` counts keys, the query's own among them; `step` counts positions from one key to the next. `Dilated(size, 1)` is
    `Window(size)`.

    *Source*: Beltagy, Peters and Cohan, 2020, "Longformer", section 3.1, arXiv:2004.05150.
    """

    size: int
    step: int

    def __post_init__(self) -> None:
        for name, number in (("size", self.size), ("step", self.step)):
            if not isinstance(number, int) or isinstance(number, bool) or number < 1:
                raise MaskError(
                    f"Dilated({name}) must be a whole number of at least 1; got {name}={number!r}. Usual fix: Dilated(size, 1) has no gaps."
                )
        check_far("Dilated(size * step)", self.size * self.step)

    def sees(self, grid: Grid) -> Bool[Tensor, "#B 1 i j"]:
        distance = grid.distance
        return (distance >= 0) & (distance < self.size * self.step) & (distance % self.step == 0)

    def facts(self) -> Facts:
        # The farthest key stands `(size - 1) * step` back, so the band ends right behind it.
        return Facts(low=0, high=(self.size - 1) * self.step + 1, rest=Stride(self.step) if self.step > 1 else None)


@dataclass(frozen=True)
class Stride(Mask):
    """A query sees the keys that stand a multiple of `step` positions away."""

    step: int

    def sees(self, grid: Grid) -> Bool[Tensor, "#B 1 i j"]:
        return grid.distance % self.step == 0
