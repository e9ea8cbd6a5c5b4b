"""
---
title: Made again
summary: What is cheap to compute is not kept for the backward pass, but computed a second time when its gradient is due.
---

# Made again

A pass keeps what its backward pass needs. Much of that follows from something else that is kept at little cost: the output of a
normalisation from its input, the output of an activation from what went into it. Together they are about a third of what a transformer
layer keeps, and making them again takes about a hundredth of its time.

$$y = g(f(x)): \\quad \\text{keep } x, \\quad \\text{and make } f(x) \\text{ again for the gradient of } g$$

The numbers are the same, bit for bit, because the same operation gets the same input.

```python
>>> import torch
>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> again(lambda: x.exp(), lambda y: y.square().sum(), when=True).backward()
>>> torch.allclose(x.grad, 2 * (2 * x).exp())
True

```
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


def again(make: Callable[[], Tensor], use: Callable[[Tensor], Tensor], *, when: bool) -> Tensor:
    """`use(make())`; `when` says whether what `make` returns is made again instead of being kept for the backward pass."""
    # A compiler chooses by itself what it keeps, and tensors inside of a transformation such as `vmap` have no storage to go by.
    transformed = torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()
    if not when or not torch.is_grad_enabled() or transformed:
        return use(make())
    made = make()
    spared = _Spared(made, make)
    with torch.autograd.graph.saved_tensors_hooks(spared.pack, spared.unpack):
        return use(made)


@dataclass(frozen=True)
class _View:
    """Which part of the tensor an operation wants to keep."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int


class _Spared:
    """Stands in the graph for each view of one tensor, which several operations may want to keep."""

    def __init__(self, made: Tensor, make: Callable[[], Tensor]) -> None:
        self.make, self.place, self.dtype = make, made.untyped_storage()._cdata, made.dtype
        # Whoever has hooks around the pass, to count what is kept or to move it elsewhere, goes on getting what is kept here.
        self.outer = torch._C._autograd._top_saved_tensors_default_hooks(False)
        # Outside of the block of autocast the same operation would have another precision.
        self.device = made.device.type
        self.autocast = (
            (torch.is_autocast_enabled(self.device), torch.get_autocast_dtype(self.device))
            if torch.amp.is_autocast_available(self.device)
            else None
        )
        self.wanted = self.given = 0
        self.remade: Tensor | None = None

    def pack(self, tensor: Tensor) -> Any:
        if tensor.dtype != self.dtype or tensor.untyped_storage()._cdata != self.place:
            return tensor if self.outer is None else self.outer[0](tensor)
        self.wanted += 1
        return _View(tuple(tensor.shape), tensor.stride(), int(tensor.storage_offset()))

    def unpack(self, kept: Any) -> Tensor:
        if not isinstance(kept, _View):
            return kept if self.outer is None else self.outer[1](kept)
        if self.remade is None:
            with torch.no_grad(), self._precision():
                self.remade = self.make()
        view = self.remade.as_strided(kept.shape, kept.stride, kept.offset)
        # The last one that wants the tensor lets it go; a second backward pass through the same graph makes it once more.
        self.given += 1
        if self.given == self.wanted:
            self.remade, self.given = None, 0
        return view

    def _precision(self) -> AbstractContextManager[object]:
        if self.autocast is None:
            return nullcontext()
        enabled, dtype = self.autocast
        return torch.autocast(self.device, dtype=dtype, enabled=enabled)
