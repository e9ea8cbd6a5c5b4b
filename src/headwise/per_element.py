"""
---
title: Per element
summary: A function of single numbers, evaluated on a whole grid without changing its meaning.
---

# Functions of one pair, evaluated for all

A rule written as a function of single numbers, `lambda b, h, i, j: i >= j`, could be called once for each pair. It
is evaluated for all pairs at once instead, in one of two ways. **Broadcasting** hands it whole index tensors: fast,
and right for most functions. But a function that reduces, multiplies matrices or asks for shapes means something else
then. So it is first tried on a few rows and columns, where every cell is compared with the definition; and where one
differs, or where the function raises, `vmap` evaluates the function cell by cell in meaning, though not in time.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from headwise.errors import HeadwiseError

# Grids up to this many cells are evaluated by the definition at once: a trial would cost as much.
SMALL = 256
# Size of a trial along each axis. The sizes differ, so that no axis can be taken for another one.
TRIAL = (2, 3, 5, 7)


def evaluate(
    function: Callable[..., Any],
    arguments: tuple[Tensor, ...],
    verdicts: dict[int, bool],
    error: type[HeadwiseError],
) -> Tensor:
    """
    Evaluate `function` for every cell of the broadcast arguments (4-D each): index tensors, or scores and index tensors.

    The result broadcasts to the common shape of the arguments. `vmap` is the definition; broadcasting is used only
    where a trial agrees with it. `verdicts` remembers the trials of one call, so that each of its blocks takes the same way.

    *Errors*: whatever the function raises by the definition, as an `error`.
    """
    if torch.compiler.is_compiling():
        # One axis more, because the compiler refuses a table that is read at a number which is no mapped one, as that of a single head.
        mapped = torch.vmap(lambda *numbers: by_vmap(function, numbers))
        return mapped(*(argument[None] for argument in arguments))[0]
    shape = torch.broadcast_shapes(*(argument.shape for argument in arguments))
    if 0 in shape:
        return arguments[0].expand(shape) if len(arguments) == 5 else arguments[0].new_zeros(shape, dtype=torch.bool)
    try:
        if shape.numel() <= SMALL:
            cells = [argument.expand(shape).reshape(-1) for argument in arguments]
            return for_each_cell(function, cells).view(shape)
        if id(function) not in verdicts:
            verdicts[id(function)] = broadcasts(function, arguments, shape)
        return function(*arguments) if verdicts[id(function)] else by_vmap(function, arguments)
    except Exception as fault:
        rule = "(b, h, i, j) -> bool" if len(arguments) == 4 else "(s, b, h, i, j) -> s"
        fix = "torch.where in place of if, table[h, i] in place of .item(), and no random numbers"
        if isinstance(fault, TypeError) and "positional argument" in str(fault):
            fix = f"take all of {rule.split(' -> ')[0]}, whether needed or not"
        reason = (str(fault).strip() or "no message").splitlines()[0].rstrip(".")
        raise error(
            f"a function {rule} must work for one pair, on tensors of one number each, and return one number; "
            f"{type(fault).__name__}: {reason}. "
            f"Usual fix: {fix}."
        ) from fault


def by_vmap(function: Callable[..., Any], arguments: tuple[Tensor, ...]) -> Tensor:
    """The definition: the function sees one number of each argument, for every cell."""
    mapped = scalars(function, arguments[0].device)
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


def for_each_cell(function: Callable[..., Any], cells: list[Tensor]) -> Tensor:
    """The definition again, for a list of cells."""
    result: Tensor = torch.vmap(scalars(function, cells[0].device))(*cells)
    return result


def scalars(function: Callable[..., Any], device: torch.device) -> Callable[..., Tensor]:
    """The function, held to return a tensor of one number."""

    def scalar(*numbers: Tensor) -> Tensor:
        result = function(*numbers)
        result = result if isinstance(result, Tensor) else torch.as_tensor(result, device=device)
        if result.dim() > 0:
            raise ValueError(f"for one pair it returned a tensor of shape {list(result.shape)}")
        return result

    return scalar


@torch.no_grad()
def broadcasts(function: Callable[..., Any], arguments: tuple[Tensor, ...], shape: torch.Size) -> bool:
    """Does the function mean the same when it gets whole tensors? Tried on rows and columns spread over the grid."""
    places = [spread(size, least, arguments[0].device) for size, least in zip(shape, TRIAL, strict=True)]
    sizes = torch.Size(len(place) for place in places)
    # Copies, since a function may write into what it gets.
    trial = [pick(argument, places).clone() for argument in arguments]
    if len(arguments) == 5:
        # Scores of the call may all be equal, and then hide a difference. These differ from each other.
        numbers = torch.arange(sizes.numel(), device=arguments[0].device).to(arguments[0].dtype)
        trial[0] = torch.sin(numbers * 1.7).view(sizes)
    cells = [argument.expand(sizes).reshape(-1).clone() for argument in trial]
    try:
        whole = function(*trial)
        found = whole.expand(sizes).reshape(-1)
        expected = for_each_cell(function, cells)
        # Whole numbers and truth values serve alike as a mask, and every float is rounded to the scores' type.
        alike = found.is_floating_point() == expected.is_floating_point() and not found.is_complex()
        return alike and torch.allclose(found.double(), expected.double(), rtol=1e-4, atol=1e-6, equal_nan=True)
    except Exception:
        # A function that cannot take whole tensors is no fault: the definition takes single numbers.
        return False


def spread(size: int, least: int, device: torch.device) -> Tensor:
    """A few places of an axis, the first and the last among them. Never by the random generator, which belongs to the user."""
    count = min(size, least)
    return torch.arange(count, device=device) * (size - 1) // max(count - 1, 1)


def pick(argument: Tensor, places: list[Tensor]) -> Tensor:
    """The argument at these places; axes along which it does not vary stay 1."""
    for axis, place in enumerate(places):
        argument = argument.index_select(axis, place) if argument.shape[axis] > 1 else argument
    return argument
