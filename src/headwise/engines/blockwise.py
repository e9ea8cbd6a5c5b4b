"""
---
title: Engine blockwise
summary: Any mask, any score, with gradients, in memory linear in the sequence.
---

# A block at a time

The softmax of a query needs the scores of that query alone, and results over different keys can be merged exactly. So attention can be
computed in blocks whose scores are thrown away at once, and pairs that no query sees need not be computed at all. How the blocks are
cut and computed is the business of **strategies**; this engine takes the first one, in order of speed, that has no reason against the call.

Inside of `torch.compile` the engine is [one node of the graph](operator.py), forward and backward, for the masks and scores of headwise. A
call with parts of another kind (functions, classes of your own, an overridden `get_scores`) holds what only Python can run: there the graph
ends before the engine, and a new one begins behind it.
"""

import torch

from headwise.call import Call
from headwise.engines.base import Cost, Output
from headwise.engines.by_strategy import run_blocks, strategy_of
from headwise.engines.guards import NO_VMAP, inside_vmap
from headwise.engines.operator import run_in_graph, write_call


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
        if torch.compiler.is_compiling():
            # Strategies ask for numbers and sizes, which a graph does not have. None of them stores all pairs.
            return Cost(False, 0.0, 0, self.name)
        return strategy_of(call).cost(call)

    def run(self, call: Call) -> Output:
        if not torch.compiler.is_compiling():
            return run_blocks(call)
        text, written = write_call(call)
        if text is not None:
            return run_in_graph(call, text, written)
        # With fullgraph=True the compiler raises here, with this reason.
        torch._dynamo.graph_break(msg=not_written(written.unwritten))
        return between_graphs(call)


def not_written(kinds: list[str]) -> str:
    """Why a call with parts of these classes is no node of a graph."""
    names = ", ".join("a function" if "unction" in kind or kind == "method" else kind for kind in kinds)
    return (
        "engine 'blockwise' is one node of a graph for the masks and scores of headwise only, and may lose what other code captures; "
        f"this call holds {names}. Usual fix: fullgraph=False, with which the graph ends before the engine, or engine='reference'."
    )


# PyTorch's own mark for functions that a compiler leaves alone; unlike `torch.compiler.disable` it does not load the compiler.
@torch._disable_dynamo  # type: ignore[attr-defined]
def between_graphs(call: Call) -> Output:
    """Run the engine as it is: a graph that is compiled ends before it, and a new one begins behind it."""
    return run_blocks(call)
