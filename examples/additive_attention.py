"""
Additive attention: a small network in place of the dot product, w . tanh(q_i + k_j).

It came before the dot product and shows how far `get_scores` reaches: the engine `blockwise` runs it in memory that grows with the
sequence, not with its square, forward and backward.

Source: Bahdanau, Cho and Bengio, 2015, "Neural Machine Translation by Jointly Learning to Align and Translate", arXiv:1409.0473.
"""

import torch
from torch import nn

import headwise as hw


class AdditiveAttention(hw.MultiHeadAttention):
    def __init__(self, d_model, heads, *, mask=None):
        super().__init__(d_model, heads, mask=mask)
        self.weight = nn.Parameter(torch.randn(heads, self.head_dim))

    def get_scores(self, query, key, query_positions, key_positions):
        joined = torch.tanh(query[:, :, :, None] + key[:, :, None])
        return torch.einsum("bhijd,hd->bhij", joined, self.weight)


if __name__ == "__main__":
    layer = AdditiveAttention(32, 4, mask=hw.Causal())
    layer.keep_attention = True
    layer(torch.randn(1, 6, 32))
    print("weights of head 0:")
    print(layer.attn[0, 0])
