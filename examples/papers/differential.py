"""
---
title: Differential attention
summary: Ye et al., 2024: the difference of two softmaxes cancels what both see by accident.
run: true
---

# Differential attention

A softmax gives every key a little weight, and over a long text these crumbs outweigh the key that matters. Here two maps are made from two halves
of a head, and one is subtracted from the other: noise that both share cancels, as in a differential amplifier.

$$\\left(\\text{softmax}(Q_1 K_1^\\top / \\sqrt{D}) - \\lambda \\, \\text{softmax}(Q_2 K_2^\\top / \\sqrt{D})\\right) V$$

*Source*: Ye et al., 2024, "Differential Transformer", section 2.1, [arXiv:2410.05258](https://arxiv.org/abs/2410.05258).
"""

import torch

import headwise as hw
from headwise.drawing import curves


# Mixing values is linear, so the difference of two maps, applied to the values, is the difference of two calls. Each of them may run on any engine,
# with any mask, in memory that does not grow with the square of the text.
def differential(query, key, value, weight, **parts):
    """Attention of query and key `[B,H,L,2D]`, whose halves make a map each; `weight` is the lambda of the formula."""
    first, second = (query.chunk(2, dim=-1), key.chunk(2, dim=-1))
    signal = hw.attention(first[0], second[0], value, **parts)
    noise = hw.attention(first[1], second[1], value, **parts)
    return signal - weight * noise


# A needle in a text of 200 tokens: key 120 matches the first half of the query. All other keys are noise, the same in both halves.
torch.manual_seed(0)
LENGTH, NEEDLE = 200, 120
shared, match = torch.randn(LENGTH, 32), torch.randn(32)
keys = torch.cat([shared, shared], dim=-1)[None, None]
keys[..., NEEDLE, :32] = match
query = 0.6 * torch.cat([match, match])[None, None, None]
values = torch.eye(LENGTH)[None, None]

# With the identity as values the output is the map itself.
plain = hw.attention(query[..., :32], keys[..., :32], values)[0, 0, 0]
cleaned = differential(query, keys, values, 0.8)[0, 0, 0]
curves(
    {
        "plain": list(enumerate(plain.tolist())),
        "differential": list(enumerate((cleaned / cleaned.sum()).tolist())),
    },
    alt="Weights over 200 keys: both maps have a peak at key 120; in the differential map it is higher, and the rest is nearer to 0.",
    across="key",
    up="share of the weight",
)
print(f"on the needle: plain {plain[NEEDLE]:.2f}, differential {cleaned[NEEDLE] / cleaned.sum():.2f}")
