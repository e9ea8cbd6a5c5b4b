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

Rows are computed in blocks, so that whoever needs sums over the weights, and not the weights, never holds more than one block.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from headwise.call import Call
from headwise.engines.blocks import BLOCK_SCORES, LEAST_ROWS, band_columns
from headwise.grid import Grid
from headwise.reference import attention_steps, widen
from headwise.score.base import AdditiveScore
from headwise.score.softcap import Softcap


@dataclass(frozen=True, eq=False)
class Block:
    """
    Scores and weights of some rows, for the chosen heads and for the columns of `grid`; all other columns have weight 0.

    `place` is where these rows stand among the chosen ones.
    """

    grid: Grid
    place: slice
    scores: Float[Tensor, "B H i j"]
    weights: Float[Tensor, "B H i j"]
    lse: Float[Tensor, "B H i"]


@dataclass(frozen=True, eq=False)
class Recomputation:
    """The weights of `call` for chosen heads and rows; `heads` and `rows` are numbers from 0 on."""

    call: Call
    heads: tuple[int, ...]
    rows: tuple[int, ...]

    def blocks(self) -> Iterator[Block]:
        """All chosen rows, a block of neighbours at a time."""
        facts = self.call.mask.facts()
        compute = self.plainly if self.is_plain else self.by_definition
        for start, stop, place in runs(self.rows, self.rows_per_block):
            columns = (
                (0, self.call.grid.keys)
                if self.call.whole_matrix
                else band_columns(facts, self.call.grid, (start, stop))
            )
            yield compute(self.call.grid.block((start, stop), columns), slice(place, place + stop - start))

    @property
    def rows_per_block(self) -> int:
        """Rows of one block: a bounded number of scores."""
        grid = self.call.grid
        heads = len(self.heads) if self.is_plain else grid.heads
        return max(LEAST_ROWS, BLOCK_SCORES // max(1, grid.batch * heads * grid.keys))

    @cached_property
    def is_plain(self) -> bool:
        """
        Are the scores dot products, changed by parts that treat each head for itself, of operands without NaN?

        Then the chosen heads can be computed without the others, and without the care that broken numbers need.
        """
        if self.call.scores is not None:
            return False
        if not all(isinstance(part, AdditiveScore) or type(part) is Softcap for part in self.call.score):
            return False
        return bool(torch.isfinite(self.call.query.sum() + self.call.key.sum()))

    @cached_property
    def query(self) -> Float[Tensor, "B H I D"]:
        """The queries of the chosen heads."""
        return self.call.query[:, list(self.heads)]

    @cached_property
    def key(self) -> Float[Tensor, "B H J D"]:
        """The keys that the chosen heads look at."""
        return self.call.key[:, [head // self.call.group_size for head in self.heads]]

    def plainly(self, grid: Grid, place: slice) -> Block:
        """A block of a plain call, for the chosen heads alone."""
        query_BHID, key_BHJD = widen(self.query[:, :, slice(*grid.rows)]), widen(self.key[:, :, slice(*grid.columns)])
        scores_BHIJ = query_BHID.mul(self.call.scale) @ key_BHJD.transpose(2, 3)
        for part in self.call.score:
            if isinstance(part, AdditiveScore):
                scores_BHIJ = scores_BHIJ + self.chosen(part.bias(grid)).to(scores_BHIJ.dtype)
            else:
                scores_BHIJ = part.change(scores_BHIJ, grid)
        hidden_BHIJ = ~self.chosen(self.call.mask.sees(grid))
        scores_BHIJ = scores_BHIJ.masked_fill_(hidden_BHIJ, -torch.inf)
        lse_BHI = scores_BHIJ.logsumexp(-1)
        # A row without any key has no maximum to measure from; its weights are $e^{-\\infty} = 0$ then.
        weights_BHIJ = (scores_BHIJ - torch.where(lse_BHI == -torch.inf, 0.0, lse_BHI)[..., None]).exp_()
        return Block(grid, place, scores_BHIJ, weights_BHIJ, lse_BHI)

    def by_definition(self, grid: Grid, place: slice) -> Block:
        """A block of any call: the definition, of which the chosen heads and rows are kept."""
        rows = grid.rows
        if self.call.whole_matrix:
            grid = self.call.grid
        # The values do not matter to the weights; one feature of them is enough to run the definition.
        call = replace(self.call, dropout=0.0, value=self.call.value[..., :1])
        steps = attention_steps(call, grid)
        part = slice(rows[0] - grid.rows[0], rows[1] - grid.rows[0])
        heads = list(self.heads)
        scores_BHIJ = torch.where(steps.visible, steps.scores, -torch.inf)[:, heads, part]
        grid = grid.block(rows, grid.columns)
        return Block(grid, place, scores_BHIJ, steps.weights[:, heads, part], steps.lse[:, heads, part])

    def chosen(self, table: Tensor) -> Tensor:
        """The chosen heads of a table whose axis of heads may have size 1."""
        return table if table.shape[1] == 1 else table[:, list(self.heads)]


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
