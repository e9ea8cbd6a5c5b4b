"""
---
title: A mask, drawn
summary: The table of a mask, as a tensor and as text.
---
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from headwise.errors import MaskError
from headwise.grid import Grid
from headwise.mask.base import Mask


@dataclass(frozen=True, eq=False)
class Table:
    """
    A mask written out for given sizes: `visible` `[B,H,I,J]` is the tensor, `str()` draws it.

    `■` is seen, `·` is hidden. Rows are queries, numbered by slot; columns are keys.
    """

    visible: Bool[Tensor, "B H I J"]

    @classmethod
    def draw(cls, mask: Mask, queries: int, keys: int, *, batch: int = 1, heads: int = 1) -> "Table":
        """Write out `mask` for these sizes."""
        for name, size in (("queries", queries), ("keys", keys), ("batch", batch), ("heads", heads)):
            if not isinstance(size, int) or size < 0:
                raise MaskError(
                    f"table({name}) must be a whole number of at least 0; got {size!r}. Usual fix: table(queries, keys)."
                )
        grid = Grid(batch, heads, queries, keys, keys - queries, 0, torch.device("cpu"), (0, queries), (0, keys))
        mask.check(grid)
        return cls(mask.sees(grid).expand(batch, heads, queries, keys))

    def __str__(self) -> str:
        parts = []
        for b, h in torch.cartesian_prod(
            *(torch.arange(size, device="cpu") for size in self.visible.shape[:2])
        ).tolist():
            title = f"b={b} h={h}\n" if self.visible.shape[:2] != (1, 1) else ""
            parts.append(title + self._matrix(self.visible[b, h]))
        return "\n\n".join(parts)

    def _repr_svg_(self) -> str:
        # Notebooks and pages draw squares where a terminal prints characters.
        from headwise.drawing import squares

        batch, heads, queries, keys = self.visible.shape
        maps = {
            "" if batch * heads == 1 else f"b={b} h={h}": self.visible[b, h] for b in range(batch) for h in range(heads)
        }
        rows = [f"i={keys - queries + row}" for row in range(queries)] if queries <= 24 else ()
        alt = f"A mask of {queries} queries, from top to bottom, and {keys} keys: {int(self.visible.sum())} pairs are seen."
        return squares(maps, alt=alt, rows=rows)._repr_svg_()

    @staticmethod
    def _matrix(visible_IJ: Bool[Tensor, "I J"]) -> str:
        queries, keys = visible_IJ.shape
        slots = [keys - queries + row for row in range(queries)]
        width = max([len(f"i={slot}") for slot in slots], default=3)
        cell = max(1, len(str(keys - 1)))
        head = "j".rjust(width) + "  " + " ".join(f"{j:>{cell}}" for j in range(keys))
        rows = [
            f"{f'i={slot}':<{width}}  " + " ".join(f"{'■' if seen else '·':>{cell}}" for seen in row)
            for slot, row in zip(slots, visible_IJ.tolist(), strict=True)
        ]
        return "\n".join([head, *rows])
