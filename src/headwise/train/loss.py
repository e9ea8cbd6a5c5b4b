"""
---
title: The loss
summary: The sum of the losses of all tokens, divided once by their number.
---

# The loss

The loss of an update is the mean over its *tokens*:

$$L = \\frac{\\sum_t -\\log p(t)}{\\text{number of targets}}$$

Where a batch is cut into parts, each part contributes its sum divided by the number of targets of the *whole* batch. The mean of the
parts' means would be another number as soon as the parts have unequal numbers of targets: a token of a short part would weigh more.
"""

from collections.abc import Iterable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from headwise.train.data import NO_TARGET, Batch


def token_loss_sum(logits: Float[Tensor, "B I V"], targets: Int[Tensor, "B I"]) -> Float[Tensor, ""]:
    """The sum of $-\\log p$ over all targets that count, in nats."""
    # Sums of many small terms lose digits in half precision, so the loss is computed in single precision at least.
    precise_BIV = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    return F.cross_entropy(precise_BIV.flatten(0, 1), targets.flatten(), ignore_index=NO_TARGET, reduction="sum")


def accumulate_gradients(model: nn.Module, batch: Batch, *, parts: int = 1) -> Float[Tensor, ""]:
    """Adds the gradient of the batch's loss to the parameters and returns the loss, however many parts the batch is cut into."""
    count = batch.count
    total = torch.zeros(())
    for part in batch.parts(parts):
        loss = token_loss_sum(model(part.inputs, mask=part.mask), part.targets) / count
        loss.backward()
        total = total + loss.detach()
    return total


@torch.no_grad()
def mean_loss(model: nn.Module, batches: Iterable[Batch]) -> float:
    """The loss per token over several batches, without dropout; the mode of the model is the same afterwards as before."""
    training = model.training
    model.eval()
    total, count = 0.0, 0
    for batch in batches:
        total += token_loss_sum(model(batch.inputs, mask=batch.mask), batch.targets).item()
        count += batch.count
    model.train(training)
    return total / count
