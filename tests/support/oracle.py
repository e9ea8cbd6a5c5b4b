"""Attention written a second time, in float64 and without any code of the library: what every engine is compared with."""

import math
from typing import NamedTuple

import torch


class Pairs(NamedTuple):
    """Coordinates of all pairs, each broadcastable to [B,H,I,J]: batch, head, slots and positions."""

    b: torch.Tensor
    h: torch.Tensor
    i_slot: torch.Tensor
    j_slot: torch.Tensor
    i: torch.Tensor
    j: torch.Tensor


def make_pairs(batch, heads, queries, keys, query_positions=None, key_positions=None):
    i_slot = torch.arange(keys - queries, keys).view(1, 1, queries, 1)
    j_slot = torch.arange(keys).view(1, 1, 1, keys)
    return Pairs(
        torch.arange(batch).view(batch, 1, 1, 1),
        torch.arange(heads).view(1, heads, 1, 1),
        i_slot,
        j_slot,
        i_slot if query_positions is None else _places(query_positions, queries)[:, None, :, None],
        j_slot if key_positions is None else _places(key_positions, keys)[:, None, None, :],
    )


def _places(given, length):
    if isinstance(given, int):
        return torch.arange(given, given + length)[None]
    return given if given.dim() == 2 else given[None]


def attend(query, key, value, pairs, *, sees=None, score=None, scale=None, sink=None):
    """Output and lse in the dtype of the operands, by two einsums and a softmax over the visible keys."""
    group = query.shape[1] // key.shape[1]
    key = torch.stack([key[:, head // group] for head in range(query.shape[1])], 1)
    value = torch.stack([value[:, head // group] for head in range(query.shape[1])], 1)
    scores = torch.einsum("bhid,bhjd->bhij", query, key) * (query.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores if score is None else score(scores, pairs).to(query.dtype)
    visible = torch.ones_like(scores, dtype=torch.bool)
    visible = visible if sees is None else visible & sees(pairs)
    empty = ~visible.any(-1, keepdim=True)
    # A row without keys is computed as if it saw everything, and then thrown away: no NaN arises on the way.
    scores = torch.where(visible | empty, scores, -math.inf)
    lse = scores.logsumexp(-1) if sink is None else torch.logaddexp(scores.logsumexp(-1), sink.to(scores)[:, None])
    weights = torch.where(visible, (scores - lse[..., None]).exp(), 0)
    output = torch.einsum("bhij,bhje->bhie", weights, value)
    return output, torch.where(empty[..., 0], -math.inf, lse)
