"""
---
title: Compiled steps
summary: The steps between the two products of a block, joined into few loops by the compiler of PyTorch.
---

# Compiled steps

Each kind of score gets a compiled function of its own. PyTorch keeps what it compiled with the *code* of a function and gives up after a
few variants of it; so every kind of score gets a copy of the code, and many functions in one program do not push each other out. What a
function captures is no part of its kind: captured tensors are inputs, and get their gradients.
"""

import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch
from torch import Tensor

from headwise.grid import Grid
from headwise.score.base import Score
from headwise.score.function import FunctionScore

Weigh = Callable[[Tensor, tuple[Score, ...], Grid, Tensor | None, bool], tuple[Tensor, Tensor]]

# By the kinds of parts, the first kind held weakly: a function that is made anew in each step has the same code each time.
COMPILED: weakref.WeakKeyDictionary[Any, dict[tuple[int, ...], Weigh]] = weakref.WeakKeyDictionary()


def compiled(weigh: Weigh, parts: tuple[Score, ...]) -> Weigh:
    """The function `weigh`, compiled for parts of these kinds."""
    kinds = [kind_of(part) for part in parts]
    if not kinds:
        kinds = [type(parts)]
    variants = COMPILED.setdefault(kinds[0], {})
    key = tuple(id(kind) for kind in kinds)
    if key not in variants:
        assert isinstance(weigh, FunctionType), "a plain function has code that can be copied"
        copy = FunctionType(weigh.__code__.replace(), weigh.__globals__, weigh.__name__, weigh.__defaults__)
        variants[key] = torch.compile(copy, dynamic=True)
    return variants[key]


def kind_of(part: Score) -> Any:
    """What two parts share if they compute the same steps: the code of a free function, the class of any other part."""
    if isinstance(part, FunctionScore):
        return getattr(part.function, "__code__", type(part.function))
    return type(part)
