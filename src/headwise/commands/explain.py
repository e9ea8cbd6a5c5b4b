"""
---
title: headwise explain
summary: Which engine would run a call of given sizes, and why not the others.
---

# headwise explain
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import tyro

from headwise.commands.outcome import Outcome


@dataclass(frozen=True)
class Explain:
    """Say which engine would run a call of attention, and why no other."""

    batch: int = 1
    """B, the batch."""
    heads: int = 8
    """H, query heads."""
    kv_heads: int | None = None
    """G, key and value heads; as many as query heads by default."""
    queries: int | None = None
    """I, queries; as many as keys by default."""
    keys: int = 1024
    """J, keys."""
    head_dim: int = 64
    """D, features of a query and of a key."""
    value_dim: int | None = None
    """E, features of a value; as many as of a key by default."""
    mask: str | None = None
    """As in Python: Causal() & Window(128). Also Full(), Prefix(16), Dilated(8, 2), Padding(), Documents(4), with | and ~."""
    score: str | None = None
    """As in Python: Alibi(), Softcap(30), T5Bias(), Sink()."""
    dtype: Literal["float32", "float64", "bfloat16", "float16"] = "float32"
    """Type of the numbers."""
    device: str = "cpu"
    """Device of the tensors."""
    grad: bool = False
    """Whether gradients are wanted."""
    engine: str = "auto"
    """Name of an engine that shall run it, or `auto`."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the result as one JSON document in the last line."""

    def __call__(self) -> Outcome:
        import headwise as hw

        query, key, value = self._tensors()
        explanation = hw.explain(query, key, value, engine=self.engine, **self._parts())
        sizes = {"query": [*query.shape], "key": [*key.shape], "value": [*value.shape]}
        print("  ".join(f"{name} {size}" for name, size in sizes.items()))
        gradients = "with gradients" if self.grad else "without gradients"
        print(f"mask {self.mask or 'none'}  score {self.score or 'none'}  {self.dtype} on {self.device}, {gradients}\n")
        print(explanation)
        return Outcome(
            {
                "engine": explanation.engine,
                "strategy": explanation.strategy,
                "blocks": {"visited": explanation.visited, "all": explanation.blocks},
                "extra_bytes": explanation.cost.extra_bytes,
                "refused": explanation.refused,
                "considered": explanation.considered,
                "sizes": sizes,
            }
        )

    def _tensors(self) -> tuple[Any, Any, Any]:
        import torch

        from headwise.errors import ArgumentError

        for name in ("batch", "heads", "keys", "head_dim"):
            if getattr(self, name) < 1:
                raise ArgumentError(f"`{name}` must be at least 1. Got {getattr(self, name)}.")
        dtype = getattr(torch, self.dtype)
        kv_heads = self.heads if self.kv_heads is None else self.kv_heads
        queries = self.keys if self.queries is None else self.queries
        value_dim = self.head_dim if self.value_dim is None else self.value_dim
        sizes = (
            (self.batch, self.heads, queries, self.head_dim),
            (self.batch, kv_heads, self.keys, self.head_dim),
            (self.batch, kv_heads, self.keys, value_dim),
        )
        # Nothing is computed, so the memory is never touched and large sizes cost nothing.
        try:
            query, key, value = (
                torch.empty(size, dtype=dtype, device=self.device, requires_grad=self.grad) for size in sizes
            )
        except (RuntimeError, AssertionError) as error:
            raise ArgumentError(
                f"The tensors must be possible on the device. Got {self.device!r}: {str(error).splitlines()[0]}."
            ) from None
        return query, key, value

    def _parts(self) -> dict[str, Any]:
        from headwise.commands.parts import parse_mask, parse_score

        mask = None if self.mask is None else parse_mask(self.mask, batch=self.batch, keys=self.keys)
        score = None if self.score is None else parse_score(self.score, heads=self.heads)
        return {"mask": mask, "score": score}
