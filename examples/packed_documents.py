"""
Documents of unequal length in one row, without padding and without seeing each other.

Each document gets positions from 0 on, so that the row gives what the documents give one by one.
"""

import torch

import headwise as hw


def pack(documents):
    """One row `[1,L]` of token ids, its mask and its positions."""
    lengths = [len(document) for document in documents]
    mask = hw.Causal() & hw.Documents.from_lengths(lengths)
    positions = torch.cat([torch.arange(length) for length in lengths])
    return torch.cat(documents)[None], mask, positions[None]


if __name__ == "__main__":
    model = hw.AutoregressiveTransformer(50, 32, 4, 2).eval()
    documents = [torch.randint(50, (length,)) for length in (5, 3, 8)]
    tokens, mask, positions = pack(documents)
    packed = model(tokens, mask=mask, positions=positions)[0]
    apart = torch.cat([model(document[None])[0] for document in documents])
    print(f"largest difference between packed and apart: {(packed - apart).abs().max():.1e}")
