"""
---
title: Strategy definition
summary: The definition itself, a block of rows at a time.
---

# The definition, in blocks

The softmax of a query needs the scores of that query alone. So the definition can be computed for a few rows, the scores thrown away,
and the next rows computed: memory then grows with the number of keys, not with the number of pairs. In training the backward
pass computes each block a second time instead of keeping its scores.

It is the slowest strategy and takes every call, broken operands included: a NaN that is hidden from a query never reaches it.
"""

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from headwise.call import Call
from headwise.engines.base import Cost
from headwise.engines.blocks import band_columns, row_blocks
from headwise.engines.strategies.base import Known
from headwise.grid import Grid
from headwise.reference import attention_steps


class Definition:
    """Four steps on a block of rows; any mask, any score, gradients for everything."""

    name = "definition"

    def why_not(self, call: Call) -> str | None:
        return None

    def cost(self, call: Call) -> Cost:
        blocks = blocks_of(call)
        # A block keeps scores, hidden scores, weights and their gradients.
        sizes = [
            (block.rows[1] - block.rows[0]) * (block.columns[1] - block.columns[0]) * block.batch * block.heads
            for block in blocks
        ]
        return Cost(False, 100.0 + 200.0 * len(blocks) + 6e-3 * sum(sizes), 16 * max(sizes), self.name, sum(sizes))

    def run(self, call: Call, known: Known | None = None) -> tuple[Tensor, Tensor]:
        results = [run_block(call, block) for block in blocks_of(call)]
        outputs, lses = zip(*results, strict=True)
        return torch.cat(outputs, dim=2), torch.cat(lses, dim=2)


def blocks_of(call: Call) -> list[Grid]:
    """Blocks of rows, each over the columns of its band."""
    return [call.grid.block(rows, band_columns(call.facts, call.grid, rows)) for rows in row_blocks(call)]


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
