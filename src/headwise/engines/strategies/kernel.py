"""
---
title: What the kernel asks for
summary: Conditions, widths and sinks that all strategies around the fused kernel share.
---
"""

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from headwise.call import Call
from headwise.engines.base import Cost
from headwise.engines.pieces import Plan, run_plan
from headwise.engines.strategies.base import Known
from headwise.score.base import AdditiveScore, Score, sinks_of
from headwise.score.sink import Sink

# Rules of thumb, in microseconds: a visited pair, a visited pair with something added, a call of the kernel.
PAIR, PAIR_WITH_EXTRA, START = 6e-4, 8e-4, 25.0


def why_not_kernel(call: Call) -> str | None:
    """Why the fused CPU kernel cannot be called on blocks of this call."""
    if call.query.device.type != "cpu":
        return "the fused kernel is that of the CPU"
    if call.scores is not None:
        return "get_scores is overridden"
    if call.dropout > 0:
        return "dropout needs the weights"
    for part in call.score:
        if not isinstance(part, AdditiveScore | Sink):
            return f"{type(part).__name__} changes scores otherwise than by adding to them"
    return None


def additive(call: Call) -> list[AdditiveScore]:
    """The parts that add to the scores; sinks stand beside the scores and are no part of them."""
    return [part for part in call.score if isinstance(part, AdditiveScore)]


def run_kernel(call: Call, plan: Plan, known: Known | None = None) -> tuple[Tensor, Tensor]:
    """Compute a plan with operands as the kernel wants them: equal widths of keys and values, features next to each other."""
    features = call.value.shape[3]
    width = max(features, call.query.shape[3])
    operands = [fit_width(tensor, width) for tensor in (call.query, call.key, call.value)]
    if known is not None:
        # A query without keys counts as one whose lse is finite, as it does in a plan that was run.
        lse = known.lse.masked_fill(known.lse.isneginf(), 0.0)
        plan = replace(plan, known=(fit_width(known.output, width), lse))
    output, lse = run_plan(operands[0], operands[1], operands[2], plan, sinks_of(sinks(call), call.grid), call.scale)
    return (output if features == width else output[..., :features]), lse


def sinks(call: Call) -> tuple[Score, ...]:
    """The parts that are sinks."""
    return tuple(part for part in call.score if isinstance(part, Sink))


def fit_width(tensor: Tensor, width: int) -> Tensor:
    """Fill up features with zeros, which change neither a dot product nor the other features."""
    tensor = tensor if tensor.stride(3) == 1 else tensor.contiguous()
    return F.pad(tensor, (0, width - tensor.shape[3])) if tensor.shape[3] < width else tensor


def plan_cost(call: Call, plan: Plan, extra_bytes: int, name: str) -> Cost:
    """The cost of a plan by its visited pairs."""
    heads, grid = call.grid.heads, call.grid
    visited = heads * sum(piece.pairs for piece in plan.pieces)
    plain = heads * sum(piece.pairs for piece in plan.pieces if piece.first is None and plan.added is None)
    time = 30.0 + START * len(plan.pieces) + PAIR * plain + PAIR_WITH_EXTRA * (visited - plain)
    # The lse and, with gradients, wide sums for keys and values.
    extra_bytes += 8 * grid.batch * heads * grid.queries
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (call.query, call.key, call.value)):
        extra_bytes += 4 * (call.key.numel() + call.value.numel())
    return Cost(False, time, extra_bytes, name, visited)
