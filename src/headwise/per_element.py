"""
---
title: Per element
summary: A function of single numbers, evaluated on a whole grid without changing its meaning.
---

# Functions of one pair, evaluated for all

A rule written as a function of single numbers, `lambda b, h, i, j: i >= j`, could be called once for each pair. It
is evaluated for all pairs at once instead, in one of two ways. **Broadcasting** hands it whole index tensors: fast,
and right for most functions. But a function that reduces, multiplies matrices or compares shapes means something else
then. So a few cells are checked against the definition, and where they differ, or where the function raises, `vmap`
evaluates the function cell by cell in meaning, though not in time.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

# Enough cells to catch a wrong axis or a reduction, few enough to cost little.
PROBES = 12


def evaluate(function: Callable[..., Any], arguments: tuple[Tensor, ...]) -> Tensor:
    """
    Evaluate `function` for every cell of the broadcast arguments (4-D each).

    The result broadcasts to the common shape of the arguments. `vmap` is the definition; broadcasting is used only
    where a probe of cells agrees with it.
    """
    if torch.compiler.is_compiling():
        return by_vmap(function, arguments)
    shape = torch.broadcast_shapes(*(argument.shape for argument in arguments))
    if 0 in shape:
        return (
            torch.zeros(shape, dtype=torch.bool, device=arguments[0].device)
            if len(arguments) == 4
            else arguments[0].expand(shape)
        )
    try:
        result = function(*arguments)
    except Exception:
        # A function that cannot take whole tensors is no fault: the definition takes single numbers.
        # If it is at fault itself, the evaluation by vmap raises its error.
        return by_vmap(function, arguments)
    return result if _agrees(function, arguments, result, shape) else by_vmap(function, arguments)


def by_vmap(function: Callable[..., Any], arguments: tuple[Tensor, ...]) -> Tensor:
    """The definition: the function sees one number of each argument, for every cell."""
    mapped = _scalars(function, arguments[0].device)
    # From the last axis to the first: an argument whose size is 1 along an axis is the same for all cells there.
    for axis in (3, 2, 1, 0):
        mapped = (
            torch.vmap(mapped, in_dims=tuple(0 if argument.shape[axis] > 1 else None for argument in arguments))
            if any(argument.shape[axis] > 1 for argument in arguments)
            else mapped
        )
    squeezed = [argument.reshape([size for size in argument.shape if size > 1]) for argument in arguments]
    result: Tensor = mapped(*squeezed)
    full = torch.broadcast_shapes(*(argument.shape for argument in arguments))
    return result.reshape([size if any(a.shape[axis] > 1 for a in arguments) else 1 for axis, size in enumerate(full)])


def _scalars(function: Callable[..., Any], device: torch.device) -> Callable[..., Tensor]:
    def scalar(*numbers: Tensor) -> Tensor:
        result = function(*numbers)
        return result if isinstance(result, Tensor) else torch.as_tensor(result, device=device)

    return scalar


def _agrees(function: Callable[..., Any], arguments: tuple[Tensor, ...], result: Any, shape: torch.Size) -> bool:
    if not isinstance(result, Tensor):
        return False
    try:
        whole = result.expand(shape)
    except RuntimeError:
        return False
    with torch.no_grad():
        cells = _cells(shape, result.device)
        numbers = [argument.expand(shape)[cells].detach() for argument in arguments]
        try:
            expected = torch.vmap(_scalars(function, result.device))(*numbers)
        except Exception:
            return False
        found = whole[cells].detach()
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return False
    return torch.allclose(found.double(), expected.double(), rtol=1e-4, atol=1e-6, equal_nan=True)


def _cells(shape: torch.Size, device: torch.device) -> tuple[Tensor, ...]:
    # Spread over the block by fixed strides, never by the global random generator, which belongs to the user.
    steps = torch.arange(PROBES, device=device)
    strides = (7, 5, 11, 13)
    return tuple((steps * stride + steps * steps) % size for stride, size in zip(strides, shape, strict=True))
