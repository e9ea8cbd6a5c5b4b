"""
---
title: Writing token by token
summary: Generation with a cache that gives the same tokens as generation without one.
---

# Writing token by token

A causal model writes one token at a time: it reads what is there, one token is drawn, and the token joins what is there.
With a cache the model reads the new token alone, because keys and values of the former tokens are kept.

**Longer than the context.** A model has learned on rows of `context` tokens. When the text reaches that length, there are two ways to
go on, and they are two functions:

* `"recompute"`: the model goes on with the second half of its window and reads it afresh. The cache is filled anew at the same places
  where generation without a cache starts its window later, so both write the same tokens.
* `"evict"`: the oldest keys are forgotten, one for each new token. Deeper layers remember tokens that are gone, because the keys that stay
  were computed from them. This equals the model with the mask `Window(context)` over the whole text, and costs less. A model whose
  positions are added to its embedding has no place for a token beyond its context, so it cannot go on like this.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from headwise.generation.logits import SamplingError, draw
from headwise.generation.window import Evicting, Recomputing

WhenFull = Literal["recompute", "evict"]


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn; the meaning of each field is that of `headwise.generation.logits`."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0


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
    when_full: WhenFull = "recompute",
) -> Iterator[Int[Tensor, " B"]]:
    """Yields `count` new tokens per row, one step at a time; `when_full` says how a text goes on that is longer than `context`.

    *Shapes.* `keep` is False where a shorter prompt is filled up on its left side.

    *Edge.* A row that has drawn the token `end` goes on with `end`; when all rows have, the stream ends early. An `end` inside the
    prompt, where it often fills the left side, counts for nothing.
    """
    how = sampling or Sampling()
    check(model, prompt, how, cached, when_full)
    generator = torch.Generator(device=prompt.device).manual_seed(how.seed)
    tokens, kept = prompt, keep
    ended = torch.zeros(len(prompt), dtype=torch.bool, device=prompt.device)
    training = model.training
    reader = (Evicting if when_full == "evict" else Recomputing)(model, context, cached)
    model.eval()
    try:
        for _ in range(count):
            # ## 1. What the model reads
            logits = reader.read(tokens, kept)
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
    when_full: WhenFull = "recompute",
) -> Int[Tensor, "B J"]:
    """The prompt and what the model has added to it, at once; the arguments are those of `stream`."""
    new = list(
        stream(
            model,
            prompt,
            count=count,
            sampling=sampling,
            context=context,
            keep=keep,
            end=end,
            cached=cached,
            when_full=when_full,
        )
    )
    return torch.cat([prompt, *(drawn[:, None] for drawn in new)], dim=1)


def check(model: nn.Module, prompt: Tensor, how: Sampling, cached: bool, when_full: str) -> None:
    """Raise where the arguments of `stream` make no sense together."""
    if prompt.shape[1] == 0:
        raise SamplingError("`prompt` must hold at least one token, because the model continues something. Got none.")
    if not -(2**63) <= how.seed < 2**64:
        raise SamplingError(f"`seed` must fit into 64 bits. Got {how.seed}.")
    if when_full not in ("recompute", "evict"):
        raise SamplingError(
            f"`when_full` must be 'recompute' or 'evict'. Got {when_full!r}; 'recompute' is the usual one."
        )
    if when_full == "evict" and not cached:
        raise SamplingError(
            "`when_full='evict'` forgets keys of a cache. Got `cached=False`; 'recompute' needs no cache."
        )
    if when_full == "evict" and getattr(model, "position", None) is not None:
        raise SamplingError(
            "`when_full='evict'` needs positions that act on queries and keys. This model adds them to its embedding, which ends with its "
            "context; 'recompute' works for it."
        )
