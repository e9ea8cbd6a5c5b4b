"""
---
title: Masks
summary: What a mask is; how masks combine; what an engine may know of one.
---

# Masks: which pairs may see each other

A mask answers one question for each pair of a query and a key: may this query see this key? **True = may see**,
everywhere in this library. A mask is a value with one readable method, `sees`, and masks combine as statements do:

```python
Causal() & Window(256) & ~Documents(ids)
```

`sees` is the definition. `facts` restates the same mask as an engine can use it cheaply; a test holds the two equal.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool
from torch import Tensor

from headwise.checks import check_sees
from headwise.grid import Grid
from headwise.mask.rectangle import Rectangle, intersect

if TYPE_CHECKING:
    from headwise.mask.table import Table


class Mask:
    """A rule about pairs. To make a new one, write a frozen dataclass with the method `sees`."""

    def sees(self, grid: Grid) -> Bool[Tensor, "#B #H #i #j"]:
        """For each pair of the grid: may the query see the key? Axes that do not matter have size 1."""
        raise NotImplementedError(f"{type(self).__name__} must define sees(grid)")

    def facts(self) -> "Facts":
        """What an engine may know without looking at pairs. The default knows nothing: everything is in `rest`."""
        return Facts(rest=self)

    def rectangles(self, grid: Grid) -> tuple[Rectangle, ...] | None:
        """
        Blocks of pairs that are seen, if the mask is nothing but a few of them; None if it cannot say.

        The rectangles of one sequence share no row. Engines then compute them alone, and read no mask.
        """
        return None

    def check(self, grid: Grid) -> None:
        """Raise if this mask cannot serve a call of these sizes. Called once, before any engine runs."""
        if not type(self).__module__.startswith("headwise."):
            check_sees(type(self).__name__, self.sees(grid.block((0, 1), (0, 1))))

    def __and__(self, other: object) -> "Mask":
        """Both must agree."""
        return _join(And, self, other)

    def __rand__(self, other: object) -> "Mask":
        return _join(And, other, self)

    def __or__(self, other: object) -> "Mask":
        """One of them is enough."""
        return _join(Or, self, other)

    def __ror__(self, other: object) -> "Mask":
        return _join(Or, other, self)

    def __invert__(self) -> "Mask":
        """The opposite."""
        return Not(self)

    def table(self, queries: int, keys: int, *, batch: int = 1, heads: int = 1) -> "Table":
        """Draw the mask for these sizes: `print(Causal().table(2, 5))`."""
        from headwise.mask.table import Table

        return Table.draw(self, queries, keys, batch=batch, heads=heads)


@dataclass(frozen=True, eq=False)
class Facts:
    """
    A mask, restated as a conjunction of four parts that engines understand.

    * `low <= i - j < high` is the **band** of distances that are seen; `None` means no bound on that side;
    * `keep` `[B,J]` says which key slots hold a token at all (True), for every query and head;
    * `rest` is what remains, as a mask; `None` if nothing remains.
    """

    low: int | None = None
    high: int | None = None
    keep: Tensor | None = None
    rest: Mask | None = None

    def merge(self, other: "Facts") -> "Facts":
        """Both must hold: the bands are intersected, the other parts are joined by *and*."""
        lows = [bound for bound in (self.low, other.low) if bound is not None]
        highs = [bound for bound in (self.high, other.high) if bound is not None]
        keep = self.keep if other.keep is None else other.keep if self.keep is None else self.keep & other.keep
        rest = self.rest if other.rest is None else other.rest if self.rest is None else And(self.rest, other.rest)
        return Facts(max(lows, default=None), min(highs, default=None), keep, rest)

    def sees(self, grid: Grid) -> Bool[Tensor, "#B #H #i #j"]:
        """The same answer as the mask's own `sees`, put together from the parts."""
        seen = torch.ones(1, 1, 1, 1, dtype=torch.bool, device=grid.device)
        if self.low is not None:
            seen = seen & (grid.distance >= self.low)
        if self.high is not None:
            seen = seen & (grid.distance < self.high)
        if self.keep is not None:
            seen = seen & self.keep.to(grid.device)[:, None, None, grid.columns[0] : grid.columns[1]]
        return seen if self.rest is None else seen & self.rest.sees(grid)


@dataclass(frozen=True, eq=False)
class And(Mask):
    """Seen where both see."""

    left: Mask
    right: Mask

    def sees(self, grid: Grid) -> Bool[Tensor, "#B #H #i #j"]:
        return self.left.sees(grid) & self.right.sees(grid)

    def facts(self) -> Facts:
        return self.left.facts().merge(self.right.facts())

    def rectangles(self, grid: Grid) -> tuple[Rectangle, ...] | None:
        left, right = self.left.rectangles(grid), self.right.rectangles(grid)
        return None if left is None or right is None else intersect(left, right)

    def check(self, grid: Grid) -> None:
        self.left.check(grid)
        self.right.check(grid)


@dataclass(frozen=True, eq=False)
class Or(Mask):
    """Seen where one of them sees."""

    left: Mask
    right: Mask

    def sees(self, grid: Grid) -> Bool[Tensor, "#B #H #i #j"]:
        return self.left.sees(grid) | self.right.sees(grid)

    def check(self, grid: Grid) -> None:
        self.left.check(grid)
        self.right.check(grid)


@dataclass(frozen=True, eq=False)
class Not(Mask):
    """Seen where the other does not see."""

    mask: Mask

    def sees(self, grid: Grid) -> Bool[Tensor, "#B #H #i #j"]:
        return ~self.mask.sees(grid)

    def check(self, grid: Grid) -> None:
        self.mask.check(grid)


def _join(kind: type[And] | type[Or], left: object, right: object) -> Mask:
    # Tensors and functions may stand on either side of an operator, as they may stand alone.
    from headwise.mask.coerce import as_mask

    return kind(as_mask(left), as_mask(right))
