"""
---
title: The decoder
summary: A stack whose tokens also look at another sequence, the memory.
---

# The decoder

A decoder writes one sequence while it reads another one, such as a sentence to translate. Each layer has one step
more than that of an encoder: between looking at its own tokens and processing each alone, it looks at the memory.
This is *cross-attention*: queries come from the decoder, keys and values from the memory.

*Source*: Vaswani et al., 2017, section 3.2.3, https://arxiv.org/abs/1706.03762

```python
>>> import torch
>>> from headwise.transformer.decoder import Decoder
>>> Decoder(64, heads=4, layers=2)(torch.zeros(2, 5, 64), memory=torch.zeros(2, 9, 64)).shape
torch.Size([2, 5, 64])

```
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from headwise.cache import CacheRow, KVCache, check_cache
from headwise.layer import MultiHeadAttention
from headwise.mask.causal import Causal
from headwise.norm import Norm, make_norm
from headwise.shapes import check_last
from headwise.source.qk_norm import QKNorm
from headwise.transformer.feed_forward import FeedForwardChoice
from headwise.transformer.initialise import initialise
from headwise.transformer.layer import TransformerLayer
from headwise.transformer.per_layer import build_layers


class DecoderLayer(TransformerLayer):
    """
    A transformer layer with cross-attention to a memory.

    `position` and `score` act between the layer's own tokens only: a distance between two different texts has no
    meaning.

    *Shapes*: `x [B, I, M]`, `memory [B, J, context_dim]` -> `[B, I, M]`
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        *,
        context_dim: int | None = None,
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
    ) -> None:
        super().__init__(
            d_model,
            heads,
            kv_heads=kv_heads,
            head_dim=head_dim,
            feed_forward=feed_forward,
            width=width,
            norm=norm,
            pre_norm=pre_norm,
            dropout=dropout,
            bias=bias,
            position=position,
            mask=mask,
            score=score,
            qk_norm=qk_norm,
        )
        self.cross_attention = MultiHeadAttention(
            d_model,
            heads,
            kv_heads=kv_heads,
            head_dim=head_dim,
            context_dim=context_dim,
            dropout=dropout,
            bias=bias,
            qk_norm=qk_norm,
        )

    def build_norms(self, make: Callable[[], nn.Module]) -> None:
        super().build_norms(make)
        self.cross_attention_norm = make()

    def forward(  # type: ignore[override]
        self,
        x: Float[Tensor, "B I M"],
        memory: Float[Tensor, "B J C"],
        *,
        mask: Any = None,
        memory_mask: Any = None,
        positions: int | Tensor | None = None,
        cache: KVCache | CacheRow | None = None,
        memory_cache: KVCache | CacheRow | None = None,
    ) -> Float[Tensor, "B I M"]:
        # 1. Tokens look at each other.
        x = self.add(x, self.attention_norm, partial(self.attention, mask=mask, positions=positions, cache=cache))
        # 2. Tokens look at the memory. With a cache its keys are projected in the first call and kept.
        look = partial(self.cross_attention, key=memory, mask=memory_mask, cache=memory_cache)
        x = self.add(x, self.cross_attention_norm, look)
        # 3. Each token is processed alone.
        return self.add(x, self.feed_forward_norm, self.feed_forward)


class Decoder(nn.Module):
    """
    `layers` decoder layers and, with `pre_norm`, a normalisation at the end.

    Arguments behind `layers` are those of `Encoder`, each for all layers or for each one; `context_dim` is the width
    of the memory, by default that of the model. `mask` is causal by default.

    *Shapes*: `x [B, I, M]`, `memory [B, J, context_dim]` -> `[B, I, M]`
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        layers: int,
        *,
        context_dim: int | None = None,
        mask: Any = Causal(),  # noqa: B008, a frozen value
        position: Any = None,
        kv_heads: int | None = None,
        feed_forward: FeedForwardChoice | list[FeedForwardChoice] = "relu",
        width: int | list[int] | None = None,
        norm: Norm = "layer",
        pre_norm: bool = True,
        dropout: float = 0.0,
        bias: bool = True,
        score: Any = None,
        layer: Callable[..., nn.Module] = DecoderLayer,
    ) -> None:
        super().__init__()
        self.d_model = d_model
        self.layers = build_layers(
            layers,
            lambda here: here("layer", layer)(
                d_model,
                here("heads", heads),
                context_dim=context_dim,
                kv_heads=here("kv_heads", kv_heads),
                feed_forward=here("feed_forward", feed_forward),
                width=here("width", width),
                norm=here("norm", norm),
                pre_norm=pre_norm,
                dropout=here("dropout", dropout),
                bias=bias,
                position=here("position", position),
                mask=here("mask", mask),
                score=here("score", score),
            ),
        )
        self.norm = make_norm(norm, d_model, bias=bias) if pre_norm else nn.Identity()
        initialise(list(self.layers), d_model, pre_norm=pre_norm)

    def forward(
        self,
        x: Float[Tensor, "B I M"],
        memory: Float[Tensor, "B J C"],
        *,
        mask: Any = None,
        memory_mask: Any = None,
        positions: int | Tensor | None = None,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "B I M"]:
        check_last("x", x, self.d_model)
        check_cache(cache)
        for index, layer in enumerate(self.layers):
            x = layer(
                x,
                memory,
                mask=mask,
                memory_mask=memory_mask,
                positions=positions,
                # Two rows for each layer: one grows with the text, one holds the memory.
                cache=None if cache is None else cache.row((self, index)),
                memory_cache=None if cache is None else cache.row((self, index, "memory")),
            )
        return self.norm(x)
