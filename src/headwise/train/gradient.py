"""
---
title: The length of the gradient
summary: Measured at each update; shortened if it is above a limit; refused if it is infinite or NaN.
---

# The length of the gradient

One unusual batch can have a gradient many times longer than those of other batches, and one update with such a gradient can undo a
thousand others. A gradient that is longer than the limit $c$ is shortened to the length $c$, and keeps its direction:

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

    *Edge.* A gradient that is not finite is an error, unless the loss was multiplied by a scale, as float16 needs it: then the scale was
    too large, and the update is left out.
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
