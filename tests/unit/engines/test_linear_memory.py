"""Extra memory of the engine blockwise grows with the sequence, not with its square: measured, forward and with gradients."""

from functools import partial

import pytest
import torch
from torch import Tensor

import headwise as hw
from headwise.bench.measure import peak_memory, with_backward, without_gradients
from headwise.bench.rules import Shape, by_engine, make_rules
from headwise.call import Call
from headwise.engines.by_strategy import run_blocks
from headwise.engines.operator import run_in_graph, write_call
from headwise.score.base import Score

RULES = ("causal", "window 256", "8 documents", "alibi", "t5 bias", "softcap 50", "python score")


def memory(rule: str, tokens: int, *, training: bool) -> int:
    """Bytes that live at once in a call with a single head and few features."""
    shape = Shape(1, 1, tokens, 16)
    operands = shape.operands(torch.float32)
    attend = by_engine("blockwise", make_rules(shape)[rule])
    run = lambda: attend(*operands)  # noqa: E731
    return peak_memory(with_backward(run, torch.ones(operands[0].shape)) if training else without_gradients(run))


def as_operator(call: Call) -> Tensor:
    """The call as a compiled graph runs it."""
    text, written = write_call(call)
    assert text is not None
    return run_in_graph(call, text, written).output


def outside(call: Call) -> Tensor:
    """The call as it runs without a graph."""
    return run_blocks(call).output


@pytest.mark.slow
@pytest.mark.parametrize(
    "score", [(), (hw.Softcap(50.0),), (hw.Alibi(1), hw.Softcap(50.0))], ids=["window", "cap", "body"]
)
def test_the_node_of_a_graph_keeps_no_more_than_the_engine_outside_of_it(score: tuple[Score, ...]) -> None:
    mask = hw.Causal() if score else hw.Window(256)

    def peak(tokens: int, *, inside: bool) -> int:
        call = Call.of(*Shape(1, 1, tokens, 16).operands(torch.float32), mask=mask, score=score)
        run = partial(as_operator if inside else outside, call)
        return peak_memory(with_backward(run, torch.ones(call.query.shape)))

    short, long = (peak(tokens, inside=True) for tokens in (4096, 8192))
    assert long < 2.6 * short
    assert long < 1.5 * peak(8192, inside=False) + 2**20


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("training", [False, True], ids=["forward", "training"])
def test_bounded_memory_at_most_doubles_with_the_sequence(rule: str, training: bool) -> None:
    short, long = (memory(rule, tokens, training=training) for tokens in (4096, 8192))
    # Blocks have a size of their own, and the kernel takes larger tiles for longer pieces; a matrix of pairs would grow four times.
    assert long < 2.6 * short
    assert long < 4 * 8192 * 8192 / 3
