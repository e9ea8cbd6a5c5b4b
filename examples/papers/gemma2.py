"""
---
title: Gemma 2
summary: Gemma Team, 2024: windows and whole texts in turn, and scores that cannot run away.
run: true
---

# Gemma 2

Every second layer sees a window of 4096 tokens, the others everything, so most of the cost of long texts is gone and nothing is out of reach. A soft
cap keeps scores within 50 and logits within 30, and each step is normalised before **and** behind.

*Source*: Gemma Team, 2024, "Gemma 2: Improving Open Language Models at a Practical Size", section 2,
[arXiv:2408.00118](https://arxiv.org/abs/2408.00118); the sizes are those of the model with 2 billion weights.
"""

from functools import partial

import torch

import headwise as hw
from headwise.drawing import curves
from headwise.transformer.embedding import Embedding
from headwise.transformer.layer import SandwichLayer


# A head is wider than its share of the model, 256 features and not 288; vectors enter with $\sqrt{M}$ of their length.
class Gemma2(hw.AutoregressiveTransformer):
    """The model with its published sizes."""

    def __init__(
        self, vocab=256000, d_model=2304, heads=8, layers=26, width=9216, kv_heads=4, head_dim=256, window=4096
    ):
        super().__init__(
            Embedding(vocab, d_model, scale=d_model**0.5),
            d_model,
            heads,
            layers,
            mask=hw.PerLayer(lambda layer: hw.Causal() if layer % 2 else hw.Window(window)),
            kv_heads=kv_heads,
            width=width,
            feed_forward="geglu",
            score=hw.Softcap(50.0),
            layer=partial(SandwichLayer, head_dim=head_dim),
        )

    # The same cap on the logits, after everything else.
    def forward(self, tokens, **options):
        return 30.0 * torch.tanh(super().forward(tokens, **options) / 30.0)


with torch.device("meta"):
    print(f"{sum(weight.numel() for weight in Gemma2().parameters()):,} weights")

# Layers 0 and 1 of a small one: the window of 4, then the whole text.
model = Gemma2(vocab=50, d_model=32, heads=2, layers=2, width=64, kv_heads=1, head_dim=16, window=4)
model.encoder.layers[0].attention.mask.table(12, 12)
model.encoder.layers[1].attention.mask.table(12, 12)

# The cap is $50 \tanh(s / 50)$: nearly nothing for small scores, a ceiling for large ones.
scores = torch.linspace(-150, 150, 61)
curves(
    {
        "capped": list(zip(scores.tolist(), (50 * torch.tanh(scores / 50)).tolist(), strict=True)),
        "as it was": [(-60, -60), (60, 60)],
    },
    alt="The capped score follows the score near 0 and flattens towards 50 and -50.",
    across="score",
    up="score after the cap",
)
