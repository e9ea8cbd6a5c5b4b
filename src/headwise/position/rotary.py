"""
---
title: Rotary positions
summary: Queries and keys are turned by an angle that grows with the position; their product sees the distance only.
---

# Rotary positions

The features of a head are taken in pairs, and each pair is a point in the plane. A token at position $i$ turns pair
$m$ by the angle $i\\,\\theta_m$:

$$\\theta_m = \\text{base}^{-2m/\\text{dim}}, \\qquad R_i \\begin{pmatrix} x_1 \\\\ x_2 \\end{pmatrix} =
\\begin{pmatrix} x_1 \\cos i\\theta_m - x_2 \\sin i\\theta_m \\\\ x_2 \\cos i\\theta_m + x_1 \\sin i\\theta_m \\end{pmatrix}$$

A turn keeps lengths, and the product of a query turned by $i$ and a key turned by $j$ depends on $i - j$ only:
$(R_i q) \\cdot (R_j k) = q \\cdot (R_{j-i} k)$. The scheme is absolute where it is applied and relative where it is used.

*Source*: Su et al., 2021, section 3.2, https://arxiv.org/abs/2104.09864

```python
>>> import torch
>>> from headwise.position import Rotary
>>> Rotary(4)(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), 1)
tensor([[-1.9841,  1.9599,  2.4624,  4.0198]])
>>> Rotary(4, interleaved=True)(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), 1)
tensor([[-1.1426,  1.9221,  2.9599,  4.0298]])

```
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from headwise.errors import ArgumentError
from headwise.position.base import Position, align
from headwise.position.scaling import Length, Scaling
from headwise.shapes import fail


@dataclass(frozen=True)
class Rotary(Position):
    """
    *Shapes*: `x [B, H, L, D]` (or any `[..., L, D]`), `positions` int, `[L]` or `[B, L]` -> the shape of `x`

    * `dim`: how many features turn. The first `dim` of them do; the rest carry content without position.
    * `interleaved`: which features form a pair. False: feature $m$ and feature $m + \\text{dim}/2$, the two halves.
      True: the neighbours $2m$ and $2m + 1$. Both are in use, and weights trained with one are garbage with the other.
    * `scaling`: a recipe for texts longer than those of the training, such as `headwise.position.Yarn`.
    """

    dim: int
    base: float = 10000.0
    interleaved: bool = False
    scaling: Scaling | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.dim, int) or self.dim < 2 or self.dim % 2:
            raise ArgumentError(
                f"Rotary(dim) must be an even number from 2 on, because features turn in pairs; got {self.dim!r}. "
                "Usual fix: the features of a head, or the even number below."
            )
        if not isinstance(self.base, int | float) or not self.base > 1.0:
            raise ArgumentError(f"Rotary(base) must be a number above 1; got {self.base!r}. Usual fix: base=10000.0.")
        if self.scaling is not None and not isinstance(self.scaling, Scaling):
            raise ArgumentError(
                f"Rotary(scaling) must be a recipe from headwise.position; got {self.scaling!r}. "
                "Usual fix: scaling=Yarn(factor=4.0, trained_length=2048)."
            )

    @property
    def depends_on_length(self) -> bool:
        return self.scaling is not None and self.scaling.depends_on_length

    def __call__(self, x: Tensor, positions: Tensor | int, *, length: Length = None) -> Tensor:
        if x.dim() < 2 or x.shape[-1] < self.dim or not x.is_floating_point():
            fail(
                f"x must hold real numbers ({x.dtype}) with at least dim={self.dim} features in its last axis",
                "Rotary(head_dim), or fewer features",
                x=(x, "... L D"),
            )
        places = align(positions, x)
        if isinstance(length, Tensor):
            # One length for each sequence: angles then differ between sequences, with axes of 1 for heads and rows.
            length = length.to(x.device).reshape(-1, *(1,) * (x.dim() - 2))
        cos, sin = self.tables(places, length)
        # Only the finished sine and cosine are rounded to the type of `x`.
        cos, sin = cos.to(x.dtype), sin.to(x.dtype)
        if self.dim == x.shape[-1]:
            return self.turn(x, cos, sin)
        turned, rest = x[..., : self.dim], x[..., self.dim :]
        return torch.cat([self.turn(turned, cos, sin), rest], dim=-1)

    def tables(self, positions: Tensor, length: Length = None) -> tuple[Tensor, Tensor]:
        """
        Cosines, and sines with the sign of the formula, one entry for each feature that turns.

        *Shapes*: `positions [..., L]` -> twice `[..., L, dim]`, float64
        """
        # They are made anew in each call, which is cheap beside the products of a layer. Tables that are kept grow
        # stale: for another length, another device, another type, or after `.half()`.
        angles = positions.double().unsqueeze(-1) * self.frequencies(length, positions.device)
        size = 1.0 if self.scaling is None else self.scaling.magnitude(length)
        cos, sin = angles.cos() * size, angles.sin() * size
        if self.interleaved:
            return torch.stack([cos, cos], dim=-1).flatten(-2), torch.stack([-sin, sin], dim=-1).flatten(-2)
        return torch.cat([cos, cos], dim=-1), torch.cat([-sin, sin], dim=-1)

    def frequencies(self, length: Length = None, device: torch.device | None = None) -> Tensor:
        """The angle $\\theta_m$ by which each pair turns from one token to the next, `[dim / 2]`, float64."""
        scaling = Scaling() if self.scaling is None else self.scaling
        return scaling.frequencies(self.dim, self.base, length, device)

    def turn(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Both lines of the formula are one: a feature times its cosine, plus its partner in the pair times the signed sine."""
        return torch.addcmul(x * cos, self.partner(x), sin)

    def partner(self, x: Tensor) -> Tensor:
        """For each feature, the other one of its pair."""
        if self.interleaved:
            return torch.unflatten(x, -1, (-1, 2)).flip(-1).flatten(-2)
        return x.roll(self.dim // 2, dims=-1)
