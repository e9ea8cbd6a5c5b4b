"""
---
title: BLOOM
summary: BigScience, 2022: 176 billion weights, 46 languages, and positions by distance alone.
run: true
---

# BLOOM

More than a thousand people trained one open model together. Its positions are [ALiBi's](headwise.score.alibi.Alibi): a penalty that grows with the
distance, at another rate in each head, and nothing to learn. A normalisation right behind the embedding kept the training of the largest one stable.

*Source*: BigScience Workshop, 2022, "BLOOM: A 176B-Parameter Open-Access Multilingual Language Model", section 3.2,
[arXiv:2211.05100](https://arxiv.org/abs/2211.05100).
"""

import torch
from torch import nn

import headwise as hw
from headwise.drawing import squares
from headwise.transformer.embedding import Embedding


class NormedEmbedding(Embedding):
    """An embedding with a normalisation behind it; its table still serves as the generator."""

    def __init__(self, vocab, d_model):
        super().__init__(vocab, d_model)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, tokens):
        return self.norm(super().forward(tokens))


# No position scheme at all: the score part is the only place where distance counts.
def bloom(vocab=250880, d_model=14336, heads=112, layers=70):
    """The model with its published sizes."""
    return hw.AutoregressiveTransformer(
        NormedEmbedding(vocab, d_model),
        d_model,
        heads,
        layers,
        position=None,
        score=hw.Alibi(heads),
        feed_forward="gelu",
        width=4 * d_model,
        norm="layer",
        bias=True,
    )


with torch.device("meta"):
    print(f"{sum(weight.numel() for weight in bloom().parameters()):,} weights")

# 112 is no power of two: the slopes of 64 heads are as published, and those between come from the next power.
slopes = hw.Alibi(112).slopes
print(f"largest {max(slopes):.3f}, smallest {min(slopes):.5f}")

# What is left of even scores in a fast head, one in between and a slow one, behind the causal mask.
query = torch.zeros(1, 112, 20, 4)
weights = hw.attention(query, query, torch.eye(20).expand(1, 112, 20, 20), mask=hw.Causal(), score=hw.Alibi(112))
squares(
    {f"head {head}": weights[0, head] for head in (0, 20, 63)},
    alt="Head 0 keeps near the diagonal, head 20 reaches a dozen tokens back, head 63 is even over all.",
)
