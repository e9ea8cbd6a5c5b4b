"""What each score part does to numbers worked out by hand, and the messages of bad ones."""

import math

import pytest
import torch
from torch import nn, tensor

import headwise as hw
from headwise.call import Call
from headwise.reference import attention_steps

ENGINES = ("reference", "blockwise", "sdpa")


def weights(logits, score, mask=None, **arguments):
    """Weights of one query over keys with these scores."""
    keys = len(logits)
    key = tensor(logits).view(1, 1, keys, 1)
    call = Call.of(torch.ones(1, 1, 1, 1), key, key, scale=1.0, score=score, mask=mask, **arguments)
    return attention_steps(call).weights[0, 0, 0]


def test_softcap_comes_before_the_mask():
    """D12."""
    found = weights([4.0, 0.0, 9.0], hw.Softcap(5.0), mask=tensor([[True, True, False]]))
    torch.testing.assert_close(found, tensor([0.965115, 0.034885, 0.0]), atol=1e-6, rtol=0)


def test_parts_work_in_order():
    bias = hw.Bias(tensor([[3.0, 0.0]]))
    capped_last = weights([0.0, 0.0], (bias, hw.Softcap(1.0)))
    capped_first = weights([0.0, 0.0], (hw.Softcap(1.0), bias))
    assert capped_last[0].item() == pytest.approx(1 / (1 + math.exp(-math.tanh(3.0))))
    assert capped_first[0].item() == pytest.approx(1 / (1 + math.exp(-3.0)))


@pytest.mark.parametrize(
    ("heads", "slopes"),
    [
        (1, [2**-8]),
        (3, [2**-4, 2**-8, 2**-2]),
        (6, [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]),
        (12, [2.0**-n for n in range(1, 9)] + [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]),
    ],
)
def test_alibi_has_the_published_slopes(heads, slopes):
    """P08."""
    assert hw.Alibi(heads).slopes == pytest.approx(slopes)


def test_alibi_prefers_near_keys_on_both_sides():
    """P10."""
    found = weights([0.0] * 5, hw.Alibi(1, slopes=[0.5]), query_positions=2)
    expected = torch.softmax(-0.5 * tensor([2.0, 1.0, 0.0, 1.0, 2.0]), 0)
    torch.testing.assert_close(found, expected)


def test_bias_broadcasts_axes_of_1():
    query, key = torch.randn(2, 3, 4, 8), torch.randn(2, 3, 5, 8)
    whole = torch.randn(2, 3, 4, 5)
    for part in (whole, whole[:1, :1], whole[:, :, :1], whole[..., :1], whole[0, 0], whole[0, 0][:, :1]):
        four = part if part.dim() == 4 else part[None, None]
        expected = torch.softmax(query @ key.mT / 8**0.5 + four, -1) @ key
        for engine in ENGINES:
            found = hw.attention(query, key, key, score=hw.Bias(part), engine=engine)
            torch.testing.assert_close(found, expected)


def test_bias_of_a_parameter_learns_in_the_layer():
    table = nn.Parameter(torch.zeros(4, 4))
    layer = hw.MultiHeadAttention(16, 2, score=(hw.Softcap(9.0), hw.Bias(table)))
    assert any(parameter is table for parameter in layer.parameters())
    layer(torch.randn(1, 4, 16)).square().sum().backward()
    assert table.grad is not None and table.grad.abs().sum() > 0
    assert "score.1.tensor" in layer.state_dict()


def test_bias_of_a_plain_tensor_moves_with_the_layer_and_stays_out_of_its_state():
    layer = hw.MultiHeadAttention(16, 2, score=hw.Bias(torch.zeros(4, 4)))
    assert not any("score" in name for name in layer.state_dict())
    assert layer.half().score.parts[0].tensor.dtype == torch.float16


def test_functions_that_are_modules_are_registered_and_can_be_replaced():
    class Slope(nn.Module):
        def __init__(self, value):
            super().__init__()
            self.slope = nn.Parameter(tensor(value))

        def forward(self, s, b, h, i, j):
            return s - self.slope * (i - j)

    layer = hw.MultiHeadAttention(8, 1, score=Slope(0.3))
    assert "score.0.slope" in layer.state_dict()
    x = torch.randn(1, 4, 8)
    before = layer(x)
    before.sum().backward()
    assert layer.score.get_submodule("0").slope.grad is not None
    # Tools such as quantisation replace submodules; the new one takes part.
    layer.score.add_module("0", Slope(3.0))
    assert not torch.allclose(layer(x), before)


REFUSED = [
    (
        lambda: hw.Softcap(0.0),
        hw.ScoreError,
        r"Softcap\(cap\) must be a finite number above 0; got cap=0\.0\. Usual fix: to switch it off",
    ),
    (lambda: hw.Softcap(float("nan")), hw.ScoreError, r"got cap=nan"),
    (lambda: hw.Alibi(0), hw.ScoreError, r"Alibi\(heads\) must be a whole number of at least 1; got heads=0"),
    (lambda: hw.Alibi(2, [0.5]), hw.ScoreError, r"Alibi\(slopes\) must be 2 finite numbers, one a head; got \[0\.5\]"),
    (
        lambda: hw.Alibi(1, nn.Parameter(tensor([0.5]))),
        hw.ScoreError,
        r"must be plain numbers, it got a tensor that learns",
    ),
    (
        lambda: hw.Bias(tensor([[True]])),
        hw.ScoreError,
        r"Bias\(tensor\) must be a float tensor; got bool.*pass it as mask=",
    ),
    (lambda: hw.Bias(torch.zeros(3)), hw.ShapeError, r"Bias\(tensor\) must have the axes I J or B H I J"),
    (lambda: hw.T5Bias(0), hw.ScoreError, r"T5Bias\(heads\) must be a whole number of at least 1; got heads=0"),
    (
        lambda: hw.T5Bias(2, buckets=1),
        hw.ScoreError,
        r"T5Bias\(buckets\) must be a whole number of at least 2; got buckets=1",
    ),
    (lambda: hw.T5Bias(2, buckets=2, bidirectional=True), hw.ScoreError, r"at least 4; got buckets=2"),
    (
        lambda: hw.T5Bias(2, max_distance=16),
        hw.ScoreError,
        r"T5Bias\(max_distance\) must be above 16.*got max_distance=16",
    ),
    (lambda: hw.Sink(0), hw.ScoreError, r"Sink\(heads\) must be a whole number of at least 1; got heads=0"),
]


@pytest.mark.parametrize(("make", "error", "message"), REFUSED)
def test_a_bad_score_is_refused_where_it_is_made(make, error, message):
    with pytest.raises(error, match=message):
        make()


UNFIT = [
    (
        lambda: hw.Alibi(3),
        hw.ShapeError,
        r"Alibi\(heads\) must equal the query heads of the call; got heads=3, H=2.*Alibi\(2\)",
    ),
    (lambda: hw.T5Bias(3), hw.ShapeError, r"T5Bias\(heads\) must equal the query heads.*got heads=3, H=2"),
    (lambda: hw.Sink(3), hw.ShapeError, r"Sink\(heads\) must equal the query heads.*got heads=3, H=2"),
    (lambda: hw.Bias(torch.zeros(4, 5)), hw.ShapeError, r"axis J of Bias\(tensor\) must be 4 or 1, it is 5"),
    (lambda: hw.Softcap, hw.ScoreError, r"score must be an instance, not the class Softcap"),
    (lambda: torch.zeros(4, 4), hw.ScoreError, r"got a tensor\. Usual fix: score=Bias\(tensor\)"),
    (lambda: (hw.Softcap(1.0), "alibi"), hw.ScoreError, r"score must be None, a Score, a function.*got str"),
]


@pytest.mark.parametrize(("make", "error", "message"), UNFIT)
def test_a_score_that_does_not_fit_the_call_is_refused(make, error, message):
    query = torch.randn(1, 2, 4, 8)
    with pytest.raises(error, match=message):
        hw.attention(query, query, query, score=make())


class FlatBias(hw.AdditiveScore):
    def bias(self, grid):
        return -grid.distance[0, 0]


class NumberBias(hw.AdditiveScore):
    def bias(self, grid):
        return 1.5


class Reduced(hw.Score):
    def change(self, scores, grid):
        return scores.mean(-1)


ANSWERS = [
    (FlatBias(), r"FlatBias\.bias\(grid\) must return a tensor of four axes.*got torch\.int64 \[2, 3\]"),
    (NumberBias(), r"NumberBias\.bias\(grid\).*got float\. Usual fix: compute it from the coordinates"),
    (Reduced(), r"Reduced\.change\(scores, grid\).*got torch\.float32 \[1, 2, 2\]"),
]


@pytest.mark.parametrize(("part", "message"), ANSWERS)
@pytest.mark.parametrize("engine", ["auto", "blockwise", "reference"])
def test_a_part_of_ones_own_that_returns_no_scores_of_pairs_is_refused_by_name(part, message, engine):
    query = torch.randn(1, 2, 5, 4)
    with pytest.raises(hw.ScoreError, match=message):
        hw.attention(query, query, query, score=part, engine=engine)
