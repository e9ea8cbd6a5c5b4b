"""
---
title: The window that a model reads
summary: What goes through the model at each step, when the text is longer than the context.
---

# The window

Two readers, one for each way to go on when the context is full; the page on writing says what each of them equals.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from headwise.cache import KVCache
from headwise.mask.padding import Padding


def window_start(length: int, context: int | None) -> int:
    """The first token that the model sees of a text of that length.

    ```python
    >>> [window_start(length, 4) for length in range(1, 10)]
    [0, 0, 0, 0, 2, 2, 4, 4, 6]

    ```
    """
    if context is None or length <= context:
        return 0
    # The window starts later by half a context at a time, so that a cache serves for half a context and not for a single token.
    stride = max(1, context // 2)
    return -(-(length - context) // stride) * stride


class Recomputing:
    """Reads what the cache does not hold yet; where the window moves, the cache begins anew. Without a cache it reads the window."""

    def __init__(self, model: nn.Module, context: int | None, cached: bool) -> None:
        self.model, self.context, self.cached = model, context, cached
        self.cache, self.start = KVCache(), 0

    def read(self, tokens: Int[Tensor, "B L"], kept: Bool[Tensor, "B L"] | None) -> Float[Tensor, "B I V"]:
        """Logits of the tokens not yet read; those of the last place are those of the next token."""
        moved = window_start(tokens.shape[1], self.context)
        if moved != self.start:
            self.cache, self.start = KVCache(), moved
        seen = self.start + (self.cache.length if self.cached else 0)
        mask = None if kept is None else Padding(kept[:, self.start :])
        logits: Tensor = self.model(tokens[:, seen:], mask=mask, cache=self.cache if self.cached else None)
        return logits


class Evicting:
    """Reads each token once, and forgets the oldest keys to make room for it. Of a prompt longer than the context it reads the end."""

    def __init__(self, model: nn.Module, context: int | None, cached: bool) -> None:
        self.model, self.context = model, context
        self.cache = KVCache()
        self.read_so_far: int | None = None

    def read(self, tokens: Int[Tensor, "B L"], kept: Bool[Tensor, "B L"] | None) -> Float[Tensor, "B I V"]:
        """Logits of the tokens not yet read; those of the last place are those of the next token."""
        length = tokens.shape[1]
        context = length if self.context is None else self.context
        if self.read_so_far is None:
            self.read_so_far = max(0, length - context)
        new = tokens[:, self.read_so_far :]
        self.cache.evict(self.cache.length + new.shape[1] - context)
        mask, positions = None, None
        if kept is not None:
            # Positions count all tokens that were ever read, not those that the cache still holds.
            mask = Padding(kept[:, length - self.cache.length - new.shape[1] :])
            positions = (kept.long().cumsum(dim=1) - 1).clamp(min=0)[:, self.read_so_far :]
        self.read_so_far = length
        with torch.no_grad():
            logits: Tensor = self.model(new, mask=mask, positions=positions, cache=self.cache)
        return logits
