"""
---
title: Parts from their classes
summary: A class in place of a part is called with one size; one that cannot be called so is refused in words.
---

# Parts from their classes

`score=Alibi` says what kind of part a layer gets, and the layer knows the size. The class is called with that size as its only argument:

| argument | is called with |
|---|---|
| `score` | the number of query heads |
| `position` in a layer | the features of a head |
| `position` on the embedding | the width of the model |

What else the class needs, a `functools.partial` of it brings along.
"""

import inspect
from functools import partial
from typing import Any

from headwise.errors import ArgumentError

SIZES = {"heads": "the number of heads", "head_dim": "the features of a head", "d_model": "the width of the model"}


def from_class(argument: str, factory: Any, size_name: str, size: int) -> Any:
    """The part that a class, or a partial of one, makes of a size; `argument` is what the class was given as."""
    reason = _why_not(factory, size)
    if reason:
        name = _parts_of(factory)[0].__name__
        raise ArgumentError(
            f"A class given as {argument} is called with {SIZES[size_name]} alone, {name}({size}); {name} {reason}. Usual fix: an instance, "
            f"{argument}={name}(...), which layers share, or PerLayer(lambda layer: {name}(...)) for one in each layer."
        )
    return factory(size)


def _parts_of(factory: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The class, and the arguments that a partial of it brings along."""
    return (factory.func, factory.args, factory.keywords) if isinstance(factory, partial) else (factory, (), {})


def _why_not(factory: Any, size: int) -> str:
    """Why a class cannot be called with the size alone; nothing if it can."""
    kind, before, named = _parts_of(factory)
    try:
        signature = inspect.signature(kind)
    except ValueError:
        # Classes written in C need not have a signature.
        return ""
    try:
        bound = signature.bind(*before, size, **named)
    except TypeError as error:
        return f"does not take that: {error}"
    # A cap is a number as well, and would be set to the number of heads without a word.
    return "takes a `cap` there" if not before and next(iter(bound.arguments)) == "cap" else ""
