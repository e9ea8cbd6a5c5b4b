"""
---
title: How a stack starts
summary: Small random matrices, and smaller ones where many layers add to one sum.
---

# How a stack starts

All matrices start with the standard deviation $\\sqrt{2 / (5M)}$: the one that keeps the size of a token through a
linear map from $M$ to $4M$ and back.

*Source*: Nguyen and Salazar, 2019, section 2.2, https://arxiv.org/abs/1910.05895

In a pre-norm stack of N steps, each step adds to one sum, and the size of the sum would grow with $\\sqrt N$. The
matrices that write into the sum are divided by it. Post-norm layers bring the sum back to size by themselves.

*Source*: Radford et al., 2019, section 2.3 (GPT-2)

Each layer is built and drawn by itself. A stack of copies of one layer starts with equal weights, and the first steps
of its training are spent on telling the layers apart.
"""

import math
from collections.abc import Sequence

from torch import nn

from headwise.layer import MultiHeadAttention
from headwise.transformer.feed_forward import FeedForward, GatedFeedForward


def initialise(layers: Sequence[nn.Module], d_model: int, *, pre_norm: bool) -> None:
    """
    Draw the weights of a stack anew. Attention and feed-forward networks of this library are drawn; modules of your
    own keep the start that they gave themselves.
    """
    std = math.sqrt(2 / (5 * d_model))
    parts = [
        part
        for layer in layers
        for part in layer.modules()
        if isinstance(part, MultiHeadAttention | FeedForward | GatedFeedForward)
    ]
    for part in parts:
        last = part.output if isinstance(part, MultiHeadAttention) else part.down
        for module in part.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=std / math.sqrt(len(parts)) if pre_norm and module is last else std)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
