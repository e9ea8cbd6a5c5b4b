"""
---
title: Guards
summary: What fused kernels get wrong in silence is made loud here.
---
"""

from typing import Any

import torch
from torch import Tensor

from headwise.call import Call
from headwise.engines.blocks import row_blocks
from headwise.errors import EngineRefused
from headwise.reference import broken


def once_differentiable(engine: str, *operands: Tensor) -> tuple[Tensor, ...]:
    """
    Pass the operands through, and refuse second derivatives and forward-mode derivatives in one sentence.

    Off inside `torch.compile`, which has messages of its own.
    """
    if (
        torch.compiler.is_compiling()
        or not torch.is_grad_enabled()
        or not any(operand.requires_grad for operand in operands)
    ):
        return operands
    guarded: tuple[Tensor, ...] = First.apply(engine, *operands)  # type: ignore[no-untyped-call]
    return guarded


def refuse(engine: str) -> EngineRefused:
    return EngineRefused(
        f"engine '{engine}' has first derivatives in reverse mode only; a second or a forward-mode derivative was asked for. "
        "Usual fix: engine='reference'."
    )


class First(torch.autograd.Function):
    """The operands, unchanged, whose gradients may not be differentiated again."""

    @staticmethod
    def forward(engine: str, *operands: Tensor) -> tuple[Tensor, ...]:
        return tuple(operand.view_as(operand) for operand in operands)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.engine = inputs[0]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        # The gradient mode is on here only if the caller wants to differentiate the gradients.
        if not torch.is_grad_enabled():
            return (None, *grads)
        return (None, *Second.apply(ctx.engine, *grads))  # type: ignore[no-untyped-call]

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise refuse(ctx.engine)


class Second(torch.autograd.Function):
    """Gradients, unchanged, that refuse to be differentiated."""

    @staticmethod
    def forward(ctx: Any, engine: str, *grads: Tensor) -> tuple[Tensor, ...]:
        ctx.engine = engine
        return tuple(grad.view_as(grad) for grad in grads)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        raise refuse(ctx.engine)


def show_nan(call: Call, output: Tensor) -> Tensor:
    """
    Make sure that a broken query or key shows in the output.

    The CPU kernel can return 0 for a row whose scores are all NaN. Two sums over query and key find out whether
    anything is broken at all; only then are the rows worked out. Off inside `torch.compile` and on other devices.
    """
    if torch.compiler.is_compiling() or output.device.type != "cpu":
        return output
    with torch.no_grad():
        if bool(torch.isfinite(call.query.sum() + call.key.sum())):
            return output
        touched = torch.cat([touched_rows(call, rows) for rows in row_blocks(call)], dim=2)
    return torch.where(touched[..., None], torch.nan, output)


def touched_rows(call: Call, rows: tuple[int, int]) -> Tensor:
    """For each of these rows: does it see a pair with a broken query or key? `[B,H,i]`."""
    grid = call.grid.block(rows, (0, call.grid.keys))
    bad_query_BHI1 = broken(call.query[:, :, slice(*rows)]).any(-1, keepdim=True)
    bad_key_BH1J = broken(call.key).any(-1).repeat_interleave(call.group_size, dim=1)[:, :, None]
    visible_BHIJ = call.mask.sees(grid)
    return (visible_BHIJ & (bad_query_BHI1 | bad_key_BH1J)).any(-1)
