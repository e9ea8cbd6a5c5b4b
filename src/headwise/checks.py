"""
---
title: Checks of numbers
summary: Sizes are whole and at least 1, shares lie in 0..1; whatever else comes is refused where it comes in.
---
"""

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any
from weakref import WeakSet

import torch
from torch import Tensor, nn

from headwise.errors import ArgumentError, HeadwiseError, MaskError, ScoreError
from headwise.grid import Grid


def check_flag(name: str, value: Any) -> bool:
    """Return a choice of two, which must be True or False."""
    if not isinstance(value, bool):
        raise ArgumentError(f"{name} must be True or False; got {value!r}. Usual fix: leave it away.")
    return value


def check_size(name: str, value: Any, example: str) -> int:
    """Return a size, which must be a whole number of at least 1."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ArgumentError(f"{name} must be a whole number of at least 1; got {value!r}. Usual fix: {example}.")
    return value


def check_share(name: str, value: Any) -> float:
    """Return a share, which must be a number in 0..1, 1 excluded."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0.0 <= value < 1.0:
        raise ArgumentError(
            f"{name} must be a number in [0, 1); got {value!r}. Usual fix: {name}=0.1, or 0.0 for none."
        )
    return value


def check_tensor(name: str, value: Any) -> None:
    """Raise if this is no tensor."""
    if not isinstance(value, Tensor):
        raise ArgumentError(f"{name} must be a tensor; got {type(value).__name__}. Usual fix: torch.as_tensor({name}).")


# Positions and distances are 64-bit numbers in a tensor; twice this still fits.
FAR = 2**62


def check_far(name: str, number: int) -> None:
    """Raise if a bound of distances or positions is larger than what a tensor can compare with."""
    if number > FAR:
        raise MaskError(
            f"{name} must be at most 2**62; got {number}. Usual fix: leave the bound away, it hides nothing."
        )


def check_present(name: str, tensor: Tensor, device: torch.device) -> None:
    """Raise if a tensor of a part has no numbers, and the call has."""
    if tensor.is_meta and device.type != "meta":
        raise ArgumentError(
            f"{name} must hold numbers; it is on the device meta, the call on {device}. Usual fix: make it after the model has left "
            "the device meta: to_empty() and load_state_dict() reach parameters and buffers, not tensors of masks."
        )


def check_kind(name: str, tensor: Tensor, linear: nn.Module) -> None:
    """Raise if a linear map cannot take this tensor: its weight has another dtype or device. Autocast and replaced maps see to it themselves."""
    if type(linear) is not nn.Linear or type(linear.weight) is not nn.Parameter:
        return
    # A hook may fetch the weight from where it is kept.
    if tensor.device != linear.weight.device and not linear._forward_pre_hooks and "forward" not in linear.__dict__:
        raise ArgumentError(
            f"{name} must be on the device of the layer; got {tensor.device}, the layer is on {linear.weight.device}. "
            f"Usual fix: {name}.to(layer.output.weight.device), or layer.to({name}.device)."
        )
    if tensor.dtype != linear.weight.dtype and not torch.is_autocast_enabled(tensor.device.type):
        raise ArgumentError(
            f"{name} must have the dtype of the layer; got {tensor.dtype}, the layer has {linear.weight.dtype}. "
            f"Usual fix: {name}.to(layer.output.weight.dtype), or layer.to({name}.dtype)."
        )


def corner(grid: Grid) -> Grid:
    """A few pairs, on which parts of one's own are tried: two rows and three columns tell the axes apart. In a graph sizes are symbols: one pair."""
    if torch.compiler.is_compiling():
        return grid.block((0, 1), (0, 1))
    return grid.block((0, min(2, grid.queries)), (0, min(3, grid.keys)))


def check_block(error: type[HeadwiseError], name: str, result: Tensor, block: Grid) -> None:
    """Raise if this does not fit the block of pairs that it is about, or lies on another device."""
    if torch.compiler.is_compiling():
        return
    sizes = (block.batch, block.heads, block.rows[1] - block.rows[0], block.columns[1] - block.columns[0])
    if any(size not in (1, wanted) for size, wanted in zip(result.shape, sizes, strict=True)):
        raise error(
            f"{name} must return one entry for each pair of the grid that it gets, which may be a block of all: here {list(sizes)}, or size 1 "
            f"where an axis does not matter; got {list(result.shape)}. Usual fix: cut tensors by grid.rows and grid.columns, or index them by "
            "grid.h, grid.query_slot and grid.key_slot."
        )
    if result.device != block.device:
        raise error(
            f"{name} must return a tensor on the device of the call, {block.device}; got one on {result.device}. "
            "Usual fix: tensor.to(grid.device)."
        )


def check_sees(name: str, seen: Any, block: Grid) -> None:
    """
    Raise if this is no answer of a mask's `sees`.

    Numbers would pass for something else: a kernel adds floats to the scores, and `~` of a whole number is no opposite.
    """
    if not isinstance(seen, Tensor) or seen.dtype != torch.bool or seen.dim() != 4:
        got = f"{seen.dtype} {list(seen.shape)}" if isinstance(seen, Tensor) else type(seen).__name__
        raise MaskError(
            f"{name}.sees(grid) must return a bool tensor of four axes [B,H,i,j], size 1 where an axis does not matter; got {got}. "
            "Usual fix: compare coordinates of the grid, such as grid.distance < 4, or index a table by them."
        )
    check_block(MaskError, f"{name}.sees(grid)", seen, block)


def check_numbers(name: str, numbers: Any, block: Grid) -> None:
    """Raise if this is not what a score part returns."""
    real = isinstance(numbers, Tensor) and not numbers.is_complex() and numbers.dtype != torch.bool
    if not real or numbers.dim() != 4:
        got = f"{numbers.dtype} {list(numbers.shape)}" if isinstance(numbers, Tensor) else type(numbers).__name__
        raise ScoreError(
            f"{name} must return a tensor of four axes [B,H,i,j] with numbers, size 1 where an axis does not matter; got {got}. "
            "Usual fix: compute it from the coordinates of the grid, such as -grid.distance, which has these axes."
        )
    check_block(ScoreError, name, numbers, block)


def check_changed(name: str, changed: Any, scores: Tensor, block: Grid) -> None:
    """Raise if these are no scores in the place of those that the part got."""
    check_numbers(name, changed, block)
    if changed.shape != scores.shape or changed.dtype != scores.dtype:
        raise ScoreError(
            f"{name} must return scores of the shape and dtype that it gets, {list(scores.shape)} {scores.dtype}; got {list(changed.shape)} "
            f"{changed.dtype}. Usual fix: return scores + numbers.to(scores.dtype)."
        )


def check_sink(name: str, logits: Any, grid: Grid) -> None:
    """Raise if this is no logit for each head."""
    if logits is None or (isinstance(logits, Tensor) and logits.is_floating_point() and logits.shape == (grid.heads,)):
        return
    got = f"{logits.dtype} {list(logits.shape)}" if isinstance(logits, Tensor) else type(logits).__name__
    raise ScoreError(
        f"{name}.sink(grid) must return a float for each head [H], H={grid.heads}, or None; got {got}. Usual fix: a Parameter of H numbers."
    )


# What a score method is called with, in this order.
SCORE_ARGUMENTS = ("query", "key", "query_positions", "key_positions")
# Functions that were found to take their arguments. Nothing depends on it but the time of a call.
_FITTING: WeakSet[Any] = WeakSet()


def check_takes(method: Callable[..., Any], arguments: tuple[str, ...] = SCORE_ARGUMENTS) -> None:
    """
    Raise if a score method cannot be called with these arguments. Each function is looked at once.

    Asked of its signature and not tried out: an error inside of the method is the method's own, and keeps its traceback.
    """
    if torch.compiler.is_compiling():
        return
    function = getattr(method, "__func__", method)
    # What has no hash, or cannot be pointed at, is looked at in each call.
    remembered = isinstance(function, FunctionType | nn.Module)
    if remembered and function in _FITTING:
        return
    try:
        signature = inspect.signature(method.forward if isinstance(method, nn.Module) else method)
    except ValueError:
        # Functions written in C need not have one.
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        name = getattr(method, "__qualname__", type(method).__name__)
        raise ScoreError(
            f"scores, or the get_scores of a layer, must take {len(arguments)} arguments in this order, {', '.join(arguments)}; got "
            f"{name}{signature}. Usual fix: take them all, whether needed or not, and self before them only in the method of a class."
        ) from None
    if remembered:
        _FITTING.add(function)


def check_score_kind(scores: Tensor, query: Tensor) -> None:
    """Raise if scores are no numbers that a softmax can go on with: those of the query's dtype, or wider ones of half precision."""
    kinds = (query.dtype, torch.promote_types(query.dtype, torch.float32))
    if scores.device == query.device and scores.dtype in kinds:
        return
    # Autocast chooses by itself in which precision a product is computed.
    if scores.device == query.device and scores.is_floating_point() and torch.is_autocast_enabled(query.device.type):
        return
    raise ScoreError(
        f"the result of get_scores must have the dtype and the device of the query that it gets, {query.dtype} on {query.device}; got "
        f"{scores.dtype} on {scores.device}. Usual fix: compute it from query and key, and end with .to(query)."
    )
