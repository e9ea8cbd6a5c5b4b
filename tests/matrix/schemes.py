"""What a layer in the matrix is made of: positions, masks that know of chunks, scores; each part with its rule."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

import headwise as hw
from headwise.position import DynamicNTK, Linear, Llama3, LongRope, Proportional, Yarn

POSITIONS = {
    "none": None,
    "rotary": hw.Rotary(4),
    "interleaved": hw.Rotary(4, interleaved=True),
    "partial": hw.Rotary(2),
    "linear": hw.Rotary(4, scaling=Linear(2.0)),
    "dynamic NTK": hw.Rotary(4, scaling=DynamicNTK(2.0, 4)),
    "YaRN": hw.Rotary(4, scaling=Yarn(2.0, 4)),
    "Llama 3": hw.Rotary(4, scaling=Llama3(2.0, 4)),
    "long-rope": hw.Rotary(4, scaling=LongRope((1.0, 1.1), (1.5, 3.0), 4, 2.0)),
    "proportional": hw.Rotary(4, scaling=Proportional(0.5)),
}


def left(batch, length):
    """The sequences begin later and later; the last one holds no token at all."""
    starts = torch.tensor([0, length // 2, length])[:batch]
    return torch.arange(length) >= starts[:, None]


PADDINGS = {
    "none": lambda batch, length: None,
    "left": left,
    "right": lambda batch, length: left(batch, length).flip(1),
    "holes": lambda batch, length: (torch.arange(length) + torch.arange(batch)[:, None]) % 3 != 1,
}


class MaskScheme(NamedTuple):
    """The part that the layer holds, the part of a call with queries `start:stop`, and the rule without padding."""

    of_layer: Any
    of_chunk: Callable[[int, int], Any]
    pairs: Callable[..., torch.Tensor]

    def of_call(self, start, stop, padding):
        mask = self.of_chunk(start, stop)
        if padding is None:
            return mask
        flags = hw.Padding(padding[:, :stop])
        return flags if mask is None else mask & flags

    def rule(self, p, padding):
        seen = self.pairs(p)
        return seen if padding is None else seen & padding[:, None, None]


def nothing(start, stop):
    return None


IDS = (torch.arange(40) // 3 + torch.arange(3)[:, None]) % 4
PATTERN = (torch.arange(1600).view(40, 40) ** 2 + 3 * torch.arange(40)) % 7 < 3

MASKS = {
    "none": MaskScheme(None, nothing, lambda p: torch.tensor(True)),
    "causal": MaskScheme(hw.Causal(), nothing, lambda p: p.j <= p.i),
    "causal in the call": MaskScheme(None, lambda start, stop: hw.Causal(), lambda p: p.j <= p.i),
    "window": MaskScheme(hw.Window(3), nothing, lambda p: (p.i - p.j >= 0) & (p.i - p.j < 3)),
    "window ahead": MaskScheme(hw.Window(4, ahead=1), nothing, lambda p: (p.i - p.j >= -1) & (p.i - p.j < 4)),
    "dilated": MaskScheme(hw.Dilated(2, 2), nothing, lambda p: ((p.i - p.j) == 0) | ((p.i - p.j) == 2)),
    "prefix": MaskScheme(hw.Causal() | hw.Prefix(2), nothing, lambda p: (p.j <= p.i) | (p.j < 2)),
    "not window": MaskScheme(hw.Causal() & ~hw.Window(2), nothing, lambda p: p.i - p.j >= 2),
    "documents": MaskScheme(
        hw.Causal(),
        lambda start, stop: hw.Documents(IDS[:, :stop], IDS[:, start:stop]),
        lambda p: (p.j <= p.i) & (at(IDS, p.b, p.i_slot) == at(IDS, p.b, p.j_slot)),
    ),
    "dense": MaskScheme(
        None, lambda start, stop: hw.Dense(PATTERN[start:stop, :stop]), lambda p: PATTERN[p.i_slot, p.j_slot]
    ),
    "function": MaskScheme(
        lambda b, h, i, j: (i + j + h) % 3 != b, nothing, lambda p: (p.i_slot + p.j_slot + p.h) % 3 != p.b
    ),
}


def at(table, b, slot):
    return table[b.expand(-1, 1, *slot.shape[2:]), slot.expand(len(b), 1, -1, -1)]


class ScoreScheme(NamedTuple):
    """The part, made for a number of heads; its rule, which may read the layer; and its sinks."""

    make: Callable[[int], Any]
    rule: Callable[..., torch.Tensor]
    sink: Callable[[Any], torch.Tensor] | None = None


class Slopes(torch.nn.Module):
    """A score function that learns: one slope a head."""

    def __init__(self, heads):
        super().__init__()
        self.slopes = torch.nn.Parameter(torch.zeros(heads))

    def forward(self, score, b, h, i, j):
        return score - self.slopes[h] * (i - j)


def alibi(scores, p):
    slopes = torch.tensor([0.25, 0.0625, 0.015625, 0.00390625], dtype=scores.dtype)
    return scores - slopes.view(1, -1, 1, 1) * (p.i - p.j).abs()


def t5(scores, p, layer):
    (table,) = layer.score.parameters()
    # Of four buckets up to distance 4, those of the distances 0, 1, 2, 3 and more.
    buckets = (p.i - p.j).clamp(0, 3)[:, 0]
    return scores + table[buckets].permute(0, 3, 1, 2)


def slopes(scores, p, layer):
    (slope,) = layer.score.parameters()
    return scores - slope.view(1, -1, 1, 1) * (p.i_slot - p.j_slot)


def by_distance(layer, query, key):
    key = key.repeat_interleave(layer.heads // layer.kv_heads, dim=1)
    return -(query[:, :, :, None] - key[:, :, None]).square().sum(-1) * layer.head_dim**-0.5


SCORES = {
    "none": ScoreScheme(lambda heads: None, lambda s, p, *_: s),
    "softcap": ScoreScheme(lambda heads: hw.Softcap(0.7), lambda s, p, *_: 0.7 * torch.tanh(s / 0.7)),
    "alibi": ScoreScheme(hw.Alibi, lambda s, p, *_: alibi(s, p)),
    "t5": ScoreScheme(
        lambda heads: hw.T5Bias(heads, buckets=4, max_distance=4), lambda s, p, layer, *_: t5(s, p, layer)
    ),
    "sink": ScoreScheme(hw.Sink, lambda s, p, *_: s, lambda layer: next(layer.score.parameters())),
    "alibi, softcap": ScoreScheme(
        lambda heads: (hw.Alibi(heads), hw.Softcap(0.7)), lambda s, p, *_: 0.7 * torch.tanh(alibi(s, p) / 0.7)
    ),
    "alibi, sink": ScoreScheme(
        lambda heads: (hw.Alibi(heads), hw.Sink(heads)),
        lambda s, p, *_: alibi(s, p),
        lambda layer: next(layer.score.parameters()),
    ),
    "function": ScoreScheme(
        lambda heads: lambda s, b, h, i, j: s - 0.125 * (i - j) * (h + 1) + 0.25 * b,
        lambda s, p, *_: s - 0.125 * (p.i_slot - p.j_slot) * (p.h + 1) + 0.25 * p.b,
    ),
    "learned function": ScoreScheme(Slopes, lambda s, p, layer, *_: slopes(s, p, layer)),
    "own get_scores": ScoreScheme(lambda heads: None, lambda s, p, layer, query, key: by_distance(layer, query, key)),
}
