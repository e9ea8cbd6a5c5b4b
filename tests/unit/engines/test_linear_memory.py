"""Extra memory of the engine blockwise grows with the sequence, not with its square: measured, forward and with gradients."""

import pytest
import torch

from headwise.bench.measure import peak_memory, with_backward, without_gradients
from headwise.bench.rules import Shape, by_engine, make_rules

RULES = ("causal", "window 256", "8 documents", "alibi", "t5 bias", "softcap 50", "python score")


def memory(rule: str, tokens: int, *, training: bool) -> int:
    """Bytes that live at once in a call with a single head and few features."""
    shape = Shape(1, 1, tokens, 16)
    operands = shape.operands(torch.float32)
    attend = by_engine("blockwise", make_rules(shape)[rule])
    run = lambda: attend(*operands)  # noqa: E731
    return peak_memory(with_backward(run, torch.ones(operands[0].shape)) if training else without_gradients(run))


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("training", [False, True], ids=["forward", "training"])
def test_bounded_memory_at_most_doubles_with_the_sequence(rule: str, training: bool) -> None:
    short, long = (memory(rule, tokens, training=training) for tokens in (4096, 8192))
    # Blocks have a size of their own, and the kernel takes larger tiles for longer pieces; a matrix of pairs would grow four times.
    assert long < 2.6 * short
    assert long < 4 * 8192 * 8192 / 3
