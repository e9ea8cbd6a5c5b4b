"""
---
title: Nested tensors
summary: Sequences of unequal length without padding, in and out.
---

# Sequences of unequal length

PyTorch's nested tensors (layout `torch.jagged`) hold a batch of sequences one behind the other, without padding. Attention over them is
attention over one long row of **documents**: each sequence sees itself alone, and what masks and scores say of distances is the same
in the row as in the sequence.
"""

from typing import Any

import torch
from torch import Tensor

from headwise.errors import ArgumentError
from headwise.mask.base import Mask
from headwise.mask.coerce import as_mask
from headwise.mask.documents import Documents
from headwise.score.base import AdditiveScore
from headwise.score.coerce import as_scores
from headwise.score.sink import Sink
from headwise.score.softcap import Softcap


def attend_nested(query: Tensor, key: Tensor, value: Tensor, mask: Any, score: Any, **arguments: Any) -> Any:
    """Attention over nested tensors `[B,H,L,D]`, L jagged; the result is nested likewise."""
    from headwise.functional import attention

    places = [name for name in ("query_positions", "key_positions") if arguments.get(name) is not None]
    if places:
        raise ArgumentError(
            f"nested tensors stand at their slots, each sequence from 0 on; got {' and '.join(places)}. Usual fix: pad, and pass Padding(keep)."
        )
    (rows, of_queries), (keys, of_keys), (values, of_values) = (
        packed(name, tensor) for name, tensor in (("query", query), ("key", key), ("value", value))
    )
    lengths, key_lengths = of_queries.diff().tolist(), of_keys.diff().tolist()
    if key_lengths != of_values.diff().tolist() or len(lengths) != len(key_lengths):
        raise ArgumentError(
            f"nested key and value must have the same lengths, one for each query sequence; got {lengths}, {key_lengths} and "
            f"{of_values.diff().tolist()}. Usual fix: torch.nested.nested_tensor_from_jagged with the same offsets."
        )
    rule = as_mask(mask)
    check_parts(rule, score, same=lengths == key_lengths)
    documents = Documents.from_lengths([key_lengths], [lengths])
    result = attention(rows, keys, values, mask=documents & rule, score=score, **arguments)
    if not arguments.get("return_lse"):
        return nested(result, of_queries)
    return nested(result[0], of_queries), nested(result[1], of_queries)


def packed(name: str, tensor: Tensor) -> tuple[Tensor, Tensor]:
    """The sequences as one row `[1,H,L,D]`, and where they begin."""
    if not tensor.is_nested or tensor.layout != torch.jagged or tensor.dim() != 4:
        kind = (
            f"a nested tensor of {tensor.dim()} axes, {tensor.layout}"
            if tensor.is_nested
            else "a tensor that is not nested"
        )
        raise ArgumentError(
            f"with one nested tensor all of query, key and value must be nested [B, H, L, D], L jagged; {name} is {kind}. "
            "Usual fix: torch.nested.nested_tensor(sequences, layout=torch.jagged), its [B, L, H, D] transposed by (1, 2)."
        )
    # The jagged axis has to stand behind the batch before the values can be had as one tensor.
    heads_last: Any = tensor.transpose(1, 2)
    return heads_last.values().transpose(0, 1)[None], heads_last.offsets()


def nested(row: Tensor, offsets: Tensor) -> Tensor:
    """The row `[1,H,L,D]` (or `[1,H,L]`) cut into sequences again."""
    cut: Tensor = torch.nested.nested_tensor_from_jagged(row[0].transpose(0, 1).contiguous(), offsets)
    return cut.transpose(1, 2)


def check_parts(mask: Mask, score: Any, *, same: bool) -> None:
    """Raise for parts that count slots: in the long row a token has another slot than in its sequence."""
    facts = mask.facts()
    one = torch.zeros(1, dtype=torch.long, device="cpu")
    parts = as_scores(score)
    by_distance = [part for part in parts if isinstance(part, AdditiveScore) and part.by_distance(one) is not None]
    strange = [
        type(part).__name__ for part in parts if part not in by_distance and not isinstance(part, Softcap | Sink)
    ]
    if facts.keep is not None or facts.rest is not None:
        strange.append(type(mask).__name__)
    if strange:
        raise ArgumentError(
            f"with nested tensors masks and scores must be about distances; {', '.join(strange)} may count slots. "
            "Usual fix: Causal() or Window(size), Alibi or T5Bias; for anything else pad, and pass Padding(keep)."
        )
    if not same and (by_distance or facts.low is not None or facts.high is not None):
        raise ArgumentError(
            "with nested tensors distances need queries and keys of the same lengths; got other lengths. Usual fix: pad, and pass Padding(keep)."
        )
