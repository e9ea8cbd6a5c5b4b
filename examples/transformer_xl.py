"""
---
title: Transformer-XL
summary: Dai et al., 2019, relative attention as one overridden method.
run: true
---

A score has four parts: content and position of the key, each once for the query and once for all queries alike,

$$(q_i + u) \\cdot k_j + (q_i + v) \\cdot W r_{i-j}$$

where $r_{i-j}$ is the sinusoidal encoding of the distance. Masks, cache, recording and training go on working.

Source: Dai et al., 2019, "Transformer-XL", section 3.3, arXiv:1901.02860.
"""

import torch
from torch import nn

import headwise as hw
from headwise.drawing import squares


class TransformerXLAttention(hw.MultiHeadAttention):
    def __init__(self, d_model, heads, *, reach=512, mask=None):
        super().__init__(d_model, heads, bias=("output",), mask=mask)
        self.reach = reach
        self.relative = hw.PrepareForMultiHeadAttention(d_model, heads, self.head_dim, bias=False)
        self.content_bias = nn.Parameter(torch.zeros(heads, 1, self.head_dim))
        self.position_bias = nn.Parameter(torch.zeros(heads, 1, self.head_dim))
        self.encoding = hw.Sinusoidal(d_model)

    def get_scores(self, query, key, query_positions, key_positions):
        content = torch.einsum("bhid,bhjd->bhij", query + self.content_bias, key)
        # A query meets every distance once, in one product; each pair then picks the score of its own distance.
        distances = torch.arange(-self.reach, self.reach + 1, device=query.device)
        encoded = self.encoding(query.new_zeros(1, len(distances), self.d_model), distances)[0]
        by_distance = torch.einsum("bhid,rhd->bhir", query + self.position_bias, self.relative(encoded))
        distance = query_positions[:, None, :, None] - key_positions[:, None, None, :]
        picked = distance.clamp(-self.reach, self.reach) + self.reach
        return content + by_distance.gather(3, picked.expand_as(content))


if __name__ == "__main__":
    layer = TransformerXLAttention(64, 4, mask=hw.Causal())
    tokens = torch.randn(2, 10, 64)
    whole = layer(tokens)

    # The second half through a cache gives what the whole gives: distances are all that counts.
    cache = hw.KVCache()
    halves = torch.cat([layer(half, cache=cache) for half in tokens.split(5, dim=1)], dim=1)
    print(f"largest difference between one pass and two: {(whole - halves).abs().max():.1e}")

    # Two of the maps: content and distance together, before anything is learned.
    with hw.record(layer) as tape:
        layer(tokens)
    squares({f"head {head}": tape[""][0].weights[0, head] for head in (0, 1)}, alt="Causal maps of two heads.")
