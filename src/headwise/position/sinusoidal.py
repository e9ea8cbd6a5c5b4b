"""
---
title: Sinusoidal positions
summary: Fixed waves of different lengths, added to the embedding.
---

# Sinusoidal positions

Each pair of features is the sine and the cosine of one wave; the waves grow from $2\\pi$ tokens to
almost $10000 \\cdot 2\\pi$:

$$P_{i, 2m} = \\sin\\big(i \\cdot 10000^{-2m/M}\\big), \\qquad P_{i, 2m+1} = \\cos\\big(i \\cdot 10000^{-2m/M}\\big)$$

A shift by $k$ tokens turns each pair by a fixed angle, so a linear map can express *k tokens back*.

*Source*: Vaswani et al., 2017, section 3.5, https://arxiv.org/abs/1706.03762

```python
>>> import torch
>>> from headwise.position import Sinusoidal
>>> Sinusoidal(4)(torch.zeros(1, 3, 4), 0)[0, 1]
tensor([0.8415, 0.5403, 0.0100, 0.9999])

```
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from headwise.checks import check_size
from headwise.position.base import Place, Position, align
from headwise.shapes import check_last


@dataclass(frozen=True)
class Sinusoidal(Position):
    """
    *Shapes*: `x [B, L, M]`, `positions` int, `[L]` or `[B, L]` -> `[B, L, M]`

    *Edge*: an odd `d_model` has one sine more than cosines.
    """

    d_model: int
    base: float = 10000.0

    acts_on: ClassVar[Place] = "embedding"

    def __post_init__(self) -> None:
        check_size("Sinusoidal(d_model)", self.d_model, "the width of the embedding")

    def __call__(self, x: Tensor, positions: Tensor | int, *, length: int | Tensor | None = None) -> Tensor:
        check_last("x", x, self.d_model)
        return x + self.table(align(positions, x)).to(x.dtype)

    def table(self, positions: Tensor) -> Tensor:
        """The waves alone. *Shapes*: `positions [..., L]` -> `[..., L, M]`, float64."""
        # The angle is computed in float64 and the finished wave is rounded once. In bfloat16 the positions 256 and
        # 257 are the same number, so an angle that is computed there belongs to another token.
        exponents = torch.arange(0, self.d_model, 2, dtype=torch.float64, device=positions.device) / self.d_model
        angles = positions.double().unsqueeze(-1) * self.base**-exponents
        waves = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
        # With an odd width the last pair loses its cosine.
        return waves[..., : self.d_model]
