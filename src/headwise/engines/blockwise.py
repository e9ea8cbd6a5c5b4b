"""
---
title: Engine blockwise
summary: The definition, a block of rows at a time; memory linear in the sequence.
---

# A block of rows at a time

The softmax of a query needs the scores of that query alone. So the definition can be computed for a few rows, the
scores thrown away, and the next rows computed: memory then grows with the number of keys, not with the number of pairs.
In training the backward pass computes each block a second time instead of keeping its scores.
"""

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from headwise.call import Call
from headwise.engines.base import Cost, Output
from headwise.engines.blocks import band_columns, row_blocks
from headwise.grid import Grid
from headwise.reference import attention_steps


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
        facts = call.facts
        blocks = [call.grid.block(rows, band_columns(facts, call.grid, rows)) for rows in row_blocks(call)]
        # A block keeps scores, hidden scores, weights and their gradients.
        sizes = [
            (block.rows[1] - block.rows[0]) * (block.columns[1] - block.columns[0]) * block.batch * block.heads
            for block in blocks
        ]
        # However long the sequence, a block is bounded: never quadratic.
        return Cost(False, 100.0 + 200.0 * len(blocks) + 3e-3 * sum(sizes), 16 * max(sizes, default=0))

    def run(self, call: Call) -> Output:
        facts = call.facts
        results = [
            run_block(call, call.grid.block(rows, band_columns(facts, call.grid, rows))) for rows in row_blocks(call)
        ]
        outputs, lses = zip(*results, strict=True)
        return Output(torch.cat(outputs, dim=2), torch.cat(lses, dim=2) if call.return_lse else None)


def run_block(call: Call, grid: Grid) -> tuple[Tensor, Tensor]:
    """The definition on one block. Where gradients are wanted, the block is computed again in the backward pass."""

    def block(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        steps = attention_steps(call.with_operands(query, key, value), grid)
        return steps.output, steps.lse

    operands = (call.query, call.key, call.value)
    if not torch.is_grad_enabled():
        return block(*operands)
    # Checkpointing by saved-tensor hooks gives gradients to everything the block uses, captured tensors of score
    # functions included, and restores the random state so that dropout drops the same weights again.
    result: tuple[Tensor, Tensor] = checkpoint(
        block, *operands, use_reentrant=False, preserve_rng_state=call.dropout > 0
    )
    return result
