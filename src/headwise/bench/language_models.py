"""
---
title: Language models of the benchmark
summary: The model of this library beside one that is fused by hand, one of another library, and the arithmetic that none can avoid.
---

# Language models of the benchmark

All have the same sizes: layers of attention and a network four times as wide, and one table for embedding and generator. Each returns
the loss of a batch, so that everything between the tokens and the loss is part of what is compared. A model of x-transformers stands
beside them where that library is installed, and [two classic ones](classic_models.py) have a page of their own.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headwise.position.learned import Learned
from headwise.train.batch import Batch
from headwise.train.lean import LeanLayer
from headwise.train.lean_parts import LeanRotary, lean_norm
from headwise.train.loss import token_loss_sum
from headwise.transformer.autoregressive import AutoregressiveTransformer


@dataclass(frozen=True)
class Sizes:
    """The sizes that all models share."""

    layers: int = 6
    width: int = 256
    heads: int = 8
    tokens: int = 256
    batch: int = 16
    vocab: int = 65

    def rows(self, seed: int = 0) -> Batch:
        """A batch of random tokens."""
        rows = torch.randint(self.vocab, (self.batch, self.tokens + 1), generator=torch.Generator().manual_seed(seed))
        return Batch(rows[:, :-1], rows[:, 1:])


class Ours(nn.Module):
    """The model of this library, with the parts of the fused model or with its own defaults."""

    def __init__(self, sizes: Sizes, *, modern: bool) -> None:
        super().__init__()
        self.model = AutoregressiveTransformer(
            sizes.vocab,
            sizes.width,
            sizes.heads,
            sizes.layers,
            feed_forward="swiglu" if modern else "gelu",
            norm=lean_norm("rms" if modern else "layer"),
            position=LeanRotary if modern else Learned(sizes.width, sizes.tokens),
            layer=LeanLayer,
        )

    def forward(self, batch: Batch) -> Tensor:
        return token_loss_sum(self.model(batch.inputs), batch.targets) / batch.count


class FusedBlock(nn.Module):
    """A block as compact tutorials write it: one product for queries, keys and values, and the fused kernel."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        width = sizes.width
        self.heads = sizes.heads
        self.before, self.between = nn.LayerNorm(width, bias=False), nn.LayerNorm(width, bias=False)
        self.inputs, self.output = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        parts = self.inputs(self.before(x)).chunk(3, dim=-1)
        query, key, value = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.output(mixed.transpose(1, 2).flatten(-2))
        return x + self.down(F.gelu(self.up(self.between(x))))


class FusedModel(nn.Module):
    """A small GPT: learned positions, pre-norm, GELU, tied generator."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(sizes.vocab, sizes.width), nn.Embedding(sizes.tokens, sizes.width)
        self.blocks = nn.ModuleList(FusedBlock(sizes) for _ in range(sizes.layers))
        self.norm = nn.LayerNorm(sizes.width, bias=False)
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)

    def forward(self, batch: Batch) -> Tensor:
        x = self.tokens(batch.inputs) + self.places(torch.arange(batch.inputs.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.flatten(0, 1), batch.targets.flatten())


class XTransformersModel(nn.Module):
    """The model of x-transformers with rotary positions and the fused kernel, as its own guide recommends, in the same sizes."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        # Importing it takes seconds, and it need not be installed.
        from x_transformers import Decoder, TransformerWrapper

        # Heads are 64 wide there unless told otherwise, and attention would be twice as wide as the model. Half of each head turns by
        # default; the library advises at least 32 features for language, which is the whole head here.
        layers = Decoder(
            dim=sizes.width,
            depth=sizes.layers,
            heads=sizes.heads,
            attn_dim_head=sizes.width // sizes.heads,
            attn_flash=True,
            rotary_pos_emb=True,
            rotary_emb_dim=sizes.width // sizes.heads,
        )
        self.model = TransformerWrapper(
            num_tokens=sizes.vocab, max_seq_len=sizes.tokens, attn_layers=layers, tie_embedding=True
        )

    def forward(self, batch: Batch) -> Tensor:
        logits = self.model(batch.inputs)
        return F.cross_entropy(logits.flatten(0, 1), batch.targets.flatten())


class Floor(nn.Module):
    """The products and the fused attention of the fused model, and nothing between them; the widths fit without copies."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        width = sizes.width
        shapes = ((width, 3 * width), (width, width), (width, 4 * width), (4 * width, width))
        self.weights = nn.ParameterList(
            nn.Parameter(torch.randn(rows, columns) * 0.02) for _ in range(sizes.layers) for columns, rows in shapes
        )
        self.generator = nn.Parameter(torch.randn(sizes.vocab, width) * 0.02)
        count = sizes.batch * sizes.tokens
        self.x = torch.randn(count, width)
        self.wide = torch.randn(count, 4 * width)
        heads = (sizes.batch, sizes.tokens, sizes.heads, width // sizes.heads)
        self.parts = [torch.randn(heads).transpose(1, 2).requires_grad_() for _ in range(3)]

    def step(self) -> None:
        """Each product three times, as forward and backward pass need it, and attention forward and backward."""
        with torch.no_grad():
            for weight in (*self.weights, self.generator):
                inputs = self.x if weight.shape[1] == self.sizes.width else self.wide
                outputs = inputs @ weight.T
                outputs @ weight
                outputs.T @ inputs
        query, key, value = self.parts
        for _ in range(self.sizes.layers):
            mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
            torch.autograd.grad(mixed, self.parts, mixed.detach())
