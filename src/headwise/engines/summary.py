"""
---
title: Summary of a mask
summary: Which stretches of keys a block of rows can see at all, found by asking, and remembered.
---

# Which keys a block of rows can see

The facts of a mask tell of bands. Of any other mask, a free function included, the visible stretches are found by asking it for a block
of rows, and looking which tiles of columns hold a visible pair. A stretch in which all pairs are visible needs no mask afterwards.

The answer is remembered for masks that are values: by their numbers, and for tensors by the tensor itself (held weakly) and its version,
so that a tensor that was written to is asked again. What a function captures cannot be seen from outside, so functions are asked anew.
"""

import weakref
from collections import OrderedDict
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from headwise.call import Call
from headwise.engines.blocks import band_columns
from headwise.mask.base import Mask

# Columns of a tile. Gaps of fewer tiles than `GAP` are computed rather than skipped: starting the kernel again costs more.
TILE, GAP = 128, 4
REMEMBERED = 64


class Stretch(NamedTuple):
    """Columns that a block of rows sees; `open` if it sees all of them."""

    rows: tuple[int, int]
    columns: tuple[int, int]
    open: bool


class Memory:
    """The last summaries, each with the tensors that it was made from, held weakly."""

    def __init__(self) -> None:
        self.entries: OrderedDict[Any, tuple[list[weakref.ref[Tensor]], Any]] = OrderedDict()

    def get(self, key: Any, tensors: list[Tensor]) -> Any:
        """The summary of these very tensors, if it is there."""
        references, found = self.entries.get(key, ([], None))
        if found is None or any(
            reference() is not tensor for reference, tensor in zip(references, tensors, strict=True)
        ):
            return None
        self.entries.move_to_end(key)
        return found

    def put(self, key: Any, tensors: list[Tensor], summary: Any) -> None:
        """Remember a summary, and forget the oldest one."""
        self.entries[key] = ([weakref.ref(tensor) for tensor in tensors], summary)
        if len(self.entries) > REMEMBERED:
            self.entries.popitem(last=False)


MEMORY = Memory()


def summarise(call: Call, rows: int, *, ask: bool = True) -> tuple[Stretch, ...]:
    """The stretches of all blocks of that many rows; with `ask=False` those of the band, where nothing is remembered."""
    key, tensors = key_of(call, ("stretches", rows))
    found: tuple[Stretch, ...] | None = None if key is None else MEMORY.get(key, tensors)
    if found is not None or not ask:
        return found if found is not None else tuple(by_band(call, rows))
    with torch.no_grad():
        found = tuple(stretch for block in by_band(call, rows) for stretch in look(call, block))
    if key is not None:
        MEMORY.put(key, tensors, found)
    return found


def key_of(call: Call, kind: Any) -> tuple[Any, list[Tensor]]:
    """Under what to remember something of the mask in a call of these sizes, and the tensors that it hangs on; None: not at all."""
    tensors: list[Tensor] = []
    value = value_of(call.mask, tensors)
    return (None if value is None else (kind, value, sizes_of(call, tensors))), tensors


def value_of(thing: Any, tensors: list[Tensor]) -> Any:
    """What a mask is made of, as a value that can be compared; tensors are gathered. None: it cannot be said."""
    if isinstance(thing, Tensor):
        if thing.is_inference():
            return None
        tensors.append(thing)
        return ("tensor", id(thing), thing._version)
    if thing is None or isinstance(thing, bool | int | float | str):
        return ("value", thing)
    if isinstance(thing, Mask) and is_dataclass(thing):
        parts = tuple(value_of(getattr(thing, field.name), tensors) for field in fields(thing))
        return None if None in parts else (type(thing), parts)
    return None


def sizes_of(call: Call, tensors: list[Tensor]) -> tuple[Any, ...]:
    """Sizes and places of the call: the summary depends on them too."""
    grid = call.grid
    places = tuple(value_of(place, tensors) for place in (grid.query_positions, grid.key_positions))
    return (grid.batch, grid.heads, grid.queries, grid.keys, places)


def by_band(call: Call, rows: int) -> list[Stretch]:
    """Blocks of rows over the columns of the band."""
    grid = call.grid
    blocks = [(start, min(start + rows, grid.queries)) for start in range(0, grid.queries, rows)]
    stretches = [Stretch(block, band_columns(call.facts, grid, block), False) for block in blocks]
    return [stretch for stretch in stretches if stretch.columns[0] < stretch.columns[1]]


def look(call: Call, block: Stretch) -> list[Stretch]:
    """Ask the mask which columns these rows see."""
    first, last = block.columns
    seen = call.mask.sees(call.grid.block(block.rows, block.columns))
    any_J = seen.any(2).flatten(0, 1).any(0).expand(last - first)
    if bool(any_J.all()):
        return [Stretch(block.rows, block.columns, bool(seen.all()))]
    places = (any_J.nonzero()[:, 0] // TILE).unique().tolist()
    runs: list[list[int]] = []
    for tile in places:
        if runs and tile - runs[-1][1] < GAP:
            runs[-1][1] = tile
        else:
            runs.append([tile, tile])
    columns = [(first + one * TILE, min(first + (other + 1) * TILE, last)) for one, other in runs]
    return [Stretch(block.rows, stretch, False) for stretch in columns]
