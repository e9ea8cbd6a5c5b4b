"""
---
title: A layer that keeps less
summary: In training, outputs of norms and activations are made again for the backward pass: a third less memory, no more time.
---

# A layer that keeps less

The feed-forward network and the norm in front of it work [block by block](../transformer/in_blocks.py), so that what is made again never leaves the
cache. The norm in front of attention is [made again](../transformer/again.py) as a whole. Where somebody watches the parts of the network,
or gave it parts of their own, they are called one after the other, and what they return is made again in the same way.
"""

from typing import Any

from torch import Tensor, nn

from headwise.norm import LayerNorm, RMSNorm
from headwise.train.lean_parts import LeanRMSNorm
from headwise.transformer.again import again
from headwise.transformer.block_norm import NormKind
from headwise.transformer.feed_forward import FeedForward, GatedFeedForward, in_blocks, run_in_blocks
from headwise.transformer.layer import Step, TransformerLayer
from headwise.transformer.plainly import has_hooks

# A network that computes otherwise than these must be called.
FORWARDS = (FeedForward.forward, GatedFeedForward.forward)


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
        if step is self.feed_forward and (found := joined(norm, self.feed_forward, x)) is not None:
            # Norm and network work together block by block, and what the norm returns never stands in memory as a whole.
            return x + self.dropout(found)
        return x + self.dropout(again(lambda: norm(x), step, when=self.training))


def joined(norm: nn.Module, network: nn.Module, x: Tensor) -> Tensor | None:
    """What the network makes of the normalised tokens, block by block; None where norm and network must be called."""
    if not isinstance(network, FeedForward | GatedFeedForward) or type(network).forward not in FORWARDS:
        return None
    if not in_blocks(network, x) or has_hooks(network) or not is_trained_plainly(norm, x):
        return None
    if isinstance(norm, RMSNorm) and type(norm) in (RMSNorm, LeanRMSNorm):
        return run_in_blocks(network, x, NormKind(centred=False, eps=norm.eps), (norm.weight, None))
    if isinstance(norm, nn.LayerNorm) and type(norm) in (LayerNorm, nn.LayerNorm) and len(norm.normalized_shape) == 1:
        return run_in_blocks(network, x, NormKind(centred=True, eps=norm.eps), (norm.weight, norm.bias))
    return None


def is_trained_plainly(norm: nn.Module, x: Tensor) -> bool:
    """Whether the norm has weights in the precision of `x` that are all trained, and no hooks."""
    weights = list(norm.parameters())
    return (
        bool(weights) and all(each.requires_grad and each.dtype == x.dtype for each in weights) and not has_hooks(norm)
    )
