"""
---
title: Entropy from a second pass of the engine
summary: The entropy of all rows without any weight, from attention whose values are the keys.
---

# Entropy without weights

With $\\ln w_{ij} = s_{ij} - \\text{lse}_i$ the entropy of a row is

$$-\\sum_j w_{ij} \\ln w_{ij} = \\text{lse}_i - \\sum_j w_{ij} s_{ij}$$

Where scores are plain dot products, the last sum is the product of the query with the **mean key** under the weights:
$\\sum_j w_{ij} s_{ij} = \\text{scale} \\cdot q_i \\cdot \\sum_j w_{ij} k_j$. And the mean key is attention once more, with the
keys in place of the values: the fused kernel computes it and no weight is ever stored.
"""

from dataclasses import replace

import torch
from torch import Tensor

from headwise.call import Call
from headwise.engines.choose import choose
from headwise.recording.recompute import Recomputation

FROM_ENTROPY = {"entropy", "effective_keys"}


def needs_entropy_only(source: Recomputation, names: frozenset[str]) -> bool:
    """
    Is entropy all that is asked for, of a call whose sums a fused kernel can give?

    Half precision would round the mean keys, and few heads or rows are cheaper by themselves.
    """
    call = source.call
    most = 2 * len(source.heads) * len(source.rows) > call.grid.heads * call.grid.queries
    plain = source.lse is not None and not call.score and source.is_plain
    return (
        bool(names) and names <= FROM_ENTROPY and plain and most and call.query.dtype in (torch.float32, torch.float64)
    )


def from_mean_keys(source: Recomputation, names: frozenset[str]) -> dict[str, Tensor]:
    """Entropy, and what follows from it, of the chosen heads and rows."""
    assert source.lse is not None, "the lse comes from the engine that ran the call"
    call = replace(source.call, value=source.call.key, dropout=0.0, return_lse=False)
    entropy_BHI = entropy_of(call, source.lse)[:, list(source.heads)][:, :, list(source.rows)]
    keyless_BHI = source.lse[:, list(source.heads)][:, :, list(source.rows)] == -torch.inf
    tables = {"entropy": entropy_BHI, "effective_keys": torch.where(keyless_BHI, 0.0, entropy_BHI.exp())}
    return {name: tables[name] for name in tables if name in names}


def entropy_of(call: Call, lse_BHI: Tensor) -> Tensor:
    """The entropy of all rows of a plain call whose values are its keys."""
    mean_keys_BHID = choose(call).run(call).output
    mean_scores_BHI = torch.einsum("bhid,bhid->bhi", call.query, mean_keys_BHID) * call.scale
    # Rounding can leave a number a little below 0; a row without any key has an infinite lse, and no entropy.
    return torch.where(lse_BHI == -torch.inf, 0.0, lse_BHI - mean_scores_BHI).clamp(min=0.0)
