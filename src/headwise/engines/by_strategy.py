"""
---
title: By strategy
summary: A call of the engine blockwise, computed: the strategy that takes it, hidden slots, and queries without keys.
---
"""

import torch
from torch import Tensor

from headwise.call import Call
from headwise.engines.base import Output
from headwise.engines.blocks import row_blocks
from headwise.engines.guards import all_finite, drop_hidden, turned_round, watch_mask
from headwise.engines.strategies import STRATEGIES
from headwise.engines.strategies.base import Known, Strategy
from headwise.engines.strategies.definition import Definition
from headwise.engines.strategies.kernel import additive
from headwise.engines.strategies.rectangles import Rectangles
from headwise.score.base import AdditiveScore, SinkScore


def strategy_of(call: Call) -> Strategy:
    """The first strategy without a reason against the call."""
    return next(strategy for strategy in STRATEGIES if strategy.why_not(call) is None)


def run_blocks(call: Call) -> Output:
    """Compute the call."""
    output, lse = compute(call)
    watch_mask(call, output, lse)
    return Output(output, hide_keyless(call, lse) if call.return_lse else None)


def compute(call: Call, known: Known | None = None) -> tuple[Tensor, Tensor]:
    """Output and lse of the strategy; the lse of a query without keys may be any number. `known` as in `Strategy.run`."""
    call = turned_round(call)
    keep = call.facts.keep
    whole = all_finite(call.query, call.key, call.value)
    # Rectangles read no hidden slot; all others multiply it by 0, which needs a copy of keys and values in which it is 0 itself.
    if keep is not None and not (whole and isinstance(strategy_of(call), Rectangles)):
        call = call.with_operands(call.query, *drop_hidden(keep, call.key, call.value))
        whole = whole or all_finite(call.query, call.key, call.value)
    # The fused kernel spreads a NaN to queries that do not see it; the definition does not.
    return (strategy_of(call) if whole else Definition()).run(call, known)


def hide_keyless(call: Call, lse: Tensor) -> Tensor:
    """The lse with $-\\infty$ for queries that see no key, be it that the mask hides all of them or that a bias of $-\\infty$ does."""
    only_added = all(isinstance(part, AdditiveScore | SinkScore) for part in call.score)
    # What is added by distance is finite; of the other parts each number may be $-\infty$.
    one = torch.zeros(1, dtype=torch.long, device=call.query.device)
    parts = [part for part in additive(call) if part.by_distance(one) is None] if only_added else []
    seen = []
    for rows in row_blocks(call):
        grid = call.grid.block(rows, (0, call.grid.keys))
        visible = call.mask.sees(grid)
        for part in parts:
            visible = visible & (part.bias(grid) != -torch.inf)
        seen.append(visible.any(-1).expand(-1, -1, rows[1] - rows[0]))
    return torch.where(torch.cat(seen, dim=2), lse, -torch.inf)
