"""
---
title: Causal mask
summary: A query sees itself and what came before it.
---
"""

from dataclasses import dataclass

from jaxtyping import Bool
from torch import Tensor

from headwise.grid import Grid
from headwise.mask.base import Facts, Mask


@dataclass(frozen=True)
class Causal(Mask):
    """
    A query sees itself and what came before it: $j \\le i$ in positions.

    A model that writes one token after the other may not read the token that it is about to write.

    With fewer queries than keys the last query stands at the last key. Of two queries over five keys the first sees four keys, and the
    second sees all five:

    ```
        j  0 1 2 3 4
    i=3    ■ ■ ■ ■ ·
    i=4    ■ ■ ■ ■ ■
    ```

    *Edge*: with more queries than keys the first queries stand before every key and see none; they get 0.
    """

    def sees(self, grid: Grid) -> Bool[Tensor, "#B 1 i j"]:
        return grid.key_position <= grid.query_position

    def facts(self) -> Facts:
        return Facts(low=0)
