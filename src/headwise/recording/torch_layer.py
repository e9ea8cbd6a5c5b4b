"""
---
title: Recording PyTorch's own layer
summary: The call that a torch.nn.MultiheadAttention makes, put together from its inputs.
---

# `torch.nn.MultiheadAttention`

PyTorch's layer has no `attend` to hook. What it computes follows from its inputs and weights, so the call is put together
from them, and recorded like any other. Its masks say True where a pair is **hidden**, or are numbers to add.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headwise.call import Call
from headwise.mask.base import Mask
from headwise.mask.dense import Dense
from headwise.mask.full import Full
from headwise.mask.padding import Padding
from headwise.score.base import Score
from headwise.score.bias import Bias

# Its arguments in order, as its hook gets them.
ARGUMENTS = ("query", "key", "value", "key_padding_mask", "need_weights", "attn_mask")


@torch.no_grad()
def call_of(layer: nn.MultiheadAttention, inputs: tuple[Any, ...], named: dict[str, Any]) -> Call:
    """The call of the layer for these inputs."""
    given = dict(zip(ARGUMENTS, inputs, strict=False)) | named
    # 1. Batch first, whatever came; a single sequence becomes a batch of one.
    tensors = [given[name] for name in ("query", "key", "value")]
    single = tensors[0].dim() == 2
    tensors = [x[None] if single else x if layer.batch_first else x.transpose(0, 1) for x in tensors]
    hidden = given.get("key_padding_mask")
    hidden = None if hidden is None else hidden[None] if single else hidden
    # 2. Queries, keys and values, and what the layer appends to the keys.
    query, key, value = projected(layer, *tensors)
    added = key.shape[1] - tensors[1].shape[1]
    query, key, value = (x.unflatten(-1, (layer.num_heads, -1)).transpose(1, 2) for x in (query, key, value))
    # 3. Masks. Appended keys are seen by everybody.
    masks: list[Mask] = []
    scores: list[Score] = []
    add_padding(hidden, added, masks, scores)
    add_pairs(given.get("attn_mask"), layer.num_heads, added, masks, scores)
    mask: Mask = Full()
    for part in masks:
        mask = mask & part
    return Call.of(query, key, value, mask=mask, score=tuple(scores))


def projected(layer: nn.MultiheadAttention, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The three linear maps of the layer, and the keys and values that it appends."""
    whole = layer.in_proj_weight
    weights = (layer.q_proj_weight, layer.k_proj_weight, layer.v_proj_weight) if whole is None else whole.chunk(3)
    biases = (None, None, None) if layer.in_proj_bias is None else layer.in_proj_bias.chunk(3)
    query, key, value = (
        F.linear(x, weight, bias) for x, weight, bias in zip((query, key, value), weights, biases, strict=True)
    )
    if layer.bias_k is not None and layer.bias_v is not None:
        key = torch.cat([key, layer.bias_k.expand(key.shape[0], 1, -1)], 1)
        value = torch.cat([value, layer.bias_v.expand(value.shape[0], 1, -1)], 1)
    if layer.add_zero_attn:
        key, value = F.pad(key, (0, 0, 0, 1)), F.pad(value, (0, 0, 0, 1))
    return query, key, value


def add_padding(hidden: Tensor | None, added: int, masks: list[Mask], scores: list[Score]) -> None:
    """The mask of padded keys `[B,J]`: True where hidden, or numbers to add."""
    if hidden is None:
        return
    hidden = F.pad(hidden, (0, added))
    if hidden.dtype == torch.bool:
        masks.append(Padding(~hidden))
    else:
        masks.append(Padding(hidden > -torch.inf))
        scores.append(Bias(finite(hidden)[:, None, None]))


def add_pairs(hidden: Tensor | None, heads: int, added: int, masks: list[Mask], scores: list[Score]) -> None:
    """The mask of pairs, `[I,J]` or `[B H, I, J]` with the heads of a sequence in a row."""
    if hidden is None:
        return
    hidden = F.pad(hidden, (0, added))
    if hidden.dim() == 3:
        hidden = hidden.unflatten(0, (-1, heads))
    if hidden.dtype == torch.bool:
        masks.append(Dense(~hidden))
    else:
        masks.append(Dense(hidden > -torch.inf))
        scores.append(Bias(finite(hidden)))


def finite(numbers: Tensor) -> Tensor:
    """What remains to be added where nothing is hidden: a hidden pair is said by the mask."""
    return torch.where(numbers == -torch.inf, 0.0, numbers)
