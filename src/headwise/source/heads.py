"""
---
title: Heads
summary: A linear map, and the split of its features into heads.
---

# From features to heads

<a id="PrepareMHA"></a>

A token looks for different things at once: the word before it, the subject of its sentence, a bracket to close. One softmax gives one
mixture of values, so multi-head attention runs several softmaxes side by side, one in each **head**. A head has a linear map of its own,
which gives it a few features of each token, and asks its own question of these features.

The maps of all heads are one matrix. Its result is cut into heads afterwards, which costs nothing.
"""

from collections.abc import Iterable

from jaxtyping import Float
from torch import Tensor, nn

from headwise.checks import check_kind
from headwise.errors import ArgumentError
from headwise.shapes import check_last

PROJECTIONS = ("query", "key", "value", "output")


class PrepareForMultiHeadAttention(nn.Module):
    """
    A linear map, then the last axis split into heads: `[..., d_model]` -> `[..., heads, head_dim]`.

    Any axes may stand before the last one: a batch of sequences `[B,I,M]` becomes `[B,I,H,D]`, a single token `[M]` becomes `[H,D]`. The
    map acts on each token alone; tokens are compared with each other later, when the scores are computed.

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
        check_kind("x", x, self.linear)
        # The split comes after the map: head $h$ owns the `head_dim` features from `h * head_dim` on, and so each head has
        # rows of the matrix for itself.
        return self.linear(x).unflatten(-1, (self.heads, self.head_dim))


def with_bias(bias: bool | Iterable[str]) -> set[str]:
    """The names of the projections, the linear maps of the layer, that have a bias: all, none, or those named."""
    if isinstance(bias, bool):
        return set(PROJECTIONS) if bias else set()
    names = (
        {bias}
        if isinstance(bias, str)
        else set(bias)
        if isinstance(bias, Iterable) and not isinstance(bias, Tensor)
        else None
    )
    if names is None or not names <= set(PROJECTIONS):
        raise ArgumentError(
            f"bias must be True, False, or names among {', '.join(PROJECTIONS)}; got {bias!r}. Usual fix: bias=('query', 'value')."
        )
    return names
