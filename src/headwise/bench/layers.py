"""
---
title: Layers of the benchmark
summary: The layer of this library beside a hand-written fused one, nn.MultiheadAttention, and the classic einsum layer.
---
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headwise.layer import MultiHeadAttention
from headwise.mask.causal import Causal


class FusedLayer(nn.Module):
    """What a careful programmer writes by hand: one product for queries, keys and values, and the fused kernel."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.inputs, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.inputs(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.output(mixed.transpose(1, 2).flatten(-2))


class EinsumLayer(nn.Module):
    """The classic layer of tutorials: scores by einsum, a softmax over the whole matrix, values by einsum."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
        # Sequence first, as the classic code has it.
        query, key, value = (
            linear(x.transpose(0, 1)).unflatten(-1, (self.heads, -1)) for linear in (self.query, self.key, self.value)
        )
        scores_IJBH = torch.einsum("ibhd,jbhd->ijbh", query, key) * query.shape[-1] ** -0.5
        weights_IJBH = scores_IJBH.masked_fill(hidden[:, :, None, None], -torch.inf).softmax(1)
        mixed = torch.einsum("ijbh,jbhd->ibhd", weights_IJBH, value).flatten(-2)
        return self.output(mixed).transpose(0, 1)


class TorchLayer(nn.Module):
    """`nn.MultiheadAttention` with a causal mask."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(width, heads, batch_first=True)

    def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
        output, _ = self.layer(x, x, x, attn_mask=hidden, need_weights=False)
        return output


class Products(nn.Module):
    """The matrix products of a layer alone: what no layer can do without."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inputs, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.output(self.inputs(x)[..., : x.shape[-1]])


class Floor(nn.Module):
    """The products of a layer and the fused attention on operands that lie ready: what a fused layer consists of."""

    def __init__(self, batch: int, tokens: int, width: int, heads: int) -> None:
        super().__init__()
        self.products = Products(width)
        # They learn, so that attention has its backward pass, too.
        self.operands = nn.ParameterList(torch.randn(batch, tokens, heads, width // heads) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = (operand.transpose(1, 2) for operand in self.operands)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.products(x) + mixed.transpose(1, 2).flatten(-2)


def make_layers(batch: int, tokens: int, width: int, heads: int) -> dict[str, nn.Module]:
    """The layers by name; the first one is what the others are measured by."""
    hidden = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
    return {
        "fused by hand": FusedLayer(width, heads),
        "headwise": MultiHeadAttention(width, heads, mask=Causal()),
        "nn.MultiheadAttention": Masked(TorchLayer(width, heads), hidden),
        "einsum layer": Masked(EinsumLayer(width, heads), hidden),
        "products and attention alone": Floor(batch, tokens, width, heads),
        "products alone": Products(width),
    }


class Masked(nn.Module):
    """A layer together with the mask that it wants, True = hidden."""

    def __init__(self, layer: nn.Module, hidden: Tensor) -> None:
        super().__init__()
        self.layer, self.hidden = layer, hidden

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x, self.hidden)
