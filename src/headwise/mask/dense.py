"""
---
title: Dense mask
summary: A tensor that says it pair by pair.
---
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from headwise.checks import check_present
from headwise.errors import MaskError
from headwise.grid import Grid
from headwise.mask.base import Mask
from headwise.shapes import check_axes, fail

LETTERS = {2: "I J", 3: "B I J", 4: "B H I J"}


@dataclass(frozen=True, eq=False)
class Dense(Mask):
    """
    A bool tensor that says of every pair whether it is seen: **True = may see**.

    The number of axes says what they are, and is never guessed: `[I,J]`, `[B,I,J]` or `[B,H,I,J]`. An axis of
    size 1 is broadcast.

    *Errors*: a float tensor is no mask. Make it bool, or, if its numbers are to be added to the scores, pass it
    as `score=Bias(tensor)`.
    """

    tensor: Bool[Tensor, "..."]

    def __post_init__(self) -> None:
        if not isinstance(self.tensor, Tensor) or self.tensor.dtype != torch.bool:
            kind = (
                f"a tensor of {self.tensor.dtype}".replace("torch.", "")
                if isinstance(self.tensor, Tensor)
                else type(self.tensor).__name__
            )
            raise MaskError(
                f"a mask must be bool, True = may see; got {kind}. Usual fix: make it bool (mask > 0 for 0/1, mask == 0 for "
                "0/-inf), or, if its numbers are to be added to the scores, pass it as score=Bias(tensor)."
            )
        if self.tensor.dim() not in LETTERS:
            fail(
                f"a mask must have the axes I J, B I J or B H I J, it has {self.tensor.dim()}",
                "add axes of size 1; for padding [B, J] use Padding(keep)",
                mask=(self.tensor, "?"),
            )

    @property
    def four(self) -> Bool[Tensor, "#B #H #I #J"]:
        """The tensor with all four axes."""
        tensor = self.tensor
        return tensor[None, None] if tensor.dim() == 2 else tensor[:, None] if tensor.dim() == 3 else tensor

    def sees(self, grid: Grid) -> Bool[Tensor, "#B #H #i #j"]:
        tensor = self.four.to(grid.device)
        if tensor.shape[2] > 1:
            tensor = tensor[:, :, grid.rows[0] : grid.rows[1]]
        if tensor.shape[3] > 1:
            tensor = tensor[:, :, :, grid.columns[0] : grid.columns[1]]
        return tensor

    def check(self, grid: Grid) -> None:
        letters = LETTERS[self.tensor.dim()]
        fix = "build the mask for the sizes of the call; with a cache J counts the cached keys too"
        if letters == "I J" and self.tensor.shape == (grid.batch, grid.keys):
            fix = "Padding(mask), if it says which tokens of each sequence are real"
        check_axes("mask", self.tensor, letters, fix, B=grid.batch, H=grid.heads, I=grid.queries, J=grid.keys)
        check_present("mask", self.tensor, grid.device)

    @classmethod
    def from_mha(cls, mask: Tensor) -> "Dense":
        """
        From the mask of `torch.nn.MultiheadAttention`, where True means *hidden*.

        Takes `attn_mask` `[I,J]` as it is; a `key_padding_mask` `[B,J]` is `Padding(~key_padding_mask)`.
        """
        if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
            kind = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
            raise MaskError(
                f"Dense.from_mha(mask) needs a bool tensor, True = hidden; got {kind}. Usual fix: a float attn_mask is score=Bias(mask)."
            )
        return cls(~mask)
