"""
---
title: Choosing layers, heads and rows
summary: Finds the attention layers of a model and reads which of them, of their heads and of their queries are asked for.
---
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, SupportsIndex

from torch import Tensor, nn

from headwise.attend import Attend
from headwise.recording.tape import RecordingError

Numbers = int | slice | Iterable[int] | Tensor

# Modules that stand around a model and add a step to the names inside it.
WRAPPERS = {
    "_orig_mod": {"OptimizedModule"},
    "module": {"DistributedDataParallel", "DataParallel"},
}


# What can be listened to: the submodule that each call of a layer goes through, or a layer of PyTorch itself.
Listened = Attend | nn.MultiheadAttention


@dataclass(frozen=True)
class Found:
    """The attention layers of a model by name, in order; `aliases` are further names of the same layers."""

    layers: dict[str, Listened]
    aliases: Mapping[str, str]
    compiled: bool


def find_layers(model: nn.Module) -> Found:
    """The layers of a model: every module whose submodule `attend` is an `Attend`, and PyTorch's own layers."""
    adopt_others(model)
    names: dict[int, str] = {}
    layers: dict[str, Listened] = {}
    aliases: dict[str, str] = {}
    compiled = False
    for name, module in model.named_modules(remove_duplicate=False):
        compiled = compiled or type(module).__name__ == "OptimizedModule" or module._compiled_call_impl is not None
        listened = module if isinstance(module, nn.MultiheadAttention) else module._modules.get("attend")
        if isinstance(listened, Listened):
            name = plain_name(model, name)
            first = names.setdefault(id(listened), name)
            layers.setdefault(first, listened)
            aliases[name] = first
    if not layers:
        raise RecordingError(
            f"a model must have attention layers of headwise or torch.nn to be recorded; {type(model).__name__} has none. "
            "Usual fix: build it of MultiHeadAttention, or see headwise.integrations for models of other libraries."
        )
    return Found(layers, aliases, compiled)


def adopt_others(model: nn.Module) -> None:
    """Models of Hugging Face transformers that attend by headwise get their submodules `attend`."""
    settings = (getattr(module, "config", None) for module in model.modules())
    if any(getattr(each, "_attn_implementation", None) == "headwise" for each in settings):
        from headwise.integrations.transformers import adopt

        adopt(model)


def plain_name(model: nn.Module, name: str) -> str:
    """The name of a module without the steps that wrappers put into it."""
    steps, module = [], model
    for step in name.split(".") if name else []:
        if type(module).__name__ not in WRAPPERS.get(step, ()):
            steps.append(step)
        module = module._modules[step] or module
    return ".".join(steps)


def choose_layers(layers: Mapping[str, Any], asked: str | int | Iterable[str | int] | None) -> list[str]:
    """The names that are asked for, in the order of the model."""
    names = list(layers)
    if asked is None:
        return names
    wanted = [asked] if isinstance(asked, str | int) else list(asked)
    chosen: set[str] = set()
    for each in wanted:
        if isinstance(each, int) and not isinstance(each, bool):
            matches = [names[each]] if -len(names) <= each < len(names) else []
        else:
            matches = [name for name in names if name == each or fnmatchcase(name, str(each))]
        if not matches:
            raise RecordingError(
                f"layers must name attention layers of the model, which are {', '.join(map(repr, names))}; got {each!r}. "
                "Usual fix: a name or a pattern of this list, or a number from 0 on."
            )
        chosen.update(matches)
    if not chosen:
        raise RecordingError("layers must name at least one layer; got none. Usual fix: leave it away for all layers.")
    return [name for name in names if name in chosen]


def as_numbers(what: str, asked: Numbers | None) -> slice | tuple[int, ...] | None:
    """Heads or rows as they were asked for: None for all, a slice, or whole numbers."""
    if asked is None or isinstance(asked, slice):
        return asked
    if isinstance(asked, Tensor):
        asked = asked.tolist()
    numbers = (asked,) if isinstance(asked, SupportsIndex) else tuple(asked)
    if not numbers or not all(isinstance(each, SupportsIndex) and not isinstance(each, bool) for each in numbers):
        raise RecordingError(
            f"{what} must be whole numbers, at least one; got {asked!r}. Usual fix: leave it away for all {what}."
        )
    return tuple(each.__index__() for each in numbers)


def numbers_of(what: str, asked: slice | tuple[int, ...] | None, size: int, layer: str) -> tuple[int, ...]:
    """The numbers that are asked for in a call that has `size` of them."""
    if asked is None:
        return tuple(range(size))
    if isinstance(asked, slice):
        numbers = tuple(range(*asked.indices(size)))
        if not numbers and size:
            raise RecordingError(f"{what} must choose at least one; {asked} chooses none of {size} in layer {layer!r}.")
        return numbers
    for each in asked:
        if not -size <= each < size:
            raise RecordingError(
                f"{what} must be among those of the call, 0 to {size - 1} in layer {layer!r}; got {each}. "
                "Usual fix: negative numbers count from the end, -1 is the last."
            )
    return tuple(each % size for each in asked)
