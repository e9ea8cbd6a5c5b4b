"""
---
title: One for all, or one for each
summary: How a stack of layers reads an argument that may differ from layer to layer.
---

# One for all, or one for each

A stack hands its arguments on to each of its layers. Each of them may be

* **a value**: all layers get the same one; a part that learns is then shared;
* **a list**: one entry for each layer, first layer first;
* **`PerLayer(function)`**: the function gets the number of the layer, from 0, and returns the value.

So a model whose every fourth layer sees everything without positions, while the others see a window, has

```python
mask = PerLayer(lambda k: Causal() if k % 4 == 3 else Window(128))
position = PerLayer(lambda k: None if k % 4 == 3 else Rotary)
```

A *class*, or a `functools.partial` of one, is a factory for parts: each layer builds its own, of its own size. It is
[called with that size alone](../factory.py): `score` with the number of heads, `position` with the features of a head.
A class that needs anything else comes as a `partial`, or as `PerLayer(lambda layer: Kind(...))`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import nn

from headwise.checks import check_size
from headwise.errors import ArgumentError


@dataclass(frozen=True)
class PerLayer:
    """A function from the number of a layer to the value of an argument."""

    function: Callable[[int], Any]


def build_layers(layers: int, build: Callable[[Callable[[str, Any], Any]], nn.Module]) -> nn.ModuleList:
    """
    Build each layer by itself: `build(here)`, where `here(name, value)` is the value of an argument at this layer.
    """
    check_size("layers", layers, "d_model comes first, then heads, then layers")
    return nn.ModuleList(build(partial(at_layer, layer=index, layers=layers)) for index in range(layers))


def at_layer(name: str, value: Any, layer: int, layers: int) -> Any:
    """The value of an argument at one layer of a stack."""
    if isinstance(value, PerLayer):
        return value.function(layer)
    if not isinstance(value, list):
        return value
    if len(value) != layers:
        raise ArgumentError(
            f"a list for {name} must have one entry for each of the {layers} layers; got {len(value)}. "
            f"Usual fix: repeat the pattern, or give a tuple where one layer gets several parts."
        )
    return value[layer]


def is_factory(value: Any) -> bool:
    """Whether a value is a class, or a partial of one: something to build a part with, not a part."""
    return isinstance(value.func if isinstance(value, partial) else value, type)
