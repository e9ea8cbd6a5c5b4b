"""
---
title: Weights of plain calls
summary: Logarithms of weights, as fast as a few passes over a block in the cache allow.
---

# Plain calls

The definition computes with care: it widens, it watches for NaN, it makes a table of what is visible. Where the operands are
sound, and the score parts treat each head for itself, the same numbers come from one matrix product and one
subtraction:

$$\\ln w_{ij} = s_{ij} - \\text{lse}_i$$
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from headwise.call import Call
from headwise.grid import Grid
from headwise.mask.base import Facts
from headwise.score.base import AdditiveScore, sinks_of
from headwise.score.softcap import Softcap

# The score of a hidden pair. Its exponential is 0, and unlike that of $-\infty$ its product with 0 is 0.
HIDDEN = -1e30


class LogWeights(NamedTuple):
    """Logarithms of weights, and the lse of their rows."""

    log_weights: Float[Tensor, "B H i j"]
    lse: Float[Tensor, "B H i"]


def is_plain(call: Call) -> bool:
    """
    Are the scores dot products, changed by parts that treat each head for itself, of operands without NaN?

    Then the chosen heads can be computed without the others, and without the care that broken numbers need.
    """
    if call.scores is not None:
        return False
    if not all(isinstance(part, AdditiveScore) or type(part) is Softcap for part in call.score):
        return False
    if sinks_of(call.score, call.grid) is not None:
        return False
    return bool(torch.isfinite(call.query.sum() + call.key.sum()))


def log_weights(
    call: Call, grid: Grid, heads: tuple[int, ...], query_BHID: Tensor, key_BHJD: Tensor, lse_BHI: Tensor | None
) -> LogWeights:
    """The logarithms of the weights of a block of a plain call, of which query and key are given."""
    # 1. Scores. The query is the smallest operand, so it takes the scale.
    scores_BHIJ = query_BHID.mul(call.scale) @ key_BHJD.transpose(2, 3)
    for part in call.score:
        if isinstance(part, AdditiveScore):
            scores_BHIJ = scores_BHIJ + of_heads(part.bias(grid), heads).to(scores_BHIJ.dtype)
        else:
            scores_BHIJ = part.change(scores_BHIJ, grid)
    # 2. Hidden pairs. Where the mask is a band, most blocks are cut by it at an edge only.
    for start, stop in cut_columns(call.facts, grid):
        edge = grid.block(grid.rows, (start, stop))
        part_BHIJ = scores_BHIJ[..., start - grid.columns[0] : stop - grid.columns[0]]
        part_BHIJ.masked_fill_(~of_heads(call.mask.sees(edge), heads), HIDDEN)
    # 3. Less the lse. A row without any key has none to subtract.
    if lse_BHI is None:
        lse_BHI = scores_BHIJ.logsumexp(-1)
        lse_BHI = torch.where(lse_BHI <= HIDDEN / 2, -torch.inf, lse_BHI)
    scores_BHIJ -= torch.where(lse_BHI == -torch.inf, 0.0, lse_BHI)[..., None]
    return LogWeights(scores_BHIJ, lse_BHI)


def cut_columns(facts: Facts, grid: Grid) -> list[tuple[int, int]]:
    """
    The columns `[start, stop)` of a block in which some pair may be hidden.

    A band lets all rows of the block see the columns from `open_start` to `open_stop`; what lies outside is cut.
    """
    start, stop = grid.columns
    if facts.keep is not None or facts.rest is not None or grid.shift is None:
        return [(start, stop)]
    # Row r and column c are `shift + r - c` apart, and `low <= distance < high` must hold for the first and the last row.
    first, last = grid.shift + grid.rows[0], grid.shift + grid.rows[1] - 1
    open_start = start if facts.high is None else min(max(start, last - facts.high + 1), stop)
    open_stop = stop if facts.low is None else max(min(stop, first - facts.low + 1), open_start)
    return [(one, other) for one, other in ((start, open_start), (open_stop, stop)) if other > one]


def of_heads(table: Tensor, heads: tuple[int, ...]) -> Tensor:
    """The chosen heads of a table whose axis of heads may have size 1."""
    return table if table.shape[1] == 1 else table[:, list(heads)]
