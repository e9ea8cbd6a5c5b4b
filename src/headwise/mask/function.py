"""
---
title: Function masks
summary: Any function of (b, h, i, j) is a mask.
---
"""

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Bool
from torch import Tensor

from headwise.errors import MaskError
from headwise.grid import Grid
from headwise.mask.base import Mask
from headwise.per_element import evaluate


@dataclass(frozen=True, eq=False)
class FunctionMask(Mask):
    """
    Any function `(b, h, i, j) -> bool` is a mask, as in PyTorch's FlexAttention.

    It means what it means for one pair: `b`, `h`, `i`, `j` are single whole numbers. `i` and `j` are slots, the
    last query at the last key; with `raw=True` (made by `hw.flex(function)`) `i` is the row of the query in its tensor,
    as FlexAttention counts.

    *Errors*: a function that raises for one pair, or returns floats or more than one number, is refused with its reason.
    """

    function: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
    raw: bool = False

    def sees(self, grid: Grid) -> Bool[Tensor, "#B #H #i #j"]:
        rows = grid.row if self.raw else grid.query_slot
        seen = evaluate(self.function, (grid.b, grid.h, rows, grid.key_slot), grid.verdicts, MaskError)
        if seen.is_floating_point() or seen.is_complex():
            raise MaskError(
                f"a mask function must return bool, True = may see; it returned {seen.dtype}. "
                "Usual fix: compare (i >= j), or pass the function as score= with the arguments (s, b, h, i, j)."
            )
        return seen.bool()
