"""
---
title: What a position scheme is
summary: One call, two places where it can act, and how positions meet the axes of a tensor.
---

# What a position scheme is

A position scheme takes a tensor and the positions of its rows, and returns a tensor of the same shape
that knows where each row stands:

```python
scheme(x, positions) -> x
```

*Shapes*: `x [..., L, features]`; `positions` is an int (the position of the first row, the others follow),
`[L]` (the same for the whole batch) or `[B, L]` (one row of positions for each sequence).

Positions say where a token stands in its *sequence*, not where it is stored in the tensor. The two differ
in a batch that is padded on the left, and in a call whose earlier keys wait in a cache.
"""

import inspect
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from headwise.errors import PositionError
from headwise.factory import from_class
from headwise.shapes import check_positions

Place = Literal["heads", "embedding"]


class Position:
    """
    The base of all schemes. A scheme without parameters is a frozen dataclass, a learned one is also a `Module`.

    `acts_on` says which tensor the scheme expects: `"heads"` is `[B, H, L, D]`, queries or keys inside of a layer;
    `"embedding"` is `[B, L, M]`, before the first layer. A model that gets the scheme reads from it where to put it.
    """

    acts_on: ClassVar[Place] = "heads"

    # With some recipes for long texts the angle of *every* token depends on how many tokens there are by now.
    # A layer then has to cache keys as they were before the rotation, and passes `length=` on each call.
    @property
    def depends_on_length(self) -> bool:
        """Whether `length=` changes the result."""
        return False

    def __call__(self, x: Tensor, positions: Tensor | int, *, length: int | Tensor | None = None) -> Tensor:
        """Return `x` with its positions. `length` is the number of tokens of the sequence so far, an int or `[B]`."""
        raise PositionError(
            f"a position scheme must define __call__(x, positions, *, length=None), which returns x with its positions; {type(self).__name__} "
            "has none. Usual fix: define it, or pass Rotary(head_dim)."
        )


def check_start(positions: Tensor | int) -> Tensor | int:
    """Return positions, which must be a tensor or the whole number of the first one."""
    if isinstance(positions, bool) or not isinstance(positions, Tensor | int | torch.SymInt):
        raise PositionError(
            f"positions must be a tensor or a whole number, the position of the first row; got {positions!r}. "
            "Usual fix: torch.as_tensor(positions)."
        )
    return positions


def align(positions: Tensor | int, x: Tensor) -> Tensor:
    """
    Positions that broadcast against the rows of `x`.

    *Shapes*: `[L]`, or `[B, 1, L]` for an `x [B, H, L, D]`, so that all heads of a sequence get the same position.
    """
    positions = check_start(positions)
    if not isinstance(positions, Tensor):
        return torch.arange(positions, positions + x.shape[-2], device=x.device)
    rows = check_positions("positions", positions, batch=x.shape[0] if x.dim() > 2 else 1, length=x.shape[-2])
    if positions.dim() == 1:
        return positions.to(x.device)
    # One axis of size 1 for each axis of `x` that lies between the batch and the rows: the heads.
    return rows.to(x.device)[(slice(None), *(None,) * (x.dim() - 3))]


def takes_positions(scheme: Any) -> bool:
    """Can the scheme be called with vectors, their positions and the length?"""
    try:
        inspect.signature(scheme.forward if isinstance(scheme, nn.Module) else scheme).bind(
            "x", "positions", length=None
        )
    except TypeError:
        return False
    except ValueError:
        # Functions written in C need not have a signature.
        return True
    return True


def scheme_for_heads(position: Any, head_dim: int) -> Any:
    """The position scheme of an attention layer, made for `head_dim` if its class is given."""
    scheme = from_class("position", position, "head_dim", head_dim) if isinstance(position, type) else position
    if scheme is not None and (not callable(scheme) or not takes_positions(scheme)):
        raise PositionError(
            f"position must be None or a scheme such as Rotary, called as scheme(x, positions, length=None); got {position!r}. "
            "Usual fix: position=hw.Rotary."
        )
    if scheme is not None and getattr(scheme, "acts_on", "heads") != "heads":
        name = type(scheme).__name__
        raise PositionError(
            f"position of a layer must act on queries and keys, {name} acts on the embedding. "
            f"Usual fix: add it to the input, x = {name.lower()}(x, positions), or give it to the model as position=."
        )
    turned = getattr(scheme, "dim", 0)
    if isinstance(turned, int) and turned > head_dim:
        raise PositionError(
            f"position must turn at most the features of a head, head_dim={head_dim}; got {type(scheme).__name__} with dim={turned}. "
            f"Usual fix: {type(scheme).__name__}({head_dim})."
        )
    return scheme
