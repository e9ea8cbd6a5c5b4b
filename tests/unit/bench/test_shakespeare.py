"""The classic experiment: models of one size, and the moment at which a loss is reached."""

import importlib.util
import sys
from pathlib import Path

import pytest
import torch

from headwise.train.data import TextData
from headwise.train.toml import read_toml

PLACE = Path(__file__).parents[3] / "benchmarks" / "shakespeare.py"


@pytest.fixture(scope="module")
def shakespeare():
    spec = importlib.util.spec_from_file_location("shakespeare_benchmark", PLACE)
    module = sys.modules["shakespeare_benchmark"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["shakespeare_benchmark"]


@pytest.fixture
def contenders(shakespeare):
    tokens = torch.arange(2000) % 7
    data = TextData(tokens, tokens[:400], 64)
    return data, [shakespeare.fused(data, 65, seed=1), shakespeare.own(data, 65, read_toml(shakespeare.SETTINGS))]


def test_the_contenders_are_of_one_size(contenders):
    _, (base, ours) = contenders
    assert ours.parameters == pytest.approx(base.parameters, rel=0.1)


def test_both_learn_and_their_time_grows(contenders):
    data, both = contenders
    batches = list(data.validation_batches(rows=4, limit=4))
    for each in both:
        each.turn(0, batches)
        each.turn(4, batches)
        before, after = each.points
        assert after["step"] == 4
        assert after["loss"] < before["loss"]
        assert after["seconds"] > before["seconds"]


def test_the_first_measurement_at_the_goal_counts(shakespeare):
    points = [{"step": 1, "loss": 3.0}, {"step": 2, "loss": 2.0}, {"step": 3, "loss": 1.0}]
    assert shakespeare.reached(points, 2.0)["step"] == 2
    assert shakespeare.reached(points, 0.5) is None
