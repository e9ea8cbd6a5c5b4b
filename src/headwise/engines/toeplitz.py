"""
---
title: Gradients by distance
summary: The gradient of a number that all pairs of one distance share is a sum along diagonals.
---

# Sums along diagonals

A bias that depends on the distance alone is one vector: all pairs on a diagonal read the same number. Its gradient is the sum of the
gradients of the scores along each diagonal. Written into rows that are each shifted by one, diagonals become columns, and the sum
is a plain one.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from headwise.engines.exponential import exp_in_place


class ScoreGradients(NamedTuple):
    """Gradients of a piece; `by_place` `[1 or H, r + c - 1]` are those of the numbers that are added by distance."""

    query: Tensor
    key: Tensor
    value: Tensor
    by_place: Tensor


def score_gradients(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    lse: Tensor,
    extra: Tensor,
    scale: float,
    grad_lse: Tensor | None,
) -> ScoreGradients:
    """The backward pass of one piece, written out, because the kernel gives no gradients of what is added to the scores."""
    wide = lse.dtype
    groups = key.shape[1]
    grad, query, key, value = (tensor.to(wide) for tensor in (grad, query, key, value))
    key_BHJD, value_BHJE = (tensor.repeat_interleave(query.shape[1] // groups, dim=1) for tensor in (key, value))
    # 1. The weights again, from the lse.
    weights = (query * scale) @ key_BHJD.mT
    weights = exp_in_place(weights.add_(extra).sub_(lse[..., None]))
    # 2. A score moves the output by its weight, and all other weights of its row the other way:
    # $\partial s = w \, (\partial w - \sum_j w_j \, \partial w_j)$, and the sum is the product of output and gradient.
    rest = (grad * output).sum(-1, keepdim=True)
    rest = rest if grad_lse is None else rest - grad_lse[..., None]
    by_weight = (grad @ value_BHJE.mT).sub_(rest)
    # 3. Each row is written one place further to the right than the row above it.
    batch, heads, rows, columns = weights.shape
    skewed = weights.new_zeros(batch, heads, rows, rows + columns)
    by_score = skewed.as_strided(weights.shape, (*skewed.stride()[:2], rows + columns + 1, 1))
    torch.mul(weights, by_weight, out=by_score)
    by_place = skewed.sum((0, 2))[:, :-1]
    return ScoreGradients(
        (by_score @ key_BHJD) * scale,
        regroup(by_score.mT @ query, groups) * scale,
        regroup(weights.mT @ grad, groups),
        by_place if extra.shape[1] > 1 else by_place.sum(0, keepdim=True),
    )


def regroup(grad_BHJD: Tensor, groups: int) -> Tensor:
    """Gradients of the key heads that serve several query heads each: the sum over those."""
    return grad_BHJD if grad_BHJD.shape[1] == groups else grad_BHJD.unflatten(1, (groups, -1)).sum(2)
