"""
---
title: Padding
summary: Slots that hold no token are seen by nobody.
---
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from headwise.checks import check_present
from headwise.errors import MaskError
from headwise.grid import Grid
from headwise.mask.base import Facts, Mask
from headwise.shapes import check_exact


@dataclass(frozen=True, eq=False)
class Padding(Mask):
    """
    Sequences of unequal length share a batch; the slots that fill up the shorter ones are seen by nobody.

    `keep` `[B,J]` is **True where there is a real token**. For lengths 3 and 5, and two queries each:

    ```
             j  0 1 2 3 4          j  0 1 2 3 4
    b=0 i=3     ■ ■ ■ · ·  b=1        ■ ■ ■ ■ ■
        i=4     ■ ■ ■ · ·             ■ ■ ■ ■ ■
    ```

    *Units*: columns are key **slots**. With a cache, `keep` has a column for every key: the cached ones first.

    *Edge*: what a hidden slot holds never reaches the output, NaN included. A sequence without any token gets 0.
    """

    keep: Bool[Tensor, "B J"]

    def __post_init__(self) -> None:
        if not isinstance(self.keep, Tensor) or self.keep.dtype != torch.bool or self.keep.dim() != 2:
            raise MaskError(
                f"Padding(keep) must be a bool tensor [B, J], True = a real token; got {_kind(self.keep)}. "
                "Usual fix: keep = ids != pad_id, or arange(J) < lengths[:, None]."
            )

    def sees(self, grid: Grid) -> Bool[Tensor, "B 1 1 j"]:
        return self.keep.to(grid.device)[:, None, None, grid.columns[0] : grid.columns[1]]

    def facts(self) -> Facts:
        return Facts(keep=self.keep)

    def check(self, grid: Grid) -> None:
        fix = "keep has one column for every key slot, the cached ones included"
        check_exact("Padding(keep)", self.keep, "B J", fix, B=grid.batch, J=grid.keys)
        check_present("Padding(keep)", self.keep, grid.device)


def _kind(thing: object) -> str:
    if isinstance(thing, Tensor):
        return f"a tensor of {str(thing.dtype).removeprefix('torch.')} with shape {list(thing.shape)}"
    return type(thing).__name__
