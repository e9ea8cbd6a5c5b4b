"""
---
title: What learns must be registered
summary: Before the first update, parts of a model are searched for tensors that get gradients and would never be changed.
---

# What learns must be registered

An optimizer changes the parameters of a model and nothing else. A tensor that a score function has captured gets a gradient as well, and
so does one that a plain `Score` holds; but neither is a parameter of the model, and a training would leave it as it was, without a word.
[The parts of a layer](../parts.py) are registered where they are modules.

The search follows what a function can reach: the names that it captured, those that it reads from its module, and its defaults.
"""

import dis
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from torch import Tensor, nn

from headwise.layer import MultiHeadAttention
from headwise.mask.base import Mask
from headwise.parts import Parts
from headwise.position.base import Position
from headwise.score.base import Score
from headwise.train.gradient import TrainingError

PARTS = (Score, Mask, Position, MultiHeadAttention)
NAMES = ("mask", "score", "position")
FOREIGN = {"torch", "numpy", "builtins", "headwise"}
LEAVES = (type, ModuleType, str, bytes, int, float, complex, type(None))
# What each module holds: its parameters and submodules are registered, and its hooks are no part of the model.
INTERNAL = frozenset(vars(nn.Module()))
EXAMPLE = "class Slopes(nn.Module, Score) with self.slopes = nn.Parameter(...) and a method change(self, scores, grid)"

Held = Iterator[tuple[str, Any]]


@dataclass(frozen=True, eq=False)
class Found:
    """A tensor that is to learn without being a parameter of the model, and the way to it."""

    way: str
    tensor: Tensor


def check_registered(model: nn.Module) -> None:
    """Raises where a part of the model reads a tensor that is to learn and is none of the model's parameters."""
    found = next(unregistered(model), None)
    if found is not None:
        raise TrainingError(
            f"What learns must be a parameter of the model, since nothing else is updated. {found.way} {list(found.tensor.shape)} requires a "
            f"gradient and is not in `model.parameters()`; register it in a part that is a module: {EXAMPLE}. A constant needs `.detach()`."
        )


def unregistered(model: nn.Module) -> Iterator[Found]:
    """All tensors of this kind, with the way to each."""
    # Whatever the model has registered is met many times, and is in order.
    seen: dict[int, Any] = {id(each): each for each in (*model.parameters(), *model.modules())}
    for name, module in model.named_modules():
        waiting = [(".".join(filter(None, (name, key))), each) for key, each in _of_module(module)]
        while waiting:
            way, thing = waiting.pop()
            # What was seen is kept, so that no way goes in circles, and no other thing gets the same number.
            if isinstance(thing, LEAVES) or id(thing) in seen:
                continue
            seen[id(thing)] = thing
            if not isinstance(thing, Tensor):
                waiting += [(f"{way}, {key}" if key else way, each) for key, each in _below(thing)]
            elif thing.requires_grad and thing.is_leaf:
                yield Found(way, thing)


def _of_module(module: nn.Module) -> Held:
    """What a module of the model holds besides what it has registered, where that takes part in attention."""
    if isinstance(module, Parts):
        # Of the parts those that stand there now count, should somebody have replaced one.
        yield from ((str(place), part) for place, part in enumerate(module.parts))
    elif isinstance(module, PARTS):
        yield from _of_part(module)
    elif type(module).__module__.startswith("headwise."):
        yield from ((name, each) for name, each in vars(module).items() if name in NAMES)


def _below(thing: Any) -> Held:
    """What a thing holds, by name."""
    if isinstance(thing, FunctionType):
        yield from ((f"`{name}` of the function {thing.__name__}", each) for name, each in _read_by(thing))
    elif isinstance(thing, MethodType):
        yield from (("", thing.__func__), ("", thing.__self__))
    elif isinstance(thing, partial):
        yield from (("", thing.func), ("", thing.args), ("", thing.keywords))
    elif isinstance(thing, dict):
        yield from ((f"[{key!r}]", each) for key, each in thing.items())
    elif isinstance(thing, tuple | list | set | frozenset):
        yield from (("", each) for each in thing)
    elif isinstance(thing, PARTS):
        yield from ((f"`{name}` of {type(thing).__name__}", each) for name, each in _of_part(thing))
    elif isinstance(thing, nn.Module):
        yield from (
            (f"`{name}` of the module {type(thing).__name__}", each)
            for name, each in (*thing.named_parameters(), *thing.named_buffers())
        )
    elif not _is_foreign(type(thing)):
        yield "", getattr(type(thing), "__call__", None)  # noqa: B004, its code is asked for
        yield from (
            (f"`{name}` of {type(thing).__name__}", each) for name, each in getattr(thing, "__dict__", {}).items()
        )


def _of_part(part: Any) -> Held:
    """The fields of a part, and what its methods read, where the part is one's own."""
    if isinstance(part, nn.Module):
        yield from (*part.named_parameters(), *part.named_buffers())
    for kind in type(part).__mro__:
        if not _is_foreign(kind):
            yield from (
                (name, each) for name, each in vars(kind).items() if name not in ("__init__", "__dict__", "__weakref__")
            )
    # The weights of the last call are kept as `attn`, for looking at them.
    yield from ((name, each) for name, each in vars(part).items() if name not in INTERNAL and name != "attn")


def _is_foreign(thing: type | FunctionType) -> bool:
    """Whether a class or a function comes from a library, which holds nothing of the model."""
    return str(thing.__module__).partition(".")[0] in FOREIGN


def _read_by(function: FunctionType) -> Held:
    """What a function reads from outside: names that it captured, names of its module, and defaults."""
    if _is_foreign(function):
        return
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        # A name that is not bound yet has an empty cell.
        with suppress(ValueError):
            yield name, cell.cell_contents
    found = function.__globals__
    yield from ((name, found[name]) for name in _names_in(function.__code__) if name in found)
    yield from (("a default", each) for each in (function.__defaults__, function.__kwdefaults__))


def _names_in(code: CodeType) -> Iterator[str]:
    """The names of its module that a function looks up, and those that the functions inside of it look up."""
    yield from (each.argval for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL")
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names_in(inner)
