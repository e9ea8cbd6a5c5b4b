"""
---
title: Engine flex
summary: PyTorch's FlexAttention for GPUs; masks and scores are compiled into its kernel.
---

# FlexAttention, for GPUs

FlexAttention writes a kernel for the mask and the score of a call and skips blocks that nobody sees. Its functions come from our parts
(see *lowering*), its block masks are remembered as long as the mask is the same value, and it is compiled once for each class of shapes.

On a CPU it has no gradients and no lse, whatever its forward pass costs there, so it refuses.
"""

import functools
from collections import OrderedDict
from typing import Any

import torch
from torch import Tensor

from headwise.call import Call
from headwise.engines.base import Cost, Output, make_cost, pairs
from headwise.engines.guards import drop_hidden, refuse_second_order
from headwise.engines.lowering import mask_mod, score_mod, why_not_lowered
from headwise.engines.summary import sizes_of, value_of
from headwise.mask.full import Full

REMEMBERED = 32


class Flex:
    """FlexAttention, compiled."""

    name = "flex"

    def why_not(self, call: Call) -> list[str]:
        if call.query.device.type != "cuda":
            return [f"FlexAttention has no gradients on {call.query.device.type}, it is for GPUs"]
        return why_not_said(call)

    def cost(self, call: Call) -> Cost:
        # A table of blocks of 128 x 128 pairs for each sequence and head that differ.
        blocks = 4 * (call.grid.queries // 128 + 1) * (call.grid.keys // 128 + 1)
        if torch.compiler.is_compiling() and not isinstance(call.mask, Full):
            # A graph asks the mask for all pairs in each run.
            return make_cost(call, pairs(call), 60.0 + 1e-5 * pairs(call))
        return Cost(False, 60.0 + 1e-5 * pairs(call), blocks, visited=pairs(call))

    def run(self, call: Call) -> Output:
        # Inside of a graph the kernel is compiled with the rest of it.
        output, lse = attend(call, uncompiled() if torch.compiler.is_compiling() else compiled())
        refuse_second_order(self.name, output)
        return Output(output, lse if call.return_lse else None)


def why_not_said(call: Call) -> list[str]:
    """What of the call FlexAttention cannot be told."""
    reasons = []
    if call.scores is not None:
        reasons.append("get_scores is overridden, the kernel knows dot products only")
    if call.dropout > 0:
        reasons.append("FlexAttention has no dropout")
    if call.query.dtype == torch.float64:
        reasons.append("FlexAttention has no float64")
    if 0 in call.query.shape or call.key.shape[2] == 0:
        reasons.append("an axis is empty")
    return reasons + why_not_lowered(call)


@functools.cache
def compiled() -> Any:
    """FlexAttention, compiled when it is first needed."""
    return torch.compile(uncompiled(), dynamic=False)


def uncompiled() -> Any:
    """FlexAttention as it is, imported when it is first needed."""
    from torch.nn.attention.flex_attention import flex_attention

    return flex_attention


def attend(call: Call, kernel: Any) -> tuple[Tensor, Tensor]:
    """Output and lse by FlexAttention, compiled or not."""
    from torch.nn.attention.flex_attention import AuxRequest

    key, value = call.key, call.value
    if call.facts.keep is not None:
        key, value = drop_hidden(call.facts.keep, key, value)
    output, extra = kernel(
        call.query,
        key,
        value,
        score_mod=score_mod(call),
        block_mask=None if isinstance(call.mask, Full) else block_mask(call),
        scale=call.scale,
        enable_gqa=call.group_size > 1,
        return_aux=AuxRequest(lse=True),
    )
    return output, extra.lse


# The last block masks, each with the tensors that it was made from; a tensor that was written to has another version.
BLOCK_MASKS: OrderedDict[Any, tuple[list[Tensor], Any]] = OrderedDict()


def block_mask(call: Call) -> Any:
    """The block mask of a call, made anew only if the mask is another value."""
    # A graph makes its own in each run: what is remembered for a tensor must not be believed of memory that a graph writes to.
    if torch.compiler.is_compiling():
        return new_block_mask(call)
    grid = call.grid
    tensors: list[Tensor] = []
    value = value_of(call.mask, tensors)
    key = None if value is None else (value, sizes_of(call, tensors), str(grid.device))
    if key is not None and key in BLOCK_MASKS:
        return BLOCK_MASKS[key][1]
    made = new_block_mask(call)
    if key is not None:
        # The function of a block mask holds the tensors of the mask, so they live as long as the entry does.
        BLOCK_MASKS[key] = (tensors, made)
        if len(BLOCK_MASKS) > REMEMBERED:
            BLOCK_MASKS.popitem(last=False)
    return made


def new_block_mask(call: Call) -> Any:
    """The block mask of a call, made by asking the mask for all pairs."""
    from torch.nn.attention.flex_attention import create_block_mask

    grid = call.grid
    sizes = grid.batch, grid.heads, grid.queries, grid.keys
    return create_block_mask(mask_mod(call), *sizes, device=str(grid.device))
