"""
---
title: Keys and values
summary: Where the keys and values of a call come from: the same tokens, other tokens, or a cache.
---

# Where keys and values come from

Queries come from the tokens of the layer's input. Keys and values come from the same tokens (**self-attention**), from another
sequence (**cross-attention**), and in both cases part of them may wait in a cache already.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jaxtyping import Float
from torch import Tensor, nn

from headwise.cache import CacheRow
from headwise.call import check_places
from headwise.mask.base import Mask

if TYPE_CHECKING:
    from headwise.layer import MultiHeadAttention


@dataclass(frozen=True, eq=False)
class Keys:
    """
    What queries attend to.

    * `key` `[B,G,J,D]` and `value` `[B,G,J,E]`, the cached ones first;
    * `mask`: the mask of the call, joined to what the cache knows of padding;
    * `query_positions`, `key_positions`: where queries and keys stand; None: at their slots;
    * `length`: how long the sequence is by now, for position schemes that ask for it, else None.
    """

    key: Float[Tensor, "B G J D"]
    value: Float[Tensor, "B G J E"]
    mask: Mask
    query_positions: int | Tensor | None
    key_positions: int | Tensor
    length: int | Tensor | None


def keys_of_itself(
    layer: "MultiHeadAttention",
    key: Tensor,
    value: Tensor,
    mask: Mask,
    positions: int | Tensor | None,
    row: CacheRow | None,
) -> Keys:
    """Self-attention: keys and values of the tokens that ask, behind those of the cache, if there is one."""
    batch, new = key.shape[:2]
    if positions is not None:
        positions = check_places("positions", positions, 0, batch, new, key.device)
    key_BGJD, value_BGJE = in_heads(layer.key, key, layer.key_norm), in_heads(layer.value, value)
    if row is None:
        places = 0 if positions is None else positions
        length = length_of(layer.position, places, new)
        return Keys(turned(layer.position, key_BGJD, places, length), value_BGJE, mask, places, places, length)

    places = row.place(positions, new)
    length = length_of(layer.position, row.positions, row.length + new)
    if length is None:
        # A key is turned once, before it is stored.
        row.append(turned(layer.position, key_BGJD, places, None), value_BGJE)
        return Keys(row.key, row.value, row.remember(mask, new), places, row.positions, None)
    # The angles of all tokens change with the length of the whole: keys are stored as they came, and turned at each step.
    row.append(key_BGJD, value_BGJE)
    key_BGJD = turned(layer.position, row.key, row.positions, length)
    return Keys(key_BGJD, row.value, row.remember(mask, new), places, row.positions, length)


def keys_of_other(
    layer: "MultiHeadAttention",
    key: Tensor,
    value: Tensor,
    mask: Mask,
    positions: int | Tensor | None,
    row: CacheRow | None,
) -> Keys:
    """Cross-attention: keys and values of another sequence; with a cache they are projected in the first call, and kept."""
    length = length_of(layer.position, 0, key.shape[1])
    if row is not None and row.length:
        row.check_memory(key)
        return Keys(row.key, row.value, row.remember(mask, 0), positions, 0, length)
    key_BGJD, value_BGJE = in_heads(layer.key, key, layer.key_norm), in_heads(layer.value, value)
    key_BGJD = turned(layer.position, key_BGJD, 0, length)
    if row is not None:
        row.fixed = True
        row.append(key_BGJD, value_BGJE)
        # Flags of padding that come with the memory hold for later steps, too.
        mask = row.remember(mask, 0)
    return Keys(key_BGJD, value_BGJE, mask, positions, 0, length)


def in_heads(
    prepare: nn.Module, x_BLM: Float[Tensor, "B L M"], norm: nn.Module | None = None
) -> Float[Tensor, "B H L D"]:
    """Project, split into heads, normalise each head where asked, and put the heads before the sequence."""
    x_BLHD = prepare(x_BLM)
    x_BLHD = x_BLHD if norm is None else norm(x_BLHD)
    return x_BLHD.transpose(1, 2)


def turned(position: Any, x_BHLD: Tensor, positions: int | Tensor, length: int | Tensor | None) -> Tensor:
    """The vectors, turned by their positions, if there is a position scheme."""
    return x_BHLD if position is None else position(x_BHLD, positions, length=length)


def length_of(position: Any, places: int | Tensor, count: int) -> int | Tensor | None:
    """
    How long the sequence is whose `count` tokens stand at these places, counted from position 0; `[B]` for rows of places.

    None for a position scheme whose angles do not depend on it.
    """
    if not getattr(position, "depends_on_length", False):
        return None
    if isinstance(places, Tensor):
        return places.amax(dim=-1) + 1 if count else 0
    return places + count
