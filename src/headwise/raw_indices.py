"""
---
title: Functions of FlexAttention
summary: A marker for functions that count rows as FlexAttention does.
---
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headwise.errors import ArgumentError


@dataclass(frozen=True, eq=False)
class FlexFunction:
    """A function that gets FlexAttention's raw indices; made by `hw.flex`."""

    function: Callable[..., Any]


def flex(function: Callable[..., Any]) -> FlexFunction:
    """
    Mark a `mask_mod` or `score_mod` written for FlexAttention, so that it gets the indices that it was written for.

    FlexAttention counts queries from 0; headwise gives a bare function slots, where the last query stands at the
    last key. The two differ only where the numbers of queries and keys differ.

    *Errors*: a `BlockMask` has its indices already, and needs no mark.
    """
    if not callable(function):
        raise ArgumentError(
            f"flex(function) needs a mask_mod or a score_mod; got {type(function).__name__}. "
            "Usual fix: a BlockMask, a tensor or a part is passed as it is, mask=block_mask."
        )
    return FlexFunction(function)
