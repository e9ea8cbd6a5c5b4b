"""
---
title: Parts of a layer
summary: Score parts that learn are registered; the others are kept as they are.
---
"""

from dataclasses import replace
from typing import Any

from torch import nn

from headwise.score.base import Score
from headwise.score.function import FunctionScore


class Parts(nn.Module):
    """
    Score parts, in order. Those that are modules, or functions that are modules, become submodules named by their place.

    A frozen part holds nothing that training or `state_dict` should know of, so it stays a plain attribute.
    """

    def __init__(self, parts: tuple[Score, ...]) -> None:
        super().__init__()
        self._plain = parts
        for place, part in enumerate(parts):
            learned = part if isinstance(part, nn.Module) else getattr(part, "function", None)
            if isinstance(learned, nn.Module):
                self.add_module(str(place), learned)

    @property
    def parts(self) -> tuple[Score, ...]:
        """The parts, in order; submodules as they stand now, should somebody have replaced one."""
        return tuple(self._current(place, part) for place, part in enumerate(self._plain))

    def _current(self, place: int, part: Any) -> Any:
        module = self._modules.get(str(place))
        if module is None or part is module:
            return part
        return part if module is getattr(part, "function", None) else replace_function(part, module)


def replace_function(part: Score, module: nn.Module) -> Any:
    """The module itself, or, where the part was a function, the part with the module as its function."""
    return replace(part, function=module) if isinstance(part, FunctionScore) else module
