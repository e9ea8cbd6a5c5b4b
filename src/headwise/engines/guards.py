"""
---
title: Guards
summary: What fused kernels get wrong in silence is made loud here.
---
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import isfinite
from types import FunctionType
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from headwise.call import Call
from headwise.engines.blocks import row_blocks
from headwise.errors import EngineRefused, MaskError
from headwise.mask.base import Mask
from headwise.reference import broken


def refuse_second_order(engine: str, output: Tensor) -> None:
    """
    Refuse second derivatives in one sentence.

    The kernel's own message names an operator that the caller has never heard of. A hook on the kernel's node costs a microsecond
    where a node of our own around the operands costs fifty. Off inside `torch.compile`, which has messages of its own.
    """
    if output.requires_grad and not torch.compiler.is_compiling() and output.grad_fn is not None:
        output.grad_fn.register_hook(partial(mark_gradients, engine))


def mark_gradients(engine: str, grads: tuple[Tensor | None, ...], _: Any) -> tuple[Tensor | None, ...] | None:
    """Gradients that refuse to be differentiated again."""
    # The gradient mode is on here only if the caller wants to differentiate the gradients.
    if not torch.is_grad_enabled():
        return None
    return tuple(grad if grad is None else Second.apply(engine, grad) for grad in grads)  # type: ignore[no-untyped-call]


def refuse_forward_mode(engine: str, *operands: Tensor) -> None:
    """Refuse forward-mode derivatives before PyTorch looks for formulas that the kernel does not have."""
    # A level is open only while forward-mode derivatives are computed, and asking for it costs nothing.
    if forward_ad._current_level >= 0 and any(
        forward_ad.unpack_dual(operand).tangent is not None for operand in operands
    ):
        raise refuse(engine)


def first_order(engine: str, grads: tuple[Tensor | None, ...], *anchors: Tensor | None) -> tuple[Tensor | None, ...]:
    """Gradients of a function of our own, computed without a graph; where the caller wants to differentiate them, they refuse."""
    if not torch.is_grad_enabled():
        return grads
    return tuple(grad if grad is None else Second.apply(engine, grad, *anchors) for grad in grads)  # type: ignore[no-untyped-call]


def inside_vmap() -> bool:
    """Does `torch.vmap` run this code? The kernels have no rule for it, and numbers cannot be read there."""
    if torch.compiler.is_compiling():
        return False
    levels = torch._C._functorch.get_interpreter_stack()
    return levels is not None and any(level.key() == torch._C._functorch.TransformType.Vmap for level in levels)


# The reason of engines that cannot run inside of `torch.vmap`.
NO_VMAP = "torch.vmap is at work, for which the kernels have no rule (put the mapped axis into the batch, or take 'reference')"


def refuse(engine: str) -> EngineRefused:
    """What a caller is told who asks for more derivatives than there are."""
    return EngineRefused(
        f"engine '{engine}' has first derivatives in reverse mode only; a second or a forward-mode derivative was asked for. "
        "Usual fix: engine='reference'."
    )


class Second(torch.autograd.Function):
    """A gradient, unchanged, that refuses to be differentiated with respect to itself or to the anchors."""

    # `torch.func.jacrev` maps the backward pass over the entries of the output.
    generate_vmap_rule = True

    @staticmethod
    def forward(engine: str, grad: Tensor, *anchors: Tensor | None) -> Tensor:
        return grad.view_as(grad)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.engine = inputs[0]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        raise refuse(ctx.engine)


def show_nan(call: Call, output: Tensor) -> Tensor:
    """
    Make sure that a broken query or key shows in the output.

    The CPU kernel can return 0 for a row whose scores are all NaN. Two sums over query and key find out whether
    anything is broken at all; only then are the rows worked out. Off inside `torch.compile` and on other devices.
    """
    if torch.compiler.is_compiling() or output.device.type != "cpu":
        return output
    if all_finite(call.query, call.key):
        return output
    with torch.no_grad():
        touched, keyless = (
            torch.cat(rows, dim=2)
            for rows in zip(*(touched_rows(call, rows) for rows in row_blocks(call)), strict=True)
        )
    # A broken query without any key is 0 like every query without a key: the mask decides, not the numbers.
    return torch.where(touched[..., None], torch.nan, torch.where(keyless[..., None], 0.0, output))


def all_finite(*tensors: Tensor) -> bool:
    """Are all numbers finite? One sum a tensor tells: a NaN or an infinity spoils it."""
    for tensor in tensors:
        # A tensor without storage holds no number at all.
        if tensor.is_meta:
            continue
        numbers = tensor.detach() if tensor.requires_grad else tensor
        # Half precision would overflow in the sum of a large tensor, which would then be taken for broken.
        total = numbers.sum(dtype=torch.float32) if numbers.element_size() < 4 else numbers.sum()
        if not isfinite(total.item()):
            return False
    return True


def touched_rows(call: Call, rows: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """For each of these rows: does it see a pair with a broken query or key, and does it see none at all? `[B,H,i]` each."""
    grid = call.grid.block(rows, (0, call.grid.keys))
    bad_query_BHI1 = broken(call.query[:, :, slice(*rows)]).any(-1, keepdim=True)
    bad_key_BH1J = broken(call.key).any(-1).repeat_interleave(call.group_size, dim=1)[:, :, None]
    visible_BHIJ = call.mask.sees(grid)
    touched_BHI = (visible_BHIJ & (bad_query_BHI1 | bad_key_BH1J)).any(-1)
    return touched_BHI, (~visible_BHIJ.any(-1)).expand_as(touched_BHI)


def drop_hidden(keep: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Set keys and values of slots that hold no token to 0: the kernel multiplies them by 0, and 0 times NaN is NaN."""
    keep_B1J1 = keep.to(key.device)[:, None, :, None]
    return torch.where(keep_B1J1, key, 0.0), torch.where(keep_B1J1, value, 0.0)


def turned_round(call: Call) -> Call:
    """
    The same call with a scale above 0: what a negative one turns round is turned round in the queries.

    Kernels hide pairs before they scale, and look for the largest score before they scale. Minus infinity times a negative number,
    or times 0, would then be NaN.
    """
    if call.scale > 0 or call.scores is not None:
        return call
    sign, scale = (-1.0, -call.scale) if call.scale < 0 else (0.0, 1.0)
    return replace(call, query=call.query * sign, scale=scale)


def watch_mask(call: Call, *results: Tensor) -> None:
    """
    Refuse a backward pass through these results if the mask has been written to since.

    Blocks are computed again there and ask the mask again: another answer would give gradients of another call. PyTorch tells the
    versions of tensors that it keeps itself, and knows nothing of those that a rule holds.
    """
    nodes = {result.grad_fn for result in results if result.grad_fn is not None}
    held = [(tensor, tensor._version) for tensor in held_by(call.mask) if not tensor.is_inference()] if nodes else []
    for node in nodes if held else ():
        node.register_prehook(partial(check_versions, held))


def held_by(thing: object) -> Iterator[Tensor]:
    """The tensors that a mask reads: its fields, those of the masks that it joins, and what its function has captured."""
    if isinstance(thing, Tensor):
        yield thing
    elif isinstance(thing, Mask):
        for part in getattr(thing, "__dict__", {}).values():
            yield from held_by(part)
    elif isinstance(thing, FunctionType):
        for cell in thing.__closure__ or ():
            # A name that is not bound yet has an empty cell.
            with suppress(ValueError):
                if isinstance(cell.cell_contents, Tensor):
                    yield cell.cell_contents


def check_versions(held: list[tuple[Tensor, int]], grads: Any) -> None:
    """Raise if one of the tensors is not what it was."""
    for tensor, version in held:
        if tensor._version != version:
            raise MaskError(
                f"a mask must stay as it is until the backward pass, which reads it again; its tensor {list(tensor.shape)} was written to "
                "after the call. Usual fix: a tensor of its own for each call, mask.clone()."
            )
