"""
---
title: The slopes of ALiBi
summary: How fast each head forgets, drawn from the part that a model uses.
run: true
---

# The slopes of ALiBi

[ALiBi](headwise.score.alibi.Alibi) subtracts from each score the distance of its pair, times the slope of the head. Nothing is learned,
and no table of positions ends anywhere.
"""

import torch

import headwise as hw
from headwise.drawing import curves, squares

HEADS = 8
alibi = hw.Alibi(HEADS)

# The slopes of eight heads are halves of each other, from one half down to $2^{-8}$.
for head, slope in enumerate(alibi.slopes):
    print(f"head {head}: {slope:.5f}")

# Subtracting $\text{slope} \cdot |i - j|$ before the softmax multiplies the weight by $e^{-\text{slope} \cdot |i - j|}$. That factor over the
# distance says how far a head sees: the first one a few tokens, the last one hundreds.
distances = torch.arange(0, 65)
factors = alibi.by_distance(distances).exp()
curves(
    {f"head {head}": list(zip(distances.tolist(), factors[head].tolist(), strict=True)) for head in (0, 2, 4, 7)},
    alt="The factor of a weight falls with the distance: in head 0 to nothing within 10 tokens, in head 7 to 0.78 after 64.",
    across="distance",
    up="factor of the weight",
)
print(f"head 7 after 64 tokens: {factors[7, 64]:.2f}")

# The same as weights. With queries and keys of zeros all scores are equal, so what remains is the bias alone, behind a causal mask.
query = torch.zeros(1, HEADS, 24, 4)
value = torch.eye(24).expand(1, HEADS, 24, 24)
weights = hw.attention(query, query, value, mask=hw.Causal(), score=alibi)
squares(
    {f"head {head}": weights[0, head] for head in (0, 2, 7)},
    alt="Weights of 24 causal queries: head 0 keeps to the diagonal, head 2 to a band, head 7 is almost even.",
)
