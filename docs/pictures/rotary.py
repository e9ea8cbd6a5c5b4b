"""
---
title: The angles of rotary positions
summary: Why a turned query and a turned key know their distance, and nothing else.
run: true
---

# The angles of rotary positions

[Rotary positions](headwise.position.rotary.Rotary) turn the features of queries and keys in pairs, by angles that grow with the position.
"""

import torch

import headwise as hw
from headwise.drawing import curves

DIM = 16
rotary = hw.Rotary(DIM)

# Pair 0 turns by one radian from one token to the next, each further pair more slowly. A full turn is $2 \pi$, so the first pair comes
# round after 6 tokens and the last one after almost 20,000.
for pair, angle in enumerate(rotary.frequencies().tolist()):
    print(f"pair {pair}: {angle:.5f} a token, a full turn in {2 * torch.pi / angle:>8.1f} tokens")

# The cosines of three pairs over the position. Fast pairs tell neighbours apart, slow ones near from far.
positions = torch.arange(0, 65)
cosines, _ = rotary.tables(positions)
curves(
    {f"pair {pair}": list(zip(positions.tolist(), cosines[:, pair].tolist(), strict=True)) for pair in (0, 2, 4)},
    alt="Cosines over 64 positions: pair 0 swings ten times, pair 2 once, pair 4 falls slowly to 0.8.",
    across="position",
    up="cosine of the angle",
)

# The product of a turned query and a turned key depends on the distance alone: both moved by a thousand tokens give the same score.
query, key = torch.ones(1, 1, 1, DIM), torch.ones(1, 1, 1, DIM)
here = (rotary(query, 5) * rotary(key, 2)).sum()
far = (rotary(query, 1005) * rotary(key, 1002)).sum()
print(f"{here:.3f} {far:.3f}")

# Equal vectors match best at distance 0, and on the whole less and less well further away: a head prefers what is near without being told.
scores = [float((rotary(query, distance) * rotary(key, 0)).sum()) for distance in positions.tolist()]
curves(
    {"score": list(zip(positions.tolist(), scores, strict=True))},
    alt="The score of two equal vectors is 16 at distance 0 and falls in waves to between 4 and 13.",
    across="distance",
    up="score",
)
print(f"at 0: {scores[0]:.0f}; from 16 to 64: {min(scores[16:]):.1f} to {max(scores[16:]):.1f}")
