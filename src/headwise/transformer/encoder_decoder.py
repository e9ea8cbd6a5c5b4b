"""
---
title: The encoder and the decoder together
summary: One stack reads a text, the other one writes an answer to it.
---

# The encoder and the decoder together

The published transformer: the encoder reads the whole source at once and leaves one vector for each token, the
memory; the decoder writes the target from left to right and looks at the memory in each layer.

*Source*: Vaswani et al., 2017, section 3, https://arxiv.org/abs/1706.03762

```python
>>> import torch
>>> from headwise.transformer.encoder_decoder import EncoderDecoder
>>> model = EncoderDecoder(vocab=100, d_model=64, heads=4, layers=2)
>>> model(torch.tensor([[7, 8, 9, 10]]), torch.tensor([[1, 2, 3]])).shape
torch.Size([1, 3, 100])

```
"""

import math
from contextlib import nullcontext
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn

from headwise.cache import KVCache, check_cache
from headwise.checks import check_share
from headwise.errors import ArgumentError
from headwise.mask.coerce import as_mask
from headwise.mask.padding import Padding
from headwise.norm import Norm
from headwise.position.sinusoidal import Sinusoidal
from headwise.transformer.decoder import Decoder, DecoderLayer
from headwise.transformer.embedding import Embedding, make_embedding, make_generator
from headwise.transformer.encoder import Encoder
from headwise.transformer.feed_forward import FeedForwardChoice
from headwise.transformer.layer import TransformerLayer, build_part
from headwise.transformer.places import acts_on_embedding, places_of, positions_of_kept


class EncoderDecoder(nn.Module):
    """
    Source and target tokens in, for each place of the target the logits of the next token out.

    * `vocab`: the number of tokens, or an `Embedding` of your own.
    * `source_vocab`: the same for the source; None means one table for both.
    * `tied`: the generator reads the table of the target.
    * `score`: between tokens of the source, and between tokens of the target; a class such as `Alibi` is built once for each layer.
    * `layer`: a pair, what builds the layers of the encoder and those of the decoder, which look at a memory as well.
    * Other arguments go to both stacks. `Encoder` and `Decoder` can be put together in other ways.

    *Shapes*: `source [B, J]`, `target [B, I]` -> logits `[B, I, V]`
    """

    def __init__(
        self,
        vocab: int | Embedding,
        d_model: int,
        heads: int,
        layers: int,
        *,
        source_vocab: int | Embedding | None = None,
        position: Any = Sinusoidal,
        kv_heads: int | None = None,
        feed_forward: FeedForwardChoice = "relu",
        width: int | None = None,
        norm: Norm = "layer",
        pre_norm: bool = True,
        dropout: float = 0.0,
        bias: bool = True,
        tied: bool = True,
        score: Any = None,
        layer: tuple[Any, Any] = (TransformerLayer, DecoderLayer),
    ) -> None:
        super().__init__()
        if not isinstance(layer, tuple) or len(layer) != 2:
            raise ArgumentError(
                f"layer must be a pair, what builds the layers of the encoder and of the decoder; got {layer!r}. "
                "Usual fix: layer=(SandwichLayer, DecoderLayer)."
            )
        # The rows of the table start small, for the generator; the scale gives them the size of the positions.
        scale = math.sqrt(d_model)
        self.embedding = make_embedding(vocab, d_model, scale=scale)
        self.source_embedding = None if source_vocab is None else make_embedding(source_vocab, d_model, scale=scale)
        on_embedding = acts_on_embedding(position)
        self.position = build_part("position", position, "d_model", d_model) if on_embedding else None
        self.dropout = nn.Dropout(check_share("dropout", dropout))
        options: dict[str, Any] = {
            "position": None if on_embedding else position,
            "kv_heads": kv_heads,
            "feed_forward": feed_forward,
            "width": width,
            "norm": norm,
            "pre_norm": pre_norm,
            "dropout": dropout,
            "bias": bias,
            "score": score,
        }
        self.encoder = Encoder(d_model, heads, layers, layer=layer[0], **options)
        self.decoder = Decoder(d_model, heads, layers, layer=layer[1], **options)
        self.generator = None if tied else make_generator(d_model, self.embedding.num_embeddings, bias=bias)

    def forward(
        self,
        source: Int[Tensor, "B J"],
        target: Int[Tensor, "B I"],
        *,
        source_mask: Any = None,
        target_mask: Any = None,
        memory_mask: Any = None,
    ) -> Float[Tensor, "B I V"]:
        """
        Read the source, then score each next token of the target.

        `memory_mask` says which tokens of the source the target may see; by default those that a `Padding` in
        `source_mask` keeps.
        """
        memory = self.encode(source, mask=source_mask)
        if memory_mask is None:
            memory_mask = padding_of(source_mask)
        return self.decode(target, memory, mask=target_mask, memory_mask=memory_mask)

    def encode(self, source: Int[Tensor, "B J"], *, mask: Any = None) -> Float[Tensor, "B J M"]:
        """Read the source once: one vector for each of its tokens."""
        embedding = self.embedding if self.source_embedding is None else self.source_embedding
        positions = positions_of_kept(mask, None, source)
        x = self.placed(embedding(source), positions, None)
        return self.encoder(x, mask=mask, positions=positions)

    def decode(
        self,
        target: Int[Tensor, "B I"],
        memory: Float[Tensor, "B J M"],
        *,
        mask: Any = None,
        memory_mask: Any = None,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "B I V"]:
        """Score the next tokens. With a cache `target` holds the new tokens only; memory and its mask stay the same."""
        check_cache(cache)
        positions = positions_of_kept(mask, cache, target)
        with nullcontext() if cache is None else cache.step():
            x = self.placed(self.embedding(target), positions, cache)
            x = self.decoder(x, memory, mask=mask, memory_mask=memory_mask, positions=positions, cache=cache)
        return self.embedding.logits(x) if self.generator is None else self.generator(x)

    def placed(
        self, x: Float[Tensor, "B L M"], positions: Tensor | None, cache: KVCache | None
    ) -> Float[Tensor, "B L M"]:
        """The embedding with its positions, if the scheme acts here."""
        if self.position is not None:
            x = self.position(x, places_of(positions, cache, x.shape[1]))
        return self.dropout(x)


def padding_of(mask: Any) -> Padding | None:
    """The part of a mask that says which slots hold a token."""
    keep = None if mask is None else as_mask(mask).facts().keep
    return None if keep is None else Padding(keep)
