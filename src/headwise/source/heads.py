"""
---
title: Heads
summary: A linear map, and the split of its features into heads.
---

# From features to heads

<a id="PrepareMHA"></a>

Multi-head attention compares tokens in several ways at once. Each way is a **head**: it looks at the token through a linear map of its
own, onto a few features. The maps of all heads are one matrix, and its result is cut into heads.
"""

from jaxtyping import Float
from torch import Tensor, nn

from headwise.shapes import check_last


class PrepareForMultiHeadAttention(nn.Module):
    """
    A linear map, then the last axis split into heads: `[..., d_model]` -> `[..., heads, head_dim]`.

    The leading axes may be anything: a batch of sequences `[B,I,M]`, one sequence, or a single step `[M]`.

    ```python
    >>> prepare = PrepareForMultiHeadAttention(512, heads=8, head_dim=64, bias=True)
    >>> prepare(torch.randn(2, 5, 512)).shape, prepare(torch.randn(512)).shape
    (torch.Size([2, 5, 8, 64]), torch.Size([8, 64]))
    ```
    """

    def __init__(self, d_model: int, heads: int, head_dim: int, bias: bool) -> None:
        super().__init__()
        self.d_model = d_model
        self.heads = heads
        self.head_dim = head_dim
        self.linear = nn.Linear(d_model, heads * head_dim, bias=bias)

    def forward(self, x: Float[Tensor, "*leading M"]) -> Float[Tensor, "*leading H D"]:
        check_last("x", x, self.d_model)
        # The map is taken before the split: head h owns features `h * head_dim` up to the next head's.
        return self.linear(x).unflatten(-1, (self.heads, self.head_dim))
