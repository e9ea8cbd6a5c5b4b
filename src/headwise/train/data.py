"""
---
title: Batches
summary: Each batch is a pure function of the seed and the step, and one place shifts the targets.
---

# Batches

A language model predicts the next token. For the tokens $t_0 \\dots t_n$ the inputs are $t_0 \\dots t_{n-1}$, the targets $t_1 \\dots t_n$,
and the target at a place is the token that follows the input at the same place. `aligned` is the only function that shifts.

The sampler has no state: which rows belong to the batch of a step follows from the seed and the step alone.
A run that goes on after an interruption therefore continues with the next batch, and not with the first one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from headwise.mask.base import Mask
from headwise.train.choose_tokenizer import Tokenizer
from headwise.train.data_error import DataError

# A target with this value does not count in the loss. It is the value that `torch.nn.functional.cross_entropy` leaves out.
NO_TARGET = -100


@dataclass(frozen=True, eq=False)
class Batch:
    """Inputs with the target of each place, and a mask for the attention where rows hold more than one document."""

    inputs: Int[Tensor, "B I"]
    targets: Int[Tensor, "B I"]
    mask: Mask | None = None

    @property
    def count(self) -> int:
        """Number of targets that count."""
        return int((self.targets != NO_TARGET).sum())

    def parts(self, number: int) -> Iterator["Batch"]:
        """The batch cut into equal parts along its rows."""
        if self.mask is not None and number > 1:
            raise DataError(f"A batch with a mask is not cut. Got {number} parts; use `accumulate=1`.")
        for inputs, targets in zip(self.inputs.chunk(number), self.targets.chunk(number), strict=True):
            yield Batch(inputs, targets, self.mask)


def aligned(rows: Int[Tensor, "B W"]) -> Batch:
    """The batch of whole rows: the inputs are all tokens but the last, the targets all but the first.

    ```python
    >>> batch = aligned(torch.tensor([[0, 1, 2, 3, 4]]))
    >>> batch.inputs.tolist(), batch.targets.tolist()
    ([[0, 1, 2, 3]], [[1, 2, 3, 4]])

    ```
    """
    return Batch(rows[:, :-1], rows[:, 1:])


def padded(sequences: Sequence[Int[Tensor, " I"]], *, pad: int) -> Batch:
    """The batch of sequences of unequal length, filled up with `pad` on the right.

    The end of a row is known by its length. Looking for the token `pad` instead would also remove the target "the text ends here"
    wherever the same token marks both, and such a model never learns to stop.
    """
    longest = max(len(each) for each in sequences)
    rows = torch.full((len(sequences), longest), pad, dtype=torch.long)
    targets = torch.full_like(rows, NO_TARGET)
    for row, sequence in enumerate(sequences):
        rows[row, : len(sequence)] = sequence
        targets[row, : len(sequence)] = sequence
    return Batch(rows[:, :-1], targets[:, 1:])


@dataclass(frozen=True, eq=False)
class TextData:
    """The tokens of training and validation, and the rows that are cut out of them."""

    training: Int[Tensor, " T"]
    validation: Int[Tensor, " T"]
    context: int

    @classmethod
    def of(cls, texts: tuple[str, str], tokenizer: Tokenizer, *, context: int) -> "TextData":
        """The data of a training text and a validation text, encoded and checked for their length."""
        parts = [tokenizer.encode(text) for text in texts]
        for name, tokens in zip(("training", "validation"), parts, strict=True):
            if len(tokens) < context + 1:
                raise DataError(
                    f"The {name} text must have at least context + 1 = {context + 1} tokens. It has {len(tokens)}, "
                    f"after a tenth of the text is set apart for validation; pass a longer text or a smaller `context`."
                )
        return cls(parts[0], parts[1], context)

    def batch(self, *, seed: int, step: int, rows: int) -> Batch:
        """The batch of one step: rows that begin at places drawn from the seed and the step."""
        # `default_rng` mixes all the numbers of the tuple, so that (seed 0, step 1) and (seed 1, step 0) have nothing in common.
        draw = np.random.default_rng((seed, step))
        starts = torch.from_numpy(draw.integers(0, len(self.training) - self.context, size=rows))
        return aligned(self.training[starts[:, None] + torch.arange(self.context + 1)])

    def validation_batches(self, *, rows: int, limit: int) -> Iterator[Batch]:
        """At most `limit` rows of the validation text that do not overlap, the same at each call, `rows` of them at a time."""
        # What is left at the end of the text is too short for a row. Where there are more rows than the limit, those that are taken
        # are spread evenly, because the beginning of a text is often unlike the rest of it.
        whole = (len(self.validation) - 1) // self.context
        taken = min(whole, limit)
        starts = torch.arange(taken) * whole // taken * self.context
        for chunk in starts.split(rows):
            yield aligned(self.validation[chunk[:, None] + torch.arange(self.context + 1)])
