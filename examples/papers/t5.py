"""
---
title: T5
summary: Raffel et al., 2020: every task is text to text, and positions are a few learned numbers.
run: true
---

# T5

One model for all tasks of language, each written as a text that asks and a text that answers. Positions are neither added to the words nor turned
into them: each head learns a number for each **bucket** of distances, and adds it to its scores.

*Source*: Raffel et al., 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer",
[arXiv:1910.10683](https://arxiv.org/abs/1910.10683), section 2.1; the sizes are those of the small model.
"""

import torch
from torch import nn

import headwise as hw
from headwise.drawing import squares
from headwise.transformer.embedding import Embedding


# Two stacks, a table of numbers for each, and one object in all layers of a stack.
class T5(nn.Module):
    """The model with its published sizes."""

    def __init__(self, vocab=32128, d_model=512, heads=8, layers=6, width=2048):
        super().__init__()
        self.embedding = Embedding(vocab, d_model)
        common = {"width": width, "norm": "rms", "bias": False}
        self.encoder = hw.Encoder(d_model, heads, layers, score=hw.T5Bias(heads, bidirectional=True), **common)
        self.decoder = hw.Decoder(d_model, heads, layers, score=hw.T5Bias(heads), **common)
        # T5 does not divide its scores by the root of the features. The factor can as well stand in the weights of the queries.
        for layer in self.modules():
            if isinstance(layer, hw.MultiHeadAttention):
                layer.query.linear.weight.data.mul_(layer.head_dim**0.5)

    def forward(self, source, target):
        memory = self.encoder(self.embedding(source))
        return self.embedding.logits(self.decoder(self.embedding(target), memory))


with torch.device("meta"):
    print(f"{sum(weight.numel() for weight in T5().parameters()):,} weights")

# Which bucket serves which distance? Near ones have one each, far ones share, the more the further. Keys ahead have buckets of their own.
bias = hw.T5Bias(8, bidirectional=True)
distances = torch.arange(24)[:, None] - torch.arange(24)[None]
buckets = bias.bucket(distances)
squares(
    {"bucket of each pair": buckets / 31},
    alt="Buckets of 24 by 24 pairs: narrow stripes near the diagonal, wide ones far away.",
)
print("behind:", bias.bucket(torch.tensor([0, 1, 7, 8, 16, 32, 64, 128, 1000])).tolist())
print("ahead: ", bias.bucket(-torch.tensor([1, 7, 8, 16, 32, 64, 128, 1000])).tolist())
