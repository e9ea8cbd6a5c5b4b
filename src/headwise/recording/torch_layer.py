"""
---
title: Recording PyTorch's own layer
summary: The call that a torch.nn.MultiheadAttention makes, put together from its inputs.
---

# `torch.nn.MultiheadAttention`

PyTorch's layer has no `attend` to hook. What it computes follows from its inputs and weights, so the call is put together
from them, and recorded like any other. Its masks say True where a pair is **hidden**, or are numbers to add.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headwise.call import Call
from headwise.engines.choose import choose
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


class Without(nn.Module):
    """The output projection of a layer, as if the features of some heads were 0."""

    # Another `Without`, where heads are taken away one after the other.
    linear: Any

    def __init__(self, linear: Any, heads: list[int], head_dim: int) -> None:
        super().__init__()
        self.linear, self.heads, self.head_dim = linear, heads, head_dim

    @property
    def weight(self) -> Tensor:
        """The weight with 0 in the columns of these heads."""
        columns: Tensor = self.linear.weight.unflatten(1, (-1, self.head_dim))
        kept = torch.ones(columns.shape[1], 1, dtype=columns.dtype, device=columns.device)
        kept[self.heads] = 0.0
        return (columns * kept).flatten(1)

    @property
    def bias(self) -> Tensor | None:
        """The bias as it is."""
        bias: Tensor | None = self.linear.bias
        return bias


@contextmanager
def without_heads(layer: nn.MultiheadAttention, heads: list[int], *, mean: bool) -> Iterator[None]:
    """Inside, the output of these heads is replaced by 0 or by its mean over the queries of each call."""
    whole: list[Any] = []

    def before(module: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
        # The layer reads the weight of its output projection and never calls it, so the projection is exchanged for the call.
        whole.append(module._modules["out_proj"])
        module._modules["out_proj"] = Without(whole[-1], heads, layer.head_dim)

    def after(module: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any], result: Any) -> Any:
        projection = module._modules["out_proj"] = whole.pop()
        if not mean or result is None:
            return None
        return (result[0] + means_of(layer, heads, projection, inputs, named), *result[1:])

    # What is exchanged last is put back first, and also after a call that fails.
    handles = [
        layer.register_forward_pre_hook(before, with_kwargs=True),
        layer.register_forward_hook(after, with_kwargs=True, always_call=True, prepend=True),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def means_of(
    layer: nn.MultiheadAttention, heads: list[int], projection: Any, inputs: tuple[Any, ...], named: dict[str, Any]
) -> Tensor:
    """What the means of these heads add to the output of the layer, in its layout."""
    call = call_of(layer, inputs, named)
    with torch.no_grad():
        output_BHIE = choose(call).run(call).output
        means_BHIE = torch.zeros_like(output_BHIE)
        means_BHIE[:, heads] = output_BHIE[:, heads].mean(2, keepdim=True)
    added_BIM = F.linear(means_BHIE.transpose(1, 2).flatten(-2), projection.weight)
    given = dict(zip(ARGUMENTS, inputs, strict=False)) | named
    if given["query"].dim() == 2:
        return added_BIM[0]
    return added_BIM if layer.batch_first else added_BIM.transpose(0, 1)
