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

from headwise.checks import check_score_kind, check_tensor
from headwise.errors import ArgumentError, ShapeError

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
                fail(
                    f"{letter} must be equal, it is {known} in {owner} and {size} in {name}",
                    REMEDIES[letter],
                    **tensors,
                )
    if query.shape[3] == 0 or query.shape[1] == 0 or key.shape[1] == 0:
        fail("D, H and G must be at least 1", "give every head at least one feature", **tensors)
    fail(f"H must be a multiple of G, {query.shape[1]} is not a multiple of {key.shape[1]}", REMEDIES["H"], **tensors)


def check_last(name: str, tensor: Tensor, size: int, letter: str = "M") -> None:
    """Check the width of the last axis of an input of a layer."""
    check_tensor(name, tensor)
    if tensor.dim() == 0 or tensor.shape[-1] != size:
        fail(
            f"the last axis of {name} must be {letter} = {size}",
            REMEDIES.get(letter, "check the width"),
            **{name: (tensor, f"... {letter}")},
        )


def check_axes(name: str, tensor: Tensor, letters: str, fix: str, **sizes: int) -> None:
    """Check that a tensor has these axes, each of its size or of size 1, which is broadcast."""
    names = letters.split()
    if tensor.dim() != len(names):
        fail(f"{name} must have the axes {letters}, it has {tensor.dim()} axes", fix, **{name: (tensor, letters)})
    for letter, size in zip(names, tensor.shape, strict=True):
        # Compared one by one: where sizes are symbols of a compiler, `in` finds no equal one.
        if size != 1 and size != sizes[letter]:
            wanted = ", ".join(f"{key}={value}" for key, value in sizes.items())
            fail(
                f"axis {letter} of {name} must be {sizes[letter]} or 1, it is {size} (this call has {wanted})",
                fix,
                **{name: (tensor, letters)},
            )


def check_exact(name: str, tensor: Tensor, letters: str, fix: str, **sizes: int) -> None:
    """Check that a tensor has exactly these axes and sizes."""
    if tuple(tensor.shape) != tuple(sizes[letter] for letter in letters.split()):
        wanted = ", ".join(f"{letter}={sizes[letter]}" for letter in letters.split())
        fail(f"{name} must be [{letters}] with {wanted}", fix, **{name: (tensor, letters)})


def check_scores(scores: Tensor, query: Tensor, keys: int) -> None:
    """Check what a score method returned for this block of queries: `[B,H,i,j]`, axes of size 1 are broadcast, in the kind of the query."""
    batch, heads, queries, _ = query.shape
    fix = "return one score for each of the queries and keys that the method gets, which may be a block of all"
    if not isinstance(scores, Tensor):
        raise ShapeError(
            f"the result of get_scores must be a tensor [B,H,i,j]; got {type(scores).__name__}. Usual fix: {fix}."
        )
    check_axes("the result of get_scores", scores, "B H I J", fix, B=batch, H=heads, I=queries, J=keys)
    check_score_kind(scores, query)


def check_positions(name: str, positions: Tensor, batch: int, length: int) -> Tensor:
    """Check a tensor of positions, `[L]` or `[B,L]` of whole numbers, and return it as `[1 or B, L]`."""
    whole = not positions.is_floating_point() and not positions.is_complex() and positions.dtype != torch.bool
    if not whole or positions.dim() not in (1, 2):
        fail(
            f"{name} must hold whole numbers in one or two axes ({positions.dtype})",
            "use a long tensor",
            **{name: (positions, "B L")},
        )
    rows = positions if positions.dim() == 2 else positions[None]
    if rows.shape[1] != length or rows.shape[0] not in (1, batch):
        fail(
            f"{name} must be [L] or [B, L] with B={batch}, L={length}",
            "give one position a token",
            **{name: (positions, "B L")},
        )
    # Unsigned and short numbers would wrap around in a distance.
    return rows.long()


def check_heads(
    d_model: int, heads: int, kv_heads: int | None, head_dim: int | None, value_dim: int | None
) -> tuple[int, int, int]:
    """Features a head of queries and keys, features a head of values, and key/value heads; what is not given follows from d_model and heads."""
    given = {"d_model": d_model, "heads": heads, "kv_heads": kv_heads, "head_dim": head_dim, "value_dim": value_dim}
    for name, size in given.items():
        if size is None and name not in ("d_model", "heads"):
            continue
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise ShapeError(
                f"{name} must be a whole number of at least 1; got {name}={size!r}. Usual fix: MultiHeadAttention(d_model=512, heads=8)."
            )
    if heads > d_model:
        raise ShapeError(
            f"d_model must be at least heads; got d_model={d_model}, heads={heads}. Usual fix: swap them, d_model comes first here and heads "
            f"first in classic code: MultiHeadAttention(d_model={heads}, heads={d_model})."
        )
    if head_dim is None and d_model % heads:
        raise ShapeError(
            f"heads must divide d_model; got d_model={d_model}, heads={heads}. Usual fix: change heads, or choose the width of a head by head_dim=."
        )
    kv_heads = heads if kv_heads is None else kv_heads
    if heads % kv_heads:
        raise ShapeError(
            f"kv_heads must divide heads; got heads={heads}, kv_heads={kv_heads}. Usual fix: kv_heads=1 for multi-query attention."
        )
    head_dim = d_model // heads if head_dim is None else head_dim
    return head_dim, head_dim if value_dim is None else value_dim, kv_heads


def check_inputs(
    query: Tensor, key: Tensor | None, value: Tensor | None, width: int, context: int, itself: bool, batch_first: bool
) -> None:
    """Check the inputs of a layer: `[B,I,M]` and twice `[B,J,C]`, or sequence first."""
    layout = "B I M" if batch_first else "I B M"
    inputs = {"query": (query, layout)}
    if key is not None:
        inputs["key"] = (key, layout.replace("I", "J").replace("M", "C"))
    if value is not None:
        inputs["value"] = (value, layout.replace("I", "J").replace("M", "C"))
    for name, (tensor, letters) in inputs.items():
        check_tensor(name, tensor)
        if tensor.layout != torch.strided:
            raise ArgumentError(
                f"{name} of a layer must be a dense tensor; got {tensor.layout}. Usual fix: to_dense(), or for nested tensors pad and pass "
                "Padding(keep); hw.attention takes them as they are."
            )
        if tensor.dim() != 3:
            fail(
                f"{name} must have the three axes {letters}, it has {tensor.dim()}",
                "add the missing axes with .unsqueeze()",
                **inputs,
            )
        wide = width if name == "query" else context
        if tensor.shape[-1] != wide:
            fail(
                f"the last axis of {name} must be {wide} wide, it is {tensor.shape[-1]}",
                "set d_model, or context_dim for key and value",
                **inputs,
            )
    if itself and context != width:
        fail(f"a layer with context_dim={context} attends to another sequence, it got none", "pass key=", **inputs)
    batch = 0 if batch_first else 1
    sizes = {name: tensor.shape[batch] for name, (tensor, _) in inputs.items()}
    # Sizes are compared one by one: a set of them would make a compiled model hold for one batch size only.
    if any(size != query.shape[batch] for size in sizes.values()):
        fail(
            f"the batch must be equal in all inputs, it is {sizes}",
            "with [seq, batch, d_model] make the layer with batch_first=False",
            **inputs,
        )
    if key is not None and value is not None and key.shape[1 - batch] != value.shape[1 - batch]:
        fail("key and value must be equally long", "pass values for the same tokens as the keys", **inputs)
