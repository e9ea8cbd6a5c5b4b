"""
---
title: Lowering to FlexAttention
summary: Masks and scores as functions of one pair, as FlexAttention wants them.
---

# From parts to functions of one pair

FlexAttention compiles a function of one score and four numbers into its kernel. Most parts become one by being asked about a **point**: a grid
of a single pair whose coordinates are the numbers that FlexAttention passes. Parts that hold tensors read them at those numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from headwise.call import Call
from headwise.mask.base import And, Mask, Not, Or
from headwise.mask.causal import Causal
from headwise.mask.dense import Dense
from headwise.mask.dilated import Dilated, Stride
from headwise.mask.documents import Documents
from headwise.mask.full import Full
from headwise.mask.function import FunctionMask
from headwise.mask.padding import Padding
from headwise.mask.prefix import Prefix
from headwise.mask.window import HalfWindow, Window
from headwise.score.alibi import Alibi
from headwise.score.base import Score
from headwise.score.bias import Bias
from headwise.score.function import FunctionScore
from headwise.score.softcap import Softcap
from headwise.score.t5 import T5Bias

MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Point:
    """One pair, with the coordinates that a `Grid` has."""

    call: Call
    b: Tensor
    h: Tensor
    row: Tensor
    key_slot: Tensor

    @property
    def query_slot(self) -> Tensor:
        return self.row + (self.call.grid.keys - self.call.grid.queries)

    @property
    def query_position(self) -> Tensor:
        return self._place(self.call.grid.query_positions, self.row)

    @property
    def key_position(self) -> Tensor:
        return self._place(self.call.grid.key_positions, self.key_slot)

    @property
    def distance(self) -> Tensor:
        return self.query_position - self.key_position

    def _place(self, places: int | Tensor, number: Tensor) -> Tensor:
        if not isinstance(places, Tensor):
            return number + places
        return places[self.b if places.shape[0] > 1 else 0 * self.b, number]

    def read(self, tensor: Tensor) -> Tensor:
        """The number of a tensor `[B,H,I,J]` at this pair; axes of size 1 are the same for all."""
        numbers = (self.b, self.h, self.row, self.key_slot)
        index = tuple(n if size > 1 else 0 * n for n, size in zip(numbers, tensor.shape, strict=True))
        return tensor[index]


# Masks whose rule reads coordinates only, so that a point answers it as a grid does.
BY_POINT = (Causal, Window, Dilated, Stride)


def why_not_lowered(call: Call) -> list[str]:
    """The parts that cannot become functions of one pair."""
    reasons = []
    if not lowers(call.mask):
        reasons.append(f"no way is known to write {type(call.mask).__name__} as a function of one pair")
    reasons += [
        f"no way is known to write {type(part).__name__} as a function of one pair"
        for part in call.score
        if not isinstance(part, Softcap | Alibi | T5Bias | Bias | FunctionScore)
    ]
    return reasons


def lowers(mask: Mask) -> bool:
    """Can the mask become a function of one pair?"""
    if isinstance(mask, And | Or):
        return lowers(mask.left) and lowers(mask.right)
    if isinstance(mask, Not):
        return lowers(mask.mask)
    return isinstance(mask, (*BY_POINT, Full, HalfWindow, Dense, Padding, Documents, Prefix, FunctionMask))


def mask_mod(call: Call) -> MaskMod:
    """The mask as a function `(b, h, row, column) -> bool`."""
    return lambda b, h, i, j: sees(call.mask, Point(call, b, h, i, j))


def sees(mask: Mask, point: Point) -> Tensor:
    """Is the pair seen?"""
    match mask:
        case And(left, right):
            return sees(left, point) & sees(right, point)
        case Or(left, right):
            return sees(left, point) | sees(right, point)
        case Not(inner):
            return ~sees(inner, point)
        case Full():
            return point.row >= 0
        case HalfWindow(low, high):
            if low is not None:
                return point.distance >= low
            return point.row >= 0 if high is None else point.distance < high
        case Dense():
            return point.read(mask.four)
        case Padding(keep):
            return keep[point.b, point.key_slot]
        case Documents(ids, query_ids):
            own = ids[point.b, point.query_slot] if query_ids is None else query_ids[point.b, point.row]
            return own == ids[point.b, point.key_slot]
        case Prefix(length):
            return point.key_position < (length[point.b] if isinstance(length, Tensor) else length)
        case FunctionMask(function, raw):
            return function(point.b, point.h, point.row if raw else point.query_slot, point.key_slot)
    # A point has the coordinates of a grid, which is all that these rules read.
    return mask.sees(point)  # type: ignore[arg-type]


def score_mod(call: Call) -> ScoreMod | None:
    """The score parts, in order, as a function `(score, b, h, row, column) -> score`; None if there are none."""
    if not call.score:
        return None

    def change(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        point = Point(call, b, h, i, j)
        for part in call.score:
            score = changed(part, score, point)
        return score

    return change


def changed(part: Score, score: Tensor, point: Point) -> Tensor:
    """The score of the pair after one part."""
    if isinstance(part, Alibi):
        return score - torch.tensor(part.slopes, device=score.device)[point.h] * point.distance.abs()
    if isinstance(part, T5Bias):
        return score + part.table[part.bucket(point.distance), point.h]
    if isinstance(part, Bias):
        return score + point.read(part.tensor if part.tensor.dim() == 4 else part.tensor[None, None])
    if isinstance(part, FunctionScore):
        return part.function(score, point.b, point.h, point.row if part.raw else point.query_slot, point.key_slot)
    return part.change(score, point)  # type: ignore[arg-type]
