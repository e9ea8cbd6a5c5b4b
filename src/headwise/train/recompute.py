"""
---
title: Activations made twice
summary: A layer that keeps only its input for the backward pass and computes the rest again.
---

# Activations made twice

The backward pass needs what each layer has computed, and for long rows that is most of the memory. This layer keeps its input alone. When
its gradient is due, it runs once more from there. The numbers are the same, dropout included; the memory falls to one
layer's worth, and a third more time is the price.

*Source.* Chen et al., 2016, "Training deep nets with sublinear memory cost", https://arxiv.org/abs/1604.06174.
"""

from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from headwise.transformer.layer import TransformerLayer


class RecomputedLayer(TransformerLayer):
    """A transformer layer that keeps no activations in training; elsewhere it is the ordinary one."""

    def forward(self, x: Tensor, **given: Any) -> Tensor:
        if not (self.training and torch.is_grad_enabled()):
            return super().forward(x, **given)
        # The call goes through the method of the base class, because a call of the module would run its hooks twice.
        return checkpoint(super().forward, x, use_reentrant=False, **given)
