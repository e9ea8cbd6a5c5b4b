"""
---
title: A model that reverses
summary: Trained while this page was built, and looked into: its map is the answer to its task.
run: true
---

# A model that reverses

One layer of attention learns to write a sequence backwards. The place $i$ of ten must look at the place $9 - i$, so the map of a model that has
learned it is a line from one corner to the other. Nobody tells it where to look; the loss does.
"""

import torch
import torch.nn.functional as F
from torch import nn

import headwise as hw
from headwise.drawing import curves, squares

LENGTH, VOCAB, STEPS = 10, 8, 300
torch.manual_seed(0)
torch.set_num_threads(1)


# The whole model: tokens become vectors that know their positions, one layer of attention with one head mixes them, and a linear map says
# which token stands there. Where to look depends on positions alone, so learned positions are added to the vectors.
class Reverser(nn.Module):
    """Tokens `[B, L]` to logits `[B, L, V]`."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, 32)
        self.position = hw.Learned(32, LENGTH)
        self.attention = hw.MultiHeadAttention(32, heads=1)
        self.generator = nn.Linear(32, VOCAB)

    def forward(self, tokens):
        x = self.position(self.embedding(tokens), 0)
        return self.generator(self.attention(x))


# The task makes its own data: random tokens, and the same ones backwards.
model = Reverser()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
losses = []
for step in range(STEPS + 1):
    tokens = torch.randint(VOCAB, (64, LENGTH))
    loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.flip(1).flatten())
    losses.append((step, loss.item()))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# The loss starts near $\ln 8 = 2.08$, that of a guess among eight tokens.
curves(
    {"loss": losses[::3]},
    alt="The loss falls from above 2 to nearly 0 within 300 steps.",
    across="step",
    up="loss (nats)",
)
print(f"first {losses[0][1]:.2f}, last {losses[-1][1]:.3f}")

# What it does with tokens that it has not seen in this order:
tokens = torch.randint(VOCAB, (1, LENGTH))
print("in: ", *tokens[0].tolist())
print("out:", *model(tokens)[0].argmax(-1).tolist())

# And where it looked, [recorded](headwise.recording.recorder.record) without a change of the model. The line runs from the upper right to the
# lower left.
with hw.record(model) as tape:
    model(tokens)
weights = tape["attention"][0].weights[0]
squares(
    {"weights": weights[0]},
    alt="A map of ten queries and ten keys: most of the weight of each query lies on the key at the mirrored place.",
    rows=[str(place) for place in range(LENGTH)],
    columns=[str(place) for place in range(LENGTH)],
)
print(f"mean weight at the mirrored place: {weights.flip(-1).diagonal(dim1=-2, dim2=-1).mean():.2f}")
