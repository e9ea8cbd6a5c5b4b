"""
---
title: Mistral
summary: Jiang et al., 2023: a window of 4096 tokens in each layer, and a reach of 131,000 through all of them.
run: true
---

# Mistral

A long text costs time by the square of its length only if every token looks at all others. Here each looks at the last 4096; what is further away
arrives through the layers, as each one moves information by one more window.

*Source*: Jiang et al., 2023, "Mistral 7B", section 2, [arXiv:2310.06825](https://arxiv.org/abs/2310.06825).
"""

import torch

import headwise as hw
from headwise.drawing import squares


# LLaMA with a window and with four query heads to one key and value head.
def mistral(vocab=32000, d_model=4096, heads=32, layers=32, width=14336, kv_heads=8, window=4096):
    """The model with its published sizes."""
    return hw.AutoregressiveTransformer(
        vocab, d_model, heads, layers, mask=hw.Window(window), kv_heads=kv_heads, width=width, tied=False
    )


with torch.device("meta"):
    print(f"{sum(weight.numel() for weight in mistral().parameters()):,} weights")

# One layer with a window of 4. The window counts the token's own place, so three others are seen.
LENGTH, WINDOW = 16, 4
hw.Window(WINDOW).table(LENGTH, LENGTH)

# Which tokens can have reached a place after two and four layers? Each layer adds WINDOW - 1: it is the product of the matrices.
seen = hw.Window(WINDOW).table(LENGTH, LENGTH).visible[0, 0].float()
squares(
    {f"layers: {layers}": torch.linalg.matrix_power(seen, layers) > 0 for layers in (1, 2, 4)},
    alt="After one layer a band of 4, after two a band of 7, after four a band of 13.",
)
for layers in (1, 2, 4):
    print("layers:", layers, "tokens:", int((torch.linalg.matrix_power(seen, layers) > 0)[-1].sum()))
