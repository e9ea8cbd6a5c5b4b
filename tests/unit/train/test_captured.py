"""A part that reads a tensor which would never be updated is refused before the first update."""

from dataclasses import dataclass
from functools import partial

import pytest
import torch
from torch import nn

import headwise as hw
from headwise.mask.base import Mask
from headwise.score.base import AdditiveScore, Score
from headwise.train.captured import unregistered
from headwise.train.config import TrainConfig
from headwise.train.gradient import TrainingError
from headwise.train.loop import fit

OUTSIDE = nn.Parameter(torch.ones(2))
CONFIG = TrainConfig(steps=1, batch=2)


def model_with(tokenizer=None, **parts):
    return hw.AutoregressiveTransformer(tokenizer.vocab if tokenizer else 9, 8, 2, 1, **parts)


def ways(model):
    return [found.way for found in unregistered(model)]


@dataclass(frozen=True, eq=False)
class Plain(AdditiveScore):
    """A part that holds a parameter, and is no module."""

    slopes: torch.Tensor

    def bias(self, grid):
        return -self.slopes[:, None, None] * grid.distance.abs()


class Slopes(nn.Module, Score):
    """The usual fix."""

    def __init__(self, heads):
        super().__init__()
        self.slopes = nn.Parameter(torch.ones(heads))

    def change(self, scores, grid):
        return scores - self.slopes[:, None, None] * grid.distance.abs()


class Unwrapped(Slopes):
    """A module whose tensor is no parameter."""

    def __init__(self, heads):
        super().__init__(heads)
        del self.slopes
        self.slopes = torch.ones(heads, requires_grad=True)


class ReadsOutside(Score):
    def change(self, scores, grid):
        return scores - OUTSIDE[:, None, None] * grid.distance.abs()


class Near(Mask):
    def __init__(self):
        self.reach = nn.Parameter(torch.tensor(3.0))

    def sees(self, grid):
        return (grid.distance >= 0) & (grid.distance < self.reach)


def test_fit_refuses_a_captured_parameter_and_leaves_the_model_as_it_was(data, tokenizer):
    slopes = nn.Parameter(torch.ones(2))
    model = model_with(tokenizer, score=lambda s, b, h, i, j: s - slopes[h] * (i - j).abs())
    before = [each.clone() for each in model.parameters()]
    with pytest.raises(
        TrainingError, match=r"`slopes` of the function <lambda> \[2\] requires a gradient.*nn.Module, Score"
    ):
        fit(model, data, CONFIG)
    assert all(torch.equal(*pair) for pair in zip(before, model.parameters(), strict=True))


def test_fit_refuses_a_plain_score_with_a_parameter(data, tokenizer):
    with pytest.raises(TrainingError, match=r"`slopes` of Plain \[2\] requires a gradient"):
        fit(model_with(tokenizer, score=Plain(nn.Parameter(torch.ones(2)))), data, CONFIG)


def scores():
    slopes, table = nn.Parameter(torch.ones(2)), nn.Embedding(9, 1)

    def with_default(s, b, h, i, j, slopes=slopes):
        return s * slopes[h]

    def helper(h):
        return slopes[h]

    def taking(slopes, s, b, h, i, j):
        return s * slopes[h]

    yield pytest.param(lambda s, b, h, i, j: s * OUTSIDE[h], id="a name of the module")
    yield pytest.param(lambda s, b, h, i, j: s * helper(h), id="a function that the function calls")
    yield pytest.param(with_default, id="a default")
    yield pytest.param(partial(taking, slopes), id="a partial")
    yield pytest.param(lambda s, b, h, i, j: s + table((i - j).clamp(0, 8))[..., 0], id="a captured module")
    yield pytest.param(hw.flex(lambda s, b, h, i, j: s * slopes[h]), id="a function of FlexAttention")
    yield pytest.param((hw.Softcap(3.0), Plain(slopes)), id="one of several parts")
    yield pytest.param(ReadsOutside(), id="a method that reads a name of the module")
    yield pytest.param(hw.Bias(torch.zeros(3, 3, requires_grad=True)), id="a bias that is no parameter")
    yield pytest.param(Unwrapped(2), id="a tensor of a module that is no parameter")


@pytest.mark.parametrize("score", list(scores()))
def test_every_way_to_a_tensor_is_found(score):
    assert len(ways(model_with(score=score))) == 1


def test_masks_and_positions_are_searched_as_well():
    angles = nn.Parameter(torch.ones(4))
    assert ways(model_with(mask=Near())) == ["encoder.layers.0.attention.mask, `reach` of Near"]
    assert ways(model_with(position=lambda x, positions, *, length=None: x * angles))


def test_what_is_registered_passes():
    class Owner(nn.Module):
        def __init__(self):
            super().__init__()
            self.slopes = nn.Parameter(torch.ones(2))
            self.model = model_with(score=lambda s, b, h, i, j: s * self.slopes[h])

    constant = torch.ones(2)
    assert ways(Owner()) == []
    assert ways(model_with(score=Slopes)) == ways(model_with(score=(Slopes(2), hw.T5Bias(2)))) == []
    assert ways(model_with(score=hw.Bias(nn.Parameter(torch.ones(3, 3))), mask=hw.Causal() & hw.Window(3))) == []
    assert ways(model_with(score=lambda s, b, h, i, j: s * constant[h])) == []
    assert ways(model_with(score=hw.Alibi, position=hw.Sinusoidal)) == []


def test_a_part_that_was_replaced_does_not_count():
    model = model_with(score=Slopes(2))
    model.encoder.layers[0].attention.score.add_module("0", Slopes(2))
    assert ways(model) == []


def test_a_registered_part_learns(data, tokenizer):
    score = Slopes(2)
    fit(model_with(tokenizer, score=score), data, CONFIG)
    assert not torch.equal(score.slopes, torch.ones(2))
