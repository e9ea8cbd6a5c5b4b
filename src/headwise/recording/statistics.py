"""
---
title: Statistics of attention
summary: What a head does, in numbers whose memory grows with the sequence and not with its square.
---

# Statistics of attention

A map of 4096 queries and keys has 16 million numbers for each head. Most questions need far fewer:

| name | for each query | unit |
|---|---|---|
| `entropy` | $-\\sum_j w_j \\ln w_j$: how undecided the head is | nats |
| `max` | the largest weight | share |
| `distance` | $\\sum_j w_j (i - j)$ in positions: how far back it looks | tokens |
| `first` | weight on the first token of the sequence | share |
| `self` | weight on the query's own token | share |
| `effective_keys` | $e^{\\text{entropy}}$: as undecided as an even choice among so many keys | keys |
| `top_keys`, `top_weights` | the slots with the largest weights, and these weights; slot -1 where fewer keys are seen | slots, shares |
| `key_mass` | for each **key**: the sum of the weights that it gets from all recorded queries | queries |

Each is computed from a block of rows at a time, and the block is thrown away.

*Shapes*: `[B,H,I]`; `top_keys` and `top_weights` `[B,H,I,k]`; `key_mass` `[B,H,J]`.

*Edge*: a query that sees no key has 0 everywhere, and -1 in `top_keys`.
"""

from collections.abc import Mapping

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headwise.recording.recompute import Block, Recomputation

STATISTICS = ("entropy", "max", "distance", "first", "self", "effective_keys", "top_keys", "key_mass")
# Those that have one number for each head and query.
FOR_EACH_QUERY = ("entropy", "max", "distance", "first", "self", "effective_keys")


def averaged(stats: Mapping[str, Tensor], tokens: Bool[Tensor, "B I"] | None = None) -> dict[str, Float[Tensor, " H"]]:
    """
    The mean over batch and queries of each statistic that has one number for a query; one number a head remains.

    *Shapes*: `tokens` says which queries count, such as those that are no padding; all of them if not given.

    >>> averaged({"max": torch.tensor([[[1.0, 0.5]]])})
    {'max': tensor([0.7500])}
    """
    means: dict[str, Tensor] = {}
    for name, numbers in stats.items():
        if name in FOR_EACH_QUERY:
            share_B1I = torch.ones_like(numbers[:, :1]) if tokens is None else tokens[:, None].to(numbers)
            means[name] = (numbers * share_B1I).sum((0, 2)) / share_B1I.sum()
    return means


class Statistics:
    """Gathers the named statistics of one call, block by block."""

    def __init__(self, source: Recomputation, names: frozenset[str], top: int) -> None:
        self.source, self.names = source, names
        grid = source.call.grid
        self.top = min(top, grid.keys)
        sizes = (grid.batch, len(source.heads), len(source.rows))
        self.tables: dict[str, Tensor] = {}
        number = torch.promote_types(source.call.query.dtype, torch.float32)
        for name in STATISTICS:
            if name in names:
                shape = (*sizes[:2], grid.keys) if name == "key_mass" else sizes
                self.tables[name] = torch.zeros(shape, dtype=number, device=grid.device)
        if "top_keys" in names:
            self.tables["top_keys"] = torch.full((*sizes, self.top), -1, device=grid.device)
            self.tables["top_weights"] = torch.zeros((*sizes, self.top), dtype=number, device=grid.device)
        keep = source.call.facts.keep
        # The first token of a sequence that is filled up on its left side is the first slot that holds one.
        self.first_B = None if keep is None else keep.to(grid.device).int().argmax(1)

    def add(self, block: Block) -> None:
        """Measure the heads and rows of a block."""
        weights, grid, names = block.weights, block.grid, self.names
        if not weights.shape[3]:
            return
        if names & {"entropy", "effective_keys"}:
            entropy_BHI = entropy(block)
            if "entropy" in names:
                self.put("entropy", block, entropy_BHI)
            if "effective_keys" in names:
                self.put("effective_keys", block, torch.where(block.lse == -torch.inf, 0.0, entropy_BHI.exp()))
        if "max" in names:
            self.put("max", block, weights.amax(-1))
        if "distance" in names:
            self.put("distance", block, mean_distance(block))
        if "first" in names:
            self.put("first", block, self.on_first(block))
        if "self" in names:
            self.put("self", block, torch.where(grid.distance == 0, weights, 0.0).sum(-1))
        if "key_mass" in names:
            self.tables["key_mass"][:, block.heads, slice(*grid.columns)] += weights.sum(2)
        if "top_keys" in names:
            self.add_top(block)

    def put(self, name: str, block: Block, numbers: Tensor) -> None:
        self.tables[name][:, block.heads, block.rows] = numbers

    def on_first(self, block: Block) -> Tensor:
        """The weight on the first token of each sequence."""
        weights_BHIJ, (start, stop) = block.weights, block.grid.columns
        if self.first_B is None:
            return weights_BHIJ[..., 0] if start == 0 else torch.zeros_like(block.lse)
        is_first_B11J = (self.first_B[:, None] == torch.arange(start, stop, device=weights_BHIJ.device))[:, None, None]
        return torch.where(is_first_B11J, weights_BHIJ, 0.0).sum(-1)

    def add_top(self, block: Block) -> None:
        """The slots with the largest weights, and these weights."""
        count = min(self.top, block.weights.shape[3])
        weights_BHIk, columns_BHIk = block.weights.topk(count, dim=-1)
        hidden_BHIk = block.hidden.gather(-1, columns_BHIk)
        keys_BHIk = torch.where(hidden_BHIk, -1, columns_BHIk + block.grid.columns[0])
        self.tables["top_keys"][:, block.heads, block.rows, :count] = keys_BHIk
        self.tables["top_weights"][:, block.heads, block.rows, :count] = weights_BHIk


def entropy(block: Block) -> Tensor:
    """
    $-\\sum_j w_j \\ln w_j$ in nats. The logarithms are at hand: scores less the lse.

    Rounding can leave a number a little below 0 where one key has everything.
    """
    return -torch.linalg.vecdot(block.weights, block.log_weights).clamp_(max=0.0)


def mean_distance(block: Block) -> Tensor:
    """The mean of $i - j$: the position of the query, less the mean position of the keys."""
    weights_BHIJ, grid = block.weights, block.grid
    # Distances from the first query of the block are small numbers, exact in float32 also where positions are large.
    origin = grid.query_position[:, :, :1]
    query_BHI = (grid.query_position - origin)[..., 0].to(weights_BHIJ.dtype)
    key_B1J1 = (grid.key_position - origin).transpose(2, 3).to(weights_BHIJ.dtype)
    return query_BHI * weights_BHIJ.sum(-1) - (weights_BHIJ @ key_B1J1)[..., 0]
