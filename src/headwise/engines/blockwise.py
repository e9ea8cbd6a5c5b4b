"""
---
title: Engine blockwise
summary: Any mask, any score, with gradients, in memory linear in the sequence.
---

# A block at a time

The softmax of a query needs the scores of that query alone, and results over different keys can be merged exactly. So attention can be
computed in blocks whose scores are thrown away at once, and pairs that no query sees need not be computed at all. How the blocks are
cut and computed is the business of **strategies**; this engine takes the cheapest that has no reason against the call.
"""

import torch
from torch import Tensor

from headwise.call import Call
from headwise.engines.base import Cost, Output
from headwise.engines.blocks import row_blocks
from headwise.engines.guards import all_finite, drop_hidden
from headwise.engines.strategies import STRATEGIES
from headwise.engines.strategies.base import Strategy
from headwise.engines.strategies.definition import Definition


class Blockwise:
    """Any mask, any score, gradients for everything, in memory linear in the sequence."""

    name = "blockwise"

    def why_not(self, call: Call) -> list[str]:
        reasons = []
        if call.whole_matrix:
            reasons.append("the score method needs the whole matrix (whole_matrix = True)")
        if call.grid.queries == 0:
            reasons.append("there are no queries")
        return reasons

    def cost(self, call: Call) -> Cost:
        return cheapest(call)[1]

    def run(self, call: Call) -> Output:
        keep = call.facts.keep
        if keep is not None:
            call = call.with_operands(call.query, *drop_hidden(keep, call.key, call.value))
        # The fused kernel spreads a NaN to queries that do not see it; the definition does not.
        whole = all_finite(call.query, call.key, call.value)
        output, lse = (cheapest(call)[0] if whole else Definition()).run(call)
        return Output(output, hide_keyless(call, lse) if call.return_lse else None)


def cheapest(call: Call) -> tuple[Strategy, Cost]:
    """The strategy that computes the call, and its cost."""
    able = [(strategy, strategy.cost(call)) for strategy in STRATEGIES if strategy.why_not(call) is None]
    return min(able, key=lambda pair: pair[1])


def hide_keyless(call: Call, lse: Tensor) -> Tensor:
    """The lse with $-\\infty$ for queries that see no key."""
    seen = [
        call.mask.sees(call.grid.block(rows, (0, call.grid.keys))).any(-1).expand(-1, -1, rows[1] - rows[0])
        for rows in row_blocks(call)
    ]
    return torch.where(torch.cat(seen, dim=2), lse, -torch.inf)
