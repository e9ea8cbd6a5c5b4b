"""
---
title: Weights, computed again
summary: The weights of a call for chosen heads and rows, a block at a time, from any engine.
---

# Weights, computed again

A fast engine never has the weights: it mixes the values while it goes along the keys. What it had would take memory that
grows with the square of the sequence. But a call is a value that holds all that the weights follow from. So the
weights of the heads and rows that somebody wants to see are computed again by the definition, from the same operands, mask and
score parts. The engine has run as ever, and its output is untouched.

Weights are computed in blocks, so that whoever needs sums over the weights, and not the weights, never holds more than one block.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from headwise.call import Call
from headwise.engines.blocks import band_columns
from headwise.grid import Grid
from headwise.recording.plain import HIDDEN, is_plain, log_weights
from headwise.reference import attention_steps, widen

# Scores of a block: as many as stay in a core's own cache while they are looked at several times.
BLOCK_SCORES = 2**19
LEAST_ROWS = 16


@dataclass(frozen=True, eq=False)
class Block:
    """
    Weights of some heads and rows, for the columns of `grid`; all other columns have weight 0.

    `heads` and `rows` are where these heads and rows stand among the chosen ones. `log_weights` are the scores less the lse, and
    `HIDDEN`, a number whose exponential is 0, for hidden pairs.
    """

    grid: Grid
    heads: slice
    rows: slice
    log_weights: Float[Tensor, "B H i j"]
    weights: Float[Tensor, "B H i j"]
    lse: Float[Tensor, "B H i"]

    @property
    def scores(self) -> Float[Tensor, "B H i j"]:
        """The scores that the softmax got; $-\\infty$ where hidden."""
        return torch.where(self.hidden, -torch.inf, self.log_weights + self.lse[..., None])

    @property
    def hidden(self) -> Tensor:
        """The pairs that may not see each other."""
        return self.log_weights <= HIDDEN / 2


@dataclass(frozen=True, eq=False)
class Recomputation:
    """
    The weights of `call` for chosen heads and rows, numbers from 0 on.

    `lse` `[B,H,I]` is what the engine itself found, where it did; a pass over the scores is saved then.
    """

    call: Call
    heads: tuple[int, ...]
    rows: tuple[int, ...]
    lse: Float[Tensor, "B H I"] | None = None

    def blocks(self) -> Iterator[Block]:
        """All chosen heads and rows, a block of neighbours at a time."""
        call, heads = self.call, len(self.heads)
        per_head = max(1, call.grid.batch * call.grid.keys)
        longest = max(LEAST_ROWS, BLOCK_SCORES // (per_head if self.is_plain else per_head * call.grid.heads))
        for start, stop, place in runs(self.rows, longest):
            columns = (0, call.grid.keys) if call.whole_matrix else band_columns(call.facts, call.grid, (start, stop))
            grid, rows = call.grid.block((start, stop), columns), slice(place, place + stop - start)
            if not self.is_plain:
                yield self.by_definition(grid, rows)
                continue
            step = max(1, BLOCK_SCORES // (per_head * (stop - start)))
            for first in range(0, heads, step):
                yield self.plainly(grid, slice(first, min(first + step, heads)), rows)

    @cached_property
    def is_plain(self) -> bool:
        """Can the chosen heads be computed without the others?"""
        return is_plain(self.call)

    @cached_property
    def query(self) -> Float[Tensor, "B H I D"]:
        """The queries of the chosen heads."""
        return self.call.query[:, list(self.heads)]

    @cached_property
    def key(self) -> Float[Tensor, "B H J D"]:
        """The keys that the chosen heads look at."""
        return self.call.key[:, [head // self.call.group_size for head in self.heads]]

    def plainly(self, grid: Grid, heads: slice, rows: slice) -> Block:
        """A block of a plain call, for the chosen heads alone."""
        query_BHID = widen(self.query[:, heads, slice(*grid.rows)])
        key_BHJD = widen(self.key[:, heads, slice(*grid.columns)])
        lse_BHI = None if self.lse is None else self.lse[:, list(self.heads[heads]), slice(*grid.rows)]
        found = log_weights(self.call, grid, self.heads[heads], query_BHID, key_BHJD, lse_BHI)
        return Block(grid, heads, rows, found.log_weights, found.log_weights.exp(), found.lse)

    def by_definition(self, grid: Grid, place: slice) -> Block:
        """A block of any call: the definition, of which the chosen heads and rows are kept."""
        rows = grid.rows
        if self.call.whole_matrix:
            grid = self.call.grid
        # The values do not matter to the weights; one feature of them is enough to run the definition.
        steps = attention_steps(replace(self.call, dropout=0.0, value=self.call.value[..., :1]), grid)
        heads, part = list(self.heads), slice(rows[0] - grid.rows[0], rows[1] - grid.rows[0])
        lse_BHI = steps.lse[:, heads, part]
        # Scores less an infinite lse would be infinite; such a row has no key, and all of it is hidden.
        log_BHIJ = torch.where(steps.visible, steps.scores, HIDDEN)[:, heads, part] - finite(lse_BHI)[..., None]
        weights_BHIJ = steps.weights[:, heads, part]
        return Block(grid.block(rows, grid.columns), slice(0, len(heads)), place, log_BHIJ, weights_BHIJ, lse_BHI)


def finite(lse: Tensor) -> Tensor:
    """The lse, with 0 for rows without any key."""
    return torch.where(lse == -torch.inf, 0.0, lse)


def runs(rows: Sequence[int], longest: int) -> Iterator[tuple[int, int, int]]:
    """
    Cut row numbers into runs of neighbours: start, stop, and the place of the run among the rows.

    >>> list(runs([3, 4, 5, 9], 2))
    [(3, 5, 0), (5, 6, 2), (9, 10, 3)]
    """
    start = 0
    for place in range(1, len(rows) + 1):
        if place == len(rows) or rows[place] != rows[place - 1] + 1 or place - start == longest:
            yield rows[start], rows[place - 1] + 1, start
            start = place
