"""
---
title: Strategy softcap
summary: Soft-capped scores in few passes over memory, with the derivative written out.
---

# Soft-capped scores, tile by tile

A soft cap bounds every score, $|s| \\le \\text{cap}$. So $e^s$ can neither overflow nor vanish, and the softmax needs no maximum: the
sums of a row over several tiles of columns add up as they are. And since

$$\\text{cap} \\cdot \\tanh(x / \\text{cap}) = 2\\,\\text{cap} \\cdot \\sigma(2 x / \\text{cap}) - \\text{cap},$$

a tile takes three passes over memory: $\\sigma$, a linear map, $e$. The factor in front of $x$ is put into the queries beforehand.
The derivative of the cap is $4 \\sigma (1 - \\sigma)$, which $\\sigma$ alone gives.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from headwise.call import Call
from headwise.engines.base import Cost
from headwise.engines.blocks import band_columns
from headwise.engines.exponential import exp_in_place, least_exponent
from headwise.engines.guards import first_order, refuse
from headwise.engines.strategies.base import Known
from headwise.grid import Grid
from headwise.mask.base import Facts
from headwise.score.softcap import Softcap

# $e^{70}$ and its sum over many keys still fit float32, and $e^{-70}$ is no denormal number.
LARGEST_CAP = 70.0
# Pairs of a tile, all heads together: its two matrices stay in the cache.
TILE_PAIRS = 2**17
TILE_COLUMNS = 1024


class SoftcapTiles:
    """One soft cap and any mask."""

    name = "softcap"

    def why_not(self, call: Call) -> str | None:
        if call.scores is not None:
            return "get_scores is overridden"
        if len(call.score) != 1 or not isinstance(call.score[0], Softcap):
            return "the score is not one Softcap"
        if call.score[0].cap > LARGEST_CAP:
            return f"the cap is above {LARGEST_CAP:g}, so the softmax needs its maximum"
        if call.dropout > 0:
            return "dropout needs the weights"
        return None

    def cost(self, call: Call) -> Cost:
        pairs = sum((tile.rows[1] - tile.rows[0]) * (tile.columns[1] - tile.columns[0]) for tile in tiles_of(call))
        visited = pairs * call.grid.batch * call.grid.heads
        wide = 4 * (call.query.numel() + call.key.numel() + call.value.numel())
        return Cost(False, 50.0 + 1.3e-3 * visited, wide + 8 * TILE_PAIRS, self.name, visited)

    def run(self, call: Call, known: Known | None = None) -> tuple[Tensor, Tensor]:
        output, lse = Capped.apply(call.query, call.key, call.value, call, known)  # type: ignore[no-untyped-call]
        return output, lse


def tiles_of(call: Call) -> Iterator[Grid]:
    """Tiles of rows and columns that the band does not hide whole."""
    grid = call.grid
    rows = min(128, max(16, TILE_PAIRS // max(1, grid.batch * grid.heads * min(grid.keys, TILE_COLUMNS))))
    for start in range(0, grid.queries, rows):
        block = (start, min(start + rows, grid.queries))
        first, last = band_columns(call.facts, grid, block)
        for left in range(first, last, TILE_COLUMNS):
            yield grid.block(block, (left, min(left + TILE_COLUMNS, last)))


def hidden_in(call: Call, tile: Grid) -> Tensor | None:
    """Which pairs of the tile are hidden, or None where the facts say that none is."""
    facts = call.facts
    if facts.keep is None and facts.rest is None and inside(facts, tile):
        return None
    return ~call.mask.sees(tile)


def inside(facts: Facts, tile: Grid) -> bool:
    """Does the tile lie inside of the band?"""
    if facts.low is None and facts.high is None:
        return True
    if tile.shift is None:
        return False
    nearest = tile.shift + tile.rows[0] - (tile.columns[1] - 1)
    farthest = tile.shift + tile.rows[1] - 1 - tile.columns[0]
    return (facts.low is None or nearest >= facts.low) and (facts.high is None or farthest < facts.high)


@dataclass(eq=False)
class Operands:
    """Queries with the factor of $\\sigma$, keys and values, wide, and the query heads of a group as rows below each other."""

    query: Tensor
    key: Tensor
    value: Tensor
    group: int

    @classmethod
    def of(cls, query: Tensor, key: Tensor, value: Tensor, factor: float) -> "Operands":
        wide = torch.promote_types(query.dtype, torch.float32)
        return cls(query.to(wide) * factor, key.to(wide), value.to(wide), query.shape[1] // key.shape[1])

    def rows(self, tensor_BHIX: Tensor, tile: Grid) -> Tensor:
        """The rows of a tile, `[B,G,g r,X]`."""
        return tensor_BHIX[:, :, slice(*tile.rows)].unflatten(1, (-1, self.group)).flatten(2, 3)

    def heads(self, rows_BGRX: Tensor) -> Tensor:
        """Back to `[B,H,r,X]`."""
        return rows_BGRX.unflatten(2, (self.group, -1)).flatten(1, 2)

    def sigmoid(self, tile: Grid) -> Tensor:
        """$\\sigma$ of all pairs of a tile, `[B,G,g r,c]`."""
        return (self.rows(self.query, tile) @ self.key[:, :, slice(*tile.columns)].mT).sigmoid_()

    def weigh(self, pairs: Tensor, hidden: Tensor | None) -> Tensor:
        """Set hidden pairs to 0, in place."""
        if hidden is not None:
            self.heads(pairs).masked_fill_(hidden, 0.0)
        return pairs


class Capped(torch.autograd.Function):
    """Tiles forward, and again backward."""

    @staticmethod
    def forward(query: Tensor, key: Tensor, value: Tensor, call: Call, known: Known | None) -> tuple[Tensor, Tensor]:
        if known is not None:
            return known.output, known.lse
        cap = cap_of(call)
        operands = Operands.of(query, key, value, 2 * call.scale / cap)
        output = operands.value.new_zeros(*query.shape[:3], value.shape[3])
        total = output.new_zeros(query.shape[:3])
        offset = output.new_tensor(-cap)
        for tile in tiles_of(call):
            rows = slice(*tile.rows)
            pairs = operands.sigmoid(tile)
            torch.add(offset, pairs, alpha=2 * cap, out=pairs).exp_()
            operands.weigh(pairs, hidden_in(call, tile))
            total[:, :, rows] += operands.heads(pairs.sum(-1, keepdim=True))[..., 0]
            output[:, :, rows] += operands.heads(pairs @ operands.value[:, :, slice(*tile.columns)])
        output /= total.clamp(min=torch.finfo(total.dtype).tiny)[..., None]
        return output.to(query.dtype), total.log()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.call = inputs[3]
        ctx.save_for_backward(*inputs[:3], *output)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, grad_lse: Tensor | None) -> tuple[Any, ...]:
        query, key, value, output, lse = ctx.saved_tensors
        with torch.no_grad():
            grads = backward(ctx.call, query, key, value, output, lse, grad, grad_lse)
        return (*first_order("blockwise", grads, query, key, value), None, None)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise refuse("blockwise")


def cap_of(call: Call) -> float:
    """The cap of the only part."""
    part = call.score[0]
    assert isinstance(part, Softcap), "why_not has asked"
    return float(part.cap)


def backward(
    call: Call,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    lse: Tensor,
    grad: Tensor | None,
    grad_lse: Tensor | None,
) -> tuple[Tensor, ...]:
    """Gradients of query, key and value: the chain of forward, backwards, for each tile."""
    cap = cap_of(call)
    operands = Operands.of(query, key, value, 2 * call.scale / cap)
    grad = torch.zeros_like(lse)[..., None].expand(*lse.shape, value.shape[3]) if grad is None else grad.to(lse.dtype)
    # A score moves the output by its weight, and all other weights of its row the other way.
    rest = (grad * output).sum(-1, keepdim=True)
    rest = rest if grad_lse is None else rest - grad_lse[..., None]
    # Keyless rows have an lse of $-\infty$, and weights of 0 by the mask alone.
    below = -(cap + torch.where(lse.isfinite(), lse, 0.0))[..., None]
    # No score lies farther below the lse than this, so most caps and operands need no look at each weight.
    longest = operands.query.norm(dim=-1).max() * operands.key.norm(dim=-1).max() / 2
    deepest = 2 * cap * float(torch.tanh(longest)) + math.log(call.grid.keys)
    exponential = exp_in_place if deepest > -least_exponent(lse.dtype) else torch.Tensor.exp_
    by_query, by_key, by_value = (torch.zeros_like(t) for t in (operands.query, operands.key, operands.value))
    for tile in tiles_of(call):
        columns = slice(*tile.columns)
        sigmoid, of_rows = operands.sigmoid(tile), operands.rows(grad, tile)
        weights = exponential(torch.add(operands.rows(below, tile), sigmoid, alpha=2 * cap))
        operands.weigh(weights, hidden_in(call, tile))
        by_value[:, :, columns] += weights.mT @ of_rows
        by_pair = (of_rows @ operands.value[:, :, columns].mT).sub_(operands.rows(rest, tile)).mul_(weights)
        # $\partial \text{score} / \partial x = 4 \sigma (1 - \sigma)$; PyTorch has the product in one pass.
        torch.ops.aten.sigmoid_backward.grad_input(by_pair, sigmoid, grad_input=by_pair)
        by_query[:, :, slice(*tile.rows)] += operands.heads(by_pair @ operands.key[:, :, columns])
        by_key[:, :, columns] += by_pair.mT @ operands.rows(operands.query, tile)
    # The queries of `operands` hold the factor $2 \cdot \text{scale} / \text{cap}$ already.
    return (
        (by_query * (4 * call.scale)).to(query.dtype),
        (by_key * (2 * cap)).to(key.dtype),
        by_value.to(value.dtype),
    )
