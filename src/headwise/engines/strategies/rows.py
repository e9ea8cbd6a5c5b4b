"""
---
title: Strategy rows
summary: Any mask and any fixed bias, a block of rows at a time through the fused kernel.
---

# Blocks of rows with a mask each

Whatever a mask says, it can be asked for a few rows at a time, over the columns that these rows can see at all. The answer, as numbers
to add, goes through the fused kernel, and is asked for again in the backward pass. A matrix of all pairs never stands in memory.
"""

import torch
from torch import Tensor

from headwise.call import Call
from headwise.engines.base import Cost
from headwise.engines.cpu_kernel import as_numbers
from headwise.engines.pieces import Piece, Plan
from headwise.engines.strategies.base import Known
from headwise.engines.strategies.kernel import additive, plan_cost, run_kernel, why_not_kernel
from headwise.engines.summary import summarise

# Numbers of one block of what is added: enough rows for the kernel, few enough to stay in the cache.
BLOCK_NUMBERS = 2**20
LEAST_ROWS = 32


class Rows:
    """Blocks of rows with the mask, and with biases that do not learn."""

    name = "rows"

    def why_not(self, call: Call) -> str | None:
        reason = why_not_kernel(call)
        if reason is not None:
            return reason
        if torch.is_grad_enabled():
            corner = call.grid.block((0, min(1, call.grid.queries)), (0, min(1, call.grid.keys)))
            for part in additive(call):
                if part.bias(corner).requires_grad:
                    return f"{type(part).__name__} learns, and the kernel gives it no gradient"
        return None

    def cost(self, call: Call) -> Cost:
        pieces = pieces_of(call, ask=False)
        widest = max((piece.pairs for piece in pieces), default=0)
        # The mask itself has to be asked for, and written out as numbers.
        cost = plan_cost(call, Plan(pieces, added=lambda piece: None), 6 * widest * call.grid.heads, self.name)
        return Cost(cost.quadratic, 1.6 * cost.time + 50.0 * len(pieces), cost.extra_bytes, self.name, cost.visited)

    def run(self, call: Call, known: Known | None = None) -> tuple[Tensor, Tensor]:
        return run_kernel(call, Plan(pieces_of(call, ask=True), added=lambda piece: added(call, piece)), known)


def pieces_of(call: Call, *, ask: bool) -> tuple[Piece, ...]:
    """Blocks of rows of all sequences, each over the stretches of columns that it sees."""
    grid = call.grid
    rows = max(LEAST_ROWS, BLOCK_NUMBERS // max(1, grid.batch * grid.heads * grid.keys))
    pieces = []
    before = (0, 0)
    for stretch in summarise(call, rows, ask=ask):
        again = stretch.rows == before
        pieces.append(Piece((0, grid.batch), stretch.rows, stretch.columns, again=again, open=stretch.open))
        before = stretch.rows
    return tuple(pieces)


def added(call: Call, piece: Piece) -> Tensor | None:
    """What is added to the scores of a piece: the biases, and $-\\infty$ where the mask hides."""
    grid = call.grid.block(piece.rows, piece.columns)
    shape = (-1, -1, piece.rows[1] - piece.rows[0], piece.columns[1] - piece.columns[0])
    visible = torch.ones(1, 1, 1, 1, dtype=torch.bool, device=grid.device) if piece.open else call.mask.sees(grid)
    wide = torch.promote_types(call.query.dtype, torch.float32)
    bias: Tensor | None = None
    for part in additive(call):
        number = part.bias(grid).to(wide)
        bias = number if bias is None else bias + number
    if bias is None:
        return None if piece.open else as_numbers(visible.expand(shape), call.query.new_empty((), dtype=wide))
    return torch.where(visible, bias, -torch.inf).expand(shape)
