"""
---
title: A norm of one block of tokens
summary: A layer norm or an RMS norm together with its gradient, for code that works block by block.
---

# A norm of one block of tokens

Both norms divide by a length; the layer norm takes away the mean before. With $n$ for what is left, $r$ for one over the length and $g$ for the
gradient of $y = w \\odot n$, the gradients are

$$\\frac{\\partial L}{\\partial w} = \\sum_{\\text{tokens}} g \\odot n \\qquad
\\frac{\\partial L}{\\partial x} = r \\left( h - \\overline{h} - n\\, \\overline{h \\odot n} \\right) \\qquad h = g \\odot w$$

where a bar is the mean over the features. The last term takes out what would change the length of $n$, because that length is fixed;
$\\overline h$ takes out what would move its mean, and the RMS norm, which has none, goes without it.

*Source.* Ba et al., 2016, "Layer normalization", https://arxiv.org/abs/1607.06450; Zhang and Sennrich, 2019, section 4,
https://arxiv.org/abs/1910.07467.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

Statistics = tuple[Tensor, Tensor]
Affine = tuple[Tensor, Tensor | None]


@dataclass(frozen=True)
class NormKind:
    """Which of the two norms it is: `centred` is the layer norm."""

    centred: bool
    eps: float

    def apply(self, x: Tensor, affine: Affine) -> tuple[Tensor, Statistics]:
        """The normalised block, and what its gradient needs: mean and inverse length of each token."""
        weight, bias = affine
        if self.centred:
            y, mean, inverse = torch.native_layer_norm(x, x.shape[-1:], weight, bias, self.eps)
            return y, (mean, inverse)
        # The operations of `RMSNorm`, in its order: the numbers have the same bits.
        mean_square = torch.linalg.vector_norm(x, dim=-1, keepdim=True).square() / x.shape[-1]
        inverse = torch.rsqrt(mean_square + self.eps)
        return (x * inverse).mul_(weight), (torch.zeros_like(inverse), inverse)

    def gradients(
        self, grad: Tensor, x: Tensor, statistics: Statistics, affine: Affine
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """The gradients of the block, the weight and the bias."""
        weight, bias = affine
        x_grad, weight_grad, bias_grad = torch.ops.aten.native_layer_norm_backward(
            grad, x, x.shape[-1:], *statistics, weight, bias, [True, True, bias is not None]
        )
        if not self.centred:
            # The kernel has taken $\overline h$ away, as the layer norm wants it; with a mean of 0 all else is equal. One pass more
            # puts it back, and the formula in single operations would take seven.
            x_grad.addcmul_((grad @ weight)[:, None] / x.shape[-1], statistics[1])
        return x_grad, weight_grad, bias_grad

    def plain(self, x: Tensor, affine: Affine) -> Tensor:
        """The same as a chain of operations, which can be differentiated any number of times."""
        weight, bias = affine
        if self.centred:
            return F.layer_norm(x, x.shape[-1:], weight, bias, self.eps)
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * weight
