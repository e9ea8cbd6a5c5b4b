"""
---
title: Peers of the benchmark
summary: FlexAttention, x-transformers and Hugging Face attention, each as its users write it, and only where it is installed.
---

# Peers

A comparison is fair if each side is written as its own users would write it, and gets everything that does not depend on the operands
beforehand: masks, block masks and biases are made once and not timed. A library is imported when it is measured, and left out where it is
not installed; `pip install "headwise[peers]"` brings those that are more than PyTorch.
"""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from headwise.bench.rules import Contender
from headwise.call import Call
from headwise.engines.compiler import why_no_compiler
from headwise.score.alibi import Alibi
from headwise.score.base import AdditiveScore
from headwise.score.softcap import Softcap


@dataclass(frozen=True)
class Peer:
    """Somebody else's way to compute a rule; `trains`: has it a backward pass on this machine?"""

    run: Contender
    trains: bool = True


def installed(name: str) -> bool:
    """Can the package be imported?"""
    return importlib.util.find_spec(name) is not None


def peers(call: Call, rule: str, *, matrices: bool = True) -> dict[str, Peer]:
    """Everybody else who can compute the rule of this call; `matrices`: also those who need the matrix of all pairs for it."""
    with torch.no_grad():
        found: dict[str, Peer | None] = {}
        if why_no_compiler() is None:
            found["FlexAttention, compiled"] = Peer(by_flex(rule, call, compiled_flex()), trains=False)
        if installed("x_transformers"):
            found["x-transformers"] = by_x_transformers(rule, call, matrices)
        if installed("transformers"):
            found["Hugging Face"] = by_hugging_face(rule, call, matrices)
    return {name: peer for name, peer in found.items() if peer is not None}


def compiled_flex() -> Any:
    """FlexAttention, compiled for one shape, as its documentation recommends."""
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention, dynamic=False)


def by_flex(rule: str, call: Call, kernel: Any) -> Contender:
    """FlexAttention with functions written for it."""
    from torch.nn.attention.flex_attention import create_block_mask

    tokens = call.grid.keys
    visible = create_block_mask(mask_mod(rule, tokens), None, None, tokens, tokens, device="cpu")
    change = score_mod(rule, call)

    def run(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        # It refuses operands that want gradients on a CPU, even where none are recorded.
        query, key, value = (tensor.detach() for tensor in (query, key, value))
        output: Tensor = kernel(query, key, value, score_mod=change, block_mask=visible)
        return output

    return run


def mask_mod(rule: str, tokens: int) -> Callable[..., Tensor]:
    """The mask of a rule as FlexAttention wants it."""
    if rule == "window 256":
        return lambda b, h, i, j: (i >= j) & (i - j < 256)
    if rule == "8 documents":
        ids = torch.arange(tokens) // max(1, tokens // 8)
        return lambda b, h, i, j: (i >= j) & (ids[i] == ids[j])
    if rule == "prefix 300":
        return lambda b, h, i, j: (i >= j) | (j < 300)
    return lambda b, h, i, j: i >= j


def score_mod(rule: str, call: Call) -> Callable[..., Tensor] | None:
    """The score of a rule as FlexAttention wants it."""
    if rule == "alibi":
        slopes = torch.tensor(Alibi(call.grid.heads).slopes)
        return lambda s, b, h, i, j: s - slopes[h] * (i - j)
    if rule == "t5 bias":
        # By distance, so that the kernel reads one number and works no bucket out.
        table = bias_by_distance(call)
        return lambda s, b, h, i, j: s + table[h, (i - j).abs()]
    if rule == "softcap 50":
        return lambda s, b, h, i, j: 50.0 * torch.tanh(s / 50.0)
    if rule == "python score":
        table = torch.linspace(-1, 1, 64)
        return lambda s, b, h, i, j: s + table[(i - j) & 63] * torch.sin(s)
    return None


def bias_by_distance(call: Call) -> Tensor:
    """What the score adds at each distance, `[H,J]`."""
    part = call.score[0]
    assert isinstance(part, AdditiveScore), "the rule adds to the scores"
    found = part.by_distance(torch.arange(call.grid.keys))
    assert found is not None, "the rule adds by distance"
    return found.detach().contiguous()


def dense(call: Call) -> Tensor:
    """The mask, written out `[B or 1,1,I,J]`."""
    return call.mask.sees(call.grid).expand(-1, -1, call.grid.queries, call.grid.keys).contiguous()


def by_x_transformers(rule: str, call: Call, matrices: bool) -> Peer | None:
    """The attention of x-transformers: with flash where it can, with the whole matrix for a soft cap."""
    from x_transformers.attend import Attend

    if rule == "causal":
        plain = Attend(causal=True, flash=True)
        return Peer(lambda query, key, value: plain(query, key, value)[0])
    if not matrices or rule in ("python score", "t5 bias"):
        return None
    if isinstance(call.score[0] if call.score else None, Softcap):
        capped = Attend(causal=True, softclamp_logits=True, logit_softclamp_value=50.0)
        return Peer(lambda query, key, value: capped(query, key, value)[0])
    if rule == "alibi":
        biased, bias = Attend(causal=True, flash=True), call.score[0].bias(call.grid)  # type: ignore[attr-defined]
        return Peer(lambda query, key, value: biased(query, key, value, attn_bias=bias)[0])
    masked, seen = Attend(flash=True), dense(call)
    return Peer(lambda query, key, value: masked(query, key, value, mask=seen)[0])


def by_hugging_face(rule: str, call: Call, matrices: bool) -> Peer | None:
    """The attention functions of Hugging Face transformers: PyTorch's kernel with a mask, and Gemma 2's for a soft cap."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.models.gemma2.modeling_gemma2 import eager_attention_forward

    module: Any = SimpleNamespace(is_causal=True, num_key_value_groups=1, training=False, head_dim=call.query.shape[3])
    if rule == "causal":
        return Peer(
            lambda query, key, value: sdpa_attention_forward(module, query, key, value, None)[0].transpose(1, 2)
        )
    if not matrices or rule == "python score":
        return None
    if rule == "softcap 50":
        hidden = torch.where(dense(call), 0.0, torch.finfo(torch.float32).min)
        return Peer(
            lambda query, key, value: eager_attention_forward(module, query, key, value, hidden, softcap=50.0)[
                0
            ].transpose(1, 2)
        )
    seen = dense(call)
    if call.score:
        # T5 and MPT hand one float mask of all pairs to the kernel.
        part = call.score[0]
        assert isinstance(part, AdditiveScore), "the rule adds to the scores"
        seen = torch.where(seen, part.bias(call.grid).detach(), torch.finfo(torch.float32).min)
    return Peer(lambda query, key, value: sdpa_attention_forward(module, query, key, value, seen)[0].transpose(1, 2))
