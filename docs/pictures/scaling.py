r"""
---
title: Why scores are scaled
summary: Large products leave the softmax no gradient; divided by the root of the features they keep it.
run: true
---

# Why scores are scaled

The dot product of two random vectors of $D$ features has variance $D$: it is a sum of $D$ products of variance 1. This page measures what that
does to the softmax, and to its gradient.
"""

import torch

from headwise.drawing import curves

KEYS, QUERIES = 64, 256
WIDTHS = (1, 4, 16, 64, 256)
torch.manual_seed(0)


# For each width: the spread of the scores, the largest weight of a query, and how much of a gradient gets through the softmax, as the
# mean size of $w_j (1 - w_j)$, its derivative at the diagonal.
def measure(scaled):
    """Spread of the scores, mean largest weight, and mean derivative of the softmax, for each width."""
    rows = []
    for width in WIDTHS:
        scores = torch.randn(QUERIES, width) @ torch.randn(KEYS, width).T
        scores = scores / width**0.5 if scaled else scores
        weights = scores.softmax(dim=-1)
        rows.append((scores.std().item(), weights.amax(-1).mean().item(), (weights * (1 - weights)).mean().item()))
    return rows


plain, divided = measure(False), measure(True)

# Unscaled, the scores of 256 features spread over about 16, and nearly all weight falls on one key.
for width, (spread, largest, slope) in zip(WIDTHS, plain, strict=True):
    print(f"D={width:<4} spread {spread:5.2f}   largest weight {largest:.2f}   derivative {slope:.4f}")

# Divided by $\sqrt{D}$ the spread is 1 at every width, and so are weights and gradients those of a softmax that can still learn.
for width, (spread, largest, slope) in zip(WIDTHS, divided, strict=True):
    print(f"D={width:<4} spread {spread:5.2f}   largest weight {largest:.2f}   derivative {slope:.4f}")

# The derivative that reaches the scores, over the width: without the scale it shrinks as heads grow wider.
curves(
    {
        "unscaled": [(width, row[2]) for width, row in zip(WIDTHS, plain, strict=True)],
        "scaled": [(width, row[2]) for width, row in zip(WIDTHS, divided, strict=True)],
    },
    alt="The derivative of the softmax over the features of a head: unscaled it falls steeply, scaled it stays near 0.015.",
    across="features of a head",
    up="mean derivative",
)
