"""
---
title: Masks
summary: What a mask is; how masks combine; what an engine may know of one.
---

# Masks: which keys a query may see

A mask answers one question for each pair of a query and a key: may this query see this key? **True = may see**,
everywhere in this library. A mask is a small object with the method `sees`, which answers, and masks combine as statements do:

```python
Causal() & Window(256) & ~Documents(ids)
```

`sees` gets a [`Grid`](../grid.py): the positions and slots of a block of pairs. It returns a bool tensor `[B,H,i,j]`: one entry for each
sequence, query head, query and key of the block. A call has I queries and J keys; *i* and *j* count those of the block. In the type of the
result `#` marks an axis that may have size 1 instead, where it does not matter.

To write a mask of your own, derive a class from `Mask` and define `sees`. It may stand in any file, and need not be exported from
headwise. Two more methods are there for speed alone, and may be left out:

* `facts` restates the mask as bounds and slots, so that an engine need not look at pairs. For the masks of headwise a test holds it equal
  to `sees`.
* `rectangles` names blocks of pairs that are seen as a whole, so that an engine computes these and leaves out all others.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool
from torch import Tensor

from headwise.checks import check_sees, corner
from headwise.errors import MaskError
from headwise.grid import Grid
from headwise.mask.rectangle import Rectangle, intersect

if TYPE_CHECKING:
    from headwise.mask.table import Table


class Mask:
    """A rule about pairs. A new one is a frozen dataclass that derives from this class and defines `sees`."""

    def sees(self, grid: Grid) -> Bool[Tensor, "#B #H #i #j"]:
        """For each pair of the grid: may the query see the key? Axes that do not matter have size 1."""
        raise MaskError(
            f"a mask must define sees(grid), which returns a bool tensor, True = may see; {type(self).__name__} has none. "
            "Usual fix: def sees(self, grid): return grid.distance < 4."
        )

    def facts(self) -> "Facts":
        """What an engine may know without looking at pairs. The default knows nothing: everything is in `rest`."""
        return Facts(rest=self)

    def rectangles(self, grid: Grid) -> tuple[Rectangle, ...] | None:
        """
        The rectangles of pairs that together are all that is seen, if these are few; None if there are many, or if the mask cannot say.

        A query of one sequence stands in one rectangle at most. An engine can therefore compute each rectangle for itself, without
        asking the mask about the pairs in it.
        """
        return None

    def check(self, grid: Grid) -> None:
        """
        Raise if this mask cannot serve a call of these sizes. Called once, before any engine runs.

        For a mask from outside of headwise the default tries a few pairs.
        """
        if not type(self).__module__.startswith("headwise."):
            block = corner(grid)
            check_sees(type(self).__name__, self.sees(block), block)

    def __and__(self, other: object) -> "Mask":
        """The mask that lets a query see a key where both masks do."""
        return _join(And, self, other)

    def __rand__(self, other: object) -> "Mask":
        return _join(And, other, self)

    def __or__(self, other: object) -> "Mask":
        """The mask that lets a query see a key where one of the two masks does, or both."""
        return _join(Or, self, other)

    def __ror__(self, other: object) -> "Mask":
        return _join(Or, other, self)

    def __invert__(self) -> "Mask":
        """The mask that hides what this one shows, and shows what this one hides."""
        return Not(self)

    def __bool__(self) -> bool:
        raise MaskError(
            f"masks are joined by &, | and ~, and {type(self).__name__} is neither true nor false; got it where Python asks for one. "
            "Usual fix: Causal() & Window(4) in place of `and`, `mask is None` in place of `not mask`."
        )

    def table(self, queries: int, keys: int, *, batch: int = 1, heads: int = 1) -> "Table":
        """Draw the mask for these sizes: `print(Causal().table(2, 5))`."""
        from headwise.mask.table import Table

        return Table.draw(self, queries, keys, batch=batch, heads=heads)


@dataclass(frozen=True, eq=False)
class Facts:
    """
    A mask, restated in three parts that engines understand. A pair is seen where all three let it be seen.

    * `low` and `high` bound the **band**: the distances $i - j$, in positions, with `low <= i - j < high`; `None` means no bound on that side;
    * `keep` `[B,J]` says which key slots hold a token (True); it is the same for all queries and heads; `None` if all do;
    * `rest` is what remains, as a mask; `None` if nothing remains.
    """

    low: int | None = None
    high: int | None = None
    keep: Tensor | None = None
    rest: Mask | None = None

    def merge(self, other: "Facts") -> "Facts":
        """The facts of both masks at once: the band is what the two bands share, `keep` and `rest` are joined by *and*."""
        lows = [bound for bound in (self.low, other.low) if bound is not None]
        highs = [bound for bound in (self.high, other.high) if bound is not None]
        keep = self.keep if other.keep is None else other.keep if self.keep is None else self.keep & other.keep
        rest = self.rest if other.rest is None else other.rest if self.rest is None else And(self.rest, other.rest)
        # Asked by length, because the compiler knows no default of `max` and `min` where bounds are symbols.
        return Facts(max(lows) if lows else None, min(highs) if highs else None, keep, rest)

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
    """A pair is seen where both masks let it be seen."""

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
    """A pair is seen where one of the two masks lets it be seen, or both."""

    left: Mask
    right: Mask

    def sees(self, grid: Grid) -> Bool[Tensor, "#B #H #i #j"]:
        return self.left.sees(grid) | self.right.sees(grid)

    def check(self, grid: Grid) -> None:
        self.left.check(grid)
        self.right.check(grid)


@dataclass(frozen=True, eq=False)
class Not(Mask):
    """A pair is seen where `mask` hides it."""

    mask: Mask

    def sees(self, grid: Grid) -> Bool[Tensor, "#B #H #i #j"]:
        return ~self.mask.sees(grid)

    def check(self, grid: Grid) -> None:
        self.mask.check(grid)


def _join(kind: type[And] | type[Or], left: object, right: object) -> Mask:
    # Tensors and functions may stand on either side of an operator, as they may stand alone.
    from headwise.mask.coerce import as_mask

    return kind(as_mask(left), as_mask(right))
