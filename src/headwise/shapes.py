"""
---
title: Shapes
summary: The axis letters, and the only place that raises ShapeError.
---

# Shapes

One legend of letters serves the whole library. A local tensor ends in its letters, so that
`scores_BHIJ` says what it is and `q_BHID` cannot be taken for `q_BIHD`.

| letter | counts |
|---|---|
| B | sequences in the batch |
| H | query heads |
| G | key/value heads (groups); G divides H |
| I | queries |
| J | keys |
| D | features of a query and of a key, per head |
| E | features of a value, per head |
| M | model width |
| V | vocabulary |
"""

from typing import NoReturn

import torch
from torch import Tensor

from headwise.errors import ShapeError

REMEDIES = {
    "B": "every tensor of one call needs the same batch size; use .expand() to share one",
    "D": "query and key need the same features per head",
    "J": "key and value need the same number of slots",
    "G": "key and value need the same number of heads",
    "H": "the number of query heads must be a multiple of the number of key/value heads",
    "M": "the last axis must be d_model wide",
}


def describe(**tensors: tuple[Tensor, str]) -> str:
    """Write out names, letters and numbers: `query [B H I D] = [2, 4, 5, 16]`, one after the other."""
    return ", ".join(f"{name} [{letters}] = {list(tensor.shape)}" for name, (tensor, letters) in tensors.items())


def fail(rule: str, fix: str, **tensors: tuple[Tensor, str]) -> NoReturn:
    """Raise the error: the rule that is broken, all tensors with letters and numbers, the usual fix."""
    raise ShapeError(f"{rule}; got {describe(**tensors)}. Usual fix: {fix}.") from None


def check_attention(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Check the three operands of one call: query `[B,H,I,D]`, key `[B,G,J,D]`, value `[B,G,J,E]`."""
    # The test that passes is one comparison of sizes, because it runs at every call.
    # Only when it fails is the reason worked out.
    if query.dim() == key.dim() == value.dim() == 4:
        batch, heads, _, features = query.shape
        groups = key.shape[1]
        same = key.shape[0] == batch and key.shape[3] == features and value.shape[:3] == key.shape[:3]
        if same and features > 0 and groups > 0 and heads % groups == 0 and heads > 0:
            return
    _explain_attention(query, key, value)


def _explain_attention(query: Tensor, key: Tensor, value: Tensor) -> NoReturn:
    tensors = {"query": (query, "B H I D"), "key": (key, "B G J D"), "value": (value, "B G J E")}
    for name, (tensor, letters) in tensors.items():
        if tensor.dim() != 4:
            fail(
                f"{name} must have the four axes {letters}, it has {tensor.dim()}",
                "add the missing axes with .unsqueeze(), or split heads with .unflatten(-1, (heads, head_dim)).transpose(1, 2)",
                **tensors,
            )
    seen: dict[str, tuple[int, str]] = {}
    for name, (tensor, letters) in tensors.items():
        for letter, size in zip(letters.split(), tensor.shape, strict=True):
            known, owner = seen.setdefault(letter, (size, name))
            if known != size:
                fail(f"{letter} must be equal, it is {known} in {owner} and {size} in {name}", REMEDIES[letter], **tensors)
    if query.shape[3] == 0 or query.shape[1] == 0 or key.shape[1] == 0:
        fail("D, H and G must be at least 1", "give every head at least one feature", **tensors)
    fail(f"H must be a multiple of G, {query.shape[1]} is not a multiple of {key.shape[1]}", REMEDIES["H"], **tensors)


def check_last(name: str, tensor: Tensor, size: int, letter: str = "M") -> None:
    """Check the width of the last axis of an input of a layer."""
    if tensor.dim() == 0 or tensor.shape[-1] != size:
        fail(f"the last axis of {name} must be {letter} = {size}", REMEDIES.get(letter, "check the width"), **{name: (tensor, f"... {letter}")})


def check_axes(name: str, tensor: Tensor, letters: str, fix: str, **sizes: int) -> None:
    """Check that a tensor has these axes, each of its size or of size 1, which is broadcast."""
    names = letters.split()
    if tensor.dim() != len(names):
        fail(f"{name} must have the axes {letters}, it has {tensor.dim()} axes", fix, **{name: (tensor, letters)})
    for letter, size in zip(names, tensor.shape, strict=True):
        if size not in (1, sizes[letter]):
            wanted = ", ".join(f"{key}={value}" for key, value in sizes.items())
            fail(f"axis {letter} of {name} must be {sizes[letter]} or 1, it is {size} (this call has {wanted})", fix, **{name: (tensor, letters)})


def check_exact(name: str, tensor: Tensor, letters: str, fix: str, **sizes: int) -> None:
    """Check that a tensor has exactly these axes and sizes."""
    if tuple(tensor.shape) != tuple(sizes[letter] for letter in letters.split()):
        wanted = ", ".join(f"{letter}={sizes[letter]}" for letter in letters.split())
        fail(f"{name} must be [{letters}] with {wanted}", fix, **{name: (tensor, letters)})


def check_positions(name: str, positions: Tensor, batch: int, length: int) -> Tensor:
    """Check a tensor of positions, `[L]` or `[B,L]` of whole numbers, and return it as `[1 or B, L]`."""
    whole = not positions.is_floating_point() and not positions.is_complex() and positions.dtype != torch.bool
    if not whole or positions.dim() not in (1, 2):
        fail(f"{name} must hold whole numbers in one or two axes ({positions.dtype})", "use a long tensor", **{name: (positions, "B L")})
    rows = positions if positions.dim() == 2 else positions[None]
    if rows.shape[1] != length or rows.shape[0] not in (1, batch):
        fail(f"{name} must be [L] or [B, L] with B={batch}, L={length}", "give one position a token", **{name: (positions, "B L")})
    return rows


def check_factor(d_model: int, heads: int) -> int:
    """The features of a head, d_model / heads; both must be whole and heads must divide d_model."""
    if heads > d_model > 0:
        raise ShapeError(
            f"d_model must be at least heads; got d_model={d_model}, heads={heads}. Usual fix: d_model comes first here, heads first "
            f"in classic code: MultiHeadAttention(d_model={heads}, heads={d_model})."
        )
    if d_model < 1 or heads < 1 or d_model % heads:
        raise ShapeError(
            f"heads must divide d_model, both at least 1; got d_model={d_model}, heads={heads}. Usual fix: pass head_dim= to choose the "
            "features of a head freely, or change heads."
        )
    return d_model // heads
