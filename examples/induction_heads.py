"""
Induction heads form, and the loss in context falls: `python examples/induction_heads.py 600 plot.svg`.

A sequence is a piece of random tokens, of random length, again and again. From the second copy on each token is the one that followed its
last occurrence. A head in layer 1 learns to look there once a head in layer 0 looks one token back; the loss falls when that happens.

Source: Olsson et al., 2022, "In-context Learning and Induction Heads", arXiv:2209.11895.
"""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F

import headwise as hw
from headwise.recording.heads import head_scores

VOCAB, LENGTH = 48, 48


def repetitions(rows, generator):
    """Sequences `[rows, LENGTH]`, each a random piece of 8 to 20 tokens, repeated."""
    periods = torch.randint(8, 21, (rows, 1), generator=generator)
    return torch.randint(VOCAB, (rows, 20), generator=generator).gather(1, torch.arange(LENGTH) % periods)


def train(steps):
    """A list of: step, loss in context, best previous-token score of layer 0, best induction score of layer 1."""
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    model = hw.AutoregressiveTransformer(VOCAB, d_model=64, heads=4, layers=2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    held_out, history = repetitions(32, generator), []
    for step in range(steps + 1):
        if step % max(1, steps // 40) == 0:
            first, second = head_scores(model, held_out).values()
            # From token 21 on, every piece has been seen once.
            with torch.no_grad():
                context = F.cross_entropy(model(held_out)[:, 20:-1].flatten(0, 1), held_out[:, 21:].flatten())
            history.append((step, float(context), float(first["previous"].max()), float(second["induction"].max())))
            print(
                "step {:>5}  loss in context {:.3f}  previous {:.3f}  induction {:.3f}".format(*history[-1]), flush=True
            )
        batch = repetitions(32, generator)
        loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return history


if __name__ == "__main__":
    steps, context, previous, induction = zip(*train(int(sys.argv[1])), strict=True)
    if len(sys.argv) > 2:
        from headwise.recording.plots import write_curves

        heads = {"previous-token head, layer 0": previous, "induction head, layer 1": induction}
        write_curves(Path(sys.argv[2]), steps, {"loss in context (nats)": context}, heads)
