"""
---
title: Strategy body
summary: Any score, any mask and dropout: the lean body of a block of rows, with autograd for what is free.
---

# A lean body

A free score function can only be computed by calling it, on scores that are written out, and only autograd knows its gradient. What stands
around it is the same for all: a product, a mask, a softmax, a product. This strategy computes a block of rows as the definition does,
in fewer passes over memory: operands are finite here, so nothing has to be contained, and a mask is read only where a tile is not open.

Blocks are checkpointed without reentrance: each is computed a second time in the backward pass, and gradients reach everything that
a function captures.

Between the two products every step passes over the scores once more. Inside of `use_engine("blockwise", compiled=True)` the compiler of
PyTorch joins these steps into few loops: the first call with a function takes some seconds, and the numbers differ in the last bits.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from headwise.call import Call
from headwise.engines.base import Cost
from headwise.engines.blocks import band_columns
from headwise.engines.setting import SETTING
from headwise.engines.strategies.base import Known
from headwise.engines.strategies.compiled import Weigh, compiled
from headwise.engines.strategies.softcap import hidden_in
from headwise.grid import Grid
from headwise.reference import position_rows, widen
from headwise.score.base import Score, sinks_of
from headwise.shapes import check_scores

# Scores of a block, all heads together.
BLOCK_SCORES = 2**20
LEAST_ROWS = 16


class Body:
    """Scores written out for a block of rows at a time."""

    name = "body"

    def why_not(self, call: Call) -> str | None:
        return None

    def cost(self, call: Call) -> Cost:
        sizes = [
            (block.rows[1] - block.rows[0]) * (block.columns[1] - block.columns[0]) * block.batch * block.heads
            for block in blocks_of(call)
        ]
        wide = 4 * (call.query.numel() + call.key.numel() + call.value.numel())
        return Cost(
            False, 100.0 + 150.0 * len(sizes) + 2.5e-3 * sum(sizes), wide + 16 * max(sizes), self.name, sum(sizes)
        )

    def run(self, call: Call, known: Known | None = None) -> tuple[Tensor, Tensor]:
        # One number from the user's generator, and each block has a generator of its own: computed again, it drops the same weights.
        seed = int(torch.randint(2**40, (), device="cpu").item()) if call.dropout > 0 else 0
        # Decided here: the backward pass computes blocks again, perhaps outside of the setting.
        weigh_block: Weigh = weigh
        if SETTING.compiled:
            try_one_pair(call)
            weigh_block = compiled(weigh, call.score)
        results = [
            run_block(call, block, seed + place, weigh_block, known) for place, block in enumerate(blocks_of(call))
        ]
        outputs, lses = zip(*results, strict=True)
        return torch.cat(outputs, dim=2), torch.cat(lses, dim=2)


def blocks_of(call: Call) -> list[Grid]:
    """Blocks of rows, each over the columns of its band."""
    grid = call.grid
    rows = max(LEAST_ROWS, BLOCK_SCORES // max(1, grid.batch * grid.heads * grid.keys))
    blocks = [(start, min(start + rows, grid.queries)) for start in range(0, grid.queries, rows)]
    return [grid.block(block, band_columns(call.facts, grid, block)) for block in blocks]


@torch.no_grad()
def try_one_pair(call: Call) -> None:
    """One pair by the plain steps: a function that cannot work says so in our words, not in the compiler's."""
    corner = call.grid.block((0, 1), (0, 1))
    weigh(widen(call.query).new_zeros(call.grid.batch, call.grid.heads, 1, 1), call.score, corner, None, False)


def run_block(call: Call, block: Grid, seed: int, weigh_block: Weigh, known: Known | None) -> tuple[Tensor, Tensor]:
    """One block, computed again in the backward pass where gradients are wanted."""

    def body(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        return compute(call.with_operands(query, key, value), block, seed, weigh_block)

    operands = (call.query, call.key, call.value)
    if not torch.is_grad_enabled():
        return body(*operands)
    if known is not None:
        rows = slice(*block.rows)
        output, lse = Later.apply(body, known.output[:, :, rows], known.lse[:, :, rows], *operands, *known.learned)  # type: ignore[no-untyped-call]
        return output, lse
    result: tuple[Tensor, Tensor] = checkpoint(body, *operands, use_reentrant=False, preserve_rng_state=False)
    return result


class Later(torch.autograd.Function):
    """A block whose results are known: it is computed in the backward pass only, from its operands and the tensors that its rule holds."""

    @staticmethod
    def forward(
        body: Callable[..., tuple[Tensor, Tensor]], output: Tensor, lse: Tensor, *leaves: Tensor
    ) -> tuple[Tensor, Tensor]:
        return output.clone(), lse.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.body, ctx.leaves = inputs[0], inputs[3:]
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, grad_lse: Tensor | None) -> tuple[Any, ...]:
        with torch.enable_grad():
            results = ctx.body(*ctx.leaves[:3])
        asked = [(one, by) for one, by in zip(results, (grad, grad_lse), strict=True) if by is not None]
        outputs, grads = zip(*((one, by) for one, by in asked if one.requires_grad), strict=True)
        return None, None, None, *torch.autograd.grad(outputs, ctx.leaves, grads, allow_unused=True)


def compute(call: Call, block: Grid, seed: int, weigh_block: Weigh) -> tuple[Tensor, Tensor]:
    """Scores, mask, weights, mix: the four steps of the definition for finite operands."""
    query = widen(call.query[:, :, slice(*block.rows)])
    key, value = (widen(tensor[:, :, slice(*block.columns)]) for tensor in (call.key, call.value))
    groups, columns = key.shape[1], key.shape[2]
    if call.scores is None:
        # The query heads of a group stand below each other, so that no key is repeated for them.
        scores = (query * call.scale).unflatten(1, (groups, -1)).flatten(2, 3) @ key.mT
        scores = scores.view(*query.shape[:3], columns)
    else:
        repeated = key.repeat_interleave(call.group_size, dim=1)
        asking = query.to(call.query.dtype)
        scores = call.scores(asking, repeated.to(call.key.dtype), *position_rows(block))
        check_scores(scores, asking, columns)
        scores = widen(scores) * call.scale
    hidden = hidden_in(call, block)
    weights, lse = weigh_block(scores, call.score, block, hidden, call.return_lse)
    if call.dropout > 0:
        generator = torch.Generator(weights.device).manual_seed(seed)
        kept = torch.empty_like(weights).bernoulli_(1 - call.dropout, generator=generator)
        weights = weights * kept.div_(1 - call.dropout)
    batch, heads, rows, _ = weights.shape
    output = weights.view(batch, groups, call.group_size * rows, columns) @ value
    output = output.view(batch, heads, rows, value.shape[3])
    if hidden is not None:
        # A row without keys has shared its weight among hidden keys.
        keyless = hidden.all(-1).expand(output.shape[:3])
        output = output.masked_fill(keyless[..., None], 0.0)
    return output.to(call.value.dtype), lse


def weigh(
    scores: Tensor, parts: tuple[Score, ...], block: Grid, hidden: Tensor | None, with_lse: bool
) -> tuple[Tensor, Tensor]:
    """What stands between the two products: score parts, mask, softmax."""
    for part in parts:
        scores = part.change(scores, block)
    if hidden is not None:
        scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
    return softmax(scores, sinks_of(parts, block), with_lse)


def softmax(scores: Tensor, sinks: Tensor | None, with_lse: bool) -> tuple[Tensor, Tensor]:
    """The weights, and the lse if it is asked for; any number otherwise."""
    columns = scores.shape[3]
    if sinks is not None:
        scores = torch.cat([scores, sinks.to(scores.dtype)[None, :, None].expand(*scores.shape[:3], -1)], dim=-1)
    lse = scores.logsumexp(-1) if with_lse else scores.new_zeros(scores.shape[:3])
    return scores.softmax(-1)[..., :columns], lse
