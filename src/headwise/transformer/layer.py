"""
---
title: A transformer layer
summary: Tokens look at each other, then each is processed alone; both steps add to what was there.
---

# A transformer layer

A layer has two steps: attention moves information between tokens, the feed-forward network works on each token.
Neither replaces a token; each *adds* to it. Where the normalisation stands makes two families:

$$\\text{pre-norm: } x + f(\\text{norm}(x)) \\qquad \\text{post-norm: } \\text{norm}(x + f(x))$$

The published layer is post-norm. With pre-norm the sum runs from the first layer to the last without a stop, so deep
stacks train without care; one more normalisation then stands at the end of the stack.

*Source*: Vaswani et al., 2017, section 3.1, https://arxiv.org/abs/1706.03762; Xiong et al., 2020,
https://arxiv.org/abs/2002.04745

```python
>>> import torch
>>> from headwise.transformer.layer import TransformerLayer
>>> TransformerLayer(64, 4)(torch.zeros(2, 5, 64)).shape
torch.Size([2, 5, 64])

```
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from headwise.cache import CacheRow, KVCache
from headwise.checks import check_share
from headwise.errors import ArgumentError
from headwise.factory import from_class
from headwise.layer import MultiHeadAttention
from headwise.norm import Norm, make_norm
from headwise.shapes import check_heads
from headwise.source.qk_norm import QKNorm
from headwise.transformer.feed_forward import FeedForwardChoice, make_feed_forward
from headwise.transformer.per_layer import is_factory

Step = Callable[[Tensor], Tensor]


class TransformerLayer(nn.Module):
    """
    Attention and a feed-forward network, each with a normalisation and a sum.

    * `position`, `mask`, `score`: parts for the attention, or a factory: `position=Rotary` builds `Rotary(head_dim)`,
      `score=Alibi` builds `Alibi(heads)`.
    * `feed_forward`, `norm`: a name, or a function of the width that returns a module.
    * `attention`: what builds the attention, for a subclass with `get_scores` of its own.
    * `dropout`: on the weights of attention and on what each step adds.

    *Shapes*: `x [B, L, M]` -> `[B, L, M]`
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        *,
        kv_heads: int | None = None,
        head_dim: int | None = None,
        feed_forward: FeedForwardChoice = "relu",
        width: int | None = None,
        norm: Norm = "layer",
        pre_norm: bool = True,
        dropout: float = 0.0,
        bias: bool = True,
        position: Any = None,
        mask: Any = None,
        score: Any = None,
        qk_norm: QKNorm = None,
        attention: Callable[..., nn.Module] = MultiHeadAttention,
    ) -> None:
        super().__init__()
        self.d_model = d_model
        self.pre_norm = pre_norm
        self.attention = attention(
            d_model,
            heads,
            kv_heads=kv_heads,
            head_dim=head_dim,
            dropout=dropout,
            bias=bias,
            position=build_part(
                "position", position, "head_dim", check_heads(d_model, heads, kv_heads, head_dim, None)[0]
            ),
            mask=mask,
            score=build_part("score", score, "heads", heads),
            qk_norm=qk_norm,
        )
        self.feed_forward = make_feed_forward(feed_forward, d_model, width, bias=bias)
        self.dropout = nn.Dropout(check_share("dropout", dropout))
        self.build_norms(lambda: make_norm(norm, d_model, bias=bias))

    def build_norms(self, make: Callable[[], nn.Module]) -> None:
        """One normalisation for each step. A layer that arranges its steps differently overrides this and `forward`."""
        self.attention_norm = make()
        self.feed_forward_norm = make()

    def forward(
        self,
        x: Float[Tensor, "B L M"],
        *,
        mask: Any = None,
        positions: int | Tensor | None = None,
        cache: KVCache | CacheRow | None = None,
    ) -> Float[Tensor, "B L M"]:
        # 1. Tokens look at each other.
        x = self.add(x, self.attention_norm, partial(self.attention, mask=mask, positions=positions, cache=cache))
        # 2. Each token is processed alone.
        return self.add(x, self.feed_forward_norm, self.feed_forward)

    def add(self, x: Tensor, norm: nn.Module, step: Step) -> Tensor:
        """Add what a step finds to what was there, in one of the two orders."""
        if self.pre_norm:
            return x + self.dropout(step(norm(x)))
        return norm(x + self.dropout(step(x)))


class SandwichLayer(TransformerLayer):
    """
    A second normalisation stands behind each step: $x + \\text{norm}_2(f(\\text{norm}_1(x)))$. What a step adds then
    has a known size, which keeps large models in half precision from overflowing.

    *Source*: Ding et al., 2021, section 2.4, https://arxiv.org/abs/2105.13290
    """

    def build_norms(self, make: Callable[[], nn.Module]) -> None:
        require_pre_norm(self)
        super().build_norms(make)
        self.attention_out_norm = make()
        self.feed_forward_out_norm = make()

    def forward(
        self,
        x: Float[Tensor, "B L M"],
        *,
        mask: Any = None,
        positions: int | Tensor | None = None,
        cache: KVCache | CacheRow | None = None,
    ) -> Float[Tensor, "B L M"]:
        attend = partial(self.attention, mask=mask, positions=positions, cache=cache)
        x = self.add(x, self.attention_norm, lambda y: self.attention_out_norm(attend(y)))
        return self.add(x, self.feed_forward_norm, lambda y: self.feed_forward_out_norm(self.feed_forward(y)))


class ParallelLayer(TransformerLayer):
    """
    Both steps read the same tokens and add at once: $x + \\text{attention}(\\text{norm}(x)) + \\text{network}(\\text{norm}(x))$.
    They can run side by side, at a small loss of quality in small models.

    *Source*: Wang and Komatsuzaki, 2021 (GPT-J); Chowdhery et al., 2022, section 2, https://arxiv.org/abs/2204.02311
    """

    def build_norms(self, make: Callable[[], nn.Module]) -> None:
        require_pre_norm(self)
        self.norm = make()

    def forward(
        self,
        x: Float[Tensor, "B L M"],
        *,
        mask: Any = None,
        positions: int | Tensor | None = None,
        cache: KVCache | CacheRow | None = None,
    ) -> Float[Tensor, "B L M"]:
        y = self.norm(x)
        return (
            x
            + self.dropout(self.attention(y, mask=mask, positions=positions, cache=cache))
            + self.dropout(self.feed_forward(y))
        )


def build_part(argument: str, part: Any, size_name: str, size: int) -> Any:
    """A part as it is, or, from a factory, a new one of this size. A tuple may hold both."""
    if isinstance(part, tuple):
        return tuple(build_part(argument, item, size_name, size) for item in part)
    return from_class(argument, part, size_name, size) if is_factory(part) else part


def require_pre_norm(layer: TransformerLayer) -> None:
    """Raise if the layer was asked for an order that it does not have."""
    if not layer.pre_norm:
        name = type(layer).__name__
        raise ArgumentError(
            f"{name} normalises before its steps, so pre_norm must be True; got pre_norm=False. Usual fix: leave it away."
        )
