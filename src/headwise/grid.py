"""
---
title: Grid
summary: The coordinates of a block of pairs (query, key); positions and slots.
---

# The grid of pairs

Attention is about pairs: query *i* and key *j*. A mask says of each pair whether it is seen; a score part
changes the score of each pair. Both read the coordinates of their pairs from a `Grid`, and the grid may be a
block of the whole, so that an engine can ask about a few rows at a time.

There are two coordinates, and they are not the same:

* a **position** says where a token stands in its sequence. Causal order, windows and distances are about positions.
* a **slot** says where it is stored in the tensor. Padding, document numbers and dense tensors are about slots.

Key slots are $0 \\dots J-1$. Query slots are $J-I+i$: the last query stands at the last key, which is what a cache
needs, where the new queries are the last tokens of all. Without other word, positions are slots.
"""

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Grid:
    """
    Coordinates of a block of pairs.

    Each coordinate is a tensor of whole numbers that broadcasts against `[B,H,i,j]`, where *i* and *j* count
    the rows and columns of this block. Sizes `queries` (I) and `keys` (J) are those of the whole call.
    """

    batch: int
    heads: int
    queries: int
    keys: int
    query_positions: int | Tensor
    key_positions: int | Tensor
    device: torch.device
    rows: tuple[int, int]
    columns: tuple[int, int]
    # What was found out about functions in this call, by their id; shared by all blocks of it.
    verdicts: dict[int, bool] = field(default_factory=dict, repr=False)

    def block(self, rows: tuple[int, int], columns: tuple[int, int]) -> "Grid":
        """The same call, seen through the rows and columns `[start, stop)`."""
        return replace(self, rows=rows, columns=columns)

    @property
    def b(self) -> Tensor:
        """Sequence of the batch, `[B,1,1,1]`."""
        return torch.arange(self.batch, device=self.device)[:, None, None, None]

    @property
    def h(self) -> Tensor:
        """Query head, `[1,H,1,1]`."""
        return torch.arange(self.heads, device=self.device)[None, :, None, None]

    @property
    def row(self) -> Tensor:
        """Row of the query in its tensor, counted from 0, `[1,1,i,1]`."""
        return torch.arange(*self.rows, device=self.device)[None, None, :, None]

    @property
    def query_slot(self) -> Tensor:
        """Slot of the query, `[1,1,i,1]`: the last query stands at the last key; negative where there are more queries than keys."""
        return self.row + (self.keys - self.queries)

    @property
    def key_slot(self) -> Tensor:
        """Slot of the key, `[1,1,1,j]`."""
        return torch.arange(*self.columns, device=self.device)[None, None, None, :]

    @property
    def query_position(self) -> Tensor:
        """Position of the query in its sequence, `[1 or B,1,i,1]`."""
        if isinstance(self.query_positions, Tensor):
            return self.query_positions[:, None, self.rows[0] : self.rows[1], None]
        return self.row + self.query_positions

    @property
    def key_position(self) -> Tensor:
        """Position of the key in its sequence, `[1 or B,1,1,j]`."""
        if isinstance(self.key_positions, Tensor):
            return self.key_positions[:, None, None, self.columns[0] : self.columns[1]]
        return self.key_slot + self.key_positions

    @property
    def distance(self) -> Tensor:
        """How far the key lies behind the query, $i - j$ in positions, `[1 or B,1,i,j]`. Negative: the key is ahead."""
        return self.query_position - self.key_position

    @property
    def shift(self) -> int | None:
        """
        $i - j$ at row 0 and column 0 where positions run on evenly, else `None`.

        Where it is a number, the distance of row $r$ and column $c$ is `shift + r - c`, and a band of distances
        needs no tensor to be understood.
        """
        if isinstance(self.query_positions, Tensor) or isinstance(self.key_positions, Tensor):
            return None
        return self.query_positions - self.key_positions
