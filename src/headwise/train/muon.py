"""
---
title: Muon
summary: An update for matrices whose directions all have the same length.
---

# Muon

The gradient of a matrix is often dominated by a few directions: a step along it moves far in those and hardly at all in the others.
Muon replaces the (averaged) gradient $G = U \\Sigma V^\\top$ by its nearest orthogonal matrix $U V^\\top$, in which every direction counts
the same. It is for the matrices inside the layers; embeddings and vectors keep AdamW.

Where processes hold the weights in parts (FSDP2), the average stays in parts as well, and so does its memory. Orthogonality is a property of
the whole matrix, so for the update each process gathers it, works out the same direction as all others, and applies its own part.

*Source.* Jordan et al., 2024, "Muon: an optimizer for hidden layers in neural networks", https://kellerjordan.github.io/posts/muon/;
the scale: Liu et al., 2025, "Muon is scalable for LLM training", section 2.2, https://arxiv.org/abs/2502.16982.
"""

import math
from collections.abc import Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim import Optimizer

from headwise.train.weights import in_parts, parts_like, whole

# The polynomial $a x + b x^3 + c x^5$ with these coefficients is steep at 0 and stays between about 0.7 and 1.2 from there on. Five rounds of
# it bring all singular values close to 1, small ones included. Values of exactly 1 would need many more rounds and gain nothing.
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
ROUNDS = 5


def orthogonalised(matrices: Float[Tensor, "N R C"]) -> Float[Tensor, "N R C"]:
    """Matrices with the same singular vectors, whose singular values are near 1.

    The singular values are never computed: a polynomial in $X X^\\top$ acts on each of them alone, and needs products only.
    """
    # ## 1. Lying down
    # $X X^\top$ is smaller for a matrix that has fewer rows than columns.
    lying = matrices if matrices.shape[1] <= matrices.shape[2] else matrices.mT
    # ## 2. Into the range
    # The norm of all entries is at least the largest singular value; divided by it, all of them are at most 1.
    x = lying / lying.flatten(1).norm(dim=1).clamp(min=1e-12)[:, None, None]
    # ## 3. The polynomial
    first, third, fifth = COEFFICIENTS
    for _ in range(ROUNDS):
        square = x @ x.mT
        factor = third * square + fifth * (square @ square)
        x = first * x + factor @ x
    return x if matrices.shape[1] <= matrices.shape[2] else x.mT


class Muon(Optimizer):
    """Muon with Nesterov momentum and decoupled weight decay; its learning rate has the scale of AdamW's."""

    def __init__(
        self, parameters: Iterable[nn.Parameter], *, lr: float, momentum: float = 0.95, weight_decay: float = 0.1
    ) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """One update of all matrices; where processes hold parts of them, all must call it."""
        for group in self.param_groups:
            for parameters in _stacks([each for each in group["params"] if each.grad is not None]):
                averages = [whole(self._averaged(each, group["momentum"])) for each in parameters]
                for parameter, direction in zip(parameters, orthogonalised(torch.stack(averages)), strict=True):
                    _apply(parameter, direction, lr=group["lr"], weight_decay=group["weight_decay"])

    def _averaged(self, parameter: nn.Parameter, momentum: float) -> Tensor:
        gradient = parameter.grad
        assert gradient is not None, "only parameters with a gradient are updated"
        average = self.state[parameter].setdefault("average", torch.zeros_like(gradient))
        average.lerp_(gradient, 1 - momentum)
        # Nesterov: the average as it will be if the next gradient is like this one.
        return gradient.lerp(average, momentum)


def _stacks(parameters: list[nn.Parameter]) -> Iterable[list[nn.Parameter]]:
    """The matrices in groups that are worked on together."""
    by_shape: dict[tuple[int, ...], list[nn.Parameter]] = {}
    for index, parameter in enumerate(parameters):
        # Matrices of one shape are stacked: one product of many small matrices is faster than many products. Matrices in parts come
        # alone, because a process that keeps parts to spare memory has no room for the wholes of all layers at once.
        key = (*parameter.shape, index) if in_parts(parameter) else tuple(parameter.shape)
        by_shape.setdefault(key, []).append(parameter)
    return by_shape.values()


def _apply(parameter: nn.Parameter, direction: Tensor, *, lr: float, weight_decay: float) -> None:
    parameter.mul_(1 - lr * weight_decay)
    # The entries of an orthogonal matrix have a root mean square of $1 / \sqrt{\max(R, C)}$, and those of an update of AdamW one of
    # about 0.2. With this factor both move their parameters equally far at the same learning rate.
    # All processes have the same direction, so each takes its part without asking another one.
    parameter.add_(parts_like(direction, parameter), alpha=-lr * 0.2 * math.sqrt(max(parameter.shape)))
