"""
---
title: Full mask
summary: Every query sees every key.
---
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from headwise.grid import Grid
from headwise.mask.base import Facts, Mask


@dataclass(frozen=True)
class Full(Mask):
    """
    Every query sees every key: no mask at all.

    ```
        j  0 1 2 3 4
    i=0    ■ ■ ■ ■ ■
    i=1    ■ ■ ■ ■ ■
    ```
    """

    def sees(self, grid: Grid) -> Bool[Tensor, "1 1 1 1"]:
        return torch.ones(1, 1, 1, 1, dtype=torch.bool, device=grid.device)

    def facts(self) -> Facts:
        return Facts()
