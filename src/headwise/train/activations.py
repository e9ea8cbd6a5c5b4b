"""
---
title: The memory of activations
summary: What a pass keeps for its backward pass, and what the backward pass needs besides, found without numbers.
---

# The memory of activations

The model is built on the *meta* device, where tensors have shapes and no numbers. A pass through it tells PyTorch's graph what the backward
pass will ask for, and the graph is asked for the sizes.

The peak comes at the beginning of the backward pass, when everything is still kept. It is in the loss, whose gradient is as large as the
logits, behind the last norm, or in the last layer:

$$\\text{peak} = \\text{kept} + \\max(\\text{work of the loss}, \\text{gradient of the output}, \\text{work of a layer})$$
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from headwise.attend import Attend
from headwise.call import Call
from headwise.engines.blocks import BLOCK_SCORES, LEAST_ROWS
from headwise.train.build import assembled
from headwise.train.config import ModelConfig, RunConfig
from headwise.train.loss import token_loss_sum
from headwise.train.precision import DTYPES
from headwise.transformer.feed_forward import FeedForward, GatedFeedForward
from headwise.transformer.in_blocks import IN_PLACE, block_size

# The loss holds its gradient with respect to the probabilities and with respect to the logits.
IN_LOSS = 2


def activation_memory(config: RunConfig, vocab: int) -> int:
    """The largest sum of bytes that one part of a batch needs, weights and their gradients aside."""
    rows = config.train.batch // config.train.accumulate
    tokens = rows * config.model.context
    dtype = DTYPES.get(config.train.precision, torch.float32)
    kept = _kept(config.model, vocab, rows, dtype)
    # The loss is computed in single precision.
    logits = 4 * tokens * vocab
    # At the end of the stack the gradient of its output joins what is kept. When the last layer is reached, that output and the input of
    # the last norm have been let go, which makes room for the gradients that come and go.
    tensor = dtype.itemsize * tokens * config.model.d_model
    work = tensor
    if config.model.recompute:
        # One layer is computed again as a whole, and then keeps everything as the ordinary layer does.
        two, one = (_kept_by_plain(config.model, layers, vocab, rows, dtype) for layers in (2, 1))
        work += two - one
    work += dtype.itemsize * (_middle(config, vocab, tokens) + _weights(config.model, rows))
    return kept + max(IN_LOSS * logits, tensor, work - logits)


def _middle(config: RunConfig, vocab: int, tokens: int) -> int:
    """Numbers in the middle of the network while its gradient is computed."""
    with torch.device("meta"):
        model = assembled(dataclasses.replace(config.model, layers=1), vocab)
    network = next(each for each in model.modules() if isinstance(each, FeedForward | GatedFeedForward))
    gated = isinstance(network, GatedFeedForward)
    in_blocks = network.activation in IN_PLACE and config.train.precision == "float32" and not network.dropout.p
    if network.lean and in_blocks:
        buffers = 2 if gated else 1
        return buffers * network.width * block_size(tokens, buffers * network.width)
    # The middle and its gradient; with a gate also what the gate lets through, and the gradient of what was proposed. A layer that is
    # computed again has counted one half of it already.
    whole = 4 if gated else 2
    return (whole if network.lean else whole // 2) * network.width * tokens


def _weights(shape: ModelConfig, rows: int) -> int:
    """Numbers in the weights of attention while some of them are dropped; without dropout no kernel writes them out."""
    if shape.dropout == 0:
        return 0
    pairs = rows * shape.heads * shape.context
    # Scores, weights, what is dropped, and what is left, for one block of queries.
    return 4 * min(pairs * shape.context, max(pairs * LEAST_ROWS, BLOCK_SCORES))


def _kept_by_plain(shape: ModelConfig, layers: int, vocab: int, rows: int, dtype: torch.dtype) -> int:
    plain = dataclasses.replace(shape, layers=layers, recompute=False)
    # Outside of training no layer spares anything.
    return _kept(plain, vocab, rows, dtype, training=False)


def _kept(shape: ModelConfig, vocab: int, rows: int, dtype: torch.dtype, *, training: bool = True) -> int:
    """Bytes that the graph of one pass holds."""
    kept: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage._cdata] = storage.nbytes()
        return tensor

    with torch.device("meta"):
        model = assembled(shape, vocab).to(dtype).train(training)
        _stand_in(model)
        tokens = torch.zeros(rows, shape.context, dtype=torch.long)
        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            # The graph must live until all is counted, because the place of a freed tensor is given to the next one.
            loss = token_loss_sum(model(tokens), tokens)
    del loss
    return sum(kept.values()) - sum(kept.get(each.untyped_storage()._cdata, 0) for each in model.parameters())


def _stand_in(model: nn.Module) -> None:
    """Exchanges what draws numbers, or chooses a kernel by the device, for something that keeps as much."""
    found: dict[str, Callable[[nn.Module], nn.Module]] = {}
    for name, module in model.named_modules():
        if isinstance(module, Attend):
            found[name] = lambda _: _Kernel()
        elif isinstance(module, nn.Dropout) and module.p > 0:
            found[name] = lambda _: _Dropped()
    for name, make in found.items():
        model.set_submodule(name, make(model.get_submodule(name)))


class _Kernel(nn.Module):
    """Keeps what each engine keeps that is linear in the length: operands, output and one number for each query."""

    def forward(self, call: Call) -> Tensor:
        output: Tensor = _Keep.apply(call.query, call.key, call.value)  # type: ignore[no-untyped-call]
        return output


class _Keep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        batch, heads, length, _ = query.shape
        # Queries first and then heads, as the kernel lays them out: the heads are then joined without a copy.
        output = query.new_empty(batch, length, heads, value.shape[3]).transpose(1, 2)
        ctx.save_for_backward(query, key, value, output, query.new_empty(batch, heads, length))
        return output


class _Dropped(nn.Module):
    """Keeps which numbers were dropped."""

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.empty_like(x)
