"""
---
title: A window, folded
summary: All blocks of a narrow band in one call of the kernel, because all see the same pattern.
---

# All blocks of a window at once

Away from the ends of a sequence every block of rows under a window sees the same number of keys in the same pattern. Blocks can then
stand beside each other as if they were heads: queries as a view of blocks, keys as a view of blocks that overlap, and one small mask
for all. That spares the kernel most of its starts.

It serves calls without gradients, such as a long prompt that is read in: the gradients of overlapping views would have to be added up
again, which costs more than it saves.
"""

import torch
from torch import Tensor

from headwise.call import Call
from headwise.engines.cpu_kernel import kernel
from headwise.engines.pieces import Piece, Plan
from headwise.engines.strategies.kernel import fit_width

ROWS = 64
# Fewer blocks than this are not worth folding.
LEAST_BLOCKS = 4


def interior(call: Call) -> tuple[int, int] | None:
    """First row and number of blocks whose whole band lies inside of the keys; None if the call cannot be folded."""
    facts, shift, grid = call.facts, call.grid.shift, call.grid
    plain = not call.score and facts.keep is None and facts.rest is None and call.group_size == 1
    wants = torch.is_grad_enabled() and any(t.requires_grad for t in (call.query, call.key, call.value))
    if not plain or wants or shift is None or facts.low is None or facts.high is None or facts.high <= facts.low:
        return None
    first = max(0, facts.high - 1 - shift)
    last = min(grid.queries, grid.keys - shift + facts.low)
    blocks = (last - first) // ROWS
    return (first, blocks) if blocks >= LEAST_BLOCKS else None


def run_folded(call: Call, inside: tuple[int, int], border: tuple[Piece, ...], table: Tensor) -> tuple[Tensor, Tensor]:
    """Blocks in one call of the kernel, and the rows before and after them piece by piece."""
    low, high, shift = call.facts.low, call.facts.high, call.grid.shift
    assert low is not None and high is not None and shift is not None, "interior has asked"
    features = call.value.shape[3]
    width = max(features, call.query.shape[3])
    query, key, value = (fit_width(tensor, width) for tensor in (call.query, call.key, call.value))
    output = torch.empty_like(query, memory_format=torch.contiguous_format)
    lse = query.new_empty(query.shape[:3], dtype=torch.promote_types(query.dtype, torch.float32))

    # 1. Blocks of queries, and for each the keys that it sees: the step from block to block is the number of rows in both.
    first, blocks = inside
    rows = slice(first, first + blocks * ROWS)
    columns = ROWS + high - low - 1
    left = shift + first - high + 1
    keys = slice(left, left + (blocks - 1) * ROWS + columns)
    query_FNRD = query[:, :, rows].unflatten(2, (blocks, ROWS)).flatten(0, 1)
    key_FNCD, value_FNCD = (t[:, :, keys].unfold(2, columns, ROWS).mT.flatten(0, 1) for t in (key, value))
    # 2. The pattern of all blocks, written out once.
    plan = Plan(border, table)
    corner = Piece((0, 1), (first, first + ROWS), (left, left + columns), first=call.grid.queries - first - ROWS + left)
    pattern = plan.extra(corner, table)
    assert pattern is not None, "a table is added"
    mixed, sums = kernel(query_FNRD, key_FNCD, value_FNCD, pattern.flip(2), False, call.scale)
    output[:, :, rows], lse[:, :, rows] = mixed.reshape(query[:, :, rows].shape), sums.reshape(lse[:, :, rows].shape)
    # 3. The ends.
    for piece in border:
        operands = plan.turned(query[piece.of_queries]), key[piece.of_keys], value[piece.of_keys]
        mixed, sums = kernel(*operands, plan.extra(piece, table), False, call.scale)
        output[piece.of_queries], lse[piece.of_queries] = plan.turned(mixed), plan.turned(sums)
    return output[..., :features], lse
