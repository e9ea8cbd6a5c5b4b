"""
---
title: Blockwise as an operator
summary: The engine blockwise in one node of a compiled graph, forward and backward.
---

# One node of a graph

`torch.compile` reads Python line by line and makes a graph of tensors and operators. The engine blockwise cannot be read so: it looks at
numbers, at the mask and at sizes before it decides. Here it becomes an **operator** instead, which a graph holds as one node and runs as it is.
An operator takes tensors, numbers and text only, so the rule of the call is [written down](written.py) and read again at each run.

The backward pass is an operator, too. It gets output and lse of the forward pass; the fused strategies need no more, the others compute
each block again, as they do outside of a graph.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import torch
from torch import Tensor

from headwise.call import Call
from headwise.engines.base import Output
from headwise.engines.by_strategy import compute, hide_keyless
from headwise.engines.guards import refuse
from headwise.engines.strategies.base import Known
from headwise.engines.written import Written, read, write
from headwise.grid import Grid


def write_call(call: Call) -> tuple[str | None, Written]:
    """All of the call but its operands; no text if a part of it cannot be written."""
    written, grid = Written(), call.grid
    rule = (call.mask, call.score, call.scores, call.scale, float(call.dropout), call.return_lse)
    return write((*rule, grid.query_positions, grid.key_positions), written), written


def read_call(query: Tensor, key: Tensor, value: Tensor, text: str, written: Written) -> Call:
    """The call again, made of these tensors and numbers."""
    mask, score, scores, scale, dropout, return_lse, first_query, first_key = read(text, written)
    (batch, heads, queries, _), keys = query.shape, key.shape[2]
    grid = Grid(batch, heads, queries, keys, first_query, first_key, query.device, (0, queries), (0, keys))
    return Call(query, key, value, mask, score, scores, scale, dropout, grid, return_lse)


def run_in_graph(call: Call, text: str, written: Written) -> Output:
    """The call as one node of the graph that is being made."""
    # The number that dropout starts from is drawn by the graph, so that the backward pass drops the same weights.
    seed = torch.randint(2**40, ()) if call.dropout > 0 else None
    operands = call.query, call.key, call.value
    output, lse = blockwise(*operands, written.tensors, written.whole, written.real, seed, text)
    return Output(output, lse if call.return_lse else None)


@torch.library.custom_op("headwise::blockwise", mutates_args=())
def blockwise(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    tensors: Sequence[Tensor],
    whole: Sequence[int],
    real: Sequence[float],
    seed: Tensor | None,
    text: str,
) -> tuple[Tensor, Tensor]:
    """Output and lse of the engine blockwise, for a graph."""
    operands, rest = renewed(query, key, value), renewed(*tensors)
    call = read_call(operands[0], operands[1], operands[2], text, Written(rest, list(whole), list(real)))
    with torch.no_grad(), seeded(seed, query.device):
        output, lse = compute(call)
        lse = hide_keyless(call, lse) if call.return_lse else lse
    return output.contiguous(), lse.contiguous()


@blockwise.register_fake
def shapes_of(query: Tensor, key: Tensor, value: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    """Results of the right sizes, without numbers."""
    wide = torch.promote_types(query.dtype, torch.float32)
    return query.new_empty(*query.shape[:3], value.shape[3]), query.new_empty(query.shape[:3], dtype=wide)


@torch.library.custom_op("headwise::blockwise_backward", mutates_args=())
def blockwise_backward(
    grad: Tensor | None,
    grad_lse: Tensor | None,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    lse: Tensor,
    tensors: Sequence[Tensor],
    learns: Sequence[bool],
    whole: Sequence[int],
    real: Sequence[float],
    seed: Tensor | None,
    text: str,
) -> list[Tensor]:
    """Gradients of query, key, value and of the tensors that learn."""
    with autograd_at_work(), seeded(seed, query.device):
        operands = [tensor.requires_grad_() for tensor in renewed(query, key, value)]
        rest = [tensor.requires_grad_(own) for tensor, own in zip(renewed(*tensors), learns, strict=True)]
        call = read_call(operands[0], operands[1], operands[2], text, Written(rest, list(whole), list(real)))
        learned = tuple(tensor for tensor in rest if tensor.requires_grad)
        results = compute(call, Known(output.detach(), lse.detach(), learned))
        asked = [(result, given) for result, given in zip(results, (grad, grad_lse), strict=True) if given is not None]
        outputs, grads = zip(*asked, strict=True)
        found = torch.autograd.grad(outputs, [*operands, *learned], grads, allow_unused=True, materialize_grads=True)
    return [gradient.contiguous() for gradient in found]


@blockwise_backward.register_fake
def shapes_of_gradients(
    grad: Tensor | None,
    grad_lse: Tensor | None,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    lse: Tensor,
    tensors: Sequence[Tensor],
    learns: Sequence[bool],
    *_: Any,
) -> list[Tensor]:
    """Gradients of the right sizes, without numbers."""
    own = [tensor for tensor, learn in zip(tensors, learns, strict=True) if learn]
    return [tensor.new_empty(tensor.shape) for tensor in (query, key, value, *own)]


def keep_for_backward(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    """What the backward pass needs: everything that came, and the results."""
    query, key, value, tensors, ctx.whole, ctx.real, seed, ctx.text = inputs
    ctx.save_for_backward(query, key, value, *output, seed, *tensors)
    ctx.set_materialize_grads(False)


def gradients(ctx: Any, grad: Tensor | None, grad_lse: Tensor | None) -> tuple[Any, ...]:
    """Gradients by the operator of the backward pass, each in the place of its tensor."""
    query, key, value, output, lse, seed, *tensors = ctx.saved_tensors
    learns = list(ctx.needs_input_grad[3])
    arguments = (tensors, learns, ctx.whole, ctx.real, seed, ctx.text)
    by_query, by_key, by_value, *own = blockwise_backward(grad, grad_lse, query, key, value, output, lse, *arguments)
    by_tensor = [own.pop(0) if learn else None for learn in learns]
    return by_query, by_key, by_value, by_tensor, None, None, None, None


def no_second_order(ctx: Any, *_: Any) -> NoReturn:
    """Gradients cannot be differentiated again."""
    raise refuse("blockwise")


blockwise.register_autograd(gradients, setup_context=keep_for_backward)
blockwise_backward.register_autograd(no_second_order)


def renewed(*tensors: Tensor) -> list[Tensor]:
    """
    The same numbers as new tensors.

    A compiled graph writes new numbers into memory that it no longer needs, behind PyTorch's back: what is remembered for a tensor
    object would be believed of other numbers. Nothing is remembered for an object that is new in each run.
    """
    return [tensor.detach() for tensor in tensors]


@contextmanager
def autograd_at_work() -> Iterator[None]:
    """Autograd, which is switched off inside of an operator, at work."""
    keys = torch._C.DispatchKey
    off = torch._C._dispatch_tls_local_exclude_set()
    for key in (keys.AutogradFunctionality, keys.ADInplaceOrView):
        off = off.remove(key)
    with torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(), off), torch.enable_grad():
        yield


@contextmanager
def seeded(seed: Tensor | None, device: torch.device) -> Iterator[None]:
    """Random numbers that start from this one; those of the user go on afterwards as if nothing had been drawn."""
    if seed is None:
        yield
        return
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(int(seed.item()))
        yield
