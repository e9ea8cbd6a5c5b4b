"""
---
title: A layer that keeps less
summary: In training, outputs of norms and activations are made again for the backward pass: a third less memory, the same numbers.
---

# A layer that keeps less
"""

from typing import Any

from torch import Tensor, nn

from headwise.transformer.again import again
from headwise.transformer.feed_forward import FeedForward, GatedFeedForward
from headwise.transformer.layer import Step, TransformerLayer


class LeanLayer(TransformerLayer):
    """A transformer layer that keeps less in training; elsewhere it is the ordinary one."""

    def __init__(self, *sizes: int, **parts: Any) -> None:
        super().__init__(*sizes, **parts)
        if isinstance(self.feed_forward, FeedForward | GatedFeedForward):
            self.feed_forward.lean = True

    def add(self, x: Tensor, norm: nn.Module, step: Step) -> Tensor:
        """As the ordinary layer adds, but what the norm returns is made again."""
        if not self.pre_norm:
            return super().add(x, norm, step)
        return x + self.dropout(again(lambda: norm(x), step, when=self.training))
