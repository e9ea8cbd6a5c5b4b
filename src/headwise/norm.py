"""
---
title: Normalisation
summary: Each token is brought to a common length, so that a deep stack neither fades nor explodes.
---

# Normalisation

A stack adds something to each token at each layer. Normalisation brings the features of one token to a known
size before a step reads them; no token looks at another one for this.

```python
>>> import torch
>>> from headwise.norm import RMSNorm
>>> RMSNorm(4)(torch.tensor([3.0, 4.0, 0.0, 0.0])).detach()
tensor([1.2000, 1.6000, 0.0000, 0.0000])

```
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headwise.errors import ArgumentError
from headwise.shapes import check_last


class RMSNorm(nn.Module):
    """
    Divide by the root of the mean square, then scale each feature:

    $$y = w \\odot \\frac{x}{\\sqrt{\\frac1M \\sum_m x_m^2 + \\varepsilon}}$$

    *Shapes*: `[..., M]` -> `[..., M]`

    *Source*: Zhang and Sennrich, 2019, section 3, https://arxiv.org/abs/1910.07467
    """

    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.d_model = d_model
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def reset_parameters(self) -> None:
        """Start as the plain division."""
        nn.init.ones_(self.weight)

    def forward(self, x: Float[Tensor, "... M"]) -> Float[Tensor, "... M"]:
        check_last("x", x, self.d_model)
        # Squares leave the range of float16 from 256 on, and sums in bfloat16 lose small features. Everything here
        # runs in float32 at least, and the result is rounded once.
        wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        # On CPUs the norm has a much cheaper backward pass than the mean of squares, or than torch's own RMSNorm.
        mean_square = torch.linalg.vector_norm(wide, dim=-1, keepdim=True).square() / self.d_model
        return (wide * torch.rsqrt(mean_square + self.eps) * self.weight).to(x.dtype)

    def extra_repr(self) -> str:
        return f"{self.d_model}, eps={self.eps}"


class LayerNorm(nn.LayerNorm):
    """
    Subtract the mean, divide by the standard deviation, then scale and shift each feature. PyTorch's own, which
    already computes in float32 for the half types.

    *Source*: Ba et al., 2016, https://arxiv.org/abs/1607.06450
    """

    def __init__(self, d_model: int, eps: float = 1e-5, bias: bool = True) -> None:
        super().__init__(d_model, eps=eps, bias=bias)


Norm = str | Callable[[int], nn.Module]

NORMS: Mapping[str, Callable[[int, bool], nn.Module]] = MappingProxyType(
    {
        "rms": lambda d_model, bias: RMSNorm(d_model),
        "layer": lambda d_model, bias: LayerNorm(d_model, bias=bias),
    }
)


def make_norm(norm: Norm, d_model: int, *, bias: bool = True) -> nn.Module:
    """Build a normalisation: from a name of `NORMS`, or from a function that takes the width."""
    if not isinstance(norm, str):
        return norm(d_model)
    if norm not in NORMS:
        raise ArgumentError(
            f"norm must be one of {', '.join(NORMS)}, or a function d_model -> module; got {norm!r}. Usual fix: norm='rms'."
        )
    return NORMS[norm](d_model, bias)
