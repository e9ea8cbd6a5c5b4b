"""
---
title: T5's relative bias
summary: A learned number for each head and each bucket of distances.
---
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from headwise.checks import check_present
from headwise.errors import ScoreError, ShapeError
from headwise.grid import Grid
from headwise.score.base import AdditiveScore


class T5Bias(AdditiveScore, nn.Module):
    """
    Add a learned number to each score, chosen by the head and by how far the key stands from the query.

    $$s_{h,i,j} \\leftarrow s_{h,i,j} + \\text{table}[\\text{bucket}(i - j), h]$$

    Near distances have a **bucket** each; from half of the buckets on, one bucket serves ever more distances, in steps of the logarithm,
    and the last one serves all from `max_distance` on. So a few numbers say something about every distance.

    * `heads`: query heads.
    * `buckets`, `max_distance`: how many numbers a head has, and from where on distances are not told apart.
    * `bidirectional`: half of the buckets serve keys ahead of the query. If False, as in a decoder, all keys ahead share bucket 0.

    `table` `[buckets, heads]` learns. Distances are those of **positions**, so a cache changes nothing.

    *Edge*: T5 itself does not scale its scores; for its numbers pass `scale=1.0` to `attention`.

    *Source*: Raffel et al., 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer", section 2.1,
    arXiv:1910.10683.

    ```python
    >>> T5Bias(heads=8).bucket(torch.tensor([0, 1, 15, 16, 64, 127, 1000]))
    tensor([ 0,  1, 15, 16, 26, 31, 31])
    ```
    """

    def __init__(self, heads: int, buckets: int = 32, max_distance: int = 128, bidirectional: bool = False) -> None:
        nn.Module.__init__(self)
        least = 4 if bidirectional else 2
        for name, number, low in (("heads", heads, 1), ("buckets", buckets, least)):
            if not isinstance(number, int) or isinstance(number, bool) or number < low:
                raise ScoreError(
                    f"T5Bias({name}) must be a whole number of at least {low}; got {name}={number!r}. Usual fix: T5Bias(heads=8, buckets=32)."
                )
        exact = buckets // (4 if bidirectional else 2)
        if not isinstance(max_distance, int) or isinstance(max_distance, bool) or max_distance <= exact:
            raise ScoreError(
                f"T5Bias(max_distance) must be above {exact}, the distances that have a bucket each; got max_distance={max_distance!r}. "
                "Usual fix: fewer buckets, or max_distance=128."
            )
        self.heads, self.buckets, self.max_distance, self.bidirectional = heads, buckets, max_distance, bidirectional
        self.table = nn.Parameter(torch.empty(buckets, heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Small numbers from a normal distribution."""
        nn.init.normal_(self.table, std=0.02)

    def bucket(self, distance: Int[Tensor, "..."]) -> Int[Tensor, "..."]:
        """The bucket of each distance $i - j$, as in the published code."""
        buckets, ahead = self.buckets, torch.zeros_like(distance)
        if self.bidirectional:
            buckets = buckets // 2
            ahead = (distance < 0) * buckets
            distance = distance.abs()
        else:
            distance = distance.clamp(min=0)
        exact = buckets // 2
        # In float32 and in this order, since a checkpoint depends on which side of a bound a distance falls.
        steps = torch.log(distance.clamp(min=1).float() / exact) / math.log(self.max_distance / exact)
        far = exact + (steps * (buckets - exact)).long()
        return ahead + torch.where(distance < exact, distance, far.clamp(max=buckets - 1))

    def bias(self, grid: Grid) -> Float[Tensor, "#B H i j"]:
        rows, columns = grid.rows[1] - grid.rows[0], grid.columns[1] - grid.columns[0]
        if grid.shift is None or torch.compiler.is_compiling() or min(rows, columns) == 0:
            return self.table[self.bucket(grid.distance[:, 0])].permute(0, 3, 1, 2)
        # Where positions run on evenly, all pairs on a diagonal are equally far apart: each distance is looked up once. Along a row
        # the distance falls by 1 a column, so a row is a window of the falling distances, and the row before it the next window.
        last = grid.shift + grid.rows[1] - 1 - grid.columns[0]
        falling = torch.arange(last, last - rows - columns + 1, -1, device=grid.device)
        return self.table[self.bucket(falling)].T.unfold(1, columns, 1).flip(1)[None]

    def by_distance(self, distance: Int[Tensor, " T"]) -> Float[Tensor, "H T"]:
        return self.table[self.bucket(distance)].mT

    def check(self, grid: Grid) -> None:
        if self.heads != grid.heads:
            raise ShapeError(
                f"T5Bias(heads) must equal the query heads of the call; got heads={self.heads}, H={grid.heads}. Usual fix: T5Bias({grid.heads})."
            )
        check_present("T5Bias", self.table, grid.device)

    def extra_repr(self) -> str:
        return f"{self.heads}, buckets={self.buckets}, max_distance={self.max_distance}, bidirectional={self.bidirectional}"
