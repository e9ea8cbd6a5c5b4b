"""
---
title: A call
summary: One attention call as a value: what engines, explanations and recordings look at.
---

# One attention call

The function `attention` and the layer both describe what they want as a `Call`, checked and complete. Engines read it,
`explain` reads it, a recording keeps it. Nothing is decided here: a call says *what*, an engine decides *how*.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headwise.checks import FAR, check_present, check_takes, check_tensor
from headwise.errors import ArgumentError
from headwise.grid import Grid
from headwise.mask.base import Facts, Mask
from headwise.mask.coerce import as_mask
from headwise.score.base import Score
from headwise.score.coerce import as_scores
from headwise.shapes import check_attention, check_positions

# What an overridden `get_scores` looks like: query, key and their positions give unscaled scores.
ScoreMethod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Patched:
    """A function that stands in the place of a layer's `get_scores`; whether it needs the whole matrix is the layer's to say."""

    function: Callable[..., Any]
    whole_matrix: bool

    def __call__(self, *given: Tensor) -> Any:
        return self.function(*given)


@dataclass(frozen=True, eq=False)
class Call:
    """Everything that one call of attention needs. Made by `Call.of`, which checks it."""

    query: Float[Tensor, "B H I D"]
    key: Float[Tensor, "B G J D"]
    value: Float[Tensor, "B G J E"]
    mask: Mask
    score: tuple[Score, ...]
    scores: ScoreMethod | None
    scale: float
    dropout: float
    grid: Grid
    return_lse: bool
    # What the mask says of itself: asked once, because engines read it several times.
    facts: Facts = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "facts", self.mask.facts())

    @property
    def group_size(self) -> int:
        """Query heads that share one key/value head, H / G."""
        return self.query.shape[1] // self.key.shape[1]

    @property
    def whole_matrix(self) -> bool:
        """Does the score method need all queries and keys at once?"""
        owner = getattr(self.scores, "__self__", None)
        return bool(getattr(owner, "whole_matrix", False) or getattr(self.scores, "whole_matrix", False))

    def with_operands(self, query: Tensor, key: Tensor, value: Tensor) -> "Call":
        """The same call with other tensors of the same shapes."""
        return replace(self, query=query, key=key, value=value)

    @classmethod
    def of(
        cls,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *,
        mask: Any = None,
        score: Any = None,
        scores: ScoreMethod | None = None,
        scale: float | None = None,
        dropout: float = 0.0,
        query_positions: int | Tensor | None = None,
        key_positions: int | Tensor | None = None,
        return_lse: bool = False,
    ) -> "Call":
        """Check the arguments of `attention` and make a call of them."""
        _check_kind(query, key, value)
        check_attention(query, key, value)
        if scale is None:
            scale = 1.0 / math.sqrt(query.shape[3])
        _check_numbers(scale, dropout, scores)
        if not isinstance(return_lse, bool):
            raise ArgumentError(
                f"return_lse must be True or False; got {return_lse!r}. Usual fix: return_lse=True for (output, lse)."
            )
        grid = make_grid(query, key, query_positions, key_positions)
        call = cls(query, key, value, as_mask(mask), as_scores(score), scores, scale, dropout, grid, return_lse)
        call.mask.check(grid)
        for part in call.score:
            part.check(grid)
        return call


def make_grid(
    query: Tensor, key: Tensor, query_positions: int | Tensor | None, key_positions: int | Tensor | None
) -> Grid:
    """The grid of all pairs of the call. Positions that are not given are slots."""
    batch, heads, queries, _ = query.shape
    keys, device = key.shape[2], query.device
    first_query: int | Tensor = keys - queries
    if query_positions is not None:
        first_query = check_places("query_positions", query_positions, 0, batch, queries, device)
    first_key: int | Tensor = 0
    if key_positions is not None:
        first_key = check_places("key_positions", key_positions, 0, batch, keys, device)
    return Grid(batch, heads, queries, keys, first_query, first_key, device, (0, queries), (0, keys))


def check_places(
    name: str, given: int | Tensor | None, default: int, batch: int, length: int, device: torch.device
) -> int | Tensor:
    """Positions as a call wants them: the position of the first token, or a tensor `[1 or B, L]`."""
    if given is None:
        return default
    if isinstance(given, Tensor):
        check_present(name, given, device)
        return check_positions(name, given, batch, length).to(device)
    # In an exported model sizes, and what follows from them, are symbols.
    if isinstance(given, torch.SymInt):
        return given
    if isinstance(given, int) and not isinstance(given, bool):
        if -FAR <= given <= FAR:
            return given
        raise ArgumentError(
            f"{name} must lie within 2**62 on both sides of 0; got {given}. Usual fix: count positions from the start of the sequence."
        )
    raise ArgumentError(
        f"{name} must be None, a whole number (the position of the first one) or a tensor of whole numbers; got {type(given).__name__}. "
        "Usual fix: torch.as_tensor(positions)."
    )


LARGEST = sys.float_info.max
# What kernels compute with; whole numbers, complex ones and 8 bits are not among them.
DTYPES = {torch.float16, torch.bfloat16, torch.float32, torch.float64}


def _check_kind(query: Tensor, key: Tensor, value: Tensor) -> None:
    named = {"query": query, "key": key, "value": value}
    for name, tensor in named.items():
        check_tensor(name, tensor)
    dense = query.layout == key.layout == value.layout == torch.strided
    if query.dtype == key.dtype == value.dtype and query.dtype in DTYPES and query.device == key.device == value.device:
        if dense:
            return
        came = ", ".join(f"{name} {tensor.layout}" for name, tensor in named.items())
        raise ArgumentError(f"query, key and value must be dense tensors; got {came}. Usual fix: to_dense().")
    came = ", ".join(f"{name} {tensor.dtype} on {tensor.device}" for name, tensor in named.items())
    raise ArgumentError(
        f"query, key and value must have one dtype, float16, bfloat16, float32 or float64, and one device; got {came}. "
        "Usual fix: move them with .to(query.device, query.dtype)."
    )


def _check_numbers(scale: float, dropout: float, scores: ScoreMethod | None) -> None:
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not -LARGEST <= scale <= LARGEST:
        raise ArgumentError(
            f"scale must be a finite number; got {scale!r}. Usual fix: leave it away for 1/sqrt(head_dim); a scale that learns is a score function."
        )
    if isinstance(dropout, bool) or not isinstance(dropout, int | float) or not 0.0 <= dropout < 1.0:
        raise ArgumentError(
            f"dropout must be a number in [0, 1); got {dropout!r}. Usual fix: 0.0 for none; the layer passes 0 in eval mode by itself."
        )
    if scores is not None and (not callable(scores) or isinstance(scores, type)):
        raise ArgumentError(
            f"scores must be a function (query, key, query_positions, key_positions) -> scores; got {type(scores).__name__}. "
            "Usual fix: parts that change scores are given as score=."
        )
    if scores is not None:
        check_takes(scores.function if isinstance(scores, Patched) else scores)
