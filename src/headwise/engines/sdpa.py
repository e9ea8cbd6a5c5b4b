"""
---
title: Engine sdpa
summary: PyTorch's fused kernel, with the facts of the mask turned into its arguments.
---

# PyTorch's fused kernel

`torch.nn.functional.scaled_dot_product_attention` computes plain attention without storing the scores. It takes a
causal flag, or a mask, or numbers to add to the scores. This engine turns the parts of a call into those, and refuses
what they cannot say.

Three habits of the kernel are put right here: its causal flag lets the *first* query see the first key only, whatever
the number of keys; on CPU it can return 0 for a query that holds a NaN; and it multiplies hidden slots by 0, so that a NaN
in a padded slot would reach every query.
"""

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor

from headwise.call import Call
from headwise.engines.base import Cost, Output, make_cost, pairs
from headwise.engines.cpu_kernel import attend_with_lse
from headwise.engines.guards import once_differentiable, show_nan
from headwise.mask.base import Facts
from headwise.score.base import AdditiveScore


class Sdpa:
    """Plain, causal and dense masks, additive scores."""

    name = "sdpa"

    def why_not(self, call: Call) -> list[str]:
        reasons = []
        if call.scores is not None:
            reasons.append("get_scores is overridden, the kernel knows dot products only")
        reasons += [
            f"{type(part).__name__} changes scores otherwise than by adding to them"
            for part in call.score
            if not isinstance(part, AdditiveScore)
        ]
        if 0 in call.query.shape or call.key.shape[2] == 0:
            reasons.append("an axis is empty")
        if call.return_lse and call.query.device.type != "cpu":
            reasons.append("the lse is available on CPU only")
        if call.return_lse and call.dropout > 0:
            reasons.append("the lse is not available with dropout")
        return reasons

    def cost(self, call: Call) -> Cost:
        facts = call.mask.facts()
        flag = causal_flag(call, facts)
        fused = call.dropout == 0 and not (call.score and torch.is_grad_enabled())
        matrix = not fused or call.score or not (flag or is_open(call, facts, pairwise_only=True))
        extra = 4 * matrix_size(call, facts) if fused else 3 * 4 * pairs(call)
        speed = 6e-4 if fused else 4e-3
        return make_cost(call, extra if matrix else 0, 10.0 + pairs(call) * speed * (0.5 if flag else 1.0))

    def run(self, call: Call) -> Output:
        facts = call.mask.facts()
        query, key, value = once_differentiable(self.name, call.query, call.key, call.value)
        if facts.keep is not None:
            key, value = drop_hidden(facts.keep, key, value)
        flag = causal_flag(call, facts)
        extra = None if flag and not call.score else attn_mask(call, facts)
        flag = flag and extra is None
        features, value = value.shape[3], fit_width(value, query.shape[3])
        query, key = fit_width(query, value.shape[3]), fit_width(key, value.shape[3])

        lse: Tensor | None = None
        if call.return_lse:
            output, lse = attend_with_lse(query, key, value, extra, flag, call.scale)
            lse = torch.where(call.mask.sees(call.grid).any(-1).expand_as(lse), lse, -torch.inf)
        else:
            output = F.scaled_dot_product_attention(
                query,
                key,
                value,
                attn_mask=extra,
                dropout_p=call.dropout,
                is_causal=flag,
                scale=call.scale,
                enable_gqa=True if call.group_size > 1 else False,  # noqa: SIM210  a compiler needs a bool, not a symbol
            )
        return Output(show_nan(call, output[..., :features]), lse)


def causal_flag(call: Call, facts: Facts) -> bool:
    """Is the mask exactly the kernel's causal flag: each query sees the keys up to its own row, and that is all?"""
    return (
        facts.low == 0
        and facts.high is None
        and facts.keep is None
        and facts.rest is None
        and call.grid.shift == 0
        and not is_open(call, facts)
    )


def is_open(call: Call, facts: Facts, pairwise_only: bool = False) -> bool:
    """Does the mask let every query see every key? A single new query over a cache is the common case."""
    grid = call.grid
    if facts.rest is not None or (facts.keep is not None and not pairwise_only):
        return False
    if facts.low is None and facts.high is None:
        return True
    if grid.shift is None:
        return False
    nearest, farthest = grid.shift - (grid.keys - 1), grid.shift + grid.queries - 1
    return (facts.low is None or nearest >= facts.low) and (facts.high is None or farthest < facts.high)


def matrix_size(call: Call, facts: Facts) -> int:
    """Numbers in the matrix that the kernel would be given; axes along which it is the same count once."""
    grid = call.grid
    heads = grid.heads if facts.rest is not None or call.score else 1
    batch = 1 if grid.shift is not None and facts.keep is None and facts.rest is None and not call.score else grid.batch
    return batch * heads * grid.queries * grid.keys


def attn_mask(call: Call, facts: Facts) -> Tensor | None:
    """What the kernel takes besides the operands: a bool mask, or numbers to add, $-\\infty$ where hidden; None where all is open."""
    visible = None if is_open(call, facts) else call.mask.sees(call.grid)
    if visible is not None and not call.score:
        return visible.expand(-1, -1, call.grid.queries, call.grid.keys)
    bias: Tensor | None = None
    # All parts are additive, or this engine would have refused.
    for part in cast(tuple[AdditiveScore, ...], call.score):
        number = part.bias(call.grid).to(call.query.dtype)
        bias = number if bias is None else bias + number
    if bias is None:
        return None
    bias = bias if visible is None else torch.where(visible, bias, -torch.inf)
    return bias.expand(-1, -1, call.grid.queries, call.grid.keys)


def drop_hidden(keep: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Set keys and values of slots that hold no token to 0: the kernel multiplies them by 0, and 0 times NaN is NaN."""
    keep_B1J1 = keep.to(key.device)[:, None, :, None]
    return torch.where(keep_B1J1, key, 0.0), torch.where(keep_B1J1, value, 0.0)


def fit_width(tensor: Tensor, width: int) -> Tensor:
    """Fill up features with zeros: the fused kernel wants equal widths, and zeros change neither a dot product nor the other features."""
    missing = width - tensor.shape[3]
    return F.pad(tensor, (0, missing)) if missing > 0 else tensor
