"""
---
title: What may stand for a mask
summary: None, a bool tensor, a Mask, a BlockMask, or a function become a Mask.
---
"""

from typing import Any

from torch import Tensor

from headwise.errors import MaskError
from headwise.mask.base import Mask
from headwise.mask.blocks import Blocks, is_block_mask
from headwise.mask.dense import Dense
from headwise.mask.full import Full
from headwise.mask.function import FunctionMask
from headwise.raw_indices import FlexFunction


def as_mask(thing: Any) -> Mask:
    """Make a mask of whatever may stand for one: `None`, a `Mask`, a bool tensor, a `BlockMask`, a function `(b, h, i, j) -> bool`."""
    if thing is None:
        return Full()
    if isinstance(thing, Mask):
        return thing
    if isinstance(thing, Tensor):
        return Dense(thing)
    if is_block_mask(thing):
        return Blocks(thing)
    if isinstance(thing, FlexFunction):
        return FunctionMask(thing.function, raw=True)
    if isinstance(thing, type) and issubclass(thing, Mask):
        raise MaskError(
            f"mask must be an instance, not the class {thing.__name__}. Usual fix: write {thing.__name__}() with its parameters."
        )
    if callable(thing):
        return FunctionMask(thing)
    fix = "Causal() for a causal mask, torch.as_tensor(mask) for an array"
    if isinstance(thing, tuple | list) and any(isinstance(each, Mask) for each in thing):
        fix = "join masks by & if all of them must let a pair be seen"
    raise MaskError(
        f"mask must be None, a bool tensor, a Mask or a function (b, h, i, j) -> bool; got {type(thing).__name__}. Usual fix: {fix}."
    )
