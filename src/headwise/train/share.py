"""
---
title: The share of a process
summary: As many rows for each process, whatever the number of rows of the batch.
---

# The share of a process

Processes that make unequal numbers of passes wait for each other for ever, and the last batch of a text is seldom as long as the others.
So all shares have the same number of rows. The rows that are added have no targets: they cost a pass and change no sum.
"""

import torch
from torch import Tensor

from headwise.mask.documents import Documents
from headwise.train.batch import NO_TARGET, Batch
from headwise.train.processes import Processes


def share_of(batch: Batch, processes: Processes) -> Batch:
    """The rows of this process."""
    if processes.world == 1:
        return batch
    whole = filled(batch, -(-len(batch.inputs) // processes.world) * processes.world)
    return list(whole.parts(processes.world))[processes.rank]


def filled(batch: Batch, rows: int) -> Batch:
    """The batch with this number of rows; those that are added have no targets, and so no weight in the loss.

    ```python
    >>> import torch
    >>> batch = Batch(torch.tensor([[1, 2]]), torch.tensor([[2, 3]]))
    >>> filled(batch, 2).targets.tolist()
    [[2, 3], [-100, -100]]

    ```
    """
    missing = rows - len(batch.inputs)
    if missing == 0:
        return batch

    def longer(tensor: Tensor) -> Tensor:
        return torch.cat([tensor, tensor[:1].expand(missing, -1)])

    mask = Documents(longer(batch.mask.ids)) if isinstance(batch.mask, Documents) else batch.mask
    targets = torch.cat([batch.targets, torch.full_like(batch.targets[:1], NO_TARGET).expand(missing, -1)])
    return Batch(longer(batch.inputs), targets, mask, None if batch.positions is None else longer(batch.positions))
