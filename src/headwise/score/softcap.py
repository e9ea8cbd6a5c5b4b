"""
---
title: Soft capping
summary: Scores are bent so that none passes a cap.
---
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headwise.errors import ScoreError
from headwise.grid import Grid
from headwise.score.base import Score


@dataclass(frozen=True)
class Softcap(Score):
    """
    Bend the scores so that none passes `cap`: $s \\leftarrow \\text{cap} \\cdot \\tanh(s / \\text{cap})$.

    Small scores hardly change, since $\\tanh x \\approx x$ near 0; large ones stop growing, so no pair can take the
    whole softmax by a runaway score. The cap comes before the mask: what is hidden stays hidden.

    *Errors*: `cap` must be above 0. To switch it off, leave the part away.

    *Source*: Gemma Team, 2024, "Gemma 2", section 2, arXiv:2408.00118.
    """

    cap: float

    def __post_init__(self) -> None:
        if (
            not isinstance(self.cap, int | float)
            or isinstance(self.cap, bool)
            or not math.isfinite(self.cap)
            or self.cap <= 0
        ):
            raise ScoreError(
                f"Softcap(cap) must be a finite number above 0; got cap={self.cap!r}. Usual fix: to switch it off, leave the part away."
            )

    def change(self, scores: Float[Tensor, "B H i j"], grid: Grid) -> Float[Tensor, "B H i j"]:
        return self.cap * torch.tanh(scores / self.cap)
