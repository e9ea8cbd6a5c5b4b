"""
---
title: Function scores
summary: Any function of (s, b, h, i, j) is a score part.
---
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headwise.errors import ScoreError
from headwise.grid import Grid
from headwise.per_element import evaluate
from headwise.score.base import Score


@dataclass(frozen=True, eq=False)
class FunctionScore(Score):
    """
    Any function `(s, b, h, i, j) -> s` is a score part, as in PyTorch's FlexAttention.

    It means what it means for one pair: one score and four whole numbers. `i` and `j` are slots, the last query at
    the last key; with `raw=True` (made by `hw.flex(function)`) `i` is the row of the query. Tensors that the function
    captures get their gradients, but they are no parameters of the model: an optimizer that is given `model.parameters()` never
    changes them. What learns must be registered: write a class that derives from `nn.Module` and `Score`, or pass a module as the
    function. [The parts of a layer](../parts.py) says which parts are registered.

    *Errors*: a function that raises for one pair, or returns more than one number, is refused with its reason.
    """

    function: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
    raw: bool = False

    def change(self, scores: Float[Tensor, "B H i j"], grid: Grid) -> Float[Tensor, "B H i j"]:
        rows = grid.row if self.raw else grid.query_slot
        arguments = (scores, grid.b, grid.h, rows, grid.key_slot)
        changed = evaluate(self.function, arguments, grid.verdicts, ScoreError)
        if changed.is_complex() or changed.dtype == torch.bool:
            fix = (
                "take .real or .abs()"
                if changed.is_complex()
                else "a rule of who sees whom is a mask, pass it as mask="
            )
            raise ScoreError(
                f"a score function must return a real number; it returned {changed.dtype}. Usual fix: {fix}."
            )
        return changed.expand_as(scores).to(scores.dtype)
