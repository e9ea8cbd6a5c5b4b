"""
---
title: Sliding window
summary: A query sees a fixed number of keys, itself included.
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
class Window(Mask):
    """
    A query sees the last `size` positions, **its own included**, and `ahead` positions after it.

    $$-\\text{ahead} \\le i - j < \\text{size}$$

    With `ahead=0` the window looks back only, so `Window(4)` is causal by itself. `Window(3)` for the last two of
    five positions:

    ```
        j  0 1 2 3 4
    i=3    · ■ ■ ■ ·
    i=4    · · ■ ■ ■
    ```

    *Units*: `size` counts keys, the query's own among them; other libraries count the keys to the left of it
    (`from_flash` converts).

    *Errors*: `size` must be at least 1 and `ahead` at least 0. To switch the window off, leave the mask away.

    *Source*: Beltagy, Peters and Cohan, 2020, "Longformer", section 3.1, arXiv:2004.05150.
    """

    size: int
    ahead: int = 0

    def __post_init__(self) -> None:
        if not _whole(self.size) or self.size < 1:
            raise MaskError(
                f"Window(size) must be a whole number of at least 1, it counts the query's own key; got size={self.size!r}. "
                "Usual fix: to switch the window off, leave the mask away."
            )
        check_far("Window(size)", self.size)
        if not _whole(self.ahead) or self.ahead < 0:
            raise MaskError(
                f"Window(ahead) must be a whole number of at least 0; got ahead={self.ahead!r}. Usual fix: ahead=0 looks back only."
            )
        check_far("Window(ahead)", self.ahead)

    def sees(self, grid: Grid) -> Bool[Tensor, "#B 1 i j"]:
        distance = grid.distance
        return (-self.ahead <= distance) & (distance < self.size)

    def facts(self) -> Facts:
        return Facts(low=-self.ahead, high=self.size)

    @classmethod
    def from_flash(cls, left: int, right: int) -> Mask:
        """
        From flash-attention's `window_size=(left, right)`, which counts the keys beside the query; -1 is no bound.

        `(255, 0)` there is `Window(256)` here.
        """
        from headwise.mask.full import Full

        if not _whole(left) or not _whole(right) or left < -1 or right < -1:
            raise MaskError(
                f"Window.from_flash(left, right) needs whole numbers of at least -1; got left={left!r}, right={right!r}. -1 is no bound."
            )
        check_far("Window.from_flash(left, right)", max(left, right) + 1)
        if left == -1 and right == -1:
            return Full()
        if left == -1:
            return HalfWindow(low=-right, high=None)
        if right == -1:
            return HalfWindow(low=None, high=left + 1)
        return cls(left + 1, ahead=right)


@dataclass(frozen=True)
class HalfWindow(Mask):
    """A window that is bounded on one side only: $\\text{low} \\le i - j < \\text{high}$, where `None` is no bound."""

    low: int | None
    high: int | None

    def sees(self, grid: Grid) -> Bool[Tensor, "#B #H #i #j"]:
        return self.facts().sees(grid)

    def facts(self) -> Facts:
        return Facts(low=self.low, high=self.high)


def _whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)
