"""
A prefix language model: the prompt is read in both directions, what follows is written from left to right.

The mask is a part, so the model stays as it is.
"""

import torch

import headwise as hw


def prefix_model(vocab, prompt_length):
    return hw.AutoregressiveTransformer(vocab, 32, 4, 2, mask=hw.Causal() | hw.Prefix(prompt_length))


if __name__ == "__main__":
    print((hw.Causal() | hw.Prefix(3)).table(6, 6))
    model = prefix_model(50, 3).eval()
    tokens = torch.randint(50, (1, 6))
    changed = tokens.clone()
    changed[0, 2] = (changed[0, 2] + 1) % 50
    moved = (model(tokens) - model(changed)).abs().amax(-1)[0] > 1e-6
    print("a change of token 2 is seen at", moved.nonzero().flatten().tolist())
