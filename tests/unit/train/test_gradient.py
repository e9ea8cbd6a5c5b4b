"""The length of the gradient: measured, shortened, refused."""

import json

import pytest
import torch
from torch import nn

from headwise.train.batch import NO_TARGET, Batch
from headwise.train.config import TrainConfig
from headwise.train.gradient import TrainingError, shorten
from headwise.train.loop import fit
from headwise.train.loss import accumulate_gradients, mean_loss
from headwise.train.run_folder import RunFolder


@pytest.fixture
def layer():
    layer = nn.Linear(2, 2, bias=False)
    layer.weight.grad = torch.tensor([[3.0, 0.0], [0.0, 4.0]])
    return layer


@pytest.mark.parametrize(("limit", "after"), [(None, 5.0), (1.0, 1.0), (9.0, 5.0)])
def test_a_long_gradient_is_shortened_to_the_limit(layer, limit, after):
    assert shorten(layer, limit, step=0, scaled=False) == 5.0
    assert layer.weight.grad.norm().item() == pytest.approx(after, rel=1e-5)
    assert layer.weight.grad[0, 0] / layer.weight.grad[1, 1] == pytest.approx(0.75)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_a_gradient_that_is_no_number_is_refused_by_its_name(layer, wrong):
    layer.weight.grad[0, 0] = wrong
    with pytest.raises(TrainingError, match=r"at step 7, and the gradient of weight is not finite; a smaller"):
        shorten(layer, 1.0, step=7, scaled=False)
    shorten(layer, 1.0, step=7, scaled=True)


def test_the_weights_are_untouched_where_the_gradient_breaks(model, data):
    model.mix.weight.register_hook(lambda gradient: gradient / 0)
    before = {name: each.clone() for name, each in model.named_parameters()}
    with pytest.raises(TrainingError, match=r"the gradient of mix\.weight is not finite"):
        fit(model, data, TrainConfig(steps=2, batch=2))
    assert all(torch.equal(before[name], each) for name, each in model.named_parameters())


def test_an_update_that_is_left_out_has_no_norm_in_the_log(model, data, tmp_path):
    model.mix.weight.register_hook(lambda gradient: gradient / 0)
    before = model.embedding.weight.clone()
    fit(model, data, TrainConfig(steps=10, batch=2, report_every=10, precision="float16"), run=RunFolder(tmp_path))
    entries = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert entries[-1]["gradient_norm"] is None
    assert "Infinity" not in (tmp_path / "log.jsonl").read_text()
    assert torch.equal(model.embedding.weight, before)


def test_rows_without_a_target_have_the_loss_0(model):
    batch = Batch(torch.zeros(1, 2, dtype=torch.long), torch.full((1, 2), NO_TARGET))
    assert accumulate_gradients(model, batch).item() == 0.0
    assert mean_loss(model, [batch]) == 0.0


def test_a_batch_goes_to_a_device_with_its_mask(data):
    from headwise.mask.documents import Documents

    batch = data.batch(seed=0, step=0, rows=2)
    ids = torch.zeros_like(batch.inputs)
    moved = Batch(batch.inputs, batch.targets, Documents(ids), ids).to("meta")
    tensors = (moved.inputs, moved.targets, moved.mask.ids, moved.positions)
    assert {each.device.type for each in tensors} == {"meta"}
