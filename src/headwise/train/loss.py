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
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from headwise.train.batch import NO_TARGET, Batch
from headwise.train.config import Precision
from headwise.train.precision import autocast
from headwise.train.processes import ALONE, Processes
from headwise.train.share import share_of


@dataclass(frozen=True)
class Pass:
    """How a batch goes through the model in training: the precision, the smoothing of the targets, and the factor of the loss."""

    precision: Precision = "float32"
    smoothing: float = 0.0
    scale: float = 1.0


PLAIN = Pass()


def token_loss_sum(
    logits: Float[Tensor, "B I V"], targets: Int[Tensor, "B I"], *, smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """The sum of $-\\log p$ over all targets that count, in nats.

    With `smoothing` $s$ a target is the right token with the probability $1 - s$, and any token with the probability $s$ together:
    a model that is never asked to be certain keeps its logits small.

    *Source.* Szegedy et al., 2016, section 7, https://arxiv.org/abs/1512.00567.
    """
    # Sums of many small terms lose digits in half precision, so the loss is computed in single precision at least.
    precise_BIV = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    return F.cross_entropy(
        precise_BIV.flatten(0, 1),
        targets.flatten(),
        ignore_index=NO_TARGET,
        reduction="sum",
        label_smoothing=smoothing,
    )


def accumulate_gradients(
    model: nn.Module, batch: Batch, *, parts: int = 1, processes: Processes = ALONE, how: Pass = PLAIN
) -> Float[Tensor, ""]:
    """Adds the gradient of the batch's loss to the parameters and returns the loss, however many parts the batch is cut into.

    Each of several processes works on its share; the mean of what they return is the loss of the batch.
    """
    # Rows that hold nothing but documents of one token have no target at all, and then the loss is 0.
    count = max(batch.count, 1)
    total = torch.zeros((), device=batch.inputs.device)
    pieces = list(share_of(batch, processes).parts(parts))
    for index, part in enumerate(pieces):
        with processes.adding_up(model, last=index == len(pieces) - 1):
            # PyTorch divides the sum of the gradients by the number of processes, so each counts its share of the targets alone.
            loss = _loss_of(model, part, how) / (count / processes.world)
            (loss * how.scale if how.scale != 1.0 else loss).backward()
        total = total + loss.detach()
    return total


def _loss_of(model: nn.Module, part: Batch, how: Pass) -> Float[Tensor, ""]:
    # The logits end with this function. A name for them around the backward pass would keep them until its end.
    with autocast(how.precision, part.inputs.device):
        logits = model(part.inputs, **part.call)
    return token_loss_sum(logits, part.targets, smoothing=how.smoothing)


@torch.no_grad()
def mean_loss(
    model: nn.Module, batches: Iterable[Batch], *, processes: Processes = ALONE, precision: Precision = "float32"
) -> float:
    """The loss per token over several batches, without dropout; the mode of the model is the same afterwards as before."""
    training = model.training
    model.eval()
    total, count = 0.0, 0
    for batch in batches:
        share = share_of(batch, processes)
        with autocast(precision, share.inputs.device):
            logits = model(share.inputs, **share.call)
        total += token_loss_sum(logits, share.targets).item()
        count += batch.count
    model.train(training)
    return processes.sum(total)[0] / max(count, 1)
