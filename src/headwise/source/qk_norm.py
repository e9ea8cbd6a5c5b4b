"""
---
title: Normalised queries and keys
summary: A normalisation between the projection and the positions keeps scores from growing without bound.
---

# Normalised queries and keys

Scores are products of queries and keys, and nothing keeps these from growing while a model trains; a softmax over
large scores then looks at one key only and stops learning. A normalisation of both bounds every score. It stands
behind the projection and before the position scheme, whose turns keep lengths.

| name | what it does | source |
|---|---|---|
| `"rms"` | RMSNorm over the features of a head, one weight for all heads | Qwen Team, 2025, https://arxiv.org/abs/2505.09388 |
| `"layer"` | LayerNorm over the features of a head | Dehghani et al., 2023, https://arxiv.org/abs/2302.05442 |
| `"l2"` | unit length, times a learned number for each head | Henry et al., 2020, https://arxiv.org/abs/2010.04245 |
| `"rms_full"` | RMSNorm over the features of all heads together | OLMo Team, 2024, https://arxiv.org/abs/2501.00656 |
| `"layer_full"` | LayerNorm over the features of all heads together | |

```python
>>> import torch
>>> from headwise.source.qk_norm import make_qk_norm
>>> make_qk_norm("rms", heads=2, head_dim=2)(torch.tensor([[[3.0, 4.0], [0.0, 1.0]]])).detach()
tensor([[[0.8485, 1.1314],
         [0.0000, 1.4142]]])

```
"""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headwise.errors import ArgumentError
from headwise.norm import LayerNorm, RMSNorm


class UnitLength(nn.Module):
    """
    Vectors of length 1, times a learned number for each head; scores are then cosines times a temperature.

    The number starts where the scale $1/\\sqrt D$ of the scores is undone and `temperature` times the cosine remains.

    *Shapes*: `[..., H, D]` -> `[..., H, D]`
    """

    def __init__(self, heads: int, head_dim: int, temperature: float = 10.0) -> None:
        super().__init__()
        self.start = math.sqrt(temperature) * head_dim**0.25
        self.weight = nn.Parameter(torch.full((heads, 1), self.start))

    def reset_parameters(self) -> None:
        """Start at the temperature."""
        nn.init.constant_(self.weight, self.start)

    def forward(self, x: Float[Tensor, "*leading H D"]) -> Float[Tensor, "*leading H D"]:
        wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        return (nn.functional.normalize(wide, dim=-1) * self.weight).to(x.dtype)


class FullWidth(nn.Module):
    """
    A normalisation over the features of all heads together.

    *Shapes*: `[..., H, D]` -> `[..., H, D]`
    """

    def __init__(self, norm: nn.Module) -> None:
        super().__init__()
        self.norm = norm

    def forward(self, x: Float[Tensor, "*leading H D"]) -> Float[Tensor, "*leading H D"]:
        return self.norm(x.flatten(-2)).view_as(x)


QKNorm = str | Callable[[int], nn.Module] | None

QK_NORMS: Mapping[str, Callable[[int, int], nn.Module]] = MappingProxyType(
    {
        "rms": lambda heads, head_dim: RMSNorm(head_dim),
        "layer": lambda heads, head_dim: LayerNorm(head_dim),
        "l2": lambda heads, head_dim: UnitLength(heads, head_dim),
        "rms_full": lambda heads, head_dim: FullWidth(RMSNorm(heads * head_dim)),
        "layer_full": lambda heads, head_dim: FullWidth(LayerNorm(heads * head_dim)),
    }
)


def make_qk_norm(choice: QKNorm, heads: int, head_dim: int) -> nn.Module | None:
    """Build a normalisation: from a name of `QK_NORMS`, or from a function of `head_dim`. Queries and keys each get one."""
    if choice is None:
        return None
    if isinstance(choice, str) and choice in QK_NORMS:
        return QK_NORMS[choice](heads, head_dim)
    if not callable(choice) or isinstance(choice, nn.Module):
        raise ArgumentError(
            f"qk_norm must be None, one of {', '.join(QK_NORMS)}, or a function head_dim -> module; got {choice!r}. "
            "Usual fix: qk_norm='rms'."
        )
    return choice(head_dim)
