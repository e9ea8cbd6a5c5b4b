"""
---
title: What may stand for a score
summary: None, a Score, a function, or a tuple of them become a tuple of Scores.
---
"""

from typing import Any

from torch import Tensor

from headwise.errors import ScoreError
from headwise.raw_indices import FlexFunction
from headwise.score.base import Score
from headwise.score.function import FunctionScore


def as_scores(thing: Any) -> tuple[Score, ...]:
    """Make a tuple of parts, in order, of `None`, a `Score`, a function `(s, b, h, i, j) -> s`, or a tuple or list of them."""
    if thing is None:
        return ()
    if isinstance(thing, tuple | list):
        return tuple(part for item in thing for part in as_scores(item))
    if isinstance(thing, Score):
        return (thing,)
    if isinstance(thing, FlexFunction):
        return (FunctionScore(thing.function, raw=True),)
    if isinstance(thing, type) and issubclass(thing, Score):
        raise ScoreError(
            f"score must be an instance, not the class {thing.__name__}. Usual fix: write {thing.__name__}(...) with its parameters."
        )
    if callable(thing):
        return (FunctionScore(thing),)
    name = "a tensor" if isinstance(thing, Tensor) else type(thing).__name__
    raise ScoreError(
        f"score must be None, a Score, a function (s, b, h, i, j) -> s or a tuple of them; got {name}. Usual fix: score=Bias(tensor) adds a tensor."
    )
