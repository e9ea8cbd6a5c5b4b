"""
---
title: Bias
summary: A tensor that is added to the scores.
---
"""

from jaxtyping import Float
from torch import Tensor, nn

from headwise.checks import check_present
from headwise.errors import ScoreError
from headwise.grid import Grid
from headwise.score.base import AdditiveScore
from headwise.shapes import check_axes, fail


class Bias(AdditiveScore, nn.Module):
    """
    Add a tensor to the scores: `[I,J]`, or `[B,H,I,J]` where axes of size 1 are broadcast.

    A `Parameter` is registered by the layer that gets this part, and learns. Gradients reach any tensor that asks for them.

    *Units*: rows are queries as they stand in their tensor, columns are key slots.

    *Errors*: a bool tensor is a mask, not a bias.
    """

    tensor: Tensor

    def __init__(self, tensor: Float[Tensor, "..."]) -> None:
        nn.Module.__init__(self)
        if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
            kind = str(tensor.dtype).removeprefix("torch.") if isinstance(tensor, Tensor) else type(tensor).__name__
            raise ScoreError(
                f"Bias(tensor) must be a float tensor; got {kind}. Usual fix: a bool tensor is a mask, pass it as mask=."
            )
        if tensor.dim() not in (2, 4):
            fail("Bias(tensor) must have the axes I J or B H I J", "add axes of size 1", tensor=(tensor, "?"))
        if isinstance(tensor, nn.Parameter):
            self.tensor = tensor
        else:
            self.register_buffer("tensor", tensor, persistent=False)

    def bias(self, grid: Grid) -> Float[Tensor, "#B #H #i #j"]:
        tensor = self.tensor if self.tensor.dim() == 4 else self.tensor[None, None]
        tensor = tensor.to(grid.device)
        if tensor.shape[2] > 1:
            tensor = tensor[:, :, grid.rows[0] : grid.rows[1]]
        if tensor.shape[3] > 1:
            tensor = tensor[:, :, :, grid.columns[0] : grid.columns[1]]
        return tensor

    def check(self, grid: Grid) -> None:
        letters = "I J" if self.tensor.dim() == 2 else "B H I J"
        check_axes(
            "Bias(tensor)",
            self.tensor,
            letters,
            "build the bias for the sizes of the call",
            B=grid.batch,
            H=grid.heads,
            I=grid.queries,
            J=grid.keys,
        )
        check_present("Bias(tensor)", self.tensor, grid.device)

    def extra_repr(self) -> str:
        return f"{list(self.tensor.shape)}"
