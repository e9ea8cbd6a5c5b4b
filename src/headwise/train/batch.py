"""
---
title: A batch
summary: Inputs with the target of each place; one place shifts.
---

# A batch

A language model predicts the next token. For the tokens $t_0 \\dots t_n$ the inputs are $t_0 \\dots t_{n-1}$, the targets $t_1 \\dots t_n$,
and the target at a place is the token that follows the input at the same place. `aligned` is the only function that shifts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from headwise.mask.base import Mask
from headwise.mask.documents import Documents
from headwise.train.data_error import DataError

# A target with this value does not count in the loss. It is the value that `torch.nn.functional.cross_entropy` leaves out.
NO_TARGET = -100


@dataclass(frozen=True, eq=False)
class Batch:
    """Inputs with the target of each place; where rows hold more than one document, also a mask for the attention.

    `positions` is given where a scheme counts from the beginning of the document and not from the beginning of the row.
    """

    inputs: Int[Tensor, "B I"]
    targets: Int[Tensor, "B I"]
    mask: Mask | None = None
    positions: Int[Tensor, "B I"] | None = None

    @property
    def count(self) -> int:
        """Number of targets that count."""
        return int((self.targets != NO_TARGET).sum())

    @property
    def call(self) -> dict[str, Any]:
        """The arguments of the model besides the tokens."""
        return {"mask": self.mask} if self.positions is None else {"mask": self.mask, "positions": self.positions}

    def parts(self, number: int) -> Iterator["Batch"]:
        """The batch cut into equal parts along its rows."""
        if number > 1 and not isinstance(self.mask, Documents | None):
            raise DataError(
                f"Of masks only `Documents` is cut. Got {self.mask} and {number} parts; use `accumulate=1`."
            )
        ids = self.mask.ids.chunk(number) if isinstance(self.mask, Documents) else None
        positions = None if self.positions is None else self.positions.chunk(number)
        for index, (inputs, targets) in enumerate(
            zip(self.inputs.chunk(number), self.targets.chunk(number), strict=True)
        ):
            mask = self.mask if ids is None else Documents(ids[index])
            yield Batch(inputs, targets, mask, None if positions is None else positions[index])

    def to(self, device: torch.device | str) -> "Batch":
        """The batch on a device."""
        mask = Documents(self.mask.ids.to(device)) if isinstance(self.mask, Documents) else self.mask
        positions = None if self.positions is None else self.positions.to(device)
        return Batch(self.inputs.to(device), self.targets.to(device), mask, positions)


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
