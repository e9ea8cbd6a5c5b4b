"""
---
title: Parts that keep less
summary: The RMS norm and the rotation of queries and keys, with gradients written by hand.
---

# Parts that keep less

PyTorch takes the gradient of a chain of operations link by link: each keeps what it needs, and each goes through the memory once more.
For two parts of a layer the gradient of the whole chain is known, and shorter.

They are the parts of the library in everything but training: same weights, same numbers, and where a second derivative, another
precision or a compiler is at work, the same code.
"""

from typing import Any

import torch
from torch import Tensor

from headwise.norm import RMSNorm
from headwise.position.rotary import Rotary
from headwise.transformer.block_norm import NormKind
from headwise.transformer.plainly import computes_plainly


class LeanRMSNorm(RMSNorm):
    """
    The RMS norm $y = w \\odot x r$ with $r = 1 / \\sqrt{\\frac1M \\sum_m x_m^2 + \\varepsilon}$, which keeps $x$ and one number for each token.

    The chain would also keep $x r$, a whole tensor that follows from the two. The gradient is that of [one block](../transformer/block_norm.py),
    with all tokens as the block.
    """

    def forward(self, x: Tensor) -> Tensor:
        if not computes_plainly(x) or self.weight.dtype != x.dtype or x.shape[-1] != self.d_model:
            return super().forward(x)
        result: Tensor = _Rms.apply(x.flatten(0, -2), self.weight, self.eps)  # type: ignore[no-untyped-call]
        return result.unflatten(0, x.shape[:-1])


class _Rms(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        ctx.kind = NormKind(centred=False, eps=eps)
        y, (_, inverse) = ctx.kind.apply(x, (weight, None))
        ctx.save_for_backward(x, inverse, weight)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, inverse, weight = ctx.saved_tensors
        if torch.is_grad_enabled():
            # Whoever wants a gradient of the gradient gets the chain of operations.
            y = ctx.kind.plain(x, (weight, None))
            return *torch.autograd.grad(y, (x, weight), grad, create_graph=True), None
        return *ctx.kind.gradients(grad, x, (torch.zeros_like(inverse), inverse), (weight, None))[:2], None


class LeanRotary(Rotary):
    """
    The rotation of the first half of the features towards the second, whose gradient is the rotation back.

    Each half is written where it belongs. The halves are not put together in the other order first, and nothing of $x$ is kept,
    because the rotation is linear.
    """

    def turn(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        if self.interleaved or not computes_plainly(x):
            return super().turn(x, cos, sin)
        result: Tensor = _Turn.apply(x, cos, sin)  # type: ignore[no-untyped-call]
        return result


class _Turn(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        half = x.shape[-1] // 2
        first, second = slice(None, half), slice(half, None)
        output = torch.empty_like(x)
        for here, other in ((first, second), (second, first)):
            cosines, sines = _laid_out(cos[..., here], x), _laid_out(sin[..., here], x)
            torch.mul(x[..., here], cosines, out=output[..., here]).addcmul_(x[..., other], sines)
        return output

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        cos, sin = ctx.saved_tensors
        # What came from the other half goes back to it: the sines change places, and with them their signs.
        return _Turn.apply(grad, cos, sin.roll(grad.shape[-1] // 2, dims=-1)), None, None  # type: ignore[no-untyped-call]


def _laid_out(table: Tensor, x: Tensor) -> Tensor:
    """A table of angles with an entry for each head: read in step with `x` it is twice as fast, and it is small."""
    heads_inside = x.dim() == 4 and table.dim() == 2 and x.stride(1) < x.stride(2)
    return table[:, None].repeat(1, x.shape[1], 1).transpose(0, 1) if heads_inside else table


def lean_norm(norm: str) -> Any:
    """The choice of a norm for a model that is trained: the lean one where there is one."""
    return LeanRMSNorm if norm == "rms" else norm
