"""
---
title: Padded layers of the benchmark
summary: The layer of this library over padded sequences, beside those of PyTorch, x-transformers and Hugging Face.
---

# Padded layers

Sequences of several lengths in one batch are filled up with padding, and no query may see it. All layers here hold the same four weights,
without biases, so that their outputs can be compared on the real tokens.
"""

from typing import Any

import torch
from torch import Tensor, nn

from headwise.bench.peers import installed
from headwise.layer import MultiHeadAttention
from headwise.mask.padding import Padding


def make_padded_layers(width: int, heads: int, keep: Tensor, *, with_peers: bool = True) -> dict[str, nn.Module]:
    """The layers by name, in eval mode; the first one is what the others are measured by."""
    ours = MultiHeadAttention(width, heads, bias=False)
    weights = [
        linear.weight.detach() for linear in (ours.query.linear, ours.key.linear, ours.value.linear, ours.output)
    ]
    layers: dict[str, nn.Module] = {
        "headwise": Ours(ours, keep),
        "nn.MultiheadAttention": TorchLayer(weights, heads, keep),
    }
    if with_peers and installed("x_transformers"):
        layers["x-transformers, flash"] = OfXTransformers(weights, heads, keep)
    if with_peers and installed("transformers"):
        layers["Hugging Face"] = OfHuggingFace(weights, heads, keep)
    return {name: layer.eval() for name, layer in layers.items()}


class Ours(nn.Module):
    """The layer of this library."""

    def __init__(self, layer: MultiHeadAttention, keep: Tensor) -> None:
        super().__init__()
        self.layer, self.keep = layer, keep

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.layer(x, mask=Padding(self.keep))
        return output


class TorchLayer(nn.Module):
    """`nn.MultiheadAttention`, True = hidden."""

    def __init__(self, weights: list[Tensor], heads: int, keep: Tensor) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(weights[0].shape[0], heads, bias=False, batch_first=True)
        self.hidden = ~keep
        copy([self.layer.in_proj_weight, self.layer.out_proj.weight], [torch.cat(weights[:3]), weights[3]])

    def forward(self, x: Tensor) -> Tensor:
        output, _ = self.layer(x, x, x, key_padding_mask=self.hidden, need_weights=False)
        return output


class OfXTransformers(nn.Module):
    """The layer of x-transformers with `flash=True`."""

    def __init__(self, weights: list[Tensor], heads: int, keep: Tensor) -> None:
        super().__init__()
        from x_transformers.x_transformers import Attention

        width = weights[0].shape[0]
        layer: Any = Attention(dim=width, dim_head=width // heads, heads=heads, flash=True)
        self.layer, self.keep = layer, keep
        copy([part.weight for part in (layer.to_q, layer.to_k, layer.to_v, layer.to_out)], weights)

    def forward(self, x: Tensor) -> Tensor:
        found = self.layer(x, mask=self.keep)
        output: Tensor = found[0] if isinstance(found, tuple) else found
        return output


class OfHuggingFace(nn.Module):
    """The layer of CLIP in Hugging Face transformers, with the mask that its models make; its biases are 0."""

    def __init__(self, weights: list[Tensor], heads: int, keep: Tensor) -> None:
        super().__init__()
        from transformers import CLIPTextConfig
        from transformers.models.clip.modeling_clip import CLIPAttention

        config = CLIPTextConfig(hidden_size=weights[0].shape[0], num_attention_heads=heads)
        config._attn_implementation = "sdpa"
        layer: Any = CLIPAttention(config)
        linears = (layer.q_proj, layer.k_proj, layer.v_proj, layer.out_proj)
        self.layer = layer
        copy([linear.weight for linear in linears], weights)
        copy([linear.bias for linear in linears], [torch.zeros_like(linear.bias) for linear in linears])
        batch, tokens = keep.shape
        self.seen = keep[:, None, None, :].expand(batch, 1, tokens, tokens).contiguous()

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.layer(x, attention_mask=self.seen)[0]
        return output


def copy(parameters: list[Tensor], numbers: list[Tensor]) -> None:
    """Write the same weights into a layer."""
    with torch.no_grad():
        for parameter, number in zip(parameters, numbers, strict=True):
            parameter.copy_(number)
