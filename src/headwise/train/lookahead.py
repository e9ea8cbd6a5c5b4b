"""
---
title: No look ahead
summary: Before the first update, two passes of one row tell whether a place sees the token that it is to predict.
---

# No look ahead

A model that sees the next token learns to copy it. Its loss falls fast and far, and means nothing: where it writes a text of its own there
is no next token to be seen. The cause is most often a mask that was meant to be added to the causal one, and stands in its place.

So one row is read twice, the second time with other tokens behind the first place that has a target. The logits of that place must stay
as they are. A prefix that is read in both directions and has no targets passes.

*Edge.* A model whose layers begin by adding nothing shows nothing before it has learned; a training that goes on is looked at again.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor, nn

from headwise.mask.documents import Documents
from headwise.train.batch import NO_TARGET, Batch
from headwise.train.config import Precision
from headwise.train.gradient import TrainingError
from headwise.train.precision import autocast

# How far the logits of a place may differ between two passes, as a fraction of the largest one. A causal model leaves them bit for bit
# the same, unless a layer groups tokens by what they are; in half precision a rounding is larger.
ROUNDING, STEPS_OF_TYPE = 1e-4, 2


@dataclass(frozen=True)
class Look:
    """What a place saw of what comes after it: the place, how far its logits moved, and how large they are."""

    place: int
    change: float
    size: float


@dataclass(frozen=True)
class Place:
    """A place of a batch."""

    row: int
    column: int


def check_no_look_ahead(model: nn.Module, batch: Batch, *, precision: Precision = "float32") -> None:
    """Raises where the model sees, at a place of a text, the token that is the target there."""
    look = look_ahead(model, batch, precision=precision)
    if look is not None:
        raise TrainingError(
            f"The logits of a place must not depend on later tokens, since the next one is its target. Other tokens behind place {look.place} "
            f"changed its logits by {look.change:.2g}, where the largest is {look.size:.2g}; a `mask` of the constructor replaces the causal "
            "one, so join the two: `mask=Causal() & ...`."
        )


@torch.no_grad()
def look_ahead(model: nn.Module, batch: Batch, *, precision: Precision = "float32") -> Look | None:
    """What the first place with a target sees of later tokens; None if it is nothing, or if the targets are not the next tokens."""
    place = _first_target(batch)
    if place is None:
        return None
    row, index = _row_of(batch, place.row)
    others = _with_others_behind(batch, row.inputs, place.column)
    training = model.training
    model.eval()
    try:
        # What a model draws here is the same in both passes, and changes nothing that is drawn later.
        devices = [row.inputs.device] if row.inputs.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices), autocast(precision, row.inputs.device):
            torch.manual_seed(0)
            first = model(row.inputs, **row.call)
            torch.manual_seed(0)
            second = model(others, **row.call)
    finally:
        model.train(training)
    # Whatever else a model returns, the loss has words for.
    if not (isinstance(first, Tensor) and isinstance(second, Tensor)):
        return None
    # Numbers that are broken already are found before the update, together with the layer that broke them.
    left, right = (logits[index, place.column].float() for logits in (first, second))
    if not (left.isfinite().all() and right.isfinite().all()):
        return None
    change, size = (left - right).abs().max().item(), left.abs().max().item()
    return Look(place.column, change, size) if change > size * _tolerance(first.dtype) else None


def _tolerance(dtype: torch.dtype) -> float:
    return max(ROUNDING, STEPS_OF_TYPE * torch.finfo(dtype).eps)


def _first_target(batch: Batch) -> Place | None:
    """The first place of a row that has a target, in a batch of next tokens; None in any other batch."""
    there = batch.targets[:, :-1] != NO_TARGET
    # Where tokens that were hidden are to be found again, a place may see all others: its target is not the next token then.
    follows = batch.targets[:, :-1] == batch.inputs[:, 1:]
    if not bool((follows | ~there).all()) or not bool(there.any()):
        return None
    row, column = there.nonzero()[0].tolist()
    return Place(row, column)


def _row_of(batch: Batch, row: int) -> tuple[Batch, int]:
    """A batch of one row, or the batch as it is where it cannot be cut; and where the row stands in it."""
    if type(batch) is not Batch or not isinstance(batch.mask, Documents | None):
        return batch, row
    cut = slice(row, row + 1)
    mask = None if batch.mask is None else Documents(batch.mask.ids[cut])
    positions = None if batch.positions is None else batch.positions[cut]
    return Batch(batch.inputs[cut], batch.targets[cut], mask, positions), 0


def _with_others_behind(batch: Batch, inputs: Int[Tensor, "B I"], place: int) -> Int[Tensor, "B I"]:
    """The same rows with another token at each later place, taken from those that the batch has: the model knows them all."""
    smallest, largest = batch.inputs.min(), batch.inputs.max()
    later = inputs[:, place + 1 :]
    return torch.cat([inputs[:, : place + 1], torch.where(later == smallest, largest, smallest)], dim=1)
