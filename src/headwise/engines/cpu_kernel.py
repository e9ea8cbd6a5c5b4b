"""
---
title: The CPU kernel's lse
summary: The one place that calls PyTorch's private CPU kernel, which also returns the lse.
---

# Output and lse from one call

PyTorch's CPU kernel computes the **lse**, the logarithm of the softmax's denominator, and the public function throws it away.
The private operator below is that same kernel; it gives the same bits, and the lse. Its lse carries no gradient, without a
word, so the gradient is written out here.
"""

from typing import Any

import torch
from torch import Tensor

from headwise.engines.guards import first_order


def attend_with_lse(
    query: Tensor, key: Tensor, value: Tensor, extra: Tensor | None, causal: bool, scale: float
) -> tuple[Tensor, Tensor]:
    """Output `[B,H,I,E]` and lse `[B,H,I]` of the CPU kernel, both differentiable once; `extra` gets no gradient. E = D."""
    # The operator takes the features of a token for neighbours in memory, and reads other numbers where they are not.
    query, key, value = (tensor if tensor.stride(-1) == 1 else tensor.contiguous() for tensor in (query, key, value))
    output, lse = WithLse.apply(  # type: ignore[no-untyped-call]
        query, key, value, as_numbers(extra, query), causal, scale
    )
    return output, lse


def kernel(
    query: Tensor, key: Tensor, value: Tensor, extra: Tensor | None, causal: bool, scale: float
) -> tuple[Tensor, Tensor]:
    """
    The private operator: the same numbers as `scaled_dot_product_attention` on CPU, and the lse.

    Other than the public function it takes the causal flag, counted from the upper left, together with numbers to add. Heads of
    keys may be fewer than heads of queries. The output is differentiable, the lse is not.
    """
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, 0.0, causal, attn_mask=extra, scale=scale
    )


def kernel_backward(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    lse: Tensor,
    extra: Tensor | None,
    causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """
    Gradients of query, key and value.

    The operator works the weights out again as $e^{s - \\text{lse}}$, from whatever lse it is given. Given the output and the lse of
    *all* keys it returns the exact gradients of a part of the keys.
    """
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
        grad, query, key, value, output, lse, 0.0, causal, attn_mask=extra, scale=scale
    )


def as_numbers(extra: Tensor | None, like: Tensor) -> Tensor | None:
    """A bool mask as numbers to add: 0 where seen, $-\\infty$ where hidden. Axes of stride 0 stay so."""
    if extra is None or extra.dtype != torch.bool:
        return extra
    shape = extra.shape
    narrow = extra[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in extra.stride())]
    return like.new_zeros(()).where(narrow, -torch.inf).expand(shape)


class WithLse(torch.autograd.Function):
    """The kernel with gradients through both results."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, extra: Tensor | None, causal: bool, scale: float
    ) -> tuple[Tensor, Tensor]:
        output, lse = kernel(query, key, value, extra, causal, scale)
        ctx.save_for_backward(query, key, value, extra, output, lse)
        ctx.causal, ctx.scale = causal, scale
        ctx.set_materialize_grads(False)
        return output, lse

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor | None, grad_lse: Tensor | None) -> tuple[Tensor | None, ...]:
        query, key, value, extra, output, lse = ctx.saved_tensors

        def back(grad: Tensor, values: Tensor, mixed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            return kernel_backward(grad, query, key, values, mixed, lse, extra, ctx.causal, ctx.scale)

        grads: list[Tensor | None] = [None, None, None]
        with torch.no_grad():
            if grad_output is not None:
                grads = list(back(grad_output, value, output))
            if grad_lse is not None:
                # $\partial \text{lse}_i / \partial q_i$ is the mean of the keys under the weights: attention with the keys as values.
                # $\partial \text{lse}_i / \partial k_j$ is the weight times $q_i$: the gradient that values get from $q_i$.
                mixed_keys, _ = kernel(query, key, key, extra, ctx.causal, ctx.scale)
                by_query = grad_lse[..., None].to(query.dtype) * ctx.scale
                _, _, grad_key = back(query * by_query, key, mixed_keys)
                grads[0] = mixed_keys * by_query if grads[0] is None else grads[0] + mixed_keys * by_query
                grads[1] = grad_key if grads[1] is None else grads[1] + grad_key
        # These numbers know nothing of the operands, so a second derivative would lack them without a word.
        return (*first_order("sdpa", tuple(grads), query, key, value, grad_output, grad_lse), None, None, None)
