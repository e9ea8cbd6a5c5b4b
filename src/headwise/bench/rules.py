"""
---
title: Rules of the benchmark
summary: What is computed: six rules of attention, and who else can compute each.
---

# Six rules, and who computes them

A rule is a mask and a score. For each one there are **contenders**: the engines of this library that can run it, and the ways of
PyTorch. All get the same tensors, and the measure of all is plain causal attention by PyTorch's fused kernel.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from headwise.call import Call
from headwise.engines import ENGINES
from headwise.engines.base import SMALL
from headwise.functional import attention
from headwise.grid import Grid
from headwise.mask.causal import Causal
from headwise.mask.documents import Documents
from headwise.mask.prefix import Prefix
from headwise.mask.window import Window
from headwise.score.alibi import Alibi
from headwise.score.softcap import Softcap
from headwise.score.t5 import T5Bias

Contender = Callable[[Tensor, Tensor, Tensor], Tensor]
# Engines that write out the matrix of all pairs are left out beyond this many bytes.
MATRIX_LIMIT = 2**30


@dataclass(frozen=True)
class Shape:
    """Sizes of the tensors: batch, heads, tokens, features a head."""

    batch: int
    heads: int
    tokens: int
    head_dim: int

    def operands(self, dtype: torch.dtype, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
        """Query, key and value from a seeded generator."""
        generator = torch.Generator().manual_seed(seed)
        size = (self.batch, self.heads, self.tokens, self.head_dim)
        return tuple(torch.randn(size, generator=generator).to(dtype).requires_grad_() for _ in range(3))  # type: ignore[return-value]


def costly(table: Tensor) -> Callable[..., Tensor]:
    """A score that no kernel knows: a table look-up and a sine."""
    return lambda s, b, h, i, j: s + table[(i - j) & 63] * torch.sin(s)


def make_rules(shape: Shape) -> dict[str, dict[str, Any]]:
    """The rules by name, as arguments of `attention`."""
    documents = torch.arange(shape.tokens).expand(shape.batch, -1) // max(1, shape.tokens // 8)
    causal = Causal()
    return {
        "causal": {"mask": causal},
        "window 256": {"mask": Window(256)},
        "8 documents": {"mask": causal & Documents(documents)},
        "prefix 300": {"mask": causal | Prefix(300)},
        "alibi": {"mask": causal, "score": Alibi(shape.heads)},
        "t5 bias": {"mask": causal, "score": T5Bias(shape.heads)},
        "softcap 50": {"mask": causal, "score": Softcap(50.0)},
        "python score": {"mask": causal, "score": costly(torch.linspace(-1, 1, 64))},
    }


def contenders(shape: Shape, arguments: dict[str, Any], *, matrices: bool = True) -> dict[str, Contender]:
    """The engines that can run the rule, and PyTorch's kernel with the mask written out; `matrices`: also those of quadratic memory."""
    call = Call.of(*shape.operands(torch.float32), **arguments)
    found: dict[str, Contender] = {}
    for name, engine in ENGINES.items():
        matrix = engine.cost(call) if not engine.why_not(call) else None
        if matrix is not None and (
            not matrix.quadratic or (matrices and matrix.extra_bytes <= max(SMALL, MATRIX_LIMIT))
        ):
            found[name] = by_engine(name, arguments)
    if matrices and "score" not in arguments:
        found["PyTorch, bool mask"] = by_dense_mask(call.mask.sees(call.grid), call.grid)
    return found


def by_engine(name: str, arguments: dict[str, Any]) -> Contender:
    """One engine of this library."""
    return lambda query, key, value: attention(query, key, value, engine=name, **arguments)


def by_dense_mask(visible: Tensor, grid: Grid) -> Contender:
    """PyTorch's kernel with a bool mask, which is made beforehand and not timed."""
    mask = visible.expand(-1, -1, grid.queries, grid.keys).contiguous()
    return lambda query, key, value: F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def plain_causal(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """What everything is measured by."""
    return F.scaled_dot_product_attention(query, key, value, is_causal=True)
