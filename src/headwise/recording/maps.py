"""
---
title: Maps to look at
summary: The weights of one sequence in all layers and heads, small enough to be shown.
---

# Maps to look at

A picture of a thousand tokens squared shows nothing that a picture of 256 does not. Longer sequences are **pooled**: `pool`
neighbouring tokens become one place. The weight from a place to a place is the *sum* over its keys and the *mean* over its
queries, so that rows still sum to 1. Pooling happens while the weights are computed; whole maps are never held.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from headwise.call import Call
from headwise.recording.recompute import Block, Recomputation
from headwise.recording.recorder import listening
from headwise.recording.tape import RecordingError, Tape
from headwise.recording.tokens import visible_all

MOST_PLACES = 256
Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, eq=False)
class Maps:
    """
    Weights `[H,I,J]` by the name of the layer, with the text of queries and keys.

    `pool` neighbouring tokens are one place; `queries` and `keys` are the texts of the places, with blanks made visible.
    """

    layers: dict[str, Array]
    queries: list[str]
    keys: list[str]
    pool: int = 1

    @property
    def note(self) -> str:
        """What must be said about pooling; empty if there is none."""
        if self.pool == 1:
            return ""
        return f"Long text: each place stands for {self.pool} neighbouring tokens; weights are summed over its keys and averaged over its queries."

    @classmethod
    def from_tape(
        cls, tape: Tape, tokens: Sequence[str], key_tokens: Sequence[str] | None = None, *, batch: int = 0
    ) -> "Maps":
        """The first call of each layer on a tape; `batch` says which sequence. Long maps are pooled."""
        keys = tokens if key_tokens is None else key_tokens
        pool = pool_for(max(len(tokens), len(keys)))
        layers = {}
        for name, records in tape.items():
            weights = records[0].weights[batch]
            if weights.shape[1:] != (len(tokens), len(keys)):
                raise RecordingError(
                    f"tokens must be as many as the queries and keys of each layer; got {len(tokens)} and {len(keys)}, "
                    f"layer {name!r} has {weights.shape[1]} and {weights.shape[2]}. Usual fix: record with rows=None and pass key_tokens=."
                )
            layers[name] = pooled(weights, pool).cpu().numpy()
        return cls(layers, place_names(tokens, pool), place_names(keys, pool), pool)


def maps_of(
    model: nn.Module, tokens: Tensor, texts: Sequence[str], layers: str | int | Iterable[str | int] | None = None
) -> Maps:
    """
    The maps of a language model for one text.

    *Shapes*: `tokens` `[I]`; `texts` has the text of each of them.
    """
    pool = pool_for(len(texts))
    places = -(-len(texts) // pool)
    found: dict[str, Tensor] = {}

    def visit(name: str, call: Call, lse: Tensor | None) -> None:
        source = Recomputation(call, tuple(range(call.grid.heads)), tuple(range(call.grid.queries)))
        whole = torch.zeros(call.grid.heads, places, places, device="cpu")
        for block in source.blocks():
            add_pooled(whole, block, pool)
        # The last place may hold fewer queries than the others.
        counts = torch.bincount(torch.arange(len(texts), device="cpu") // pool)
        found[name] = whole / counts[:, None]

    with torch.no_grad(), listening(model, layers, visit, wants_lse=False) as tape:
        model(tokens[None])
    names = place_names(texts, pool)
    return Maps({name: found[name].numpy() for name in tape.layers}, names, names, pool)


def pool_for(length: int) -> int:
    """
    Tokens in one place, so that there are at most `MOST_PLACES`.

    >>> [pool_for(length) for length in (1, 256, 257, 1024)]
    [1, 1, 2, 4]
    """
    return max(1, -(-length // MOST_PLACES))


def add_pooled(whole: Tensor, block: Block, pool: int) -> None:
    """Add the weights of a block to the sums of its places."""
    rows, columns = (torch.arange(*span, device="cpu") // pool for span in (block.grid.rows, block.grid.columns))
    weights_HIJ = block.weights[0].float().cpu()
    by_key = weights_HIJ.new_zeros(*weights_HIJ.shape[:2], whole.shape[2]).index_add_(2, columns, weights_HIJ)
    whole[block.heads].index_add_(1, rows, by_key)


def pooled(weights_HIJ: Tensor, pool: int) -> Tensor:
    """Sums over keys, means over queries, of `pool` neighbours each; the last place may hold fewer."""
    if pool == 1:
        return weights_HIJ
    rows, columns = (torch.arange(size, device=weights_HIJ.device) // pool for size in weights_HIJ.shape[1:])
    places = [int(numbers[-1]) + 1 for numbers in (rows, columns)]
    by_key = weights_HIJ.new_zeros(*weights_HIJ.shape[:2], places[1]).index_add_(2, columns, weights_HIJ)
    both = by_key.new_zeros(by_key.shape[0], *places).index_add_(1, rows, by_key)
    return both / torch.bincount(rows)[:, None]


def place_names(texts: Sequence[str], pool: int) -> list[str]:
    """The text of each place."""
    return visible_all("".join(texts[start : start + pool]) for start in range(0, len(texts), pool))
