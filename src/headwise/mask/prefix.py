"""
---
title: Prefix
summary: Everybody sees the first positions.
---
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headwise.checks import check_far, check_present
from headwise.errors import MaskError
from headwise.grid import Grid
from headwise.mask.base import Mask
from headwise.shapes import check_exact


@dataclass(frozen=True, eq=False)
class Prefix(Mask):
    """
    Every query sees the keys of the first `length` positions: $j < \\text{length}$.

    By itself it hides all the rest. `Causal() | Prefix(n)` is the mask of a **prefix language model**, which reads the prompt in both
    directions and writes on from left to right. `Prefix(2)`, for the last two of five positions:

    ```
        j  0 1 2 3 4
    i=3    ■ ■ · · ·
    i=4    ■ ■ · · ·
    ```

    *Units*: `length` counts positions, from position 0 on: one number for all sequences, or a tensor `[B]` with one for each.

    *Edge*: with `length = 0` nobody sees anything.

    *Source*: Raffel et al., 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer", section 3.2.1,
    arXiv:1910.10683.
    """

    length: int | Int[Tensor, " B"]

    def __post_init__(self) -> None:
        if isinstance(self.length, Tensor):
            whole = not (self.length.is_floating_point() or self.length.is_complex() or self.length.dtype == torch.bool)
            good = whole and self.length.dim() == 1
        else:
            good = isinstance(self.length, int) and not isinstance(self.length, bool) and self.length >= 0
        if not good:
            came = (
                f"a tensor of {self.length.dtype} with shape {list(self.length.shape)}"
                if isinstance(self.length, Tensor)
                else repr(self.length)
            )
            raise MaskError(
                f"Prefix(length) must be a whole number of at least 0, or a tensor of whole numbers [B]; got {came}. "
                "Usual fix: the number of tokens of the prompt."
            )
        if isinstance(self.length, int):
            check_far("Prefix(length)", self.length)

    def sees(self, grid: Grid) -> Bool[Tensor, "#B 1 1 j"]:
        if isinstance(self.length, Tensor):
            return grid.key_position < self.length.to(grid.device)[:, None, None, None]
        return grid.key_position < self.length

    def check(self, grid: Grid) -> None:
        if isinstance(self.length, Tensor):
            check_exact("Prefix(length)", self.length, "B", "one number a sequence, or one whole number", B=grid.batch)
            check_present("Prefix(length)", self.length, grid.device)
