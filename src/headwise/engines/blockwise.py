"""
---
title: Engine blockwise
summary: Any mask, any score, with gradients, in memory linear in the sequence.
---

# A block at a time

The softmax of a query needs the scores of that query alone, and results over different keys can be merged exactly. So attention can be
computed in blocks whose scores are thrown away at once, and pairs that no query sees need not be computed at all. How the blocks are
cut and computed is the business of **strategies**; this engine takes the first one, in order of speed, that has no reason against the call.

Inside of `torch.compile` this engine is no operator of the graph: the graph ends before it and a new one begins behind it, so it does not
run with `fullgraph=True`. A call holds masks, functions and tensors that they capture, and an operator takes plain tensors and
numbers only. Where one graph is wanted, `"auto"` takes `sdpa` or `reference`, which the compiler reads line by line.
"""

import torch
from torch import Tensor

from headwise.call import Call
from headwise.engines.base import Cost, Output
from headwise.engines.blocks import row_blocks
from headwise.engines.guards import NO_VMAP, all_finite, drop_hidden, inside_vmap
from headwise.engines.strategies import STRATEGIES
from headwise.engines.strategies.base import Strategy
from headwise.engines.strategies.definition import Definition
from headwise.engines.strategies.kernel import additive
from headwise.engines.strategies.rectangles import Rectangles
from headwise.score.base import AdditiveScore, SinkScore


class Blockwise:
    """Any mask, any score, gradients for everything, in memory linear in the sequence."""

    name = "blockwise"

    def why_not(self, call: Call) -> list[str]:
        reasons = []
        if call.whole_matrix:
            reasons.append("the score method needs the whole matrix (whole_matrix = True)")
        if call.grid.queries == 0:
            reasons.append("there are no queries")
        if call.grid.keys == 0:
            reasons.append("there are no keys")
        if inside_vmap():
            reasons.append(NO_VMAP)
        return reasons

    def cost(self, call: Call) -> Cost:
        return strategy_of(call).cost(call)

    def run(self, call: Call) -> Output:
        return between_graphs(self, call) if torch.compiler.is_compiling() else self.run_blocks(call)

    def run_blocks(self, call: Call) -> Output:
        """Compute the call, outside of any graph."""
        keep = call.facts.keep
        whole = all_finite(call.query, call.key, call.value)
        # Rectangles read no hidden slot; all others multiply it by 0, which needs a copy of keys and values in which it is 0 itself.
        if keep is not None and not (whole and isinstance(strategy_of(call), Rectangles)):
            call = call.with_operands(call.query, *drop_hidden(keep, call.key, call.value))
            whole = whole or all_finite(call.query, call.key, call.value)
        # The fused kernel spreads a NaN to queries that do not see it; the definition does not.
        output, lse = (strategy_of(call) if whole else Definition()).run(call)
        return Output(output, hide_keyless(call, lse) if call.return_lse else None)


# PyTorch's own mark for functions that a compiler leaves alone; unlike `torch.compiler.disable` it does not load the compiler.
@torch._disable_dynamo  # type: ignore[attr-defined]
def between_graphs(engine: Blockwise, call: Call) -> Output:
    """Run the engine as it is: a graph that is compiled ends before it, and a new one begins behind it."""
    return engine.run_blocks(call)


def strategy_of(call: Call) -> Strategy:
    """The first strategy without a reason against the call."""
    return next(strategy for strategy in STRATEGIES if strategy.why_not(call) is None)


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
