"""
---
title: Engine reference
summary: The definition itself, as an engine.
---
"""

from headwise.call import Call
from headwise.engines.base import Cost, Output, make_cost, pairs
from headwise.reference import attention_steps


class Reference:
    """
    The definition as an engine: four steps over the whole matrix of scores.

    It runs every call, in every dtype, with gradients of every order. It needs memory for several matrices of
    all pairs.
    """

    name = "reference"

    def why_not(self, call: Call) -> list[str]:
        return []

    def cost(self, call: Call) -> Cost:
        # Scores, hidden scores, weights and visibility stand in memory at once.
        extra = pairs(call) * (3 * max(4, call.query.element_size()) + 1)
        return make_cost(call, extra, 150.0 + pairs(call) * 4e-3)

    def run(self, call: Call) -> Output:
        steps = attention_steps(call)
        return Output(steps.output, steps.lse if call.return_lse else None)
