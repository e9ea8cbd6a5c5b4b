"""
---
title: The length of the gradient
summary: Measured at each update, shortened to a limit, and refused where it is no number.
---

# The length of the gradient

One unusual batch can have a gradient many times longer than the others, and one such update can undo a thousand. A gradient beyond the
limit is shortened to it, which keeps its direction:

$$g \\leftarrow g \\cdot \\min(1, c / \\lVert g \\rVert)$$

*Source.* Pascanu et al., 2013, "On the difficulty of training recurrent neural networks", section 3.2, https://arxiv.org/abs/1211.5063.
"""

import math

from torch import nn

from headwise.errors import HeadwiseError
from headwise.train.weights import whole


class TrainingError(HeadwiseError):
    """A training that cannot go on."""


def shorten(model: nn.Module, limit: float | None, *, step: int, scaled: bool) -> float:
    """Shortens the gradient to `limit` and returns the norm that it had; `step` is for the error alone.

    *Edge.* A gradient that is not finite is an error. Under a scale of the loss it is none: the scale was too large, and the update
    is left out.
    """
    parameters = [each for each in model.parameters() if each.grad is not None]
    total = nn.utils.get_total_norm([each.grad for each in parameters if each.grad is not None])
    norm = whole(total).item()
    if not math.isfinite(norm) and not scaled:
        raise TrainingError(
            f"The gradient must be finite. Its norm is {norm} at step {step}, and {first_not_finite(model)}; "
            "a smaller `learning_rate` usually helps."
        )
    # Without a limit the norm is measured all the same, because a log without it explains no divergence.
    if limit is not None:
        nn.utils.clip_grads_with_norm_(parameters, limit, total)
    return norm


def first_not_finite(model: nn.Module) -> str:
    """The first weight whose gradient is not finite, in words."""
    for name, parameter in model.named_parameters():
        if parameter.grad is not None and not parameter.grad.isfinite().all():
            return f"the gradient of {name} is not finite"
    return "each number of it is finite, its norm alone is not"
