"""
---
title: Learned positions
summary: One trained vector for each position, added to the embedding.
---

# Learned positions

The plainest scheme: a table with one row for each position, trained like the embedding of the tokens. It can express
anything about the positions that it has seen, and nothing about the others: there is no row beyond `max_len`.

*Source*: Gehring et al., 2017, section 3.1, https://arxiv.org/abs/1705.03122; the start with a standard deviation of
0.02 follows Radford et al., 2019 (GPT-2).

```python
>>> import torch
>>> from headwise.position import Learned
>>> Learned(8, max_len=16)(torch.zeros(2, 3, 8), 5).shape
torch.Size([2, 3, 8])

```
"""

from typing import ClassVar

import torch
from torch import Tensor, nn

from headwise.checks import check_size
from headwise.errors import PositionError
from headwise.position.base import Place, Position, align, check_start
from headwise.shapes import check_last


class Learned(nn.Module, Position):
    """
    *Shapes*: `x [B, L, M]`, `positions` int, `[L]` or `[B, L]` -> `[B, L, M]`

    *Errors*: a position below 0, or from `max_len` on. Tensors of positions are looked at on the CPU only, because
    a look at the numbers stalls other devices, and those report it themselves.
    """

    acts_on: ClassVar[Place] = "embedding"

    def __init__(self, d_model: int, max_len: int) -> None:
        super().__init__()
        self.d_model = check_size("Learned(d_model)", d_model, "the width of the embedding")
        self.max_len = check_size("Learned(max_len)", max_len, "the length of the longest text")
        self.weight = nn.Parameter(torch.empty(max_len, d_model))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start with small numbers, so that the token dominates at first."""
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x: Tensor, positions: Tensor | int, *, length: int | Tensor | None = None) -> Tensor:
        check_last("x", x, self.d_model)
        positions = check_start(positions)
        if not isinstance(positions, Tensor):
            # A run of neighbours is a slice of the table: no gather, and no scatter in the backward pass.
            self.check_range(positions, positions + x.shape[-2] - 1)
            return x + self.weight[positions : positions + x.shape[-2]].to(x.dtype)
        if positions.device.type == "cpu" and positions.numel() > 0 and not torch.compiler.is_compiling():
            self.check_range(int(positions.min()), int(positions.max()))
        return x + self.weight[align(positions, x)].to(x.dtype)

    def check_range(self, lowest: int, highest: int) -> None:
        """Raise if a position has no row in the table."""
        if lowest < 0 or highest >= self.max_len:
            raise PositionError(
                f"positions must lie in 0..{self.max_len - 1}, the rows that Learned(max_len={self.max_len}) has; got {lowest}..{highest}. "
                "Usual fix: a greater max_len, a shorter text, or a scheme without a limit such as Rotary."
            )

    def extra_repr(self) -> str:
        return f"{self.d_model}, max_len={self.max_len}"
