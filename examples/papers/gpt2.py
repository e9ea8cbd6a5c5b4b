"""
---
title: GPT-2
summary: Radford et al., 2019: the decoder alone, trained on the web, turns out to do tasks that nobody taught it.
run: true
---

# GPT-2

Half of the original transformer is enough. Without a source there is nothing to translate; the model predicts the next token of any text, and tasks
become texts. The normalisation moves to the **front** of each step, which lets 48 layers train.

*Source*: Radford et al., 2019, "Language Models are Unsupervised Multitask Learners", section 2.3; the sizes are those of its smallest model.
"""

import torch

import headwise as hw
from headwise.drawing import squares


# 12 layers of width 768. Positions are a learned table of 1024 rows, so the model cannot read further than that.
def gpt2(vocab=50257, d_model=768, heads=12, layers=12, context=1024):
    """The model with its published sizes; they count 124 million weights."""
    return hw.AutoregressiveTransformer(
        vocab,
        d_model,
        heads,
        layers,
        position=hw.Learned(d_model, context),
        feed_forward="gelu",
        width=4 * d_model,
        norm="layer",
        bias=True,
    )


with torch.device("meta"):
    print(f"{sum(weight.numel() for weight in gpt2().parameters()):,} weights")

# One pass trains all places at once, because each sees only what came before it.
hw.Causal().table(10, 10)

# A small one reads twelve tokens. New weights prefer nothing much: each row is spread over all that it may see.
torch.manual_seed(0)
model = gpt2(vocab=100, d_model=32, heads=2, layers=1, context=16).eval()
with hw.record(model) as tape:
    model(torch.randint(100, (1, 12)))
(record,) = next(iter(tape.values()))

squares(
    {f"head {head}": record.weights[0, head] for head in range(2)},
    alt="Two heads of new weights: each query spreads its weight over itself and the tokens before it.",
)
