"""
---
title: Where the numbers broke
summary: Names the first place of a model whose numbers are not finite, when a loss is not.
---

# Where the numbers broke

One NaN spreads: an update after it makes every weight NaN, and then nothing tells where it began. So the loss is checked before each
update, and only where it is not finite the batch runs once more, with a look at the output of every layer.
"""

from typing import Any

import torch
from torch import Tensor, nn

from headwise.train.batch import Batch


@torch.no_grad()
def first_not_finite(model: nn.Module, batch: Batch) -> str:
    """The first weight, or else the first layer, whose numbers are not finite, in words."""
    for name, parameter in model.named_parameters():
        if not parameter.isfinite().all():
            return f"the weight {name} is not finite"
    found: list[str] = []

    def look(name: str) -> Any:
        def hook(module: nn.Module, inputs: Any, output: Any) -> None:
            if isinstance(output, Tensor) and not output.isfinite().all():
                found.append(name or "the model")

        return hook

    # A layer ends before the one that contains it, so the innermost of the broken layers is found first.
    handles = [module.register_forward_hook(look(name)) for name, module in model.named_modules()]
    try:
        model(batch.inputs, **batch.call)
    finally:
        for handle in handles:
            handle.remove()
    return (
        f"{found[0]} is the first layer whose output is not finite"
        if found
        else "all outputs of layers are finite, the loss alone is not"
    )
