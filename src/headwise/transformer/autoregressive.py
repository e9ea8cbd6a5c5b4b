"""
---
title: The autoregressive transformer
summary: A language model: given the tokens so far, it scores each possible next one.
---

# The autoregressive transformer

$$P(t_1, \\dots, t_n) = \\prod_i P(t_i \\mid t_1, \\dots, t_{i-1})$$

Embedding, layers, generator. The causal mask lets each place see itself and what came before, so that one pass
over a text trains all of its predictions at once.

```python
>>> import torch
>>> from headwise.transformer.autoregressive import AutoregressiveTransformer
>>> model = AutoregressiveTransformer(vocab=100, d_model=64, heads=4, layers=2)
>>> model(torch.tensor([[1, 2, 3]])).shape
torch.Size([1, 3, 100])

```
"""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn

from headwise.cache import KVCache, check_cache
from headwise.checks import check_share
from headwise.mask.causal import Causal
from headwise.norm import Norm
from headwise.position.rotary import Rotary
from headwise.transformer.embedding import Embedding, make_embedding, make_generator
from headwise.transformer.encoder import Encoder
from headwise.transformer.feed_forward import FeedForwardChoice
from headwise.transformer.layer import TransformerLayer, build_part
from headwise.transformer.places import acts_on_embedding, places_of, positions_of_kept


class AutoregressiveTransformer(nn.Module):
    """
    Tokens in, for each place the logits of the next token out.

    * `vocab`: the number of tokens, or an `Embedding` of your own.
    * `mask`: causal by default. A mask given here *replaces* the causal one, so it must itself hide later tokens: join another rule to
      it by `Causal() & ...`. `Causal() | Prefix(n)` makes a prefix language model, whose prefix has no targets. Only the mask of a
      call is joined by *and*.
    * `position`: `Rotary` and other schemes for heads go to each layer, `Sinusoidal` and `Learned` to the embedding.
    * `score`: for each layer; an instance is shared, a class such as `Alibi` is built once for each layer, with `heads`.
    * `tied`: the generator reads the table of the embedding.
    * Arguments for the layers may differ from layer to layer: see `PerLayer`.

    *Shapes*: `tokens [B, I]` -> logits `[B, I, V]`
    """

    def __init__(
        self,
        vocab: int | Embedding,
        d_model: int,
        heads: int,
        layers: int,
        *,
        mask: Any = Causal(),  # noqa: B008, a frozen value
        position: Any = Rotary,
        kv_heads: int | None = None,
        feed_forward: FeedForwardChoice | list[FeedForwardChoice] = "swiglu",
        width: int | list[int] | None = None,
        norm: Norm = "rms",
        pre_norm: bool = True,
        dropout: float = 0.0,
        bias: bool = False,
        tied: bool = True,
        score: Any = None,
        layer: Callable[..., nn.Module] = TransformerLayer,
    ) -> None:
        super().__init__()
        self.embedding = make_embedding(vocab, d_model)
        on_embedding = acts_on_embedding(position)
        self.position = build_part("position", position, "d_model", d_model) if on_embedding else None
        self.dropout = nn.Dropout(check_share("dropout", dropout))
        self.encoder = Encoder(
            d_model,
            heads,
            layers,
            mask=mask,
            position=None if on_embedding else position,
            kv_heads=kv_heads,
            feed_forward=feed_forward,
            width=width,
            norm=norm,
            pre_norm=pre_norm,
            dropout=dropout,
            bias=bias,
            score=score,
            layer=layer,
        )
        self.generator = None if tied else make_generator(d_model, self.embedding.num_embeddings, bias=bias)

    def forward(
        self,
        tokens: Int[Tensor, "B I"],
        *,
        mask: Any = None,
        positions: int | Tensor | None = None,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "B I V"]:
        check_cache(cache)
        if positions is None:
            positions = positions_of_kept(mask, cache, tokens)
        # With a cache the call is all or nothing: a step that raises leaves no layer with tokens that others lack.
        with nullcontext() if cache is None else cache.step():
            # 1. Tokens become vectors, which know their positions if the scheme acts here.
            x = self.embedding(tokens)
            if self.position is not None:
                x = self.position(x, places_of(positions, cache, tokens.shape[1]))
            # 2. Layers, and a normalisation at the end.
            x = self.encoder(self.dropout(x), mask=mask, positions=positions, cache=cache)
        # 3. Each vector is compared with each token of the vocabulary.
        return self.embedding.logits(x) if self.generator is None else self.generator(x)
