"""
---
title: The embedding
summary: Each token becomes a vector; the same table can read the answer back.
---

# The embedding

A table with one row for each token of the vocabulary. At the end of a language model the same table can serve a
second time: the product of a result with each row says how well that token fits. The two uses are then *tied*.

*Source*: Press and Wolf, 2016, https://arxiv.org/abs/1608.05859

```python
>>> import torch
>>> from headwise.transformer.embedding import Embedding
>>> embedding = Embedding(10, 4)
>>> embedding(torch.tensor([[1, 2, 3]])).shape, embedding.logits(torch.zeros(1, 3, 4)).shape
(torch.Size([1, 3, 4]), torch.Size([1, 3, 10]))

```
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from headwise.checks import check_size
from headwise.errors import ArgumentError
from headwise.shapes import fail


class Embedding(nn.Embedding):
    """
    `scale` multiplies the vectors on their way in. Vaswani et al. use `scale=math.sqrt(d_model)`: the rows can
    then be small, as the generator wants them, and still have the size of the positions that are added.

    *Shapes*: `tokens [B, L]` -> `[B, L, M]`

    *Source*: Vaswani et al., 2017, section 3.4, https://arxiv.org/abs/1706.03762; the standard deviation
    $\\sqrt{2 / (5 M)}$ at the start is that of Nguyen and Salazar, 2019, https://arxiv.org/abs/1910.05895
    """

    def __init__(self, vocab: int, d_model: int, *, scale: float = 1.0) -> None:
        self.scale = scale
        vocab = check_size("vocab", vocab, "the number of tokens that the tokenizer knows")
        super().__init__(vocab, check_size("d_model", d_model, "d_model=512"))

    def reset_parameters(self) -> None:
        """Start with rows of a length below 1, so that tied logits start small too."""
        nn.init.normal_(self.weight, std=math.sqrt(2 / (5 * self.embedding_dim)))

    def forward(self, tokens: Int[Tensor, "B L"]) -> Float[Tensor, "B L M"]:
        if not isinstance(tokens, Tensor):
            raise ArgumentError(
                f"tokens must be a tensor [B, L]; got {type(tokens).__name__}. Usual fix: torch.tensor(tokens)."
            )
        if tokens.dim() != 2 or tokens.dtype not in (torch.int64, torch.int32):
            fail(
                f"tokens must be [B, L] long or int ({tokens.dtype})",
                "tokens[None] for one sequence, .long() for other types",
                tokens=(tokens, "B L"),
            )
        try:
            vectors = super().forward(tokens)
        except IndexError:
            raise ArgumentError(
                f"tokens must lie in 0..{self.num_embeddings - 1}, the rows of the embedding; got {tokens.min()}..{tokens.max()}. "
                "Usual fix: the tokenizer that the model was trained with, or a greater vocab."
            ) from None
        return vectors if self.scale == 1.0 else vectors * self.scale

    def logits(self, x: Float[Tensor, "B L M"]) -> Float[Tensor, "B L V"]:
        """How well each token of the vocabulary fits: the product with each row of the table."""
        return F.linear(x, self.weight)


def make_embedding(vocab: int | Embedding, d_model: int, *, scale: float = 1.0) -> Embedding:
    """The embedding of a model: a new one for a number of tokens, or the one that is given, if it is as wide as the model."""
    if not isinstance(vocab, Embedding):
        return Embedding(vocab, d_model, scale=scale)
    if vocab.embedding_dim != d_model:
        raise ArgumentError(
            f"an embedding must be as wide as the model, d_model={d_model}; got one of {vocab.embedding_dim}. "
            f"Usual fix: Embedding({vocab.num_embeddings}, {d_model})."
        )
    return vocab


def make_generator(d_model: int, vocab: int, *, bias: bool) -> nn.Linear:
    """A generator with a matrix of its own, for models that are not tied; it starts as the rows of an embedding do."""
    generator = nn.Linear(d_model, vocab, bias=bias)
    nn.init.normal_(generator.weight, std=math.sqrt(2 / (5 * d_model)))
    if bias:
        nn.init.zeros_(generator.bias)
    return generator
