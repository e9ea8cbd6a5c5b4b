"""
---
title: Where the tokens of a model stand
summary: Positions given, positions behind a cache, and positions in a padded batch.
---

# Where the tokens of a model stand

A model counts positions once, for all of its layers. Three cases differ: the caller says where the tokens stand; a
cache holds the tokens before them; a mask says which slots of a padded batch hold a token at all.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from headwise.cache import KVCache
from headwise.mask.coerce import as_mask


def acts_on_embedding(position: Any) -> bool:
    """Whether a position scheme, or what a factory of one builds, is added to the embedding."""
    scheme = position.func if isinstance(position, partial) else position
    return getattr(scheme, "acts_on", "heads") == "embedding"


def places_of(positions: int | Tensor | None, cache: KVCache | None, new: int) -> int | Tensor:
    """Where `new` tokens stand: as given, or behind those that the cache holds."""
    if positions is not None:
        return positions
    return 0 if cache is None else cache.following(new)


def positions_of_kept(mask: Any, cache: KVCache | None, tokens: Tensor) -> Tensor | None:
    """
    Where tokens stand when a `Padding` mask says which slots hold one: the number of kept tokens so far, less 1.

    A prompt that is padded on the left then has the same positions as alone. The padding itself stands at 0, or at the
    position of the token before it; nobody sees it. None means that tokens stand at their slots.

    *Shapes*: `tokens [B, I]` -> `[B, I]`
    """
    keep = None if mask is None else as_mask(mask).facts().keep
    if keep is None and cache is not None and cache.keep is not None:
        # The mask came with an earlier call; the tokens of this one are all real.
        keep = torch.cat([cache.keep, torch.ones_like(tokens, dtype=torch.bool)], dim=1)
    if keep is None:
        return None
    return (keep.to(tokens.device).long().cumsum(dim=1) - 1).clamp(min=0)[:, keep.shape[1] - tokens.shape[1] :]
