"""
---
title: Keys
summary: The keys and values of a call, and where they and the queries stand.
---
"""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from headwise.mask.base import Mask


@dataclass(frozen=True, eq=False)
class Keys:
    """
    What queries attend to.

    * `key` `[B,G,J,D]` and `value` `[B,G,J,E]`, the cached ones first;
    * `mask`: the mask of the call, joined to what the cache knows of padding;
    * `query_positions`, `key_positions`: where queries and keys stand; None: at their slots.
    """

    key: Float[Tensor, "B G J D"]
    value: Float[Tensor, "B G J E"]
    mask: Mask
    query_positions: int | Tensor | None
    key_positions: int | Tensor


def in_heads(
    prepare: nn.Module, x_BLM: Float[Tensor, "B L M"], norm: nn.Module | None = None
) -> Float[Tensor, "B H L D"]:
    """Project, split into heads, normalise each head where asked, and put the heads before the sequence."""
    x_BLHD = prepare(x_BLM)
    x_BLHD = x_BLHD if norm is None else norm(x_BLHD)
    return x_BLHD.transpose(1, 2)


def length_of(positions: int | Tensor, count: int) -> int | Tensor:
    """How long the sequence is whose `count` tokens stand at these positions, counted from position 0; `[B]` for rows of positions."""
    if isinstance(positions, Tensor):
        return positions.amax(dim=-1) + 1 if count else 0
    return positions + count
