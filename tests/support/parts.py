"""
Example parts, each with its meaning written a second time.

An example of a mask is a function of the sizes of a call that makes it, and a rule over `Pairs`; an example of a score
likewise. A new part gets an entry here, and the contract suite runs it on every engine; a test sees to it that each
public part has one.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch.nn.attention.flex_attention import create_block_mask

import headwise as hw


class Sizes(NamedTuple):
    batch: int
    heads: int
    queries: int
    keys: int


class Example(NamedTuple):
    kind: type | None
    make: Callable[[Sizes], Any]
    rule: Callable[..., torch.Tensor]
    # One more logit a head in the denominator of the softmax, for the scores that have it.
    sink: Callable[[Sizes], torch.Tensor] | None = None


def keep(s: Sizes) -> torch.Tensor:
    """A ragged batch: sequence 0 is padded on the left, sequence 1 on the right, sequence 2 wholly."""
    flags = torch.ones(s.batch, s.keys, dtype=torch.bool)
    flags[0, : s.keys // 3] = False
    if s.batch > 1:
        flags[1, s.keys // 2 :] = False
    if s.batch > 2:
        flags[2] = False
    return flags


def documents(s: Sizes) -> torch.Tensor:
    return (torch.arange(s.keys) * 3 // max(s.keys, 1) + torch.arange(s.batch)[:, None]).long() % 3


def query_documents(s: Sizes) -> torch.Tensor:
    return (torch.arange(s.queries) % 4 + torch.arange(s.batch)[:, None]) % 4


def dense(*shape: int) -> torch.Tensor:
    """A pattern without symmetry, with some empty rows."""
    count = torch.arange(torch.Size(shape).numel()).view(shape)
    return ((count * count + 3 * count) % 7 < 3) & (count // max(shape[-1], 1) % 5 != 2)


def learned(*shape: int) -> torch.Tensor:
    return torch.sin(torch.arange(torch.Size(shape).numel(), dtype=torch.float64) * 1.7).view(shape)


MASKS: dict[str, Example] = {
    "full": Example(hw.Full, lambda s: hw.Full(), lambda p: torch.tensor(True)),
    "causal": Example(hw.Causal, lambda s: hw.Causal(), lambda p: p.j <= p.i),
    "window": Example(hw.Window, lambda s: hw.Window(3), lambda p: (p.i - p.j >= 0) & (p.i - p.j < 3)),
    "window ahead": Example(hw.Window, lambda s: hw.Window(2, ahead=2), lambda p: (p.i - p.j >= -2) & (p.i - p.j < 2)),
    "padding": Example(
        hw.Padding, lambda s: hw.Padding(keep(s)), lambda p, s: keep(s)[:, None, None].expand(-1, 1, s.queries, -1)
    ),
    "causal and padding": Example(
        None, lambda s: hw.Causal() & hw.Padding(keep(s)), lambda p, s: (p.j <= p.i) & keep(s)[:, None, None]
    ),
    "documents": Example(
        hw.Documents,
        lambda s: hw.Documents(documents(s), query_documents(s)),
        lambda p, s: query_documents(s)[:, None, :, None] == documents(s)[:, None, None],
    ),
    "dense IJ": Example(hw.Dense, lambda s: dense(s.queries, s.keys), lambda p, s: dense(s.queries, s.keys)),
    "dense BIJ": Example(
        hw.Dense,
        lambda s: dense(s.batch, s.queries, s.keys),
        lambda p, s: dense(s.batch, s.queries, s.keys)[:, None],
    ),
    "dense BHIJ": Example(hw.Dense, lambda s: dense(s.batch, s.heads, s.queries, s.keys), lambda p, s: dense(*s)),
    "dense, one query row": Example(
        hw.Dense, lambda s: dense(s.batch, 1, 1, s.keys), lambda p, s: dense(s.batch, 1, 1, s.keys)
    ),
    "prefix": Example(hw.Prefix, lambda s: hw.Prefix(2), lambda p: p.j < 2),
    "causal or prefix": Example(
        hw.Prefix,
        lambda s: hw.Causal() | hw.Prefix(torch.arange(s.batch)),
        lambda p: (p.j <= p.i) | (p.j < p.b),
    ),
    "dilated": Example(hw.Dilated, lambda s: hw.Dilated(2, 3), lambda p: ((p.i - p.j) == 0) | ((p.i - p.j) == 3)),
    "block mask": Example(
        None,
        lambda s: create_block_mask(
            lambda b, h, i, j: (i + h >= j) & (j != b), s.batch, s.heads, s.queries, s.keys, device="cpu", BLOCK_SIZE=4
        ),
        lambda p, s: (p.i_slot - (s.keys - s.queries) + p.h >= p.j_slot) & (p.j_slot != p.b),
    ),
    "function": Example(
        None, lambda s: lambda b, h, i, j: (i + j + h) % 3 != b, lambda p: (p.i_slot + p.j_slot + p.h) % 3 != p.b
    ),
    "not window": Example(None, lambda s: ~hw.Window(2, ahead=1), lambda p: ~((p.i - p.j >= -1) & (p.i - p.j < 2))),
    "causal or function": Example(
        None,
        lambda s: hw.Causal() | (lambda b, h, i, j: j < 2),
        lambda p: (p.j <= p.i) | (p.j_slot < 2),
    ),
}


SLOPES = {1: (2**-8,), 2: (2**-4, 2**-8), 4: (0.25, 0.0625, 0.015625, 0.00390625)}


def _alibi(scores, p, s):
    slopes = torch.tensor(SLOPES[s.heads], dtype=scores.dtype).view(1, -1, 1, 1)
    return scores - slopes * (p.i - p.j).abs()


# Of four buckets up to distance 4, those of the distances 0, 1, 2, 3 and more.
T5_BUCKETS = (0, 1, 2, 3)


def _t5_table(heads):
    return torch.sin(torch.arange(4.0 * heads).view(4, heads))


def _t5(s: Sizes) -> hw.T5Bias:
    part = hw.T5Bias(s.heads, buckets=4, max_distance=4)
    part.table.data.copy_(_t5_table(s.heads))
    return part


def _t5_rule(scores, p, s):
    distance = (p.i - p.j).expand(s.batch, 1, s.queries, s.keys)
    buckets = torch.tensor(T5_BUCKETS)[distance.clamp(0, 3)][:, 0]
    return scores + _t5_table(s.heads).to(scores)[buckets].permute(0, 3, 1, 2)


def _sinks(s: Sizes) -> torch.Tensor:
    return torch.linspace(-1.0, 2.0, s.heads)


def _sink(s: Sizes) -> hw.Sink:
    part = hw.Sink(s.heads)
    part.logit.data.copy_(_sinks(s))
    return part


SCORES: dict[str, Example] = {
    "none": Example(None, lambda s: None, lambda scores, p: scores),
    "softcap": Example(hw.Softcap, lambda s: hw.Softcap(0.7), lambda scores, p: 0.7 * torch.tanh(scores / 0.7)),
    "alibi": Example(hw.Alibi, lambda s: hw.Alibi(s.heads), _alibi),
    "bias IJ": Example(
        hw.Bias,
        lambda s: hw.Bias(learned(s.queries, s.keys)),
        lambda scores, p, s: scores + learned(s.queries, s.keys).to(scores),
    ),
    "bias BHIJ": Example(
        hw.Bias,
        lambda s: hw.Bias(learned(s.batch, s.heads, s.queries, s.keys)),
        lambda scores, p, s: scores + learned(*s).to(scores),
    ),
    "bias, one head": Example(
        hw.Bias,
        lambda s: hw.Bias(learned(s.batch, 1, 1, s.keys)),
        lambda scores, p, s: scores + learned(s.batch, 1, 1, s.keys).to(scores),
    ),
    "t5": Example(hw.T5Bias, _t5, _t5_rule),
    "sink": Example(hw.Sink, _sink, lambda scores, p: scores, _sinks),
    "function": Example(
        None,
        lambda s: lambda x, b, h, i, j: x + 0.1 * (h - b) * (i - j) - 0.05 * x * x,
        lambda scores, p: scores + 0.1 * (p.h - p.b) * (p.i_slot - p.j_slot) - 0.05 * scores * scores,
    ),
    "alibi, then softcap": Example(
        None,
        lambda s: (hw.Alibi(s.heads), hw.Softcap(0.7)),
        lambda scores, p, s: 0.7 * torch.tanh(_alibi(scores, p, s) / 0.7),
    ),
}


def ruled(example: Example, sizes: Sizes) -> Callable[..., torch.Tensor]:
    """The rule of an example, with the sizes filled in where it asks for them."""
    if example.rule.__code__.co_varnames[example.rule.__code__.co_argcount - 1] == "s":
        return lambda *arguments: example.rule(*arguments, sizes)
    return example.rule
