"""
---
title: Classic models of the benchmark
summary: The transformer as two generations of tutorials write it, with the whole matrix of scores.
---

# Classic models of the benchmark

Both compute all scores, hide some of them, and keep the matrix for the backward pass. They differ in the order of the axes: batch and heads first,
with products of matrices, or the sequence first, with `einsum`.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headwise.bench.language_models import Sizes
from headwise.train.batch import Batch


class WrittenNorm(nn.Module):
    """A layer norm in five operations, as tutorials write it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gain, self.shift = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        return self.gain * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6) + self.shift


class ClassicBlock(nn.Module):
    """A block of the classic tutorials: four products, the whole matrix of scores, a mask, a softmax, dropout."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        width = sizes.width
        self.heads = sizes.heads
        self.before, self.between = WrittenNorm(width), WrittenNorm(width)
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        y = self.before(x)
        query, key, value = (
            linear(y).view(*y.shape[:2], self.heads, -1).transpose(1, 2)
            for linear in (self.query, self.key, self.value)
        )
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.shape[-1])
        weights = self.drop(scores.masked_fill(seen == 0, -1e9).softmax(-1))
        mixed = torch.matmul(weights, value).transpose(1, 2).contiguous().view(*x.shape)
        x = x + self.drop(self.output(mixed))
        return x + self.drop(self.down(self.drop(self.up(self.between(x)).relu())))


class ClassicModel(nn.Module):
    """The published transformer as a language model: sinusoids, ReLU, a softmax and its logarithm before the loss."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.width = sizes.width
        self.embedding = nn.Embedding(sizes.vocab, sizes.width)
        self.places: Tensor
        self.register_buffer("places", sinusoids(sizes))
        self.blocks = nn.ModuleList(ClassicBlock(sizes) for _ in range(sizes.layers))
        self.norm, self.drop = WrittenNorm(sizes.width), nn.Dropout(0.1)

    def forward(self, batch: Batch) -> Tensor:
        length = batch.inputs.shape[1]
        seen = torch.ones(1, 1, length, length).tril()
        x = self.drop(self.embedding(batch.inputs) * math.sqrt(self.width) + self.places[:length])
        for block in self.blocks:
            x = block(x, seen)
        logs = F.linear(self.norm(x), self.embedding.weight).log_softmax(-1)
        return F.nll_loss(logs.flatten(0, 1), batch.targets.flatten())


class SequenceFirstAttention(nn.Module):
    """Attention on `[seq, batch, width]`: scores `[I,J,B,H]` by `einsum`, a softmax along the keys, which are the second axis."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        width = sizes.width
        self.heads = sizes.heads
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        query, key, value = (
            linear(x).view(*x.shape[:2], self.heads, -1) for linear in (self.query, self.key, self.value)
        )
        scores_IJBH = torch.einsum("ibhd,jbhd->ijbh", query, key) / math.sqrt(query.shape[-1])
        weights_IJBH = scores_IJBH.masked_fill(seen == 0, -torch.inf).softmax(dim=1)
        mixed = torch.einsum("ijbh,jbhd->ibhd", self.drop(weights_IJBH), value)
        return self.output(mixed.reshape(*x.shape))


class SequenceFirstBlock(nn.Module):
    """A pre-norm block with PyTorch's layer norm, and dropout inside the network and on what each step adds."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        width = sizes.width
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = SequenceFirstAttention(sizes)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        x = x + self.drop(self.attention(self.before(x), seen))
        return x + self.drop(self.down(self.drop(self.up(self.between(x)).relu())))


class SequenceFirstModel(nn.Module):
    """The language model whose tensors have the sequence as their first axis."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.width = sizes.width
        self.embedding = nn.Embedding(sizes.vocab, sizes.width)
        self.places: Tensor
        self.register_buffer("places", sinusoids(sizes)[:, None])
        self.blocks = nn.ModuleList(SequenceFirstBlock(sizes) for _ in range(sizes.layers))
        self.norm, self.drop = nn.LayerNorm(sizes.width), nn.Dropout(0.1)

    def forward(self, batch: Batch) -> Tensor:
        tokens, targets = batch.inputs.T, batch.targets.T
        length = len(tokens)
        seen = torch.ones(length, length).tril()[:, :, None, None]
        x = self.drop(self.embedding(tokens) * math.sqrt(self.width) + self.places[:length])
        for block in self.blocks:
            x = block(x, seen)
        logits = F.linear(self.norm(x), self.embedding.weight)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def sinusoids(sizes: Sizes) -> Tensor:
    """The positions of the published transformer, `[tokens, width]`."""
    rates = torch.exp(torch.arange(0, sizes.width, 2) * -(math.log(10000.0) / sizes.width))
    angles = torch.arange(sizes.tokens)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)
