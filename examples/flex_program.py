"""
A program written for PyTorch's FlexAttention, unchanged, and trained on a CPU.

`score_mod` captures a table that learns; `mask_mod` captures a number. Both are passed as they are.
"""

import torch

import headwise as hw

WINDOW = 8
table = torch.zeros(4, 2 * WINDOW + 1, requires_grad=True)


def score_mod(score, b, h, q_idx, kv_idx):
    return score + table[h, (q_idx - kv_idx).clamp(-WINDOW, WINDOW) + WINDOW]


def mask_mod(b, h, q_idx, kv_idx):
    return (q_idx >= kv_idx) & (q_idx - kv_idx <= WINDOW)


def train(steps):
    """Learn to look three tokens back; returns the distance that the table then likes best, in each head."""
    optimizer = torch.optim.Adam([table], lr=0.3)
    for _ in range(steps):
        value = torch.randn(2, 4, 32, 8)
        query = torch.zeros_like(value)
        output = hw.attention(query, query, value, mask=mask_mod, score=score_mod)
        loss = (output[:, :, 3:] - value[:, :, :-3]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return (table.argmax(-1) - WINDOW).tolist()


if __name__ == "__main__":
    print("each head looks back by", train(60))
