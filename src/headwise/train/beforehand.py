"""
---
title: Before the first update
summary: What would make a training meaningless without an error is looked for once.
---

# Before the first update

Two faults leave no trace but a curve that looks fine: a tensor that [is never updated](captured.py), and a model that
[sees its targets](lookahead.py). Both are looked for once, before the first update of a training and of one that goes on.
"""

from torch import nn

from headwise.train.batch import Batch
from headwise.train.captured import check_registered
from headwise.train.config import Precision
from headwise.train.lookahead import check_no_look_ahead


def check_beforehand(model: nn.Module, batch: Batch, *, precision: Precision) -> None:
    """Raises where a training of the model could not mean what its loss says."""
    check_registered(model)
    check_no_look_ahead(model, batch, precision=precision)
