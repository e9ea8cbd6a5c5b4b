"""
---
title: Functions of FlexAttention
summary: A marker for functions that count rows as FlexAttention does.
---
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class FlexFunction:
    """A function that gets FlexAttention's raw indices; made by `hw.flex`."""

    function: Callable[..., Any]


def flex(function: Callable[..., Any]) -> FlexFunction:
    """
    Mark a `mask_mod` or `score_mod` written for FlexAttention, so that it gets the indices that it was written for.

    FlexAttention counts queries from 0; headwise gives a bare function slots, where the last query stands at the
    last key. The two differ only where the numbers of queries and keys differ.
    """
    return FlexFunction(function)
