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
from torch.autograd.function import once_differentiable


def attend_with_lse(
    query: Tensor, key: Tensor, value: Tensor, extra: Tensor | None, causal: bool, scale: float
) -> tuple[Tensor, Tensor]:
    """Output `[B,H,I,E]` and lse `[B,H,I]` of the CPU kernel, both differentiable once. E = D; key heads are repeated for groups."""
    group_size = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(group_size, dim=1), value.repeat_interleave(group_size, dim=1)
    if extra is not None and extra.dtype == torch.bool:
        extra = torch.zeros((), dtype=query.dtype, device=query.device).where(extra, -torch.inf)
    output, lse = WithLse.apply(  # type: ignore[no-untyped-call]
        query, key, value, extra, causal, scale
    )
    return output, lse


def kernel(
    query: Tensor, key: Tensor, value: Tensor, extra: Tensor | None, causal: bool, scale: float
) -> tuple[Tensor, Tensor]:
    """The private operator: the same numbers as `scaled_dot_product_attention` on CPU, and the lse."""
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, 0.0, causal, attn_mask=extra, scale=scale
    )


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
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor | None, grad_lse: Tensor | None) -> tuple[Tensor | None, ...]:
        query, key, value, extra, output, lse = ctx.saved_tensors

        def back(grad: Tensor, values: Tensor, mixed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
                grad, query, key, values, mixed, lse, 0.0, ctx.causal, attn_mask=extra, scale=ctx.scale
            )

        grads: list[Tensor | None] = [None, None, None]
        if grad_output is not None:
            grads = list(back(grad_output, value, output))
        if grad_lse is not None:
            # $\\partial \\text{lse}_i / \\partial q_i$ is the mean of the keys under the weights: attention with the keys as values.
            # $\\partial \\text{lse}_i / \\partial k_j$ is the weight times $q_i$: the gradient that values get from $q_i$.
            mixed_keys, _ = kernel(query, key, key, extra, ctx.causal, ctx.scale)
            by_query = grad_lse[..., None].to(query.dtype) * ctx.scale
            _, _, grad_key = back(query * by_query, key, mixed_keys)
            grads[0] = mixed_keys * by_query if grads[0] is None else grads[0] + mixed_keys * by_query
            grads[1] = grad_key if grads[1] is None else grads[1] + grad_key
        return (*grads, None, None, None)
