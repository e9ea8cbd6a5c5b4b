"""
---
title: Writing token by token
summary: Generation with a cache that gives the same tokens as generation without one.
---

# Writing token by token

A causal model writes one token at a time: it reads what is there, one token is drawn, and the token joins what is there.
With a cache the model reads the new token alone, because keys and values of the former tokens are kept.

**Longer than the context.** A model has learned on rows of `context` tokens. When the text reaches that length, the model goes on with
its second half and reads it afresh. The cache is filled anew at the same places where generation without a cache starts its window
later, so both write the same tokens. Dropping the oldest keys instead would be another function: deeper layers
would remember tokens that are gone.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from headwise.cache import KVCache
from headwise.generation.logits import SamplingError, draw
from headwise.mask.padding import Padding


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn; the meaning of each field is that of `headwise.generation.logits`."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0


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


@torch.no_grad()
def stream(
    model: nn.Module,
    prompt: Int[Tensor, "B I"],
    *,
    count: int,
    sampling: Sampling | None = None,
    context: int | None = None,
    keep: Bool[Tensor, "B I"] | None = None,
    end: int | None = None,
    cached: bool = True,
) -> Iterator[Int[Tensor, " B"]]:
    """Yields `count` new tokens per row, one step at a time.

    *Shapes.* `keep` is False where a shorter prompt is filled up on its left side.

    *Edge.* A row that has drawn the token `end` goes on with `end`; when all rows have, the stream ends early. An `end` inside the
    prompt, where it often fills the left side, counts for nothing.
    """
    if prompt.shape[1] == 0:
        raise SamplingError("`prompt` must hold at least one token, because the model continues something. Got none.")
    how = sampling or Sampling()
    if not -(2**63) <= how.seed < 2**64:
        raise SamplingError(f"`seed` must fit into 64 bits. Got {how.seed}.")
    generator = torch.Generator(device=prompt.device).manual_seed(how.seed)
    tokens, kept = prompt, keep
    ended = torch.zeros(len(prompt), dtype=torch.bool, device=prompt.device)
    cache, start, training = KVCache(), 0, model.training
    model.eval()
    try:
        for _ in range(count):
            # ## 1. What the model reads
            # With a cache it is what the cache does not hold yet. Where the window moves, the cache begins anew.
            moved = window_start(tokens.shape[1], context)
            if moved != start:
                cache, start = KVCache(), moved
            seen = start + (cache.length if cached else 0)
            mask = None if kept is None else Padding(kept[:, start:])
            logits = model(tokens[:, seen:], mask=mask, cache=cache if cached else None)
            # ## 2. The draw
            # The logits of the last place are those of the next token.
            drawn = draw(
                logits[:, -1], temperature=how.temperature, top_k=how.top_k, top_p=how.top_p, generator=generator
            )
            if end is not None:
                drawn = drawn.masked_fill(ended, end)
                ended = ended | (drawn == end)
            # ## 3. The token joins the text
            yield drawn
            tokens = torch.cat([tokens, drawn[:, None]], dim=1)
            if kept is not None:
                kept = torch.cat([kept, torch.ones_like(kept[:, :1])], dim=1)
            if end is not None and ended.all():
                return
    finally:
        model.train(training)


def write(
    model: nn.Module,
    prompt: Int[Tensor, "B I"],
    *,
    count: int,
    sampling: Sampling | None = None,
    context: int | None = None,
    keep: Bool[Tensor, "B I"] | None = None,
    end: int | None = None,
    cached: bool = True,
) -> Int[Tensor, "B J"]:
    """The prompt and what the model has added to it, at once; the arguments are those of `stream`."""
    new = list(
        stream(model, prompt, count=count, sampling=sampling, context=context, keep=keep, end=end, cached=cached)
    )
    return torch.cat([prompt, *(drawn[:, None] for drawn in new)], dim=1)
