"""
---
title: LLaMA
summary: Touvron et al., 2023: the recipe that most open models follow to this day.
run: true
---

# LLaMA

No part of it was new; the choice of parts was. A root-mean-square normalisation in front of each step, a gated network with SiLU, rotary positions
in every layer, and no biases. Trained on far more text than its size was thought to need, a small model beat large ones.

*Source*: Touvron et al., 2023, "LLaMA: Open and Efficient Foundation Language Models", section 2.2,
[arXiv:2302.13971](https://arxiv.org/abs/2302.13971). The second version adds grouped heads in its large models.
"""

import torch

import headwise as hw
from headwise.drawing import curves


# These parts are the defaults of the library. The width of the gated network is two thirds of four times the model's, rounded up: it has three
# matrices where the plain one has two.
def llama(vocab=32000, d_model=4096, heads=32, layers=32, width=11008, kv_heads=None):
    """The model with its published sizes: 7 billion weights, 6.7 when counted."""
    return hw.AutoregressiveTransformer(
        vocab, d_model, heads, layers, position=hw.Rotary, kv_heads=kv_heads, width=width, tied=False
    )


with torch.device("meta"):
    print(f"{sum(weight.numel() for weight in llama().parameters()):,} weights")

# Two equal vectors, turned by their positions: the score knows their distance, and on the whole falls with it.
rotary = hw.Rotary(4096 // 32)
x = torch.ones(1, 1, 1, 128)
curves(
    {"score": [(distance, float((rotary(x, distance) * rotary(x, 0)).sum())) for distance in range(0, 257, 2)]},
    alt="The score of two equal vectors over their distance: 128 at first, near 70 after 32 tokens, and in waves around 45 from 150 on.",
    across="distance",
    up="score",
)

# With grouped heads several query heads share one key and value head, so a cache holds a part of what it would. Here: a quarter.
torch.manual_seed(0)
model = llama(vocab=100, d_model=64, heads=8, layers=2, width=128, kv_heads=2)
layer = model.encoder.layers[0].attention
print(layer.query.heads, "query heads,", layer.key.heads, "key and value heads")
