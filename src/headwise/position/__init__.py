"""
---
title: Positions
summary: How does the place of a token enter attention?
---

# Positions: how they enter

The second of the four questions. Attention by itself sees a set: permute the tokens of a sequence and the results are permuted in the same way.
A position scheme breaks this symmetry, at one of two places:

* on the **embedding**, once, before the first layer: `Sinusoidal`, `Learned`;
* on the **heads**, in each layer, on queries and keys but not on values: `Rotary`.

A third place is the matrix of scores itself; [`Alibi`](../score/alibi.py) and [`T5Bias`](../score/t5.py) act there, and are score parts.

A new scheme is one file. Read [what a position scheme is](base.py) first, then [rotary](rotary.py), which most models of today use.
"""

from headwise.position.base import Position
from headwise.position.learned import Learned
from headwise.position.rotary import Rotary
from headwise.position.scaling import DynamicNTK, Linear, Llama3, LongRope, Proportional, Scaling, Yarn
from headwise.position.sinusoidal import Sinusoidal

__all__ = [
    "Position",
    "Sinusoidal",
    "Learned",
    "Rotary",
    "Scaling",
    "Linear",
    "DynamicNTK",
    "Yarn",
    "Llama3",
    "LongRope",
    "Proportional",
]
