"""
---
title: Stopping early
summary: A training ends when the validation loss has not become better for a number of reports.
---

# Stopping early

A model that sees the same text again and again begins to remember it: the training loss goes on falling, the validation loss rises.
The best checkpoint is kept in any case; stopping saves the time.

```python
>>> patience = Patience(2)
>>> [patience.see(loss) for loss in (3.0, 2.0, 2.5, 2.1)]
[False, False, False, True]

```
"""

import sys


class Patience:
    """Counts the reports since the best one; without a limit it never ends."""

    def __init__(self, limit: int | None, *, best: float = sys.float_info.max, waited: int = 0) -> None:
        self.limit, self.best, self.waited = limit, best, waited

    def see(self, loss: float) -> bool:
        """Takes in a loss, and says whether the training is over."""
        # An equal loss is no better one.
        self.waited = 0 if loss < self.best else self.waited + 1
        self.best = min(self.best, loss)
        return self.over

    @property
    def over(self) -> bool:
        """Whether the patience has come to its end."""
        return self.limit is not None and self.waited >= self.limit
