"""
---
title: The classic layout
summary: Sequence first, as annotated code of old has it.
---

# Sequence first

Classic code keeps its tensors as `[seq, batch, d_model]`, and its masks with the query axis first. A layer made with
`batch_first=False` takes both as they are.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from headwise.checks import check_present
from headwise.grid import Grid
from headwise.mask.base import Mask
from headwise.mask.coerce import as_mask
from headwise.mask.dense import Dense
from headwise.shapes import check_axes, fail

LETTERS = {3: "I J B", 4: "I J B H"}


@dataclass(frozen=True, eq=False)
class ClassicDense(Dense):
    """A mask that came with the query axis first. Where it does not fit, the message shows it as it came."""

    given: Tensor

    def check(self, grid: Grid) -> None:
        fix = "build the mask for the sizes of the call; with a cache J counts the cached keys too"
        letters = LETTERS[self.given.dim()]
        check_axes("mask", self.given, letters, fix, B=grid.batch, H=grid.heads, I=grid.queries, J=grid.keys)
        check_present("mask", self.given, grid.device)


def swap_batch(tensor: Tensor, batch_first: bool) -> Tensor:
    """The tensor as it is, or with its first two axes swapped."""
    return tensor if batch_first else tensor.transpose(0, 1)


def classic_mask(mask: Any) -> Mask:
    """
    A mask in the classic layout: `[I,J]`, `[I,J,B]` or `[I,J,B,H]`, True = may see.

    The query axis comes first. A query or batch axis of size 1 is broadcast, and without a heads axis the mask is the same for
    all heads.
    """
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        return as_mask(mask)
    if mask.dim() == 2:
        return Dense(mask)
    if mask.dim() == 3:
        return ClassicDense(mask.permute(2, 0, 1), given=mask)
    if mask.dim() != 4:
        fail(
            f"a mask in the classic layout must have the axes I J, I J B or I J B H, it has {mask.dim()}",
            "add axes of size 1",
            mask=(mask, "?"),
        )
    return ClassicDense(mask.permute(2, 3, 0, 1), given=mask)
