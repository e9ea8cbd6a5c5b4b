"""
---
title: A rule, written down
summary: Masks and scores as text, numbers and tensors, and back: what an operator of a compiled graph can take.
---

# A rule, written down

An operator of a compiled graph takes tensors, numbers and text, and no objects. So a rule is written down: its structure as text, its numbers
and its tensors in lists, in the order in which the text names them. Whoever reads it gets an equal rule, made of the tensors at hand.

Nothing is remembered between writing and reading. Whatever the rule holds when the graph *runs* is what is computed: another mask
of the same shape brings other tensors, a learned table brings its values of that moment, and both get their gradients.

Only the parts of headwise are written, because they are known to read nothing but what they hold. The class of somebody else may
read a variable of its module, and a function may capture a tensor; both would be lost on the way.
"""

import functools
import importlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from torch import Tensor, nn

# What every module holds, whether it is a part or not.
PLAIN_MODULE = tuple(vars(nn.Module()))


@dataclass(eq=False)
class Written:
    """The tensors and the numbers of a rule, in the order of its text; and the classes of the parts that could not be written."""

    tensors: list[Tensor] = field(default_factory=list)
    whole: list[int] = field(default_factory=list)
    real: list[float] = field(default_factory=list)
    unwritten: list[str] = field(default_factory=list)


def write(thing: Any, into: Written) -> str | None:
    """
    The text of a thing; None if it cannot be written. Its tensors and numbers are appended to `into`.

    The compiler reads this function line by line while it makes a graph, and sees to it that the graph serves no rule of another structure.
    """
    # 1. Leaves. Numbers stay out of the text, so that a graph need not be made anew for each of them.
    if thing is None:
        return "null"
    if isinstance(thing, bool):
        return "true" if thing else "false"
    if isinstance(thing, Tensor):
        into.tensors.append(thing)
        return '"tensor"'
    if isinstance(thing, int):
        into.whole.append(thing)
        return '"whole"'
    if isinstance(thing, float):
        into.real.append(thing)
        return '"real"'
    # 2. What is made of others.
    if isinstance(thing, tuple | list):
        texts = [write(entry, into) for entry in thing]
        return None if None in texts else f"[{','.join(str(text) for text in texts)}]"
    holds = held_by(thing)
    if holds is None:
        into.unwritten.append(type(thing).__name__)
        return None
    entries = []
    for name, value in holds:
        text = write(value, into)
        if text is None:
            return None
        entries.append(f'"{name}":{text}')
    return f'{{"{type(thing).__module__}":"{type(thing).__qualname__}","holds":{{{",".join(entries)}}}}}'


def held_by(thing: Any) -> list[tuple[str, Any]] | None:
    """Names and values of all that a part of headwise holds; None for anything else."""
    if not type(thing).__module__.startswith("headwise."):
        return None
    if is_dataclass(thing):
        return [(entry.name, getattr(thing, entry.name)) for entry in fields(thing)]
    if not isinstance(thing, nn.Module) or len(thing._modules) > 0:
        return None
    plain = [(name, value) for name, value in thing.__dict__.items() if name not in PLAIN_MODULE]
    return [*plain, *thing._parameters.items(), *thing._buffers.items()]


def read(text: str, written: Written) -> Any:
    """The thing that was written, made of these tensors and numbers."""
    leaves = {"tensor": iter(written.tensors), "whole": iter(written.whole), "real": iter(written.real)}
    return build(parsed(text), leaves)


@functools.lru_cache(256)
def parsed(text: str) -> Any:
    """The structure of a text, which many calls share."""
    return json.loads(text)


def build(form: Any, leaves: dict[str, Iterator[Any]]) -> Any:
    """A thing from its structure."""
    if isinstance(form, str):
        return next(leaves[form])
    if isinstance(form, list):
        return tuple(build(entry, leaves) for entry in form)
    if not isinstance(form, dict):
        return form
    (module, name), (_, holds) = form.items()
    kind = getattr(importlib.import_module(module), name)
    values = {name: build(entry, leaves) for name, entry in holds.items()}
    return made_module(kind, values) if issubclass(kind, nn.Module) else made_dataclass(kind, values)


def made_dataclass(kind: type, values: dict[str, Any]) -> Any:
    """A frozen object with these fields, which were checked when the first one was made."""
    thing: Any = object.__new__(kind)
    for name, value in values.items():
        object.__setattr__(thing, name, value)
    return thing


def made_module(kind: type[nn.Module], values: dict[str, Any]) -> nn.Module:
    """A part that learns, around tensors that are parameters elsewhere: as they are, so that gradients go through them."""
    thing = kind.__new__(kind)
    nn.Module.__init__(thing)
    for name, value in values.items():
        if isinstance(value, Tensor):
            thing._buffers[name] = value
        else:
            setattr(thing, name, value)
    return thing
