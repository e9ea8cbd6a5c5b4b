"""
---
title: Engine flash
summary: The package flash-attn, where it is installed: plain, causal, window, packed.
---

# The package flash-attn

On GPUs the package flash-attn computes plain attention, causal order and windows in half precision, and documents packed into a row
without a mask. It is optional and imported on use; without it, or for anything else, this engine refuses with reasons.
"""

import functools
import importlib
import importlib.util
from typing import Any

import torch
from torch import Tensor

from headwise.call import Call
from headwise.engines.base import Cost, Output, pairs
from headwise.engines.guards import refuse_second_order
from headwise.mask.rectangle import Rectangle


class Flash:
    """The kernels of flash-attn."""

    name = "flash"

    def why_not(self, call: Call) -> list[str]:
        if call.query.device.type != "cuda":
            return [f"flash-attn is for GPUs, the tensors are on {call.query.device.type}"]
        return ([] if installed() else ["the package flash-attn is not installed"]) + why_not_said(call)

    def cost(self, call: Call) -> Cost:
        return Cost(False, 30.0 + 0.8e-5 * pairs(call), 0, visited=pairs(call))

    def run(self, call: Call) -> Output:
        output, lse = attend(call)
        refuse_second_order(self.name, output)
        return Output(output, lse)


@functools.cache
def installed() -> bool:
    """Is the package there? Looked up once, without importing it."""
    return importlib.util.find_spec("flash_attn") is not None


def why_not_said(call: Call) -> list[str]:
    """What of the call flash-attn cannot be told."""
    reasons = []
    if call.scores is not None or call.score:
        reasons.append("scores other than scaled dot products are not passed on to it")
    if call.query.dtype not in (torch.float16, torch.bfloat16):
        reasons.append(f"flash-attn computes in half precision, the tensors are {call.query.dtype}")
    if call.query.shape[3] != call.value.shape[3] or call.query.shape[3] > 256:
        reasons.append("keys and values must be equally wide, and at most 256")
    if call.grid.shift is None or call.grid.shift != call.grid.keys - call.grid.queries:
        reasons.append("positions must be slots, the last query at the last key")
    if call.facts.keep is not None or (call.facts.rest is not None and packed(call) is None):
        reasons.append("the mask is more than a band, or documents that fill each row")
    if call.return_lse:
        reasons.append("the lse of flash-attn carries no gradient")
    if 0 in call.query.shape or call.key.shape[2] == 0:
        reasons.append("an axis is empty")
    return reasons


def packed(call: Call) -> tuple[Rectangle, ...] | None:
    """The documents of all rows, if they follow one another without gaps, in queries and in keys; else None."""
    grid = call.grid
    found = None if call.facts.rest is None else call.facts.rest.rectangles(grid)
    if found is None or grid.queries != grid.keys:
        return None
    ordered = sorted(
        Rectangle((batch, batch + 1), rows, columns)
        for sequences, rows, columns in found
        for batch in range(*sequences)
    )
    squares = all(rows == columns for _, rows, columns in ordered)
    filled = sum(rows[1] - rows[0] for _, rows, _ in ordered) == grid.batch * grid.queries
    return tuple(ordered) if squares and filled else None


def window_of(call: Call) -> tuple[int, int]:
    """The band as flash-attn counts it: keys to the left and to the right of the query, -1 for no bound."""
    low, high = call.facts.low, call.facts.high
    return (-1 if high is None else high - 1), (-1 if low is None else -low)


def attend(call: Call) -> tuple[Tensor, None]:
    """The output by flash-attn, which has the sequence before the heads."""
    kernels: Any = importlib.import_module("flash_attn")
    query, key, value = (tensor.transpose(1, 2) for tensor in (call.query, call.key, call.value))
    said = {"dropout_p": call.dropout, "softmax_scale": call.scale, "window_size": window_of(call)}
    if call.facts.rest is None:
        return kernels.flash_attn_func(query, key, value, **said).transpose(1, 2), None
    documents = packed(call)
    assert documents is not None, "why_not has asked"
    lengths = torch.tensor([rows[1] - rows[0] for _, rows, _ in documents], dtype=torch.int32)
    bounds = torch.nn.functional.pad(lengths.cumsum(0, dtype=torch.int32), (1, 0)).to(query.device)
    longest = int(lengths.max())
    flat = (tensor.flatten(0, 1) for tensor in (query, key, value))
    output = kernels.flash_attn_varlen_func(*flat, bounds, bounds, longest, longest, **said)
    return output.unflatten(0, query.shape[:2]).transpose(1, 2), None
