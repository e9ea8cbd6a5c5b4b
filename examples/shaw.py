"""
Shaw, Uszkoreit and Vaswani's relative positions, as one overridden method.

A learned vector for each distance, clipped at `reach` on both sides, is added to the key: q_i . (k_j + a_{j-i}).

Source: Shaw et al., 2018, "Self-Attention with Relative Position Representations", section 3.2, arXiv:1803.02155.
"""

import torch
from torch import nn

import headwise as hw


class ShawAttention(hw.MultiHeadAttention):
    def __init__(self, d_model, heads, *, reach=16, mask=None):
        super().__init__(d_model, heads, mask=mask)
        self.reach = reach
        self.vectors = nn.Parameter(torch.randn(2 * reach + 1, self.head_dim) * self.head_dim**-0.5)

    def get_scores(self, query, key, query_positions, key_positions):
        content = super().get_scores(query, key, query_positions, key_positions)
        # The product with all vectors first: for each pair a vector of its own would take the memory of i * j * head_dim numbers.
        by_distance = query @ self.vectors.T
        ahead = key_positions[:, None, None, :] - query_positions[:, None, :, None]
        picked = ahead.clamp(-self.reach, self.reach) + self.reach
        return content + by_distance.gather(3, picked.expand_as(content))


if __name__ == "__main__":
    layer = ShawAttention(64, 4, reach=3)
    tokens = torch.randn(2, 10, 64)
    moved = layer(tokens, positions=1000)
    print(f"difference when all tokens move by 1000: {(layer(tokens) - moved).abs().max():.1e}")
