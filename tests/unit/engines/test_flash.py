"""The engine flash: what it refuses, and what it tells the package, seen by a stand-in for it."""

import itertools
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

import headwise as hw
from headwise.call import Call
from headwise.engines import flash
from headwise.engines.reference import Reference
from unit.engines.compare import operands


def stand_in(
    query: Tensor, key: Tensor, value: Tensor, dropout_p: float, softmax_scale: float, window_size: tuple[int, int]
) -> Tensor:
    """What flash-attn documents of itself: the sequence before the heads, a window counted to both sides, lower right."""
    left, right = window_size
    distance = (torch.arange(query.shape[1])[:, None] + key.shape[1] - query.shape[1]) - torch.arange(key.shape[1])
    visible = ((left < 0) | (distance <= left)) & ((right < 0) | (-distance <= right))
    query, key, value = (tensor.transpose(1, 2).float() for tensor in (query, key, value))
    return hw.attention(query, key, value, mask=visible, scale=softmax_scale, engine="reference").transpose(1, 2).half()


def stand_in_packed(
    query: Tensor, key: Tensor, value: Tensor, starts: Tensor, _: Tensor, longest: int, __: int, **said: Any
) -> Tensor:
    bounds = starts.tolist()
    assert longest == max(stop - start for start, stop in itertools.pairwise(bounds))
    parts = [
        stand_in(query[None, a:b], key[None, a:b], value[None, a:b], **said)[0] for a, b in itertools.pairwise(bounds)
    ]
    return torch.cat(parts)


@pytest.fixture(autouse=True)
def package(monkeypatch: pytest.MonkeyPatch) -> None:
    module = SimpleNamespace(flash_attn_func=stand_in, flash_attn_varlen_func=stand_in_packed)
    monkeypatch.setitem(sys.modules, "flash_attn", module)


@pytest.mark.parametrize(
    ("mask", "queries"),
    [
        (hw.Full(), 11),
        (hw.Causal(), 11),
        (hw.Window(5), 11),
        (hw.Window(3, ahead=2), 29),
        (hw.Window.from_flash(-1, 4), 29),
        (hw.Documents.from_lengths([[9, 20], [29]]), 29),
        (hw.Documents.from_lengths([[9, 8, 12], [1, 28]]) & hw.Causal(), 29),
        (hw.Documents.from_lengths([[9, 8, 12], [1, 28]]) & hw.Window(4), 29),
    ],
)
def test_what_the_package_is_told_means_the_same(mask: hw.Mask, queries: int) -> None:
    tensors = tuple(tensor.detach() for tensor in operands(2, 4, 2, queries, 29, dtype=torch.float16))
    call = Call.of(*tensors, mask=mask)
    assert flash.why_not_said(call) == []
    torch.testing.assert_close(flash.attend(call)[0], Reference().run(call).output, rtol=1e-2, atol=3e-3)


def test_it_refuses_what_the_package_cannot_be_told() -> None:
    reasons = flash.why_not_said(
        Call.of(*operands(), score=hw.Alibi(4), mask=hw.Causal() | hw.Prefix(3), return_lse=True)
    )
    assert "flash-attn computes in half precision, the tensors are torch.float32" in reasons
    assert "scores other than scaled dot products are not passed on to it" in reasons
    assert "the mask is more than a band, or documents that fill each row" in reasons
    assert "the lse of flash-attn carries no gradient" in reasons


def test_without_a_gpu_it_refuses() -> None:
    assert hw.explain(*operands()).refused["flash"] == ["flash-attn is for GPUs, the tensors are on cpu"]
