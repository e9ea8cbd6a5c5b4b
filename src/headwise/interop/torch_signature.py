"""
---
title: PyTorch's signature
summary: A layer of this library that is called as a torch.nn.MultiheadAttention is.
---

# PyTorch's signature

Code that calls a `torch.nn.MultiheadAttention` passes it masks in that module's way, and takes a pair back. `TorchAttention` speaks
that way on the outside; inside it is a layer of this library, with its engines, its 0 for queries without keys, and its recording.

| there | meaning |
|---|---|
| `attn_mask` bool | True = **hidden**; `[I,J]` or `[B*H,I,J]`, the heads of a sequence in a row |
| `attn_mask` float | added to the scores; $-\\infty$ hides |
| `key_padding_mask` `[B,J]` | True = **padding**, or numbers to add |
| `is_causal` | here the causal mask, besides the others |
"""

from dataclasses import replace

import torch
from torch import Tensor, nn

from headwise.attend import Attend
from headwise.call import Call
from headwise.errors import MaskError
from headwise.layer import MultiHeadAttention
from headwise.layout import swap_batch
from headwise.mask.base import Mask
from headwise.mask.causal import Causal
from headwise.mask.dense import Dense
from headwise.mask.full import Full
from headwise.mask.padding import Padding
from headwise.reference import attention_steps
from headwise.score.base import Score
from headwise.score.bias import Bias
from headwise.shapes import check_inputs, fail
from headwise.source.keys import Keys, in_heads


class TorchAttention(nn.Module):
    """
    A layer behind the signature of `torch.nn.MultiheadAttention`: returns `(output, weights or None)`.

    *Edge*: weights, if asked for, are those **before** dropout, so that their rows sum to 1.
    """

    def __init__(self, layer: MultiHeadAttention) -> None:
        super().__init__()
        self.layer = layer
        self.embed_dim, self.num_heads, self.head_dim = layer.d_model, layer.heads, layer.head_dim
        self.batch_first, self.dropout = layer.batch_first, layer.dropout
        self.kdim = self.vdim = layer.key.linear.in_features
        # PyTorch's own encoder layers read these: without packed weights they call this module in place of a path that goes around it.
        self._qkv_same_embed_dim = False
        self.in_proj_weight = self.in_proj_bias = self.bias_k = self.bias_v = None
        self.add_zero_attn = False

    @property
    def out_proj(self) -> nn.Linear:
        """The output projection, under the name that it has in PyTorch."""
        return self.layer.output

    @property
    def attend(self) -> Attend:
        """The submodule through which every call goes."""
        return self.layer.attend

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        # 1. Batch first, with a batch. A single sequence is a batch of one.
        single = query.dim() == 2
        if single:
            query, key, value = (tensor.unsqueeze(0 if self.batch_first else 1) for tensor in (query, key, value))
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        check_inputs(query, key, value, self.embed_dim, self.kdim, False, self.batch_first)
        query, key, value = (swap_batch(tensor, self.batch_first) for tensor in (query, key, value))

        # 2. The call, with the masks of both worlds.
        call = self.make_call(
            query, key, value, read_masks(attn_mask, key_padding_mask, query, self.num_heads), is_causal
        )

        # 3. Attend, join the heads, and map to the width of the model.
        joined = self.attend(call).transpose(1, 2).flatten(-2)
        output = swap_batch(self.layer.output(joined), self.batch_first)
        output = output.squeeze(0 if self.batch_first else 1) if single else output
        if not need_weights:
            return output, None
        weights = attention_steps(replace(call, dropout=0.0)).weights.to(output.dtype)
        weights = weights.mean(1) if average_attn_weights else weights
        return output, weights.squeeze(0) if single else weights

    def make_call(
        self, query: Tensor, key: Tensor, value: Tensor, read: tuple[Mask, tuple[Score, ...]], is_causal: bool
    ) -> Call:
        """What is to be computed: the layer's own call, and the parts that came with this one."""
        layer, (mask, score) = self.layer, read
        mask = layer.mask & (mask & Causal() if is_causal else mask)
        keys = Keys(in_heads(layer.key, key, layer.key_norm), in_heads(layer.value, value), mask, None, 0, None)
        call = layer.make_call(in_heads(layer.query, query, layer.query_norm), keys)
        for part in score:
            part.check(call.grid)
        return replace(call, score=(*call.score, *score))


def read_masks(
    attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor, heads: int
) -> tuple[Mask, tuple[Score, ...]]:
    """A mask and the numbers to add, from PyTorch's two masks, in which True means hidden."""
    mask: Mask = Full()
    score: tuple[Score, ...] = ()
    if attn_mask is not None:
        if attn_mask.dim() == 3 and attn_mask.shape[0] == query.shape[0] * heads:
            attn_mask = attn_mask.unflatten(0, (query.shape[0], heads))
        if attn_mask.dim() not in (2, 4):
            fail("attn_mask must have the axes I J or B*H I J", "give it one of them", attn_mask=(attn_mask, "?"))
        visible, numbers = split("attn_mask", attn_mask)
        mask, score = Dense(visible), () if numbers is None else (Bias(numbers),)
    if key_padding_mask is not None:
        if key_padding_mask.dim() != 2:
            fail("key_padding_mask must have the axes B J", "give it both", key_padding_mask=(key_padding_mask, "?"))
        keep, numbers = split("key_padding_mask", key_padding_mask)
        mask, score = mask & Padding(keep), score if numbers is None else (*score, Bias(numbers[:, None, None]))
    return mask, score


def split(name: str, tensor: Tensor) -> tuple[Tensor, Tensor | None]:
    """What a mask of PyTorch lets be seen, and what it adds to the scores: a bool tensor adds nothing, in a float one $-\\infty$ hides."""
    if tensor.dtype == torch.bool:
        return ~tensor, None
    if not tensor.is_floating_point():
        raise MaskError(
            f"{name} must be bool, True = hidden, or float, added to the scores; got {tensor.dtype}. Usual fix: {name}.bool()."
        )
    visible = tensor != -torch.inf
    # PyTorch's layers turn bool masks into 0 and $-\infty$ on the way. Such a mask adds nothing, and is cheaper as what it was.
    if not (tensor.requires_grad or torch.compiler.is_compiling()) and not bool((visible & (tensor != 0)).any()):
        return visible, None
    return visible, torch.where(visible, tensor, 0.0)
