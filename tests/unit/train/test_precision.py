"""Half precision: the same training within its rounding, and a scale that finds its size."""

import json

import pytest
import torch

from headwise.train.build import build_model
from headwise.train.config import ModelConfig, TrainConfig
from headwise.train.loop import fit
from headwise.train.loss import Pass, accumulate_gradients
from headwise.train.precision import FIRST_SCALE, GOOD_UPDATES, LossScale, ScaleError, autocast
from headwise.train.run_folder import RunFolder

SHAPE = ModelConfig(layers=2, d_model=32, heads=2, context=16)


def trained(data, tokenizer, **settings):
    model = build_model(SHAPE, vocab=tokenizer.vocab, seed=2)
    return fit(model, data, TrainConfig(steps=12, batch=4, report_every=6, **settings)), model


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_precision_trains_as_single_precision_does(data, tokenizer, precision):
    half, model = trained(data, tokenizer, precision=precision)
    single, _ = trained(data, tokenizer)
    assert half.validation_loss == pytest.approx(single.validation_loss, rel=0.02)
    assert {each.dtype for each in model.parameters()} == {torch.float32}


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_products_are_made_in_half_precision(data, tokenizer, precision):
    model = build_model(SHAPE, vocab=tokenizer.vocab, seed=2)
    found = []
    layer = next(module for module in model.modules() if isinstance(module, torch.nn.Linear))
    layer.register_forward_hook(lambda module, inputs, output: found.append(output.dtype))
    accumulate_gradients(model, data.batch(seed=0, step=0, rows=2), how=Pass(precision=precision))
    assert found == [getattr(torch, precision)]


def test_single_precision_is_left_alone():
    with autocast("float32", torch.device("cpu")):
        assert not torch.is_autocast_enabled("cpu")


def test_the_scale_leaves_the_gradients_as_they_are(data, tokenizer):
    model = build_model(SHAPE, vocab=tokenizer.vocab, seed=2)
    batch = data.batch(seed=0, step=0, rows=2)
    gradients = []
    for factor in (1.0, FIRST_SCALE):
        model.zero_grad()
        accumulate_gradients(model, batch, how=Pass(scale=factor))
        scale = LossScale("float16")
        scale.value = factor
        assert scale.undo(model.parameters())
        gradients.append(torch.cat([each.grad.flatten() for each in model.parameters()]))
    torch.testing.assert_close(*gradients)


def test_an_overflow_halves_the_scale_and_leaves_the_update_out():
    weight = torch.nn.Parameter(torch.ones(2))
    scale = LossScale("float16")
    weight.grad = torch.tensor([1.0, float("inf")])
    assert not scale.accept(scale.undo([weight]))
    assert scale.value == FIRST_SCALE / 2
    for _ in range(GOOD_UPDATES):
        assert scale.accept(True)
    assert (scale.value, scale.good) == (FIRST_SCALE, 0)


def test_gradients_that_are_never_finite_end_the_training():
    scale = LossScale("float16")
    with pytest.raises(ScaleError, match="use `--precision bfloat16`"):
        for _ in range(99):
            scale.accept(False)


def test_the_scale_is_part_of_a_checkpoint(data, tokenizer, tmp_path):
    run = RunFolder(tmp_path)
    config = TrainConfig(steps=3, batch=2, precision="float16")
    fit(build_model(SHAPE, vocab=tokenizer.vocab, seed=2), data, config, run=run)
    state = json.loads((tmp_path / "state" / "step-00000003" / "state.json").read_text())
    assert (state["counters"]["scale"], state["counters"]["good"]) == (FIRST_SCALE, 3)
