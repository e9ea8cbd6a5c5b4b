"""
---
title: The encoder
summary: A stack of transformer layers over vectors.
---

# The encoder

Layers, one after the other, each with weights of its own. Without a mask each token sees all others: the stack reads
a whole text at once. With `mask=Causal()` the same stack reads from left to right.

```python
>>> import torch
>>> from headwise.transformer.encoder import Encoder
>>> Encoder(64, heads=4, layers=2)(torch.zeros(2, 5, 64)).shape
torch.Size([2, 5, 64])

```
"""

from collections.abc import Callable
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from headwise.cache import KVCache, check_cache
from headwise.norm import Norm, make_norm
from headwise.shapes import check_last
from headwise.transformer.feed_forward import FeedForwardChoice
from headwise.transformer.initialise import initialise
from headwise.transformer.layer import TransformerLayer
from headwise.transformer.per_layer import build_layers


class Encoder(nn.Module):
    """
    `layers` transformer layers and, with `pre_norm`, a normalisation at the end.

    All arguments behind `layers` go to the layers: a value for all of them, a list with one entry for each, or
    `PerLayer(function)`. `layer` is what builds them: `TransformerLayer`, `ParallelLayer`, `SandwichLayer`, or a partial.

    *Shapes*: `x [B, L, M]` -> `[B, L, M]`
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        layers: int,
        *,
        mask: Any = None,
        position: Any = None,
        kv_heads: int | None = None,
        feed_forward: FeedForwardChoice | list[FeedForwardChoice] = "relu",
        width: int | list[int] | None = None,
        norm: Norm = "layer",
        pre_norm: bool = True,
        dropout: float = 0.0,
        bias: bool = True,
        score: Any = None,
        layer: Callable[..., nn.Module] = TransformerLayer,
    ) -> None:
        super().__init__()
        self.d_model = d_model
        self.layers = build_layers(
            layers,
            lambda here: here("layer", layer)(
                d_model,
                here("heads", heads),
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
        x: Float[Tensor, "B L M"],
        *,
        mask: Any = None,
        positions: int | Tensor | None = None,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "B L M"]:
        check_last("x", x, self.d_model)
        check_cache(cache)
        for index, layer in enumerate(self.layers):
            # A row belongs to a place in the stack and not to a layer, so one layer may stand at several places.
            row = None if cache is None else cache.row((self, index))
            x = layer(x, mask=mask, positions=positions, cache=row)
        return self.norm(x)
