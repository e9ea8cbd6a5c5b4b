"""
---
title: From logits to a token
summary: Temperature, top-k and top-p as pure functions on logits, and the draw itself.
---

# From logits to a token

The model gives one number per token of the vocabulary, the logits. Softmax turns them into probabilities, and a token is drawn.
Three functions change the probabilities before the draw. Each takes logits and returns logits, so they can be chained in any order;
`draw` uses temperature, then top-k, then top-p. A token that is ruled out has the logit $-\\infty$ and so the probability 0.

```python
>>> logits = torch.tensor([0.5, 0.3, 0.15, 0.05]).log()
>>> keep_top_p(logits, 0.6).softmax(-1)
tensor([0.6250, 0.3750, 0.0000, 0.0000])

```
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headwise.errors import HeadwiseError


class SamplingError(HeadwiseError):
    """A sampling argument out of its range, or logits from which nothing can be drawn."""


def temper(logits: Float[Tensor, "*B V"], temperature: float) -> Float[Tensor, "*B V"]:
    """Logits divided by the temperature: below 1 the likely tokens become likelier still, above 1 all become more alike.

    *Edge.* At 0 the most likely token alone is left; among equals it is the first.
    """
    if not 0 <= temperature < math.inf:
        raise SamplingError(
            f"`temperature` must be a finite number of at least 0. Got {temperature}; 0 takes the most likely token, 1 changes nothing."
        )
    precise = logits.float()
    if temperature == 0:
        best = precise.argmax(-1, keepdim=True)
        return torch.full_like(precise, -torch.inf).scatter(-1, best, precise.gather(-1, best))
    # After the largest logit is subtracted all numbers are at most 0, and a tiny temperature sends them to minus infinity.
    # Without the subtraction the large logits would overflow and give NaN. The largest itself stays 0 and is not divided,
    # because 0 times the reciprocal of a tiny number is NaN too.
    below = precise - precise.amax(-1, keepdim=True)
    return torch.where(below == 0, below, below / temperature)


def keep_top_k(logits: Float[Tensor, "*B V"], k: int) -> Float[Tensor, "*B V"]:
    """Rules out all but the `k` most likely tokens.

    *Units.* `k` counts tokens. *Edge.* A `k` beyond the vocabulary keeps all of it.
    """
    if k < 1:
        raise SamplingError(
            f"`top_k` counts the tokens to keep and must be at least 1. Got {k}; leave it out to keep all."
        )
    values, indices = logits.topk(min(k, logits.shape[-1]), dim=-1)
    # The tokens are kept by their index and not by comparing with the smallest value, which would keep more than `k` among equals.
    return torch.full_like(logits, -torch.inf).scatter(-1, indices, values)


def keep_top_p(logits: Float[Tensor, "*B V"], p: float) -> Float[Tensor, "*B V"]:
    """Keeps the smallest set of most likely tokens whose probabilities sum to at least `p`.

    *Units.* `p` is the probability that is *kept*. *Edge.* At 0 one token is left, at 1 all are.
    """
    if not 0 <= p <= 1:
        raise SamplingError(f"`top_p` is the probability to keep and must lie between 0 and 1. Got {p}.")
    if p == 1:
        return logits
    ordered, indices = logits.sort(dim=-1, descending=True, stable=True)
    probabilities = ordered.float().softmax(-1)
    # A token is kept while the mass of the tokens *before* it is less than `p`. The token that crosses `p` therefore stays.
    before = probabilities.cumsum(-1) - probabilities
    kept = before < p
    kept[..., 0] = True
    return torch.full_like(logits, -torch.inf).scatter(-1, indices, ordered.masked_fill(~kept, -torch.inf))


def draw(
    logits: Float[Tensor, "B V"],
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Int[Tensor, " B"]:
    """One token per row."""
    if logits.isnan().any():
        raise SamplingError("The logits must be numbers. Got NaN; the weights of the model, or its input, contain NaN.")
    chosen = temper(logits, temperature)
    if top_k is not None:
        chosen = keep_top_k(chosen, top_k)
    if top_p is not None:
        chosen = keep_top_p(chosen, top_p)
    return torch.multinomial(chosen.softmax(-1), 1, generator=generator).squeeze(-1)
