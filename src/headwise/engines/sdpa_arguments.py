"""
---
title: What the kernel of sdpa is given
summary: The mask of a call as a flag, as nothing, or as a matrix; widths; and queries that see no key.
---

# From the parts of a call to the arguments of the kernel

PyTorch's kernel knows a causal flag or one matrix. Which of them a call needs follows from the facts of its mask and from
`grid.shift`: the distance $i - j$ of the first query and the first key, in positions. Where positions run on evenly it is a whole number, and
the distance of row $r$ and column $c$ is `shift + r - c`; otherwise it is `None`.
"""

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor

from headwise.call import Call
from headwise.mask.base import Facts
from headwise.score.base import AdditiveScore


def causal_flag(call: Call, facts: Facts) -> bool:
    """Is what the mask says of pairs exactly the kernel's causal flag: each query sees the keys up to its own row?"""
    # The flag lets the first row see the first column, the second row two columns, and so on: the distance must be 0 where both begin.
    if call.grid.shift != 0:
        return False
    return facts.low == 0 and facts.high is None and facts.rest is None


def is_open(call: Call, facts: Facts, pairwise_only: bool = False) -> bool:
    """Does the mask let every query see every key? A single new query over a cache is the common case."""
    grid = call.grid
    if facts.rest is not None or (facts.keep is not None and not pairwise_only):
        return False
    if facts.low is None and facts.high is None:
        return True
    if grid.shift is None:
        return False
    # The smallest distance is that of the first query and the last key, the largest that of the last query and the first key.
    nearest, farthest = grid.shift - (grid.keys - 1), grid.shift + grid.queries - 1
    return (facts.low is None or nearest >= facts.low) and (facts.high is None or farthest < facts.high)


def attn_mask(call: Call, facts: Facts, flag: bool) -> Tensor | None:
    """What the kernel takes besides the operands: a bool mask, or numbers to add, $-\\infty$ where hidden; None where all is open."""
    grid = call.grid
    # Beside the flag only the slots are left to say.
    visible = Facts(keep=facts.keep).sees(grid) if flag else None if is_open(call, facts) else call.mask.sees(grid)
    if visible is not None and len(call.score) == 0:
        return visible.expand(-1, -1, grid.queries, grid.keys)
    bias: Tensor | None = None
    # All parts are additive, or this engine would have refused.
    for part in cast(tuple[AdditiveScore, ...], call.score):
        number = part.bias(grid).to(torch.promote_types(call.query.dtype, torch.float32))
        bias = number if bias is None else bias + number
    if bias is None:
        return None
    bias = bias if visible is None else torch.where(visible, bias, -torch.inf)
    return bias.expand(-1, -1, grid.queries, grid.keys)


def matrix_size(call: Call, facts: Facts) -> int:
    """Numbers in the matrix that the kernel would be given; axes along which it is the same count once."""
    grid = call.grid
    heads = grid.heads if facts.rest is not None or call.score else 1
    batch = 1 if grid.shift is not None and facts.keep is None and facts.rest is None and not call.score else grid.batch
    return batch * heads * grid.queries * grid.keys


def fits_cpu_kernel(call: Call) -> bool:
    """Can the CPU kernel itself be called, which takes more than the public function lets through?"""
    # An exported graph runs elsewhere, where there is no such kernel.
    if torch.compiler.is_exporting():
        return False
    return (
        call.query.device.type == "cpu"
        and call.dropout == 0
        and all(tensor.stride(-1) == 1 for tensor in (call.query, call.key, call.value))
    )


def fit_width(tensor: Tensor, width: int) -> Tensor:
    """Fill up features with zeros: the fused kernel wants equal widths, and zeros change neither a dot product nor the other features."""
    missing = width - tensor.shape[3]
    return F.pad(tensor, (0, missing)) if missing > 0 else tensor


def empty_keyless(output: Tensor, extra: Tensor) -> Tensor:
    """Output 0 for queries without keys, written into the graph: other runtimes mix the hidden values there."""
    seen = extra if extra.dtype == torch.bool else extra != -torch.inf
    return torch.where(seen.any(-1, keepdim=True), output, 0.0)


def hide_keyless(call: Call, lse: Tensor, flag: bool) -> Tensor:
    """The lse with $-\\infty$ for queries that see no key; the kernel has 0 there."""
    facts = call.facts
    if facts.keep is None and (flag or is_open(call, facts)):
        return lse
    return torch.where(call.mask.sees(call.grid).any(-1).expand_as(lse), lse, -torch.inf)
