"""
---
title: Weights that vanish
summary: Keys so far away that their weight is 0 in floating point need not be computed.
---
"""

import math

import torch
from torch import Tensor

from headwise.call import Call

# $e^{-104}$ is 0 in float32, and $e^{-746}$ in float64.
VANISHED = {torch.float32: 104.0, torch.float64: 746.0}


def without_underflow(call: Call, table: Tensor) -> Tensor:
    """
    The table with $-\\infty$ for the distances whose weight must vanish.

    A query sees its own key, with a score of at least $b_0 - m$, where $m$ bounds all products of queries and keys. A key at distance
    $d$ has a score of at most $b_d + m$. Where that is lower by more than 104, its weight in float32 is 0 beside the own key's.
    """
    grid, facts = call.grid, call.facts
    # Only where every query has a key at distance 0: no slot is hidden, the band holds 0, and queries stand at keys.
    own = (
        facts.keep is None
        and facts.rest is None
        and (facts.low is None or facts.low <= 0)
        and (facts.high is None or facts.high > 0)
        and grid.shift is not None
        and grid.shift >= 0
        and grid.queries + grid.shift <= grid.keys
    )
    if not own or table.shape[0] == 1:
        return table
    with torch.no_grad():
        longest = call.query.norm(dim=-1).max() * call.key.norm(dim=-1).max()
        bound = 2 * abs(call.scale) * float(longest) + VANISHED[table.dtype]
        at_zero = table[:, grid.queries - 1 + (grid.shift or 0)]
        vanished = table < (at_zero - bound)[:, None]
    return table.masked_fill(vanished, -math.inf)
