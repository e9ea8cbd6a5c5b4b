"""
---
title: Documents
summary: Several documents in one row, each sees only itself.
---
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headwise.checks import check_present
from headwise.errors import MaskError
from headwise.grid import Grid
from headwise.mask.base import Mask
from headwise.mask.rectangle import Rectangle, runs_of, stacked
from headwise.shapes import check_exact, fail


@dataclass(frozen=True, eq=False)
class Documents(Mask):
    """
    Several documents packed into one row: a token sees only tokens of its own document.

    `ids` `[B,J]` numbers the document of each key slot; a query sees the keys with its own number. With
    `ids = [0, 0, 0, 1, 1]` the last two of five slots see

    ```
        j  0 1 2 3 4
    i=3    · · · ■ ■
    i=4    · · · ■ ■
    ```

    Queries take their number from the slot at which they stand (the last query at the last key). Where queries
    are not the last keys, as in cross-attention, give their numbers as `query_ids` `[B,I]`.

    *Errors*: with more queries than keys the first queries stand at no slot, so `query_ids` is needed.

    *Source*: Krell, Kosec, Perez and Fitzgibbon, 2021, "Efficient Sequence Packing without Cross-contamination",
    arXiv:2107.02027.
    """

    ids: Int[Tensor, "B J"]
    query_ids: Int[Tensor, "B I"] | None = None

    def __post_init__(self) -> None:
        for name, ids in (("ids", self.ids), ("query_ids", self.query_ids)):
            if ids is None and name == "query_ids":
                continue
            if (
                not isinstance(ids, Tensor)
                or ids.dim() != 2
                or ids.is_floating_point()
                or ids.is_complex()
                or ids.dtype == torch.bool
            ):
                shape = f"{ids.dtype} {list(ids.shape)}" if isinstance(ids, Tensor) else type(ids).__name__
                raise MaskError(
                    f"Documents({name}) must be a tensor of whole numbers [B, J]; got {shape}. Usual fix: number the documents 0, 1, 2, ..."
                )

    @classmethod
    def from_lengths(
        cls,
        lengths: Sequence[int] | Sequence[Sequence[int]] | Tensor,
        query_lengths: Sequence[int] | Sequence[Sequence[int]] | Tensor | None = None,
    ) -> "Documents":
        """
        From the lengths of documents that stand in a row: `[3, 2]` is `ids = [[0, 0, 0, 1, 1]]`.

        A list of lists holds the rows of a batch, whose numbers of documents may differ; a single list is a batch of one.
        `query_lengths` says it for queries that are not the keys: document by document, the n-th sees the n-th.

        *Errors*: all rows must be equally full. What fills up a row is a document as well: give it a length.
        """
        ids = _number(lengths, "lengths")
        return cls(ids, None if query_lengths is None else _number(query_lengths, "query_lengths"))

    def sees(self, grid: Grid) -> Bool[Tensor, "B 1 i j"]:
        keys = self.ids.to(grid.device)[:, None, None, grid.columns[0] : grid.columns[1]]
        return self._of_queries(grid)[:, None, grid.rows[0] : grid.rows[1], None] == keys

    def _of_queries(self, grid: Grid) -> Int[Tensor, "B I"]:
        if self.query_ids is not None:
            return self.query_ids.to(grid.device)
        return self.ids.to(grid.device)[:, grid.keys - grid.queries :]

    def rectangles(self, grid: Grid) -> tuple[Rectangle, ...] | None:
        queries, keys = runs_of(self._of_queries(grid)), runs_of(self.ids)
        found = []
        for batch, (runs, of_keys) in enumerate(zip(queries, keys, strict=True)):
            columns = {number: run for number, *run in of_keys}
            # A document in several places is no rectangle.
            if len(columns) < len(of_keys):
                return None
            found += [
                Rectangle((batch, batch + 1), (start, stop), (columns[number][0], columns[number][1]))
                for number, start, stop in runs
                if number in columns
            ]
        return stacked(found)

    def check(self, grid: Grid) -> None:
        check_exact(
            "Documents(ids)", self.ids, "B J", "ids has one number for every key slot", B=grid.batch, J=grid.keys
        )
        check_present("Documents(ids)", self.ids, grid.device)
        if self.query_ids is not None:
            check_exact(
                "Documents(query_ids)", self.query_ids, "B I", "one number a query", B=grid.batch, I=grid.queries
            )
            check_present("Documents(query_ids)", self.query_ids, grid.device)
        elif grid.queries > grid.keys:
            fail(
                f"Documents without query_ids needs at most as many queries as keys, I={grid.queries} and J={grid.keys}",
                "pass Documents(ids, query_ids)",
                ids=(self.ids, "B J"),
            )


def _number(lengths: Sequence[int] | Sequence[Sequence[int]] | Tensor, name: str) -> Int[Tensor, "B L"]:
    """Numbers 0, 1, 2, ... of documents, each repeated over its length."""
    listed: Any = lengths.tolist() if isinstance(lengths, Tensor) else lengths
    rows: Any = [listed] if isinstance(listed, Sequence) and all(isinstance(entry, int) for entry in listed) else listed
    good = isinstance(rows, Sequence) and all(isinstance(row, Sequence) and not isinstance(row, str) for row in rows)
    if not good or not all(type(length) is int and length >= 0 for row in rows for length in row):
        raise MaskError(
            f"Documents.from_lengths({name}) must be a list of whole numbers of at least 0, or a list of such lists; got {lengths!r}. "
            "Usual fix: [3, 2] for two documents in one row."
        )
    sums = [sum(row) for row in rows]
    if len(set(sums)) != 1:
        raise MaskError(
            f"the rows of Documents.from_lengths({name}) must be equally full; they hold {sums} slots. "
            "Usual fix: give the padding at the end of a row as a last document, and hide it by Padding(keep)."
        )
    with torch.device("cpu"):
        numbers = [torch.arange(len(row)).repeat_interleave(torch.tensor(row, dtype=torch.long)) for row in rows]
        return torch.stack(numbers)
