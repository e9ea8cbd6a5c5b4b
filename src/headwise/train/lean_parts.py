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
from headwise.transformer.in_blocks import computes_plainly


class LeanRMSNorm(RMSNorm):
    """
    The RMS norm $y = w \\odot x r$ with $r = 1 / \\sqrt{\\frac1M \\sum_m x_m^2 + \\varepsilon}$, which keeps $x$ and one number for each token.

    The chain would also keep $n = x r$, a whole tensor that follows from the two. With the gradient $g$ of $y$:

    $$\\frac{\\partial L}{\\partial w} = \\sum_{\\text{tokens}} g \\odot n \\qquad
    \\frac{\\partial L}{\\partial x} = r \\left( g \\odot w - n \\, \\tfrac1M \\textstyle\\sum_m g_m w_m n_m \\right)$$

    The second term takes out what would change the length of $n$, because that length is fixed.

    *Source*: Zhang and Sennrich, 2019, section 4, https://arxiv.org/abs/1910.07467
    """

    def forward(self, x: Tensor) -> Tensor:
        if not computes_plainly(x) or self.weight.dtype != x.dtype or x.shape[-1] != self.d_model:
            return super().forward(x)
        result: Tensor = _Rms.apply(x.flatten(0, -2), self.weight, self.eps)  # type: ignore[no-untyped-call]
        return result.unflatten(0, x.shape[:-1])


class _Rms(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        # The operations of the norm itself, in its order: the numbers have the same bits.
        mean_square = torch.linalg.vector_norm(x, dim=-1, keepdim=True).square() / x.shape[-1]
        inverse = torch.rsqrt(mean_square + eps)
        ctx.eps = eps
        ctx.save_for_backward(x, inverse, weight)
        return (x * inverse).mul_(weight)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, inverse, weight = ctx.saved_tensors
        if torch.is_grad_enabled():
            # Whoever wants a gradient of the gradient gets the chain of operations.
            inverse = torch.rsqrt(x.square().mean(-1, keepdim=True) + ctx.eps)
            return *torch.autograd.grad(x * inverse * weight, (x, weight), grad, create_graph=True), None
        # The gradient of a layer norm whose mean happens to be 0 is this one less the mean of $g \odot w$. PyTorch has a kernel for
        # it, which goes through the memory once; what it has taken away is added again.
        x_grad, weight_grad, _ = torch.ops.aten.native_layer_norm_backward(
            grad, x, x.shape[-1:], torch.zeros_like(inverse), inverse, weight, None, [True, True, False]
        )
        taken = (grad @ weight)[:, None] / x.shape[-1]
        return x_grad.addcmul_(taken, inverse), weight_grad, None


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
        output = x * cos
        output[..., :half].addcmul_(x[..., half:], sin[..., :half])
        output[..., half:].addcmul_(x[..., :half], sin[..., half:])
        return output

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        cos, sin = ctx.saved_tensors
        # What came from the other half goes back to it: the sines change places, and with them their signs.
        return _Turn.apply(grad, cos, sin.roll(grad.shape[-1] // 2, dims=-1)), None, None  # type: ignore[no-untyped-call]


def lean_norm(norm: str) -> Any:
    """The choice of a norm for a model that is trained: the lean one where there is one."""
    return LeanRMSNorm if norm == "rms" else norm
